import Foundation
import MagicData

/// Insert, update, remove and upsert, in bulk and one transaction each.
extension Case {
  static func objects(_ sizes: Sizes) -> [Case] {
    sizes.steps.flatMap { size in
      [insert(size, sizes), update(size, sizes), remove(size), upsert(size)]
    }
      + sizes.steps.flatMap { size in
        let few = sizes.few(of: size)
        return [
          insertEach(size, few, sizes), updateEach(size, few, sizes), removeEach(size, few), upsertEach(size, few),
        ]
      }
  }

  // MARK: In bulk

  private static func insert(_ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "insert, one transaction", size: size, count: size, target: sizes.target(1.6, at: size)) { _ in
      [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: folder.file("ours"))
          let objects = SpecimenRow.rows(0..<size).map(Specimen.init)
          return {
            for part in objects.parts(of: Workspace.part) { try await magic.update(contentsOf: part) }
            return size
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawSpecimens(folder.file("raw"))
          let rows = SpecimenRow.rows(0..<size)
          return {
            for part in rows.parts(of: Workspace.part) { raw.database.transaction { for row in part { raw.insert(row) } } }
            return size
          }
        },
        Side("raw, session records") { folder in
          let raw = RawSpecimens(folder.file("raw"))
          let session = RawSession(raw.database, table: "Specimen")
          let rows = SpecimenRow.rows(0..<size)
          return {
            for part in rows.parts(of: Workspace.part) { raw.database.transaction { for row in part { raw.insert(row) } } }
            return withExtendedLifetime(session) { size }
          }
        },
        Side("GRDB by hand") { folder in try insertion(folder, size, ManualSpecimen.init) },
        Side("GRDB Codable") { folder in try insertion(folder, size, CodableSpecimen.init) },
      ]
    }
  }

  private static func insertion<Record: GRDBSpecimen>(
    _ folder: URL, _ size: Int, _ make: (SpecimenRow) -> Record
  ) throws -> Side.Work {
    let database = try GRDBSpecimens(folder.file("grdb"))
    let records = SpecimenRow.rows(0..<size).map(make)
    return {
      try database.insert(records, inParts: Workspace.part)
      return size
    }
  }

  private static func update(_ size: Int, _ sizes: Sizes) -> Case {
    Case(name: "update one value, one transaction", size: size, count: size, target: sizes.target(1.6, at: size)) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: try fixture.copy("ours", to: folder))
          let objects = try await magic.object(of: Specimen.self)
          for object in objects { object.count += 1 }
          return {
            for part in objects.parts(of: Workspace.part) { try await magic.update(contentsOf: part) }
            return size
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawSpecimens(try fixture.copy("raw", to: folder))
          let rows = raw.fetchAll()
          return {
            for part in rows.parts(of: Workspace.part) {
              raw.database.transaction { for row in part { raw.update(row.id, count: row.count + 1) } }
            }
            return size
          }
        },
        Side("raw, session records") { folder in
          let raw = RawSpecimens(try fixture.copy("raw", to: folder))
          let session = RawSession(raw.database, table: "Specimen")
          let rows = raw.fetchAll()
          return {
            for part in rows.parts(of: Workspace.part) {
              raw.database.transaction { for row in part { raw.update(row.id, count: row.count + 1) } }
            }
            return withExtendedLifetime(session) { size }
          }
        },
        Side("GRDB by hand") { folder in try change(try fixture.copy("raw", to: folder), ManualSpecimen.self) },
        Side("GRDB Codable") { folder in try change(try fixture.copy("raw", to: folder), CodableSpecimen.self) },
      ]
    }
  }

  private static func change<Record: GRDBSpecimen>(_ file: URL, _ type: Record.Type) throws -> Side.Work {
    let database = try GRDBSpecimens(file)
    var records = try database.fetchAll(type)
    for index in records.indices { records[index].count += 1 }
    return { [records] in
      try database.update(records, inParts: Workspace.part)
      return records.count
    }
  }

  private static func remove(_ size: Int) -> Case {
    Case(name: "remove, one transaction", size: size, count: size) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: try fixture.copy("ours", to: folder))
          let objects = try await magic.object(of: Specimen.self)
          return {
            for part in objects.parts(of: Workspace.part) { try await magic.remove(contentsOf: part) }
            return size
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawSpecimens(try fixture.copy("raw", to: folder))
          let ids = raw.fetchAll().map(\.id)
          return {
            for part in ids.parts(of: Workspace.part) { raw.database.transaction { for id in part { raw.remove(id) } } }
            return size
          }
        },
      ]
    }
  }

  /// Half of them are there already, with other values.
  private static func upsert(_ size: Int) -> Case {
    Case(name: "upsert, one transaction", size: size, count: size) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: try fixture.copy("ours", to: folder))
          let objects = halfKnown(size).map(Specimen.init)
          return {
            for part in objects.parts(of: Workspace.part) { try await magic.update(contentsOf: part) }
            return size
          }
        },
        Side("raw SQLite") { folder in
          let raw = RawSpecimens(try fixture.copy("raw", to: folder))
          let rows = halfKnown(size)
          return {
            for part in rows.parts(of: Workspace.part) { raw.database.transaction { for row in part { raw.upsert(row) } } }
            return size
          }
        },
      ]
    }
  }

  private static func halfKnown(_ size: Int) -> [SpecimenRow] {
    SpecimenRow.rows(size / 2..<size / 2 + size).map { row in
      var row = row
      row.count += 1
      return row
    }
  }

  // MARK: One transaction each

  private static func insertEach(_ size: Int, _ few: Int, _ sizes: Sizes) -> Case {
    each("insert, one transaction each", size, few, sizes.target(1.6, at: size)) { magic in
      let objects = SpecimenRow.rows(size..<size + few).map(Specimen.init)
      return { for object in objects { try await magic.update(object) } }
    } raw: { raw in
      let rows = SpecimenRow.rows(size..<size + few)
      return { for row in rows { raw.database.transaction { raw.insert(row) } } }
    }
  }

  private static func updateEach(_ size: Int, _ few: Int, _ sizes: Sizes) -> Case {
    each("update one value, one transaction each", size, few, sizes.target(1.6, at: size)) { magic in
      let objects = try await magic.query(of: Specimen.self).limit(few).all()
      for object in objects { object.count += 1 }
      return { for object in objects { try await magic.update(object) } }
    } raw: { raw in
      let rows = SpecimenRow.rows(0..<few)
      return { for row in rows { raw.database.transaction { raw.update(row.id, count: row.count + 1) } } }
    }
  }

  private static func removeEach(_ size: Int, _ few: Int) -> Case {
    each("remove, one transaction each", size, few, nil) { magic in
      let objects = try await magic.query(of: Specimen.self).limit(few).all()
      return { for object in objects { try await magic.remove(object) } }
    } raw: { raw in
      let rows = SpecimenRow.rows(0..<few)
      return { for row in rows { raw.database.transaction { raw.remove(row.id) } } }
    }
  }

  private static func upsertEach(_ size: Int, _ few: Int) -> Case {
    each("upsert, one transaction each", size, few, nil) { magic in
      let objects = SpecimenRow.rows(size - few / 2..<size + few - few / 2).map(Specimen.init)
      return { for object in objects { try await magic.update(object) } }
    } raw: { raw in
      let rows = SpecimenRow.rows(size - few / 2..<size + few - few / 2)
      return { for row in rows { raw.database.transaction { raw.upsert(row) } } }
    }
  }

  private static func each(
    _ name: String, _ size: Int, _ few: Int, _ target: Target?,
    ours: @escaping (MagicData) async throws -> () async throws -> Void,
    raw: @escaping (RawSpecimens) -> () -> Void
  ) -> Case {
    Case(name: name, size: size, count: few, target: target) { workspace in
      let fixture = try await workspace.specimens(size)
      return [
        Side("MagicData, async call") { folder in
          let magic = try await MagicData(path: try fixture.copy("ours", to: folder))
          let work = try await ours(magic)
          return {
            try await work()
            return few
          }
        },
        Side("raw SQLite") { folder in
          let database = RawSpecimens(try fixture.copy("raw", to: folder))
          let work = raw(database)
          return {
            work()
            return few
          }
        },
      ]
    }
  }
}
