package import MagicJournal

/// A type, the table that holds its objects, and the SQL for that table.
package struct StoredType: Sendable {
  package let id: Int
  package private(set) var schema: TypeSchema
  package let table: String
  /// The column that names an object: its primary value, or its birth.
  package let keyColumn: String
  /// By field id.
  package private(set) var columns: [String] = []

  private var quotedColumns: [String] = []
  private var texts = StatementTexts()
  private let quotedTable: String
  private let quotedKey: String

  init(id: Int, schema: TypeSchema, table: String) {
    self.id = id
    self.schema = schema
    self.table = table
    keyColumn =
      schema.primary.map { StoredType.reserved.contains($0.name.text.lowercased()) ? "\($0.name)~2" : $0.name.text }
      ?? "magic_birth"
    quotedTable = Statements.quoted(table)
    quotedKey = Statements.quoted(keyColumn)
  }

  mutating func append(_ field: TypeSchema.Field, column: String) {
    schema.append(field)
    columns.append(column)
    quotedColumns.append(Statements.quoted(column))
    // A field more may have rivals among those that a text names.
    texts = StatementTexts()
  }

  /// The kind of the column that names an object.
  package var keyKind: Value.Kind { schema.primary?.kind ?? .bytes }

  // MARK: Names

  private static let reserved: Set<String> = ["z_index", "magic_birth"]

  func freeColumn(for name: Name) -> String {
    let taken = StoredType.reserved.union(([keyColumn] + columns).map { $0.lowercased() })
    return StoredType.free(name.text) { taken.contains($0.lowercased()) }
  }

  /// `name`, or `name~2`, `name~3` and so on.
  static func free(_ name: String, isTaken: (String) throws -> Bool) rethrows -> String {
    guard try isTaken(name) else { return name }
    var number = 2
    while try isTaken("\(name)~\(number)") { number += 1 }
    return "\(name)~\(number)"
  }

  // MARK: SQL

  var createTable: String {
    let key = schema.primary == nil ? "BLOB" : keyKind.columnType
    return """
      CREATE TABLE \(quotedTable) (
        z_index INTEGER PRIMARY KEY AUTOINCREMENT, \(quotedKey) \(key) NOT NULL UNIQUE)
      """
  }

  func addColumn(_ field: Int) -> String {
    "ALTER TABLE \(quotedTable) ADD COLUMN \(quotedColumns[field]) \(schema.fields[field].kind.columnType)"
  }

  var selectZIndex: String { texts[.zIndex] { "SELECT z_index FROM \(quotedTable) WHERE \(quotedKey) = ?" } }
  var selectKey: String { texts[.key] { "SELECT \(quotedKey) FROM \(quotedTable) WHERE z_index = ?" } }
  var selectKeys: String { "SELECT z_index, \(quotedKey) FROM \(quotedTable) ORDER BY z_index" }
  var count: String { "SELECT count(*) FROM \(quotedTable)" }
  var selectAny: String { "SELECT 1 FROM \(quotedTable) LIMIT 1" }
  var delete: String { texts[.delete] { "DELETE FROM \(quotedTable) WHERE z_index = ?" } }

  func insert(_ fields: [Int]) -> String {
    texts[.insert(fields)] {
      let columns = ["z_index", quotedKey] + fields.map { quotedColumns[$0] }
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      return "INSERT INTO \(quotedTable) (\(columns.joined(separator: ", "))) VALUES (\(marks))"
    }
  }

  /// Sets `fields` and empties their rivals of the same name (J-16).
  func update(_ fields: [Int]) -> String {
    texts[.update(fields)] {
      var sets = fields.map { quotedColumns[$0] + " = ?" }
      if schema.hasRivals {
        let slots = Set(fields.map { schema.slots[$0] })
        let rivals = schema.slots.indices.filter { slots.contains(schema.slots[$0]) && !fields.contains($0) }
        sets += rivals.map { quotedColumns[$0] + " = NULL" }
      }
      return "UPDATE \(quotedTable) SET \(sets.joined(separator: ", ")) WHERE z_index = ? AND \(quotedKey) = ?"
    }
  }

  /// z index, key and `fields`, of the objects that have all of `required`.
  func select(_ fields: [Int], required: [Int] = [], byKey: Bool = false) -> String {
    texts[.select(fields, required: required, byKey: byKey)] {
      let columns = ["z_index", quotedKey] + fields.map { quotedColumns[$0] }
      let conditions = required.map { quotedColumns[$0] + " IS NOT NULL" } + (byKey ? ["\(quotedKey) = ?"] : [])
      return "SELECT \(columns.joined(separator: ", ")) FROM \(quotedTable)"
        + (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")) + " ORDER BY z_index"
    }
  }
}

/// The SQL of a type's statements, put together once: to do it for each row would cost more than the row.
private final class StatementTexts: Sendable {
  enum Use: Hashable {
    case zIndex
    case key
    case delete
    case insert([Int])
    case update([Int])
    case select([Int], required: [Int], byKey: Bool)
  }

  private let texts = Locked<[Use: String]>([:])

  subscript(_ use: Use, _ make: () -> String) -> String {
    if let text = texts.withLock({ $0[use] }) { return text }
    let text = make()
    texts.withLock { $0[use] = text }
    return text
  }
}

extension Value.Kind {
  fileprivate var columnType: String {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .bytes, .coded: "BLOB"
    }
  }
}
