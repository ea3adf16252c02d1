package import GRDB
package import MagicJournal

/// The schema as a database keeps it: types and fields by their ids, and the tables and columns that hold them (J-14, J-17).
package struct StoredSchema: Sendable {
  package private(set) var types: [StoredType] = []
  private var ids: [TypeSchema.Identity: Int] = [:]

  package var schema: Schema { Schema(types: types.map(\.schema)) }

  /// Of all types.
  var fieldCount: Int { types.reduce(0) { $0 + $1.columns.count } }

  package init(_ db: Database) throws {
    var rows = try SQL(db, Statements.selectTypes)
    while try rows.step() {
      let name = try Name(rows.text(1))
      let kind = Value.Kind(rawValue: UInt8(truncatingIfNeeded: rows.int(2)))
      let primary = try kind.map { TypeSchema.Field(name: try Name(rows.text(3)), kind: $0) }
      guard rows.int(0) == types.count else { throw StoredSchema.damaged }
      append(StoredType(id: types.count, schema: TypeSchema(name: name, primary: primary), table: rows.text(4)))
    }
    var added: [[StoredType.Field]] = Array(repeating: [], count: types.count)
    var fields = try SQL(db, Statements.selectFields)
    while try fields.step() {
      let type = fields.int(0)
      guard types.indices.contains(type), let kind = Value.Kind(rawValue: UInt8(truncatingIfNeeded: fields.int(2))) else {
        throw StoredSchema.damaged
      }
      let target = fields.isNull(4) ? nil : fields.int(4)
      guard target.map({ types.indices.contains($0) }) ?? true, kind.isRelation == (target != nil) else {
        throw StoredSchema.damaged
      }
      added[type].append(
        (
          .init(name: try Name(fields.text(1)), kind: kind, target: target.map { types[$0].schema.identity }), fields.text(3),
          target.map { types[$0] }
        ))
    }
    types = zip(types, added).map { $1.isEmpty ? $0 : $0.appending($1) }
  }

  func type(_ type: TypeSchema.Identity) -> StoredType? { ids[type].map { types[$0] } }

  func has(_ type: TypeSchema.Identity) -> Bool { ids[type] != nil }

  /// A type that is known with all its fields, and their ids.
  func find(_ type: TypeSchema) -> (StoredType, [Int])? {
    guard let stored = ids[type.identity].map({ types[$0] }) else { return nil }
    let fields = type.fields.compactMap { stored.schema.index(of: $0) }
    return fields.count == type.fields.count ? (stored, fields) : nil
  }

  /// Another property's values are no primary values: a model that takes it for its primary one, and does not say under which name it goes on, is an error.
  func checkPrimary(_ layout: Layout, _ db: Database) throws {
    guard let stored = ids[layout.schema.identity].map({ types[$0] }), let primary = layout.schema.primary?.name,
      let former = stored.schema.primary?.name, former != primary,
      stored.schema.fields.contains(where: { $0.name == primary }),
      !layout.properties.contains(where: { $0.role != .primary && $0.field.name == primary }),
      try ObjectTable(stored, db).hasRows()
    else { return }
    throw MagicDataError(
      .model,
      """
      \(layout.name).\(primary) is declared as the primary value, and table \(stored.table) has it as another property's column beside the primary values in \
      \(former); objects keep what names them: make new ones of another type, or name the primary value otherwise
      """)
  }

  /// What a model asks for that the stored objects cannot give, and that no migration declares, is an error before anything is changed: a
  /// property of another kind than its name is stored in, and one that is new and would hide them all.
  func checkTakenOver(_ layout: Layout, _ db: Database) throws {
    guard let stored = ids[layout.schema.identity].map({ types[$0] }) else { return }
    for property in layout.properties where property.role != .primary && stored.schema.index(of: property.field) == nil {
      let rivals = stored.schema.fields.indices.filter { stored.schema.fields[$0].name == property.field.name }
      let undeclared = rivals.first { id in !property.formerKinds.contains { $0.kind == stored.schema.fields[id].kind } }
      let isLacking = rivals.isEmpty && !property.canBeAbsent
      guard undeclared != nil || isLacking, try ObjectTable(stored, db).hasRows() else { continue }
      throw MagicDataError(
        .model,
        undeclared.map {
          """
          \(layout.name).\(property.name) is stored as \(stored.schema.fields[$0].description) (column \(stored.columns[$0]) of table \
          \(stored.table)) and declared as \(property.field.description); \
          \(stored.schema.fields[$0].kind.isConvertible && property.kind.isConvertible ? "declare in createMigrations() how it is converted, or " : "")give \
          the property another name
          """
        }
          ?? """
          \(layout.name).\(property.name) is new and required, and the objects in table \(stored.table) have no column \
          \(property.field.name) for it; give it a default, make it an @OptionMagicValue, or declare in createMigrations() what it was named \
          before or is filled with
          """)
    }
  }

  /// Adds what is not known yet, with its tables and columns. Returns, for each type of `schema`, its id here and its fields' ids.
  package mutating func learn(_ schema: Schema, _ db: Database) throws -> [LearntType] {
    // A relation's target may come after it.
    let learnt = try schema.types.map { type in try ids[type.identity] ?? add(type, db) }
    return try zip(schema.types, learnt).map { type, id in
      LearntType(
        id: id, fields: try type.fields.map { field in try types[id].schema.index(of: field) ?? add(field, to: id, db) })
    }
  }

  private mutating func add(_ type: TypeSchema, _ db: Database) throws -> Int {
    guard types.count < Limits.types else {
      throw MagicDataError(.tooLarge, "a database has at most \(Limits.types) types")
    }
    let stored = StoredType(
      id: types.count, schema: TypeSchema(name: type.name, primary: type.primary), table: try freeTable(for: type.name.text, db)
    )
    var insert = try SQL(db, Statements.insertType)
    try insert.bind(stored.id)
    try insert.bind(type.name.text)
    try insert.bind(Int64(type.primary?.kind.rawValue ?? 0))
    if let primary = type.primary { try insert.bind(primary.name.text) } else { try insert.bindNull() }
    try insert.bind(stored.table)
    try insert.run()
    try db.execute(sql: stored.createTable(db.freeName))
    append(stored)
    return stored.id
  }

  private mutating func add(_ field: TypeSchema.Field, to type: Int, _ db: Database) throws -> Int {
    let id = types[type].schema.fields.count
    guard id < Limits.fieldsOfType else {
      throw MagicDataError(.tooLarge, "type \(types[type].schema.name) has at most \(Limits.fieldsOfType) fields")
    }
    let target = try field.target.map { target in
      guard let id = ids[target] else { throw StoredSchema.damaged }
      return id
    }
    let column =
      field.kind.isLinked
      ? try freeTable(for: "\(types[type].schema.name).\(field.name)", db) : types[type].freeColumn(for: field.name)
    var insert = try SQL(db, Statements.insertField)
    try insert.bind(type)
    try insert.bind(id)
    try insert.bind(field.name.text)
    try insert.bind(Int64(field.kind.rawValue))
    try insert.bind(column)
    if let target { try insert.bind(target) } else { try insert.bindNull() }
    try insert.run()
    types[type] = types[type].appending([(field, column, target.map { types[$0].withoutFields })])
    for sql in try types[type].createField(id, db.freeName) { try db.execute(sql: sql) }
    return id
  }

  private mutating func append(_ type: StoredType) {
    ids[type.schema.identity] = type.id
    types.append(type)
  }

  private func freeTable(for name: String, _ db: Database) throws -> String {
    // By bytes, as SQLite looks: a mark that combines with the `_` makes no other name of it.
    let reserved = ["sqlite_", "magic_"].contains { name.lowercased().utf8.starts(with: $0.utf8) }
    // SQLite tells names apart by their bytes, and whoever keeps prepared statements by their text tells these apart as Swift does, which has `é` and `e` with an accent for the same.
    func isTaken(_ name: String) -> Bool {
      types.contains { type in
        type.table == name || type.relations.contains { $0.map { $0.kind.isLinked && $0.unquoted == name } ?? false }
      }
    }
    return try StoredType.free(reserved ? "~" + name : name) { name in try isTaken(name) || db.has(name) }
  }

  private static let damaged = MagicDataError(.notADatabase, "the database is damaged: its schema does not fit together")
}

extension Connection {
  /// `name`, or one like it: what is in a database already, a table of the app's or an index, keeps its name.
  func freeName(_ name: String) throws -> String { try StoredType.free(name, isTaken: has) }

  /// Whether there is a table, an index or something else of a name.
  func has(_ name: String) throws -> Bool {
    var select = try SQL(self, Statements.has)
    try select.bind(name)
    return try select.step()
  }
}

extension TypeSchema.Field {
  /// For people.
  fileprivate var description: String { "\(kind)" + (target.map { " of \($0.name.text)" } ?? "") }
}

extension Value.Kind {
  /// Whether a migration can declare how values of this kind become others.
  fileprivate var isConvertible: Bool { !isRelation && self != .asset }
}
