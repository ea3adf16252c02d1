internal import MagicData
internal import MagicJournal

/// What files have under an id that is closed, beyond where it was closed: the branches that several databases have written
/// under it (J-33).
///
/// They hang together by the names that transactions have before them, however they are cut.
struct Adoption {
  /// A row of transactions that follow each other, under the id that they are held by.
  struct Branch {
    var id: ReplicaID
    /// The sequence of the first transaction.
    var sequence: UInt64
    var transactions: [(Transaction, Schema)]
  }

  private struct Node {
    let transaction: Transaction
    let schema: Schema
    let previous: TransactionName
  }

  private let replica: ReplicaID
  private let limit: UInt64
  private let floor: UInt64
  private let branches: Branches
  private var nodes: [TransactionName: Node] = [:]

  init(of replica: ReplicaID, closedAt limit: UInt64, floor: UInt64, _ branches: Branches) {
    (self.replica, self.limit, self.floor, self.branches) = (replica, limit, floor, branches)
  }

  /// Whether a branch may go on at or below the closing: only where that is a floor, below which there are no names to compare.
  var goesBelow: Bool { limit <= floor }

  mutating func read(_ segment: Segment) {
    var previous = segment.header.previous
    for transaction in segment.transactions {
      defer { previous = transaction.name }
      guard transaction.sequence > limit || goesBelow else { continue }
      nodes[transaction.name] = Node(transaction: transaction, schema: segment.schema, previous: previous)
    }
  }

  /// The branch that ends with a transaction, from where it is not everybody's; `nil` if something before it is lacking.
  ///
  /// - Throws: a fork, if the branch begins before the closing.
  func branch(endingWith name: TransactionName, _ journal: some JournalAddresses) throws -> Branch? {
    var (name, row) = (name, [(Transaction, Schema)]())
    while let node = nodes[name] {
      row.append((node.transaction, node.schema))
      let before = node.transaction.sequence - 1
      let known = before > 0 && before <= limit ? try journal.name(at: before, of: replica) : nil
      if before == 0 || before == limit && known == nil || known != nil && known == node.previous {
        return Branch(id: replica.branch(at: node.transaction.name), sequence: 1, transactions: row.reversed())
      }
      if known != nil, before > floor { throw MagicDataError.fork(replica, before) }
      if nodes[node.previous] == nil {
        for address in branches.addresses(of: before, of: replica)
        where try journal.name(at: address.sequence, of: address.replica) == node.previous {
          return Branch(id: address.replica, sequence: address.sequence + 1, transactions: row.reversed())
        }
        // Nobody has what was before it any more as transactions.
        guard before <= floor else { return nil }
        return Branch(id: replica.branch(at: node.transaction.name), sequence: 1, transactions: row.reversed())
      }
      name = node.previous
    }
    return nil
  }
}

extension FolderListing {
  /// Files that have transactions of a closed id which are not everybody's and, as far as it is known, not held under another.
  func foreign(_ journal: some JournalAddresses, _ branches: Branches) throws -> [File] {
    try foreignEnds.filter { file in
      try !branches.addresses(of: file.header.last, of: file.name.replica).contains {
        try journal.name(at: $0.sequence, of: $0.replica) == file.header.lastName
      }
    }
  }

  /// Takes them, each branch under an id of its own.
  ///
  /// - Returns: what is missing before others.
  mutating func adopt(
    _ merger: inout Merger, _ db: Connection, _ adopted: (File) throws -> Void
  ) throws -> [PullReport.Gap] {
    var waiting: [PullReport.Gap] = []
    let journal = JournalIndex(db)
    var branches = try Branches(db)
    let foreign = Dictionary(grouping: try foreign(journal, branches), by: \.name.replica)
    for (replica, listed) in foreign.sorted(by: { $0.key < $1.key }) {
      guard let limit = limits[replica] else { continue }
      var adoption = Adoption(
        of: replica, closedAt: limit, floor: try journal.floor(of: replica)?.sequence ?? 0, branches)
      // What leads to them may be in any file.
      var (whole, isRead) = (Set<SegmentFileName>(), true)
      for file in runs[replica]?.files ?? []
      where file.header.last > limit || adoption.goesBelow || listed.contains(where: { $0.name == file.name }) {
        guard let segment = try segmentOrReject(file) else {
          isRead = false
          continue
        }
        adoption.read(segment)
        whole.insert(file.name)
      }
      // What leads to one that cannot be read is an end as well (F-10).
      let heads = isRead ? listed : try self.foreign(journal, branches).filter { $0.name.replica == replica }
      for file in heads where whole.contains(file.name) {
        guard let branch = try adoption.branch(endingWith: file.header.lastName, journal), let first = branch.transactions.first
        else {
          waiting.append(
            .init(replica: replica.description, sequences: limit + 1...max(limit + 1, file.header.first - 1)))
          continue
        }
        guard try hasRoom(for: file, { try merger.learn(schemasOf: branch) }) else { continue }
        if branch.sequence == 1 {
          try branches.add(replica, from: first.0.sequence, heldAs: branch.id, db)
          try MemberReplica.expire(branch.id, db)
        }
        let before = merger.transactions
        try merger.adopt(branch, &branches)
        if merger.transactions > before { try adopted(file) }
      }
    }
    return waiting
  }
}
