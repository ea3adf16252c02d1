internal import GRDB
internal import MagicJournal

extension LocalTransaction {
  /// Removes one object. `false` if it is not known here at all; one that is gone already stays so.
  mutating func remove(_ key: ObjectKey, _ type: MappedType) throws -> Bool {
    let table = ObjectTable(try current(type).stored, db)
    let key = try table.named(by: key)
    guard let place = try table.place(of: key) else { return try table.absentPlace(of: key) != nil }
    try remove(key, place, table)
    return true
  }

  mutating func removeAll(of type: MappedType) throws {
    let table = ObjectTable(try current(type).stored, db)
    for (key, place) in try table.rows() { try remove(key, place, table) }
  }

  mutating func remove(_ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable) throws {
    willRemove(table.type)
    let entry = Entry(type: table.type.id, key: key, operation: .remove, fields: [])
    if hasEntry(place.last) {
      try table.remove(key, place)
      return try join(entry, at: place.last)
    }
    try table.remove(key, ObjectPlace(zIndex: place.zIndex, last: next))
    try append(entry, zIndex: place.zIndex, previous: place.last)
  }
}
