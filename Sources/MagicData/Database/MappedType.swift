internal import MagicJournal

/// A type's layout and where its properties are in a database.
struct MappedType: Sendable {
  let layout: Layout
  let stored: StoredType
  /// For each property its field; `nil` for the primary value, which is in the key's column.
  let fields: [Int?]

  init(_ layout: Layout, _ stored: StoredType, _ learnt: [Int]) {
    self.layout = layout
    self.stored = stored
    var rest = learnt[...]
    fields = layout.properties.map { $0.role == .primary ? nil : rest.popFirst() }
  }

  /// The type as the database knows it; `nil` if something of it is new.
  static func find(_ layout: Layout, _ db: Connection) throws -> MappedType? {
    try StoredSchema(db).find(layout.schema).map { MappedType(layout, $0, $1) }
  }

  /// The same, with its table and the columns that are new made.
  static func make(_ layout: Layout, _ db: Connection) throws -> MappedType {
    var schema = try StoredSchema(db)
    try schema.checkTakenOver(layout, db)
    let learnt = try schema.learn(Schema(types: [layout.schema]), db)[0]
    return MappedType(layout, schema.types[learnt.id], learnt.fields)
  }

  /// The fields that an object has to have to be shown (M-6).
  var required: [Int] {
    zip(layout.properties, fields).compactMap { property, field in property.canBeAbsent ? nil : field }
  }
}
