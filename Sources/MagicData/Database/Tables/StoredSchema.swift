package import GRDB
package import MagicJournal

/// The schema as a database keeps it: types and fields by their ids, and the tables and columns that hold them (J-14, J-17).
package struct StoredSchema: Sendable {
  package private(set) var types: [StoredType] = []
  private var ids: [TypeSchema.Identity: Int] = [:]

  package var schema: Schema { Schema(types: types.map(\.schema)) }

  /// The number of fields of all types.
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
      guard types.indices.contains(type), fields.int(5) == added[type].count,
        let kind = Value.Kind(rawValue: UInt8(truncatingIfNeeded: fields.int(2)))
      else { throw StoredSchema.damaged }
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

  /// Another property's values are no primary values: a model that takes it for its primary one, and does not say under which
  /// name it goes on, is an error.
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

  /// What a model asks for that the stored objects cannot give, and that no migration declares, is an error before anything is
  /// changed: a property of another kind than its name is stored in, and one that is new and would hide them all.
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

  /// Adds what is not known yet, with its tables and columns. Returns, for each type of `schema`, its id here and its fields'
  /// ids.
  package mutating func learn(_ schema: Schema, _ db: Database) throws -> [LearntType] {
    let known = schema.types.compactMap(find)
    if known.count == schema.types.count { return known.map { LearntType(id: $0.id, fields: $1) } }
    let before = types.count
    var names = TableNames(of: types)
    // A relation's target may come after it.
    let learnt = try schema.types.map { type in try ids[type.identity] ?? add(type, &names, db) }
    var added: [(type: Int, fields: Range<Int>)] = []
    for (type, id) in zip(schema.types, learnt) {
      let fields = try add(type.fields, to: id, &names, db)
      if !fields.isEmpty { added.append((id, fields)) }
    }
    try make(types[before...], added, db)
    return zip(schema.types, learnt).map { type, id in
      LearntType(id: id, fields: type.fields.compactMap(types[id].schema.index))
    }
  }

  /// A type's id, under which it is known from now on.
  private mutating func add(_ type: TypeSchema, _ names: inout TableNames, _ db: Database) throws -> Int {
    guard types.count < Limits.types else {
      throw MagicDataError(.tooLarge, "a database has at most \(Limits.types) types")
    }
    let stored = StoredType(
      id: types.count, schema: TypeSchema(name: type.name, primary: type.primary), table: try names.take(type.name.text, db))
    var insert = try SQL(db, Statements.insertType)
    try insert.bind(stored.id)
    try insert.bind(type.name.text)
    try insert.bind(Int64(type.primary?.kind.rawValue ?? 0))
    if let primary = type.primary { try insert.bind(primary.name.text) } else { try insert.bindNull() }
    try insert.bind(stored.table)
    try insert.run()
    append(stored)
    return stored.id
  }

  /// The ids of those among the fields that are not known yet, under which they are from now on.
  private mutating func add(
    _ fields: [TypeSchema.Field], to type: Int, _ names: inout TableNames, _ db: Database
  ) throws -> Range<Int> {
    let stored = types[type]
    let new = fields.filter { stored.schema.index(of: $0) == nil }
    let first = stored.columns.count
    guard !new.isEmpty else { return first..<first }
    guard first + new.count <= Limits.fieldsOfType else {
      throw MagicDataError(.tooLarge, "type \(stored.schema.name) has at most \(Limits.fieldsOfType) fields")
    }
    guard fieldCount + new.count <= Limits.fields else {
      throw MagicDataError(.tooLarge, "the types of a database have at most \(Limits.fields) fields together")
    }
    var columns = stored.columnNames
    var added: [StoredType.Field] = []
    for field in new {
      let target = try field.target.map { target in
        guard let id = ids[target] else { throw StoredSchema.damaged }
        return id
      }
      let column =
        try field.kind.isLinked ? names.take("\(stored.schema.name).\(field.name)", db) : columns.take(field.name.text)
      var insert = try SQL(db, Statements.insertField)
      try insert.bind(type)
      try insert.bind(first + added.count)
      try insert.bind(field.name.text)
      try insert.bind(Int64(field.kind.rawValue))
      try insert.bind(column)
      if let target { try insert.bind(target) } else { try insert.bindNull() }
      try insert.run()
      added.append((field, column, target.map { types[$0].withoutFields }))
    }
    types[type] = stored.appending(added)
    return first..<first + new.count
  }

  /// Makes tables, columns and what belongs to them.
  ///
  /// With each statement that changes a table SQLite reads the whole schema again: a new one is made with all its columns at
  /// once. To look for a name it reads all of them.
  private func make(_ new: ArraySlice<StoredType>, _ added: [(type: Int, fields: Range<Int>)], _ db: Database) throws {
    for type in new { try db.execute(sql: type.createTable()) }
    for (type, fields) in added {
      for field in fields {
        if let links = types[type].createLinks(field) {
          try db.execute(sql: links)
        } else if type < new.startIndex {
          try db.execute(sql: types[type].createColumn(field))
        }
      }
    }
    // Their names give way to those of tables.
    var names = try TakenNames(String.fetchAll(db, sql: "SELECT name FROM sqlite_master"))
    for type in new { if let index = type.createIndex({ names.take($0) }) { try db.execute(sql: index) } }
    for (type, fields) in added {
      for field in fields {
        for sql in types[type].createIndexes(field, { names.take($0) }) { try db.execute(sql: sql) }
      }
    }
  }

  private mutating func append(_ type: StoredType) {
    ids[type.schema.identity] = type.id
    types.append(type)
  }

  private static let damaged = MagicDataError(.notADatabase, "the database is damaged: its schema does not fit together")
}

extension TypeSchema.Field {
  /// For people.
  fileprivate var description: String { "\(kind)" + (target.map { " of \($0.name.text)" } ?? "") }
}

extension Value.Kind {
  /// Whether a migration can declare how values of this kind become others.
  fileprivate var isConvertible: Bool { !isRelation && self != .asset }
}
