internal import MagicData
internal import MagicJournal

extension Merger {
  /// Merges a branch of an id that is closed, which may have branches of its own (J-33).
  mutating func adopt(_ branch: Adoption.Branch, _ branches: inout Branches) throws {
    var open = [branch]
    while var branch = open.popLast() {
      if let limit = limits[branch.id], branch.sequence + UInt64(branch.transactions.count) - 1 > limit {
        let common = Int(clamping: max(branch.sequence, limit + 1) - branch.sequence)
        let rest = branch.transactions[common...]
        branch.transactions = Array(branch.transactions[..<common])
        if !branch.transactions.isEmpty { open.append(branch) }
        if branch.sequence + UInt64(common) == limit + 1, let first = rest.first {
          let id = branch.id.branch(at: first.0.name)
          try branches.add(branch.id, from: limit + 1, heldAs: id, db)
          try MemberReplica.expire(id, db)
          open.append(Adoption.Branch(id: id, sequence: 1, transactions: Array(rest)))
        }
      } else if let other = try apart(branch, &branches) {
        open.append(other)
      } else {
        try take(branch)
      }
    }
  }

  /// Makes room for all of them.
  mutating func learn(schemasOf branch: Adoption.Branch) throws {
    var known: Schema?
    for (_, schema) in branch.transactions where schema != known {
      try learn(schema)
      known = schema
    }
  }

  private mutating func take(_ branch: Adoption.Branch) throws {
    for (offset, (transaction, schema)) in branch.transactions.enumerated() {
      let sequence = branch.sequence + UInt64(offset)
      guard sequence > held[branch.id] else {
        guard try reader.name(at: sequence, of: branch.id).map({ $0 == transaction.name }) ?? true else {
          throw MagicDataError.fork(branch.id, sequence, shared: sequence - 1)
        }
        continue
      }
      guard sequence == held[branch.id] + 1 else { return }
      var transaction = transaction
      (transaction.replica, transaction.sequence) = (branch.id, sequence)
      guard try take(transaction, learn(schema)) else { return }
      held[branch.id] = sequence
    }
  }

  /// The branch under a further id, if nothing shows that it is what lies below the floor of its id (L-20).
  private func apart(_ branch: Adoption.Branch, _ branches: inout Branches) throws -> Adoption.Branch? {
    guard let floor = try reader.floor(of: branch.id), branch.sequence <= floor.sequence,
      case let below = branch.transactions.prefix(Int(clamping: floor.sequence - branch.sequence + 1)), let last = below.last
    else { return nil }
    if branch.sequence + UInt64(below.count) - 1 == floor.sequence, last.0.name == floor.name { return nil }
    let id = branch.id.branch(at: last.0.name)
    try branches.add(branch.id, from: branch.sequence, heldAs: id, db)
    try MemberReplica.expire(id, db)
    return Adoption.Branch(id: id, sequence: 1, transactions: branch.transactions)
  }
}
