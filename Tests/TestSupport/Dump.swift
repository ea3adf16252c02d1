internal import GRDB
package import MagicData
package import MagicJournal

/// What the tables of a database show: every row of every type, named as other replicas name it.
package struct Dump: Equatable, Sendable {
  package struct Object: Hashable, Sendable {
    package let type: String
    package let key: ObjectKey

    package init(type: String, key: ObjectKey) {
      self.type = type
      self.key = key
    }
  }

  /// By `column(of:)`; absent where the column is NULL, and for a relation without elements.
  package var objects: [Object: [String: Value]] = [:]

  /// A field's name, kind and target.
  package static func column(of field: TypeSchema.Field) -> String {
    "\(field.name) \(field.kind)" + (field.target.map { " of \($0.name) by \($0.primaryKind?.rawValue ?? 0)" } ?? "")
  }

  /// The number of an object that is named by its birth stands among the columns.
  package static let number = "#"

  package init() {}

  package init(_ magic: MagicData) async throws {
    self = try await magic.store.read { db in try Dump(db) }
  }

  private init(_ db: Database) throws {
    for type in try StoredSchema(db).types {
      let table = ObjectTable(type, db)
      for (key, place) in try table.rows() {
        let object = Object(type: type.schema.name.text, key: key)
        objects[object] = [:]
        if type.schema.hasNumbers, case .birth = key {
          let number = try Dump.column(type.keyColumn, place.zIndex, type, .integer, db)
          if number != .null { objects[object]?[Dump.number] = number }
        }
        for (index, field) in type.schema.fields.enumerated() {
          let value = try Dump.value(index, place.zIndex, type, db)
          if value != .null { objects[object]?[Dump.column(of: field)] = value }
        }
      }
    }
  }

  private static func value(_ field: Int, _ owner: Int64, _ type: StoredType, _ db: Database) throws -> Value {
    let kind = type.schema.fields[field].kind
    guard let relation = type.relations[field] else { return try column(field, owner, type, kind, db) }
    let target = ObjectTable(relation.target, db)
    if kind == .reference {
      guard case .integer(let zIndex) = try column(field, owner, type, kind, db) else { return .null }
      return .reference(try Dump.key(at: zIndex, target))
    }
    let links = try ObjectTable(type, db).links(of: owner, relation)
    guard !links.isEmpty else { return .null }
    let keys = try links.map { try Dump.key(at: $0.target, target) }
    return switch kind {
    case .list: .list(keys)
    case .set: .set(of: keys.map { SetElement(key: $0) })
    default: .dictionary(of: zip(keys, links).map { DictionaryElement(name: $1.name, key: $0) })
    }
  }

  /// The name of an object, shown or hidden; one that nothing names stands out by a name that no object has.
  private static func key(at zIndex: Int64, _ target: ObjectTable) throws -> ObjectKey {
    try target.key(at: zIndex) ?? .primary(.text("z index \(zIndex), which nothing has"))
  }

  private static func column(
    _ field: Int, _ zIndex: Int64, _ type: StoredType, _ kind: Value.Kind, _ db: Database
  ) throws -> Value {
    try column(type.columns[field], zIndex, type, kind, db)
  }

  private static func column(
    _ name: String, _ zIndex: Int64, _ type: StoredType, _ kind: Value.Kind, _ db: Database
  ) throws -> Value {
    var row = try SQL(db, "SELECT \(quoted(name)) FROM \(quoted(type.table)) WHERE z_index = ?")
    try row.bind(zIndex)
    return try row.step() ? row.value(0, kind) : .null
  }

  private static func quoted(_ name: String) -> String { "\"" + name.escaping("\"", as: "\"\"") + "\"" }
}

/// What does not hold of where a database has its objects: each has one z index, and each z index one object.
package func faultyPlaces(_ magic: MagicData) async throws -> [String] {
  try await magic.store.read { db in
    var faults: [String] = []
    for type in try StoredSchema(db).types {
      let table = ObjectTable(type, db)
      var (keys, zIndexes): (Set<ObjectKey>, Set<Int64>) = ([], [])
      for (key, place) in try table.rows() + table.absent() {
        if !keys.insert(key).inserted { faults.append("\(type.table): \(key) has two places") }
        if !zIndexes.insert(place.zIndex).inserted { faults.append("\(type.table): \(place.zIndex) is two objects'") }
      }
      for (relation, column) in zip(type.relations, type.columns) {
        guard let relation, relation.kind.isLinked else { continue }
        let owners = "SELECT count(*) FROM \"\(column)\" WHERE owner NOT IN (SELECT z_index FROM \"\(type.table)\")"
        if try Int.fetchOne(db, sql: owners) != 0 { faults.append("\(column) has links of owners without a row") }
      }
    }
    return faults
  }
}
