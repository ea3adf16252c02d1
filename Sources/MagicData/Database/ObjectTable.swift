package import GRDB
package import MagicJournal

/// The rows of one type's objects: what local writes and merges do to them.
///
/// An object that was ever named here has a z index for good: in its row, or, while it has none, in `magic_absent`.
package struct ObjectTable {
  package let type: StoredType
  let db: Database

  package init(_ type: StoredType, _ db: Database) {
    self.type = type
    self.db = db
  }

  package func zIndex(of key: ObjectKey) throws -> Int64? {
    var select = try SQL(db, type.selectZIndex)
    try select.bind(key.value)
    return try select.step() ? select.integer(0) : nil
  }

  package func absentZIndex(of key: ObjectKey) throws -> Int64? {
    var select = try SQL(db, Statements.selectAbsent)
    try select.bind(type.id)
    try select.bind(key.value)
    return try select.step() ? select.integer(0) : nil
  }

  /// Of an object that has a row; `nil` if it has none.
  package func key(of zIndex: Int64) throws -> ObjectKey? {
    var select = try SQL(db, type.selectKey)
    try select.bind(zIndex)
    guard try select.step() else { return nil }
    return try ObjectKey(value: select.value(0, type.keyKind), of: type.schema)
  }

  func hasRows() throws -> Bool {
    var select = try SQL(db, type.selectAny)
    return try select.step()
  }

  /// All objects that have a row, in the order of their z indexes.
  package func keys() throws -> [(zIndex: Int64, key: ObjectKey)] {
    var select = try SQL(db, type.selectKeys)
    var keys: [(zIndex: Int64, key: ObjectKey)] = []
    while try select.step() {
      keys.append((select.integer(0), try ObjectKey(value: select.value(1, type.keyKind), of: type.schema)))
    }
    return keys
  }

  /// The row of a new object, or of one that is back, under the z index that it had.
  @discardableResult
  package func insert(_ key: ObjectKey, _ fields: [FieldValue], zIndex: Int64?) throws -> Int64 {
    var insert = try SQL(db, type.insert(fields.map(\.field)))
    if let zIndex { try insert.bind(zIndex) } else { try insert.bindNull() }
    try insert.bind(key.value)
    for field in fields { try insert.bind(field.value) }
    try insert.run()
    guard let zIndex else { return db.lastInsertedRowID }
    var delete = try SQL(db, Statements.deleteAbsent)
    try delete.bind(type.id)
    try delete.bind(key.value)
    try delete.run()
    return zIndex
  }

  /// `false` if the object has no row at this z index.
  package func update(_ zIndex: Int64, _ key: ObjectKey, _ fields: [FieldValue]) throws -> Bool {
    guard !fields.isEmpty else { return try self.key(of: zIndex) == key }
    var update = try SQL(db, type.update(fields.map(\.field)))
    for field in fields { try update.bind(field.value) }
    try update.bind(zIndex)
    try update.bind(key.value)
    return try update.run() > 0
  }

  /// The row of an object as a fold has it, whether it had one or not.
  package func replace(_ key: ObjectKey, _ fields: [FieldValue], zIndex: Int64) throws {
    var delete = try SQL(db, type.delete)
    try delete.bind(zIndex)
    try delete.run()
    try insert(key, fields, zIndex: zIndex)
  }

  /// Takes the row away and keeps the z index. `false` if there was no row.
  package func remove(_ key: ObjectKey, _ zIndex: Int64) throws -> Bool {
    var delete = try SQL(db, type.delete)
    try delete.bind(zIndex)
    guard try delete.run() > 0 else { return false }
    try keepAbsent(key, zIndex)
    return true
  }

  /// A z index for an object that has none and gets no row: nobody else may ever have it.
  package func reserve(_ key: ObjectKey) throws -> Int64 {
    let zIndex = try insert(key, [], zIndex: nil)
    _ = try remove(key, zIndex)
    return zIndex
  }

  private func keepAbsent(_ key: ObjectKey, _ zIndex: Int64) throws {
    var insert = try SQL(db, Statements.insertAbsent)
    try insert.bind(type.id)
    try insert.bind(key.value)
    try insert.bind(zIndex)
    try insert.run()
  }
}
