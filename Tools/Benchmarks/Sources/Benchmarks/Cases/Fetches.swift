import Foundation
import MagicData

/// Fetch all, stream all, and look-ups of single objects.
extension Case {
  static func fetches(_ sizes: Sizes) -> [Case] {
    sizes.steps.flatMap { [fetchAll($0, sizes), readValues($0), streamAll($0), lookUp($0, sizes)] }
      + [lookUps(in: sizes.most, .copied), lookUps(in: sizes.most, .mapped)]
  }

  private static func fetchAll(_ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "fetch all", size: size, count: size, target: sizes.target(1.2, at: size)) { workspace in
      let fixture = try await workspace.specimens(size)
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawSpecimens(fixture.file("raw"))
      let records = try GRDBSpecimens(fixture.file("raw"))
      return [
        Side("MagicData") { _ in { try await magic.object(of: Specimen.self).count } },
        Side("raw SQLite") { _ in { raw.fetchAll().count } },
        Side("GRDB by hand") { _ in { try records.fetchAll(ManualSpecimen.self).count } },
        Side("GRDB Codable") { _ in { try records.fetchAll(CodableSpecimen.self).count } },
      ]
    }
  }

  /// Of objects that are there, by what an app does most: nothing of a database is in it.
  private static func readValues(_ size: Int) -> Case {
    Case(name: "read four values of each", size: size, count: size) { workspace in
      let fixture = try await workspace.specimens(size)
      let objects = try await MagicData(path: fixture.file("ours")).object(of: Specimen.self)
      let rows = RawSpecimens(fixture.file("raw")).fetchAll()
      return [
        Side("MagicData") { _ in
          { objects.reduce(0) { $0 + $1.id.utf8.count + $1.label.utf8.count + $1.count + Int($1.weight) } }
        },
        Side("plain structs") { _ in
          { rows.reduce(0) { $0 + $1.id.utf8.count + $1.label.utf8.count + $1.count + Int($1.weight) } }
        },
      ]
    }
  }

  private static func streamAll(_ size: Int) -> Case {
    Case(name: "stream all", size: size, count: size) { workspace in
      let fixture = try await workspace.specimens(size)
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawSpecimens(fixture.file("raw"))
      return [
        Side("MagicData") { _ in
          {
            var sum = 0
            for try await object in magic.query(of: Specimen.self).stream() { sum += object.count }
            return sum
          }
        },
        Side("raw SQLite") { _ in
          {
            var sum = 0
            while let row = raw.next() { sum += row.count }
            return sum
          }
        },
      ]
    }
  }

  private static func lookUp(_ size: Int, _ sizes: Sizes) -> Case {
    let few = sizes.few(of: size)
    return Case(name: "point look-up", size: size, count: few, target: sizes.target(1.5, at: size)) { workspace in
      let fixture = try await workspace.specimens(size)
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawSpecimens(fixture.file("raw"))
      let records = try GRDBSpecimens(fixture.file("raw"))
      let ids = spread(few, over: size)
      return [
        Side("MagicData, async call") { _ in { try await sum(ids, magic) } },
        Side("raw SQLite") { _ in { ids.reduce(0) { $0 + (raw.find($1)?.count ?? 0) } } },
        Side("GRDB by hand") { _ in { try ids.reduce(0) { $0 + (try records.find(ManualSpecimen.self, $1)?.count ?? 0) } } },
        Side("GRDB Codable") { _ in { try ids.reduce(0) { $0 + (try records.find(CodableSpecimen.self, $1)?.count ?? 0) } } },
      ]
    }
  }

  /// Both sides are ours: how the cost grows with the database.
  private static func lookUps(in most: Int, _ reads: MagicData.Reads) -> Case {
    let (few, small) = (2_000, min(10_000, most / 10))
    let name =
      switch reads {
      case .copied: "point look-up, against \(small.grouped)"
      case .mapped: "point look-up in a mapped file, against \(small.grouped)"
      }
    return Case(name: name, size: most, count: few, target: .ratio(1.3)) { workspace in
      var sides: [Side] = []
      for size in [most, small] {
        let magic = try await MagicData(path: try await workspace.specimens(size).file("ours"), reads: reads)
        let ids = spread(few, over: size)
        sides.append(
          Side("of \(size.grouped)") { _ in
            {
              _ = try await sum(ids, magic)
              return few
            }
          })
      }
      return sides
    }
  }

  private static func spread(_ few: Int, over size: Int) -> [String] {
    (0..<few).map { SpecimenRow($0 * 7_919 % size).id }
  }

  private static func sum(_ ids: [String], _ magic: MagicData) async throws -> Int {
    var sum = 0
    for id in ids { sum += try await magic.object(of: Specimen.self, primary: id).count }
    return sum
  }
}
