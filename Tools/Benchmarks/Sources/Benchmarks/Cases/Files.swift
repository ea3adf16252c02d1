import Foundation
import MagicData

/// The database file: how large it is, and how long it takes to open.
extension Case {
  static func files(_ sizes: Sizes) -> [Case] {
    sizes.steps.map { fileSize($0, sizes) } + [changedFileSize(sizes.objects)] + sizes.steps.map(start)
  }

  /// With the whole history, after SQLite has brought its WAL into the file; not vacuumed.
  private static func fileSize(_ size: Int, _ sizes: Sizes) -> Case {
    Case(
      name: "file after inserts", size: size, count: size, unit: .bytes, target: size == sizes.objects ? .over(275) : nil
    ) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData") { _ in { try fixture.file("ours").file("default.sqlite3").fileSize } },
        Side("raw SQLite") { _ in { try fixture.file("raw").fileSize } },
      ]
    }
  }

  private static func changedFileSize(_ size: Int) -> Case {
    Case(name: "file after inserts and an update of each", size: size, count: size, unit: .bytes) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let path = try fixture.copy("ours", to: folder)
          let magic = try await MagicData(path: path)
          let objects = try await magic.object(of: Specimen.self)
          for object in objects { object.count += 1 }
          for part in objects.parts(of: Workspace.part) { try await magic.update(contentsOf: part) }
          try await magic.close()
          return { try path.file("default.sqlite3").fileSize }
        },
        Side("raw SQLite") { folder in
          let file = try fixture.copy("raw", to: folder)
          let raw = RawSpecimens(file)
          let rows = raw.fetchAll()
          raw.database.transaction { for row in rows { raw.update(row.id, count: row.count + 1) } }
          raw.database.checkpoint()
          return { try file.fileSize }
        },
      ]
    }
  }

  /// Opens an existing database and finds one object in it.
  private static func start(_ size: Int) -> Case {
    let times = 20
    return Case(name: "open and find one", size: size, count: times) { workspace in
      let fixture = try await workspace.specimens(size)
      let row = SpecimenRow(size / 2)
      return [
        Side("MagicData") { _ in
          {
            for _ in 0..<times {
              _ = try await MagicData(path: fixture.file("ours")).object(of: Specimen.self, primary: row.id)
            }
            return times
          }
        },
        Side("raw SQLite") { _ in
          {
            for _ in 0..<times { precondition(RawSpecimens(fixture.file("raw")).find(row.id) != nil) }
            return times
          }
        },
      ]
    }
  }
}
