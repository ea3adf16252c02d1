internal import GRDB
internal import MagicJournal

extension LocalTransaction {
  /// Removes one object. `false` if it is not known here at all; one that is gone already stays so.
  mutating func remove(_ key: ObjectKey, _ type: MappedType) throws -> Bool {
    try prepare()
    let table = ObjectTable(type.stored, db)
    guard let zIndex = try table.zIndex(of: key) else { return try table.absentZIndex(of: key) != nil }
    try remove(key, zIndex, table)
    return true
  }

  mutating func removeAll(of type: MappedType) throws {
    try prepare()
    let table = ObjectTable(type.stored, db)
    for (zIndex, key) in try table.keys() { try remove(key, zIndex, table) }
  }

  private mutating func remove(_ key: ObjectKey, _ zIndex: Int64, _ table: ObjectTable) throws {
    guard try table.remove(key, zIndex) else { return }
    try append(Entry(type: table.type.id, key: key, operation: .remove, fields: []), zIndex: zIndex)
  }
}
