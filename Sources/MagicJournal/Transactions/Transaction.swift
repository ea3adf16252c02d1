/// One atomic change of a data set, as written, sent and applied: whole (J-2, J-4).
package struct Transaction: Sendable, Equatable {
  package var replica: ReplicaID
  package var sequence: UInt64
  package var name: TransactionName
  /// The replica id under which it was first written. It never changes.
  package var root: ReplicaID
  package var entries: [Entry]

  package init(replica: ReplicaID, sequence: UInt64, name: TransactionName, root: ReplicaID, entries: [Entry]) {
    self.replica = replica
    self.sequence = sequence
    self.name = name
    self.root = root
    self.entries = entries
  }

  package var version: Version { Version(stamp: name.stamp, root: root) }

  /// What is limited (J-20, S-8).
  package var size: Int { entries.reduce(0) { $0 + $1.size } }
}

/// Some of a transaction's entries, one behind the other: of a large one memory need not hold all.
package struct TransactionPart: Sendable {
  /// With these entries alone.
  package let transaction: Transaction
  /// How many come before them, and how many all are.
  package let (before, count): (Int, Int)

  package var isFirst: Bool { before == 0 }
  package var isLast: Bool { before + transaction.entries.count == count }

  package init(_ transaction: Transaction, before: Int, count: Int) {
    self.transaction = transaction
    (self.before, self.count) = (before, count)
  }

  /// All of it.
  package init(_ transaction: Transaction) {
    self.init(transaction, before: 0, count: transaction.entries.count)
  }
}

/// What a transaction did to one object. Types and fields are indexes into a schema that stands beside it.
package struct Entry: Sendable, Equatable {
  package var type: Int
  package var key: ObjectKey
  package var operation: Entry.Operation
  /// Rising by field; empty where the operation has none.
  package var fields: [FieldValue]

  package init(type: Int, key: ObjectKey, operation: Entry.Operation, fields: [FieldValue]) {
    self.type = type
    self.key = key
    self.operation = operation
    self.fields = fields
  }
}

extension Entry {
  /// Whether the stamps in it fit a place in a transaction (J-7, J-9, J-11).
  package func isPossible(at ordinal: Int, of name: TransactionName) -> Bool {
    if let base = operation.base, base >= name.stamp { return false }
    guard case .birth(let birth) = key else { return !operation.isFirst }
    let isOwn = birth == Birth(transaction: name, ordinal: UInt32(ordinal))
    switch operation {
    case .birth, .claim, .withdrawal: return isOwn
    case .remove: return isOwn || birth.transaction.stamp < name.stamp
    default: return birth.transaction.stamp < name.stamp
    }
  }

  /// Whether it can be what is kept of a transaction, where an entry's place is lost (K-11).
  package func isPossible(keptOf name: TransactionName) -> Bool {
    guard operation.isFirst else { return isPossible(at: 0, of: name) || isOwnRemove(of: name) }
    guard case .birth(let birth) = key else { return false }
    return birth.transaction == name
  }

  private func isOwnRemove(of name: TransactionName) -> Bool {
    guard operation == .remove, case .birth(let birth) = key else { return false }
    return birth.transaction == name
  }

  /// What the entry counts towards a transaction's limit (J-20).
  package var size: Int {
    let identity = if case .primary(let value) = key { value.encodedLength } else { 16 }
    return fields.reduce(16 + identity) { $0 + 4 + $1.value.encodedLength + 16 * $1.value.elementCount }
  }
}

package struct FieldValue: Sendable, Equatable {
  package var field: Int
  package var value: Value

  package init(field: Int, value: Value) {
    self.field = field
    self.value = value
  }
}

extension Entry {
  package enum Operation: Sendable, Equatable, Hashable {
    case remove
    case update
    /// An update of an object that was removed; what is stamped at or below `base` is void (L-6).
    case revival(base: Stamp)
    /// The first write of an object that has no primary value.
    case birth
    /// The first write of an object that claims a number (J-26).
    case claim(number: Int64)
    /// What is left of a claim whose object was removed by the same transaction.
    case withdrawal(number: Int64)
    /// Voids what a removed object was given at or below `base`. The entry's own values are as if they were stamped just above
    /// it (K-23, K-24).
    case purge(base: Stamp)

    /// What stands for it in every format (Protocol/journal.md).
    package enum Code: UInt8, CaseIterable, Sendable {
      case remove, update, revival, birth, claim, withdrawal, purge

      /// Whether an object is gone by it. Such an entry has no fields.
      package var isRemove: Bool { self == .remove || self == .withdrawal }
      /// Whether an object is there by it (M-3).
      package var isLife: Bool { !isRemove && self != .purge }
      /// Whether it makes void what is stamped at or below a base (M-4).
      package var hasBase: Bool { self == .revival || self == .purge }
      /// Whether its object is named by the entry's own place.
      package var isFirst: Bool { self == .birth || isClaim }
      /// Whether it claims a number.
      package var isClaim: Bool { self == .claim || self == .withdrawal }
    }

    package var code: Code {
      switch self {
      case .remove: .remove
      case .update: .update
      case .revival: .revival
      case .birth: .birth
      case .claim: .claim
      case .withdrawal: .withdrawal
      case .purge: .purge
      }
    }

    package var isRemove: Bool { code.isRemove }
    package var isLife: Bool { code.isLife }
    package var isFirst: Bool { code.isFirst }

    /// The number that is claimed.
    package var number: Int64? {
      switch self {
      case .claim(let number), .withdrawal(let number): number
      case .remove, .update, .revival, .birth, .purge: nil
      }
    }

    /// Whether objects of a type have such entries (S-5, S-10).
    package func fits(_ type: TypeSchema) -> Bool {
      switch self {
      case .remove, .update, .revival, .purge: true
      case .birth: type.primary == nil
      case .claim(let number), .withdrawal(let number): type.hasNumbers && Numbers.claimable ~= number
      }
    }

    /// The remove that it speaks of, whether that has arrived or not (M-3): a purge is of an object that was removed.
    package var knownRemove: Version? {
      guard case .purge(let base) = self else { return nil }
      return Version(stamp: base.next, root: .lowest)
    }

    /// The version of the values, where the entry has `version` (M-23).
    package func version(ofValuesAt version: Version) -> Version {
      guard case .purge(let base) = self else { return version }
      return Version(stamp: base.next, root: version.root)
    }

    package var base: Stamp? {
      switch self {
      case .revival(let base), .purge(let base): base
      case .remove, .update, .birth, .claim, .withdrawal: nil
      }
    }
  }
}

extension Stamp {
  /// The one above. A damaged base may be higher than all stamps.
  fileprivate var next: Stamp { Stamp(bits &+ 1) }
}
