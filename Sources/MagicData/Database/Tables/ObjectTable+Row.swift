package import MagicJournal

extension ObjectTable {
  /// What an object's row and links say, in rising order of the fields; without those that are NULL or empty.
  package func row(at zIndex: Int64) throws -> [FieldValue] {
    let stored = type.schema.fields.indices.filter { !type.schema.fields[$0].kind.isLinked }
    var row: [FieldValue] = []
    var select = try SQL(db, type.select(stored, by: .zIndex))
    try select.bind(zIndex)
    guard try select.step() else { return [] }
    for (column, field) in stored.enumerated() where !select.isNull(Int32(column) + 2) {
      let value = select.value(Int32(column) + 2, type.schema.fields[field].kind)
      row.append(FieldValue(field: field, value: try type.relations[field].map { .reference(try key(value, of: $0)) } ?? value))
    }
    for field in type.linked {
      guard let relation = type.relations[field], let value = try linked(zIndex, relation) else { continue }
      row.append(FieldValue(field: field, value: value))
    }
    return row.sorted { $0.field < $1.field }
  }

  private func linked(_ zIndex: Int64, _ relation: StoredRelation) throws -> Value? {
    let links = try links(of: zIndex, relation)
    guard !links.isEmpty else { return nil }
    let keys = try links.map { try key(.integer($0.target), of: relation) }
    return switch relation.kind {
    case .list: .list(keys)
    case .set: .set(of: keys.map { SetElement(key: $0) })
    default: .dictionary(of: zip(keys, links).map { DictionaryElement(name: $1.name, key: $0) })
    }
  }

  private func key(_ value: Value, of relation: StoredRelation) throws -> ObjectKey {
    guard case .integer(let zIndex) = value, let key = try ObjectTable(relation.target, db).key(at: zIndex) else {
      throw MagicDataError(.notADatabase, "table \(type.table) refers to an object that nothing names")
    }
    return key
  }
}
