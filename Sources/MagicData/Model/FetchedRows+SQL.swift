internal import GRDB
internal import MagicJournal

extension FetchedRows {
  /// The objects of a type in the order of their z indexes, or the one with a key. `complete`: only those that can be shown (M-6).
  init(_ type: MappedType, _ db: Database, key: ObjectKey? = nil, complete: Bool = true, limit: Int = .max) throws {
    let required = complete ? type.required : []
    var select = try SQL(db, type.stored.select(type.columns, required: required, byKey: key != nil))
    if let key { try select.bind(key.value) }
    let hasPrimary = type.stored.schema.primary != nil
    while count < limit, try select.step() {
      places.append(ObjectPlace(zIndex: select.integer(0), last: select.place(2)))
      if !hasPrimary { births.append(try Birth(bytes: select.bytes(1))) }
      let start = values.count
      for read in type.reads { values.append(select.value(read.column, read.kind)) }
      for (index, former) in type.former where values[start + index] == .null {
        for (column, kind) in former where values[start + index] == .null {
          values[start + index] = kind.readable(select.value(column, kind.kind))
        }
      }
    }
  }

  /// How many objects of a type can be shown.
  static func count(_ type: MappedType, _ db: Database) throws -> Int {
    var select = try SQL(db, type.stored.selectCount(required: type.required))
    return try select.step() ? select.int(0) : 0
  }
}
