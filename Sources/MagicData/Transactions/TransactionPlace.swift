/// How deep within a transaction the body is that was given it: only the innermost may use it.
struct TransactionPlace {
  let open: OpenTransaction
  private let depth: Int

  init(_ open: OpenTransaction) {
    self.open = open
    depth = open.depth
  }

  var scope: Scope {
    get throws {
      guard depth == open.depth else {
        throw MagicDataError(
          .transaction,
          depth < open.depth
            ? "within a nested transaction, use the one that its body was given"
            : "the nested transaction is over; what its body was given is of no use afterwards")
      }
      return .transaction(open)
    }
  }
}

/// Many objects, a part at a time: enough for a hop to the database not to count, few enough for little memory.
struct Parts<Objects: Sequence> {
  private var rest: Objects.Iterator
  /// How many were given out.
  private(set) var taken = 0

  private static var size: Int { 1_000 }

  init(_ objects: Objects) {
    rest = objects.makeIterator()
  }

  mutating func next() -> [Objects.Element]? {
    var part: [Objects.Element] = []
    while part.count < Self.size, let object = rest.next() { part.append(object) }
    taken += part.count
    return part.isEmpty ? nil : part
  }
}
