import Foundation
import GRDB

/// The same table through GRDB, as its users write it: a record that the compiler makes codable, and one that is written by
/// hand.
protocol GRDBSpecimen: FetchableRecord, PersistableRecord, Sendable {
  init(_ row: SpecimenRow)
  var id: String { get }
  var count: Int { get set }
  static func find(_ id: String, _ db: Database) throws -> Self?
}

struct CodableSpecimen: GRDBSpecimen, Codable {
  static let databaseTableName = "Specimen"

  var zIndex: Int64?
  var id: String
  var label: String
  var weight: Double
  var count: Int

  enum CodingKeys: String, CodingKey {
    case zIndex = "z_index"
    case id, label, weight, count
  }

  init(_ row: SpecimenRow) {
    id = row.id
    label = row.label
    weight = row.weight
    count = row.count
  }

  static func find(_ id: String, _ db: Database) throws -> CodableSpecimen? {
    try filter(Column("id") == id).fetchOne(db)
  }
}

struct ManualSpecimen: GRDBSpecimen {
  static let databaseTableName = "Specimen"

  var zIndex: Int64?
  var id: String
  var label: String
  var weight: Double
  var count: Int

  init(_ row: SpecimenRow) {
    id = row.id
    label = row.label
    weight = row.weight
    count = row.count
  }

  init(row: Row) {
    zIndex = row[0]
    id = row[1]
    label = row[2]
    weight = row[3]
    count = row[4]
  }

  func encode(to container: inout PersistenceContainer) {
    container["z_index"] = zIndex
    container["id"] = id
    container["label"] = label
    container["weight"] = weight
    container["count"] = count
  }

  /// GRDB's fastest way: a statement that the connection keeps.
  static func find(_ id: String, _ db: Database) throws -> ManualSpecimen? {
    let statement = try db.cachedStatement(sql: "SELECT z_index, id, label, weight, count FROM Specimen WHERE id = ?")
    return try fetchOne(statement, arguments: [id])
  }
}

/// GRDB's pool, whose pragmas are those of MagicData's.
struct GRDBSpecimens {
  let pool: DatabasePool

  init(_ file: URL) throws {
    pool = try DatabasePool(path: file.path)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS Specimen (
            z_index INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, label TEXT, weight REAL, count INTEGER)
          """)
    }
  }

  /// In one transaction for each part.
  func insert<Record: GRDBSpecimen>(_ records: [Record], inParts size: Int) throws {
    for part in records.parts(of: size) {
      try pool.write { db in for record in part { try record.insert(db) } }
    }
  }

  func update<Record: GRDBSpecimen>(_ records: [Record], inParts size: Int) throws {
    for part in records.parts(of: size) {
      try pool.write { db in for record in part { try record.update(db, columns: ["count"]) } }
    }
  }

  func fetchAll<Record: GRDBSpecimen>(_ type: Record.Type) throws -> [Record] {
    try pool.read { db in try Record.fetchAll(db) }
  }

  func find<Record: GRDBSpecimen>(_ type: Record.Type, _ id: String) throws -> Record? {
    try pool.read { db in try Record.find(id, db) }
  }
}

extension Array {
  func parts(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
