internal import MagicJournal

/// A type's layout and where its properties are in a database.
final class MappedType: Sendable {
  let layout: Layout
  let stored: StoredType
  /// For each property its field; `nil` for the primary value, which is in the key's column.
  let fields: [Int?]
  /// The properties that are fields, rising by field: in the order of an entry.
  let inOrder: [(index: Int, field: Int)]
  /// What a fetch reads: the fields, and for each property the column of the row and its kind.
  let columns: [Int]
  let reads: [(column: Int32, kind: Value.Kind)]
  /// The fields that an object has to have to be shown (M-6).
  let required: [Int]

  init(_ layout: Layout, _ stored: StoredType, _ learnt: [Int]) {
    self.layout = layout
    self.stored = stored
    var rest = learnt[...]
    let fields = layout.properties.map { $0.role == .primary ? nil : rest.popFirst() }
    self.fields = fields
    inOrder = fields.enumerated().compactMap { index, field in field.map { (index, $0) } }.sorted { $0.field < $1.field }
    columns = fields.compactMap { $0 }
    // Before the fields stand the z index and the key.
    var column: Int32 = 1
    reads = zip(layout.properties, fields).map { property, field in
      guard field != nil else { return (1, stored.keyKind) }
      column += 1
      return (column, property.kind)
    }
    required = zip(layout.properties, fields).compactMap { property, field in property.canBeAbsent ? nil : field }
  }

  /// The fields of some properties, rising, as an entry has them.
  func fields(of properties: PropertySet, _ object: ObjectSave) -> [FieldValue] {
    inOrder.compactMap { properties.contains($0.index) ? FieldValue(field: $0.field, value: object.values[$0.index]) : nil }
  }

  /// The type as the database knows it; `nil` if something of it is new.
  static func find(_ layout: Layout, _ db: Connection) throws -> MappedType? {
    guard let mapped = try StoredSchema(db).find(layout.schema).map({ MappedType(layout, $0, $1) }) else { return nil }
    return try mapped.missingIndexes(db).isEmpty ? mapped : nil
  }

  /// The same, with its table and the columns and indexes that are new made.
  static func make(_ layout: Layout, _ db: Connection) throws -> MappedType {
    var schema = try StoredSchema(db)
    try schema.checkTakenOver(layout, db)
    let learnt = try schema.learn(Schema(types: [layout.schema]), db)[0]
    let mapped = MappedType(layout, schema.types[learnt.id], learnt.fields)
    try mapped.makeIndexes(db)
    return mapped
  }
}
