import Foundation
import MagicData

/// Ranges over an index.
extension Case {
  static func queries(_ sizes: Sizes) -> [Case] {
    [range(1_000, of: sizes.most), counted(1_000, of: sizes.most)]
  }

  private static func range(_ length: Int, of size: Int) -> Case {
    Case(name: "\(length.grouped) by a range over an index", size: size, count: length, target: .ratio(1.2)) { workspace in
      let (magic, raw) = try await readings(size, workspace)
      let times = size / 2 - length / 2..<size / 2 - length / 2 + length
      return [
        Side("MagicData") { _ in
          { try await magic.query(of: Reading.self).where { times.contains($0.time) }.sorted(by: \.time).all().count }
        },
        Side("raw SQLite") { _ in { raw.fetch(times).count } },
      ]
    }
  }

  private static func counted(_ length: Int, of size: Int) -> Case {
    Case(name: "count \(length.grouped) by a range over an index", size: size, count: 50) { workspace in
      let (magic, raw) = try await readings(size, workspace)
      let starts = (0..<50).map { $0 * ((size - length) / 50) }
      return [
        Side("MagicData") { _ in
          {
            var found = 0
            for start in starts {
              let times = start..<start + length
              found += try await magic.query(of: Reading.self).where { times.contains($0.time) }.count()
            }
            return found
          }
        },
        Side("raw SQLite") { _ in { starts.reduce(0) { $0 + raw.count($1..<$1 + length) } } },
      ]
    }
  }

  private static func readings(_ size: Int, _ workspace: Workspace) async throws -> (MagicData, RawReadings) {
    let fixture = try await workspace.fixture("readings-\(size)") { folder in
      try await workspace.fill(folder.file("ours"), size, Reading.init(number:))
      let raw = RawReadings(folder.file("raw"))
      raw.insert(0..<size)
      raw.database.checkpoint()
    }
    return (try await MagicData(path: fixture.file("ours")), RawReadings(fixture.file("raw")))
  }
}
