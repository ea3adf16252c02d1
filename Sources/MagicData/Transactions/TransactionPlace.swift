/// Where within a transaction the body is that was given it: only the innermost may use it.
struct TransactionPlace {
  let open: OpenTransaction
  private let level: Int

  init(_ open: OpenTransaction) {
    self.open = open
    level = open.level
  }

  var scope: Scope {
    get throws {
      try check()
      return .transaction(self)
    }
  }

  /// The place in what was begun within it, and is the innermost now.
  var innermost: TransactionPlace { TransactionPlace(open) }

  /// For one access: a call has several, and what it is in may end between them.
  var checked: OpenTransaction {
    get throws {
      try check()
      return open
    }
  }

  func check() throws {
    guard level == open.level else {
      throw MagicDataError(
        .transaction,
        level < open.level
          ? "within a nested transaction, use the one that its body was given"
          : "the nested transaction is over; what its body was given is of no use afterwards")
    }
  }
}

/// Many objects, a part at a time: enough for a hop to the database not to count, few enough for little memory.
struct Parts<Objects: Sequence> {
  private var rest: Objects.Iterator
  /// How many were given out.
  private(set) var taken = 0

  private let first: Int
  private static var most: Int { 1_000 }

  /// - Parameter first: how many the first part has at most, if that is less than the others have; those behind it grow.
  init(_ objects: Objects, first: Int? = nil) {
    rest = objects.makeIterator()
    self.first = first ?? Self.most
  }

  mutating func next() -> [Objects.Element]? {
    var part: [Objects.Element] = []
    let size = min(max(taken, first), Self.most)
    while part.count < size, let object = rest.next() { part.append(object) }
    taken += part.count
    return part.isEmpty ? nil : part
  }
}
