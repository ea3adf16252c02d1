package import MagicJournal

/// What lies at and below the floor (K-1, K-2).
extension JournalReader {
  /// Rows of one transaction at or below the floor of which something is kept.
  package struct KeptTransaction: Sendable {
    package let name: TransactionName
    package let root: ReplicaID
    fileprivate var rows: [Int64]
  }

  /// What is kept of each transaction at and below the floor, rising by stamp, tag and root. Takes some fifty bytes of memory
  /// for each.
  package func keptTransactions() throws -> [KeptTransaction] {
    var select = try SQL(db, Statements.selectKept)
    var kept: [KeptTransaction] = []
    while try select.step() {
      let name = TransactionName(stamp: select.stamp(0), tag: UInt32(truncatingIfNeeded: select.integer(1)))
      let (root, row) = (try select.identifier(2), select.integer(3))
      if let last = kept.last, last.name == name, last.root == root {
        kept[kept.count - 1].rows.append(row)
      } else {
        kept.append(KeptTransaction(name: name, root: root, rows: [row]))
      }
    }
    guard try kept.isEmpty || !floor().replicas.isEmpty else { throw damaged("entries are kept, and there is no floor") }
    return kept
  }

  /// As a transaction with the sequence 0 whose replica is its root; `nil` if none of its entries is left.
  package func transaction(_ kept: KeptTransaction) throws -> Transaction? {
    var transaction = Transaction(replica: kept.root, sequence: 0, name: kept.name, root: kept.root, entries: [])
    for row in kept.rows {
      var select = try SQL(db, Statements.selectData)
      try select.bind(row)
      guard try select.step() else { throw damaged("kept entries are not there") }
      for var part in try parts(of: select.bytes(0)) where !part.isAtEnd {
        let entry = try stored(&part).entry
        guard entry.isPossible(keptOf: kept.name) else { throw damaged("an entry is of another time than its transaction") }
        transaction.entries.append(entry)
      }
    }
    return transaction.entries.isEmpty ? nil : transaction
  }

  /// What is kept of each transaction at and below the floor, rising by stamp, tag and root. One at a time in memory.
  package func forEachKept(_ body: (Transaction) throws -> Void) throws {
    for kept in try keptTransactions() {
      if let transaction = try transaction(kept) { try body(transaction) }
    }
  }

  /// Who wrote the transaction of a row first.
  package func root(ofRow id: Int64) throws -> ReplicaID {
    var select = try SQL(db, Statements.selectRootOfRow)
    try select.bind(id)
    guard try select.step() else { throw damaged("a row of the journal is not there") }
    return try select.identifier(0)
  }

  /// What names the transaction of a row.
  package func name(ofRow id: Int64) throws -> TransactionName {
    var select = try SQL(db, Statements.selectRowName)
    try select.bind(id)
    guard try select.step() else { throw damaged("a row of the journal is not there") }
    return TransactionName(stamp: select.stamp(0), tag: UInt32(truncatingIfNeeded: select.integer(1)))
  }

  /// The digest (M-11) of what the kept entries fold to that objects lead to, and how many these are.
  package func digestOfKept() throws -> (digest: Digest, entries: Int) {
    let rows = try JournalCompaction.rows(to: Frontier(), db).kept
    var entries = 0
    let digest = try digest { last, type in
      var state = ObjectState()
      try forEachEntry(from: last) { stamp, root, place, entry in
        guard rows.contains(place.row) else { return }
        entries += 1
        state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type.schema)
      }
      return state
    }
    return (digest, entries)
  }

  /// The digest of what some of the entries fold to.
  ///
  /// - Parameter state: of an object, given where its entries are.
  package func digest(of state: (_ last: EntryPlace, StoredType) throws -> ObjectState) throws -> Digest {
    var digest = Digest()
    for type in schema.types {
      var ofType = TypeDigest(type.schema)
      try ObjectTable(type, db).forEachPlace { key, place in
        let state = try state(place.last, type)
        if state.updated != nil || state.removed != nil { ofType.add(state, key, to: &digest) }
      }
      ofType.finish(&digest)
    }
    return digest
  }

  /// Who wrote something first of which rows hold what is kept.
  package func roots(of rows: JournalRows) throws -> Set<ReplicaID> {
    var roots: Set<ReplicaID> = []
    for range in rows.ranges {
      var select = try SQL(db, Statements.selectRoots)
      try select.bind(range.lowerBound)
      try select.bind(range.upperBound)
      while try select.step() { roots.insert(try select.identifier(0)) }
    }
    return roots
  }
}

/// Rows of the journal.
package struct JournalRows: Sendable {
  /// Rising, none of them touching.
  private(set) var ranges: [ClosedRange<Int64>] = []

  mutating func append(_ range: ClosedRange<Int64>) {
    if let last = ranges.last, last.upperBound + 1 == range.lowerBound {
      ranges[ranges.count - 1] = last.lowerBound...range.upperBound
    } else {
      ranges.append(range)
    }
  }

  /// Those within others.
  package func clamped(to limits: Range<Int64>) -> JournalRows {
    var rows = JournalRows()
    for range in ranges where range.overlaps(limits) {
      rows.append(max(range.lowerBound, limits.lowerBound)...min(range.upperBound, limits.upperBound - 1))
    }
    return rows
  }

  package func contains(_ row: Int64) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < row { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(row)
  }
}
