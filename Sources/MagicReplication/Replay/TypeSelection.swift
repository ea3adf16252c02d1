internal import MagicJournal

/// Takes entries of some types out of transactions, so that each is again one that can be.
///
/// A birth is the place of an entry in its transaction (J-7). Where entries before it are left out the place is another, and so
/// is the object's name, wherever it is spoken of. Memory holds each name that is another.
struct TypeSelection {
  /// By the names' bytes (L-3).
  private let types: Set<[UInt8]>
  private var births: [Birth: Birth] = [:]

  /// - Parameter types: by name; none stands for all.
  init(_ types: Set<String>) {
    self.types = Set(types.map { Array($0.utf8) })
  }

  /// What is left of a transaction, which may be nothing. They have to rise by their stamps.
  mutating func part(of transaction: Transaction, _ schema: Schema) -> Transaction {
    guard !types.isEmpty else { return transaction }
    var part = transaction
    part.entries = []
    for (place, entry) in transaction.entries.enumerated() where has(schema.types[entry.type]) {
      let birth = Birth(transaction: transaction.name, ordinal: UInt32(place))
      if part.entries.count < place, entry.key == .birth(birth) {
        births[birth] = Birth(transaction: transaction.name, ordinal: UInt32(part.entries.count))
      }
      part.entries.append(entry)
    }
    // What holds an object may stand before it.
    if !births.isEmpty { part.entries = part.entries.map(renamed) }
    return part
  }

  /// What is left of a schema, and which types those are: of one that only relations lead to the name.
  func part(of schema: Schema) -> (schema: Schema, kept: [Int]) {
    guard !types.isEmpty else { return (schema, Array(schema.types.indices)) }
    let chosen = schema.types.map(has)
    let targets = Set(zip(schema.types, chosen).flatMap { type, isChosen in isChosen ? type.fields.compactMap(\.target) : [] })
    let kept = schema.types.indices.filter { chosen[$0] || targets.contains(schema.types[$0].identity) }
    return (
      Schema(
        types: kept.map { index in
          let type = schema.types[index]
          return chosen[index] ? type : TypeSchema(name: type.name, primary: type.primary)
        }), kept
    )
  }

  private func has(_ type: TypeSchema) -> Bool { types.contains(Array(type.name.text.utf8)) }

  private func renamed(_ entry: Entry) -> Entry {
    var entry = entry
    entry.key = renamed(entry.key)
    entry.fields = entry.fields.map { FieldValue(field: $0.field, value: $0.value.renamed(renamed)) }
    return entry
  }

  private func renamed(_ key: ObjectKey) -> ObjectKey {
    guard case .birth(let birth) = key, let other = births[birth] else { return key }
    return .birth(other)
  }
}
