internal import GRDB
internal import MagicJournal

extension FetchedRows {
  /// The objects of a type in the order of their z indexes, or the one with a key. `complete`: only those that can be shown (M-6).
  init(_ type: MappedType, _ db: Database, key: ObjectKey? = nil, complete: Bool = true) throws {
    let required = complete ? type.required : []
    var select = try SQL(db, type.stored.select(type.columns, required: required, byKey: key != nil))
    if let key { try select.bind(key.value) }
    try append(&select, type)
  }

  /// The objects that a query asks for, in its order.
  init(_ type: MappedType, _ db: Database, _ query: QueryText) throws {
    var select = try query.statement(db)
    try append(&select, type)
  }

  private mutating func append(_ select: inout SQL, _ type: MappedType) throws {
    let hasPrimary = type.stored.schema.primary != nil
    while try select.step() {
      zIndexes.append(select.integer(0))
      if !hasPrimary { births.append(try Birth(bytes: select.bytes(1))) }
      for read in type.reads { values.append(select.value(read.column, read.kind)) }
    }
  }
}
