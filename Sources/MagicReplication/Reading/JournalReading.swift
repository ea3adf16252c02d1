internal import MagicData
internal import MagicJournal

/// Transactions of several cursors, the oldest first (M-1), each once. What the cursors hold is all that is in memory.
struct JournalReading {
  private struct Head {
    let cursor: any TransactionCursor
    var transaction: Transaction
    var schema: SourceSchema

    func isBefore(_ other: Head) -> Bool {
      let (left, right) = (transaction.version, other.transaction.version)
      return left == right
        ? (transaction.replica, transaction.sequence) < (other.transaction.replica, other.transaction.sequence) : left < right
    }
  }

  /// If there is but one, which is in order by itself.
  private let sole: (any TransactionCursor)?
  /// A heap: none is before the one at half its place.
  private var heads: [Head] = []
  /// The last one of each replica, where a transaction may come twice.
  private var told: [ReplicaID: (sequence: UInt64, name: TransactionName)] = [:]
  private let comesOnce: Bool

  /// - Parameter comesOnce: whether no transaction is in two of the cursors.
  init(_ cursors: [any TransactionCursor], comesOnce: Bool) throws {
    self.comesOnce = comesOnce
    sole = cursors.count == 1 ? cursors[0] : nil
    guard sole == nil else { return }
    for cursor in cursors {
      guard let (transaction, schema) = try cursor.next() else { continue }
      heads.append(Head(cursor: cursor, transaction: transaction, schema: schema))
    }
    // Sorted is a heap.
    heads.sort { $0.isBefore($1) }
  }

  mutating func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while let (transaction, schema) = try take() {
      if try comesOnce || isNew(transaction) { return (transaction, schema) }
    }
    return nil
  }

  private mutating func take() throws -> (transaction: Transaction, schema: SourceSchema)? {
    if let sole { return try sole.next() }
    guard let head = heads.first else { return nil }
    if let (transaction, schema) = try head.cursor.next() {
      heads[0].transaction = transaction
      heads[0].schema = schema
    } else {
      let last = heads.removeLast()
      if !heads.isEmpty { heads[0] = last }
    }
    if heads.count > 1 { siftDown() }
    return (head.transaction, head.schema)
  }

  private mutating func siftDown() {
    var place = 0
    while true {
      var first = place
      for child in [2 * place + 1, 2 * place + 2] where child < heads.count && heads[child].isBefore(heads[first]) {
        first = child
      }
      guard first != place else { return }
      heads.swapAt(place, first)
      place = first
    }
  }

  /// M-8: one at an address that was told has the same name, or somebody's database was in use as two.
  private mutating func isNew(_ transaction: Transaction) throws -> Bool {
    // What is kept of one transaction may differ from source to source.
    guard transaction.sequence > 0 else { return true }
    let before = told[transaction.replica]
    if let before, transaction.sequence <= before.sequence {
      guard transaction.sequence == before.sequence, transaction.name == before.name else {
        throw MagicDataError(
          .fork,
          """
          the sources hold two different transactions \(transaction.replica):\(transaction.sequence): that replica's database was in use as two. Read \
          them one by one
          """)
      }
      return false
    }
    told[transaction.replica] = (transaction.sequence, transaction.name)
    return true
  }
}
