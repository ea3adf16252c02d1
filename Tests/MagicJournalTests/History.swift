import MagicJournal
import TestSupport

/// Random transactions of a few replicas: values of every kind, relations, rivals of one name, removes, revivals, purges,
/// births, claims, ties.
struct History {
  private(set) var schema: Schema
  private(set) var transactions: [Transaction] = []
  private var chance: Seeded
  private var births: [ObjectKey] = []
  /// Of objects that claim numbers.
  private var claims: [ObjectKey] = []
  private let replicas: [ReplicaID]
  private let hasPurges: Bool
  /// Of purges that leave values: who leaves one twice gives up either.
  private var leaving: Set<Stamp> = []

  init(seed: UInt64, transactions count: Int, purges: Bool) throws {
    hasPurges = purges
    chance = Seeded(seed)
    replicas = [Identifier(1, seed), Identifier(2, seed), Identifier(3, seed)]
    let title = TypeSchema.Field(name: try Name("title"), kind: .text)
    let note = TypeSchema.Identity(name: try Name("Note"), primaryKind: .text)
    let event = TypeSchema.Identity(name: try Name("Event"), primaryKind: nil)
    let number = TypeSchema.Identity(name: try Name("Count"), primaryKind: .integer)
    schema = Schema(types: [
      TypeSchema(
        name: try Name("Note"), primary: .init(name: try Name("id"), kind: .text),
        fields: [
          title, .init(name: try Name("stars"), kind: .integer), .init(name: try Name("weight"), kind: .real),
          .init(name: try Name("data"), kind: .bytes), .init(name: try Name("tags"), kind: .coded),
          .init(name: try Name("title"), kind: .integer), .init(name: try Name("picture"), kind: .asset),
          .init(name: try Name("parent"), kind: .reference, target: note),
          .init(name: try Name("agenda"), kind: .list, target: event),
          .init(name: try Name("links"), kind: .set, target: note),
          .init(name: try Name("rooms"), kind: .dictionary, target: event),
          // Rivals of one name.
          .init(name: try Name("links"), kind: .set, target: number), .init(name: try Name("links"), kind: .text),
          .init(name: try Name("rooms"), kind: .dictionary, target: number),
          .init(name: try Name("parent"), kind: .reference, target: event),
        ]),
      TypeSchema(
        name: try Name("Event"), primary: nil, fields: [title, .init(name: try Name("notes"), kind: .set, target: note)]),
      TypeSchema(name: try Name("Count"), primary: .init(name: try Name("id"), kind: .integer), fields: [title]),
    ])
    var sequences: [ReplicaID: UInt64] = [:]
    var stamps: [ReplicaID: UInt64] = [:]
    for _ in 0..<count {
      let replica = chance.pick(replicas)
      let (sequence, stamp) = (sequences[replica, default: 0] + 1, stamps[replica, default: 100] + UInt64(chance.below(3) + 1))
      (sequences[replica], stamps[replica]) = (sequence, stamp)
      let name = TransactionName(stamp: Stamp(stamp), tag: UInt32(truncatingIfNeeded: chance.next()))
      // Now and then a replica writes on under an id that is not the one it began with.
      let root = chance.below(4) == 0 ? replicas[0] : replica
      transactions.append(
        Transaction(replica: replica, sequence: sequence, name: name, root: root, entries: entries(of: name)))
    }
  }

  private mutating func entries(of name: TransactionName) -> [Entry] {
    var entries: [Entry] = []
    for ordinal in 0..<UInt32(chance.below(3) + 1) {
      let entry = entry(ordinal, of: name)
      if !entries.contains(where: { $0.type == entry.type && $0.key == entry.key }) { entries.append(entry) }
    }
    // A birth's ordinal is its place; entries that fell away have moved the others.
    for (ordinal, entry) in entries.enumerated() {
      guard case .birth(let birth) = entry.key, birth.transaction == name else { continue }
      entries[ordinal].key = .birth(Birth(transaction: name, ordinal: UInt32(ordinal)))
      if entry.operation.number != nil { claims.append(entries[ordinal].key) }
      if entry.operation == .birth { births.append(entries[ordinal].key) }
    }
    return entries
  }

  private mutating func entry(_ ordinal: UInt32, of name: TransactionName) -> Entry {
    func isEarlier(_ key: ObjectKey) -> Bool {
      if case .birth(let birth) = key { birth.transaction.stamp < name.stamp } else { false }
    }
    let known = births.filter(isEarlier)
    let counted = claims.filter(isEarlier)
    let operation: Entry.Operation =
      switch chance.below(6) {
      case 0: .remove
      case 1: .revival(base: Stamp(name.stamp.bits - UInt64(chance.below(20) + 1)))
      case 2 where hasPurges && chance.below(2) == 0: .purge(base: Stamp(name.stamp.bits - UInt64(chance.below(20) + 1)))
      default: .update
      }
    switch chance.below(4) {
    case 0 where known.isEmpty || chance.below(2) == 0:
      let key = ObjectKey.birth(Birth(transaction: name, ordinal: ordinal))
      if chance.below(6) == 0 { return Entry(type: 1, key: key, operation: .remove, fields: []) }
      return Entry(type: 1, key: key, operation: .birth, fields: fields(of: 1))
    case 0:
      return Entry(type: 1, key: chance.pick(known), operation: operation, fields: fields(of: 1, operation))
    case 1 where chance.below(2) == 0:
      let number = Int64(chance.below(4) + 1)
      let key = ObjectKey.birth(Birth(transaction: name, ordinal: ordinal))
      if chance.below(6) == 0 { return Entry(type: 2, key: key, operation: .withdrawal(number: number), fields: []) }
      return Entry(type: 2, key: key, operation: .claim(number: number), fields: fields(of: 2))
    case 1 where !counted.isEmpty && chance.below(2) == 0:
      return Entry(type: 2, key: chance.pick(counted), operation: operation, fields: fields(of: 2, operation))
    case 1:
      let key = ObjectKey.primary(.integer(Int64(chance.below(3)) - 1))
      return Entry(type: 2, key: key, operation: operation, fields: fields(of: 2, operation))
    default:
      let key = ObjectKey.primary(.text(chance.pick(["a", "b", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "\u{e9}", "e\u{301}"])))
      return Entry(type: 0, key: key, operation: operation, fields: fields(of: 0, operation))
    }
  }

  private mutating func fields(of type: Int, _ operation: Entry.Operation) -> [FieldValue] {
    switch operation {
    case .remove: []
    case .purge(let base): leaving.insert(base).inserted ? fields(of: type) : []
    default: fields(of: type)
    }
  }

  private mutating func fields(of type: Int) -> [FieldValue] {
    var fields: [FieldValue] = []
    for (index, field) in schema.types[type].fields.enumerated() where chance.below(2) == 0 {
      let slots = schema.types[type].slots
      if fields.contains(where: { slots[$0.field] == slots[index] }) { continue }
      let isNull = !field.kind.hasElements && chance.below(8) == 0
      fields.append(FieldValue(field: index, value: isNull ? .null : value(field)))
    }
    return fields
  }

  private mutating func value(_ field: TypeSchema.Field) -> Value {
    switch field.kind {
    case .integer: .integer(chance.pick([0, -1, 7, .max, .min]))
    case .real: .real(chance.pick([0, -0.0, .nan, 1.5, -.infinity]))
    case .text: .text(chance.pick(["", "x", "y", "a\0b", "👩‍👩‍👧", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"]))
    case .bytes: .bytes(chance.pick([[], [0], [1, 2, 255]]))
    case .coded: .coded(Array(chance.pick(["[]", "{\"a\":1}"]).utf8))
    case .asset: .asset(String(repeating: chance.pick(["0a", "b7"]), count: 32) + chance.pick(["", ".jpeg"]))
    case .reference: .reference(key(field.target))
    case .list: .list((0..<chance.below(4)).map { _ in key(field.target) })
    case .set: .set(of: (0...chance.below(3)).map { _ in SetElement(key: key(field.target), isIn: chance.below(3) > 0) })
    case .dictionary:
      .dictionary(
        of: (0...chance.below(3)).map { _ in
          let name = chance.pick(["\"\"", "\"b\"", "\"aa\"", "7"])
          return DictionaryElement(name: Array(name.utf8), key: chance.below(3) > 0 ? key(field.target) : nil)
        })
    }
  }

  /// Of an object that is there, or is not.
  private mutating func key(_ type: TypeSchema.Identity?) -> ObjectKey {
    switch type?.primaryKind {
    case .text: .primary(.text(chance.pick(["a", "b", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "\u{e9}", "absent"])))
    case .integer: chance.pick(claims + [.primary(.integer(Int64(chance.below(4)) - 1))])
    default: chance.pick(births + [.birth(Birth(transaction: TransactionName(stamp: Stamp(7), tag: 8), ordinal: 9))])
    }
  }
}

/// The objects of a set of transactions, folded in the order given.
struct Folded {
  struct Address: Hashable {
    let type: Int
    let key: ObjectKey
  }

  private(set) var objects: [Address: ObjectState] = [:]

  mutating func fold(_ transaction: Transaction, _ schema: Schema) {
    for entry in transaction.entries {
      objects[Address(type: entry.type, key: entry.key), default: ObjectState()].fold(
        entry.operation, entry.fields, at: transaction.version, of: schema.types[entry.type])
    }
  }

  func digest(_ schema: Schema) -> Digest {
    var digest = Digest()
    for (index, type) in schema.types.enumerated() {
      var ofType = TypeDigest(type)
      for (address, state) in objects where address.type == index { ofType.add(state, address.key, to: &digest) }
      ofType.finish(&digest)
    }
    return digest
  }

  /// What claims come to.
  func numbers(_ schema: Schema) -> [Address: Int64] {
    var shown: [Address: Int64] = [:]
    for (index, type) in schema.types.enumerated() where type.hasNumbers {
      var numbers = Numbers()
      for (address, state) in objects where address.type == index { numbers.add(address.key, claim: state.claim) }
      for (birth, number) in numbers.shown { shown[Address(type: index, key: .birth(birth))] = number }
    }
    return shown
  }
}
