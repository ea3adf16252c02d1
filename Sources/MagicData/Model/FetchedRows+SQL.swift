internal import GRDB
internal import MagicJournal

extension FetchedRows {
  /// The objects of a type in the order of their z indexes, or the one with a key. `complete`: only those that can be shown (M-6).
  init(_ type: MappedType, _ db: Database, key: ObjectKey? = nil, complete: Bool = true) throws {
    let required = complete ? type.required : []
    var select = try SQL(db, type.stored.select(type.columns, required: required, by: key == nil ? .nothing : .key))
    if let key { try select.bind(key.value) }
    try read(&select, type)
  }

  /// The objects that a query asks for, in its order.
  init(_ type: MappedType, _ db: Database, _ query: QueryText) throws {
    var select = try query.statement(db)
    try read(&select, type)
  }

  /// Adds the object at a z index, if it can be shown.
  mutating func read(_ type: MappedType, _ db: Database, at zIndex: Int64) throws {
    var select = try SQL(db, type.stored.select(type.columns, required: type.required, by: .zIndex))
    try select.bind(zIndex)
    try read(&select, type)
  }

  /// Adds those of several objects that can be shown.
  mutating func read(_ type: MappedType, _ db: Database, _ batch: ZIndexBatch) throws {
    var select = try SQL(db, type.stored.select(type.columns, required: type.required, by: .zIndexes))
    try batch.bind(to: &select)
    try read(&select, type)
  }

  private mutating func read(_ select: inout SQL, _ type: MappedType) throws {
    let hasNumbers = type.stored.schema.hasNumbers
    let birth: Int32? = type.stored.schema.hasBirths ? hasNumbers ? Int32(3 + type.columns.count) : 1 : nil
    while try select.step() {
      places.append(ObjectPlace(zIndex: select.integer(0), last: select.place(2)))
      if let birth { births.append(hasNumbers && select.isNull(birth) ? nil : try Birth(bytes: select.bytes(birth))) }
      let start = values.count
      for read in type.reads { values.append(read.map { select.value($0.column, $0.kind) } ?? .null) }
      for (index, former) in type.former where values[start + index] == .null {
        for (column, kind) in former where values[start + index] == .null {
          values[start + index] = kind.readable(select.value(column, kind.kind))
        }
      }
    }
  }
}
