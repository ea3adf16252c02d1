internal import GRDB
package import MagicJournal

/// The ids under which two databases have written, and under which ids their branches are held (J-33).
package struct Branches: Sendable {
  private struct Branch: Sendable, Hashable {
    let replica: ReplicaID
    /// The first sequence that is not everybody's.
    let first: UInt64
    /// The id under which it is held, from sequence 1 on; `nil` for the closing itself.
    let id: ReplicaID?
  }

  private var all: Set<Branch> = []
  /// For each closed id, the last sequence that all its branches share.
  package private(set) var closings: [ReplicaID: UInt64] = [:]

  package init(_ db: Connection) throws {
    // Each exchange asks.
    guard try db.has(.branches) else { return }
    var select = try SQL(db, Statements.selectBranches)
    while try select.step() {
      note(
        Branch(
          replica: try select.identifier(0), first: UInt64(clamping: select.integer(1)),
          id: select.isNull(2) ? nil : try select.identifier(2)))
    }
  }

  /// - Returns: whether it was not known.
  @discardableResult
  private mutating func note(_ branch: Branch) -> Bool {
    guard all.insert(branch).inserted else { return false }
    if branch.id == nil { closings[branch.replica] = min(closings[branch.replica] ?? .max, max(branch.first, 1) - 1) }
    return true
  }

  package func closing(of replica: ReplicaID) -> UInt64? { closings[replica] }

  /// Where a transaction of a closed id may be held; branches have branches.
  package func addresses(of sequence: UInt64, of replica: ReplicaID) -> [(replica: ReplicaID, sequence: UInt64)] {
    var (found, open) = ([(replica: ReplicaID, sequence: UInt64)](), [(replica: replica, sequence: sequence)])
    while let (replica, sequence) = open.popLast() {
      for branch in all where branch.replica == replica && branch.first <= sequence {
        guard let id = branch.id else { continue }
        found.append((id, sequence - branch.first + 1))
        open.append((id, sequence - branch.first + 1))
      }
    }
    return found.sorted { $0.replica < $1.replica }
  }

  /// - Parameter id: under which the branch that begins there is held; `nil` for a closing.
  package mutating func add(_ replica: ReplicaID, from first: UInt64, heldAs id: ReplicaID? = nil, _ db: Connection) throws {
    guard note(Branch(replica: replica, first: first, id: id)) else { return }
    try db.make(.branches)
    var insert = try SQL(db, Statements.insertBranch)
    try insert.bind(replica)
    try insert.bind(Int64(clamping: first))
    if let id { try insert.bind(id) } else { try insert.bindNull() }
    try insert.run()
  }
}
