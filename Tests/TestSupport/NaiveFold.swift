package import MagicData
package import MagicJournal

extension Birth {
  /// What it shows after so many numbers of its own that others have.
  package func number(attempt: Int) -> Int64 {
    let hash = SHA256.hash(bytes + Array(repeating: 0, count: attempt))
    return 1 << 61 + hash.prefix(8).reduce(0) { $0 << 8 | Int64($1) } & (1 << 61 - 1)
  }
}

/// The state that a set of transactions stands for, worked out from the definition: all writes side by side, the highest taken.
package struct NaiveFold: Sendable {
  private typealias Version = (stamp: UInt64, root: String)

  /// One value, or one element of a set or dictionary.
  private struct Written: Sendable {
    let version: Version
    let field: TypeSchema.Field
    let value: Value

    /// What a set's element is, or where a dictionary's is; nothing for a value that is one as a whole.
    var element: [UInt8] {
      switch value {
      case .set(let elements): elements[0].key.encoded
      case .dictionary(let elements): elements[0].name
      default: []
      }
    }

    var isIn: Bool {
      switch value {
      case .set(let elements): elements[0].isIn
      case .dictionary(let elements): elements[0].key != nil
      default: true
      }
    }

    /// M-1.
    func isBelow(_ other: Written) -> Bool {
      if version != other.version { return version < other.version }
      return value.encoded.lexicographicallyPrecedes(other.value.encoded)
    }

    /// M-14: of fields of one name.
    func losesTo(_ other: Written) -> Bool {
      if version != other.version { return version < other.version }
      let (mine, others) = (value.encoded, other.value.encoded)
      if mine[0] != others[0] { return mine[0] < others[0] }
      if !field.kind.hasElements, mine != others { return mine.lexicographicallyPrecedes(others) }
      let targets = [field.target, other.field.target].map { target in
        (Array((target?.name.text ?? "").utf8), target?.primaryKind?.rawValue ?? 0)
      }
      return targets[0].0 == targets[1].0
        ? targets[0].1 < targets[1].1 : targets[0].0.lexicographicallyPrecedes(targets[1].0)
    }
  }

  private var updates: [Dump.Object: [Version]] = [:]
  private var removes: [Dump.Object: [Version]] = [:]
  private var bases: [Dump.Object: [UInt64]] = [:]
  private var writes: [Dump.Object: [Name: [Written]]] = [:]
  private var claims: [Dump.Object: Int64] = [:]

  package init() {}

  /// Of everything in a database's journal.
  package init(journalOf magic: MagicData) async throws {
    self = try await magic.store.read { db in
      let journal = try JournalReader(db)
      let schema = journal.schema.schema
      var fold = NaiveFold()
      try journal.forEachTransaction { fold.add($0, schema) }
      return fold
    }
  }

  package mutating func add(_ transaction: Transaction, _ schema: Schema) {
    let version = (stamp: transaction.name.stamp.bits, root: transaction.root.description)
    for entry in transaction.entries {
      let type = schema.types[entry.type]
      let object = Dump.Object(type: type.name.text, key: entry.key)
      if let number = entry.operation.number { claims[object] = max(claims[object] ?? number, number) }
      if entry.operation.isRemove {
        removes[object, default: []].append(version)
        continue
      }
      switch entry.operation {
      case .revival(let base): bases[object, default: []].append(base.bits)
      case .purge(let base):
        bases[object, default: []].append(base.bits)
        removes[object, default: []].append((base.bits + 1, ReplicaID(0, 0).description))
      default: break
      }
      var written = version
      if case .purge(let base) = entry.operation {
        written.stamp = base.bits + 1
      } else {
        updates[object, default: []].append(version)
      }
      for value in entry.fields {
        let field = type.fields[value.field]
        writes[object, default: [:]][field.name, default: []] += NaiveFold.parts(of: value.value).map {
          Written(version: written, field: field, value: $0)
        }
      }
    }
  }

  private static func parts(of value: Value) -> [Value] {
    switch value {
    case .set(let elements): elements.map { .set([$0]) }
    case .dictionary(let elements): elements.map { .dictionary([$0]) }
    default: [value]
    }
  }

  package var dump: Dump {
    var dump = Dump()
    let numbers = numbers
    for (object, versions) in updates {
      guard let last = versions.max(by: { $0 < $1 }) else { continue }
      let isRemoved = removes[object, default: []].contains { $0 >= last }
      guard !isRemoved else { continue }
      let base = bases[object]?.max()
      dump.objects[object] = [:]
      if let number = numbers[object] { dump.objects[object]?[Dump.number] = .integer(number) }
      for written in (writes[object] ?? [:]).values {
        let valid = written.filter { written in base.map { written.version.stamp > $0 } ?? true }
        guard let shown = valid.max(by: { $0.losesTo($1) }) else { continue }
        dump.objects[object]?[Dump.column(of: shown.field)] = NaiveFold.value(
          of: shown.field, valid.filter { $0.field == shown.field })
      }
    }
    return dump
  }

  /// M-16 to M-18.
  private var numbers: [Dump.Object: Int64] {
    let all = Array(updates.keys) + Array(removes.keys) + Array(bases.keys)
    var taken = Set(
      all.filter { if case .primary(.integer) = $0.key { true } else { false } })
    var numbers: [Dump.Object: Int64] = [:]
    let inOrder = claims.keys.sorted { $0.key.encoded.lexicographicallyPrecedes($1.key.encoded) }
    func take(_ number: Int64, _ object: Dump.Object) -> Bool {
      guard taken.insert(Dump.Object(type: object.type, key: .primary(.integer(number)))).inserted else { return false }
      numbers[object] = number
      return true
    }
    let lost = inOrder.filter { object in !(claims[object].map { take($0, object) } ?? true) }
    for object in lost {
      guard case .birth(let birth) = object.key else { continue }
      var attempt = 0
      while !take(birth.number(attempt: attempt), object) { attempt += 1 }
    }
    return numbers
  }

  private static func value(of field: TypeSchema.Field, _ written: [Written]) -> Value? {
    let highest = Dictionary(grouping: written, by: \.element).values.compactMap { written in
      written.max { $0.isBelow($1) }
    }
    let values = highest.filter(\.isIn).map(\.value)
    let value = values.dropFirst().reduce(values.first) { $0?.overlaid(by: $1) }
    return value == .null || value == .list([]) ? nil : value
  }
}
