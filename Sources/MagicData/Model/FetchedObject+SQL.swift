internal import GRDB
internal import MagicJournal

extension FetchedObject {
  /// The objects of a type in the order of their z indexes, or the one with a key. `complete`: only those that can be shown (M-6).
  static func all(
    of type: MappedType, in store: Identifier, _ db: Database, key: ObjectKey? = nil, complete: Bool = true
  ) throws -> [FetchedObject] {
    let fields = type.fields.compactMap { $0 }
    var select = try SQL(db, type.stored.select(fields, required: complete ? type.required : [], byKey: key != nil))
    if let key { try select.bind(key.value) }
    var objects: [FetchedObject] = []
    while try select.step() {
      let keyValue = select.value(1, type.stored.keyKind)
      var column: Int32 = 1
      let values = type.layout.properties.indices.map { index in
        guard type.fields[index] != nil else { return keyValue }
        column += 1
        return select.value(column, type.layout.properties[index].kind)
      }
      objects.append(
        FetchedObject(
          record: Record(
            store: store, zIndex: select.integer(0), key: try ObjectKey(value: keyValue, of: type.stored.schema)),
          values: values))
    }
    return objects
  }
}
