internal import GRDB
internal import MagicJournal

extension FetchedObject {
  /// The objects of a type in the order of their z indexes, or the one with a key. `complete`: only those that can be shown (M-6).
  static func all(
    of type: MappedType, in store: Identifier, _ db: Database, key: ObjectKey? = nil, complete: Bool = true
  ) throws -> [FetchedObject] {
    let required = complete ? type.required : []
    var select = try SQL(db, type.stored.select(type.columns, required: required, byKey: key != nil))
    let (reads, keyKind, schema) = (type.reads, type.stored.keyKind, type.stored.schema)
    if let key { try select.bind(key.value) }
    var objects: [FetchedObject] = []
    while try select.step() {
      let keyValue = select.value(1, keyKind)
      var values: [Value] = []
      values.reserveCapacity(reads.count)
      for read in reads { values.append(read.column == 1 ? keyValue : select.value(read.column, read.kind)) }
      let key = try ObjectKey(value: keyValue, of: schema)
      objects.append(FetchedObject(record: Record(store: store, zIndex: select.integer(0), key: key), values: values))
    }
    return objects
  }
}
