internal import Foundation
internal import MagicData
internal import MagicJournal

/// A checkpoint that was merged, and where.
struct TakenCheckpoint {
  let file: CheckpointFile
  /// Of the journal.
  let rows: Range<Int64>
}

/// A checkpoint does not come to what it says together with what it covers by its numbers: that may be others' (L-20).
struct Uncovered: Error {
  /// Of which transactions are not covered, and the sequences after which they are.
  var replicas: [ReplicaID: UInt64] = [:]
  /// Ends for what was kept already (K-20).
  var beside = NamedFrontier()
}

/// What was held before checkpoints were merged, to be compared with them: what they cover adds nothing to them (K-14).
struct CheckpointCover {
  private let db: Connection
  private let journal: JournalReader
  /// As it was before.
  private let floor: NamedFrontier
  private let held: Frontier
  private let own: ReplicaID
  /// The journal's last row before.
  private let mark: Int64
  /// Ends that what was kept has by now.
  private let beside: NamedFrontier

  /// - Parameters:
  ///   - before: what was held, up to which row of the journal.
  ///   - beside: ends that what was kept is to have.
  init(_ db: Connection, before: (held: Frontier, mark: Int64), own: ReplicaID, beside: NamedFrontier) throws {
    (self.db, self.held, self.mark, self.own, self.beside) = (db, before.held, before.mark, own, beside)
    journal = try JournalReader(db)
    floor = try journal.floor()
  }

  /// - Throws: `Uncovered`, or `fork` if nothing is known that would help.
  func check(_ taken: TakenCheckpoint) throws {
    let checkpoint = taken.file
    let (transactions, kept) = try JournalCompaction.rows(to: checkpoint.floor.frontier, db)
    let isCovered = try keptRoots(below: checkpoint.floor)
    let digest = try journal.digest { row, root in
      if taken.rows.contains(row) || transactions.contains(row) { return true }
      return row <= mark && kept.contains(row) && isCovered(root)
    }
    guard digest.identifier != checkpoint.header.digest else { return }
    if try checkpoint.isOwnDigest() {
      var uncovered = Uncovered()
      for replica in doubtful(checkpoint.floor) {
        var part = Frontier()
        part[replica] = checkpoint.floor[replica]?.sequence ?? 0
        let transactions = try JournalCompaction.rows(to: part, db).transactions
        let digest = try journal.digest { row, _ in taken.rows.contains(row) || transactions.contains(row) }
        if digest.identifier != checkpoint.header.digest { uncovered.replicas[replica] = floor[replica]?.sequence ?? 0 }
      }
      if uncovered.replicas.isEmpty {
        let below = floor.below(checkpoint.floor)
        for id in below.replicas where beside[id] == nil && checkpoint.floor[id] == nil { uncovered.beside[id] = below[id] }
      }
      if !uncovered.replicas.isEmpty || !uncovered.beside.isEmpty { throw uncovered }
    }
    throw MagicDataError(
      .fork,
      """
      \(checkpoint.url.path) does not come to what it says, together with what is held here: somebody's transactions differ under one number, since a \
      database is in use as two, or its writer was damaged. Nothing was changed. Clone the remote into a new database and use that
      """)
  }

  /// Others of which transactions are held that it covers by their numbers alone: at its end no name is held to compare.
  private func doubtful(_ other: NamedFrontier) -> [ReplicaID] {
    held.replicas.filter { replica in
      let end = other[replica]?.sequence ?? 0
      return replica != own && held[replica] > floor[replica]?.sequence ?? 0 && held[replica] < end
    }
  }

  /// Whose kept entries it covers. These have no addresses: where the floor has ends that it does not cover, it shows by the root, unless an id is a branch's.
  private func keptRoots(below other: NamedFrontier) throws -> (ReplicaID) -> Bool {
    let beyond = Set(
      floor.replicas.filter { replica in
        guard let end = floor[replica], let others = other[replica] else { return true }
        return end != others && (end.sequence >= others.sequence || beside[replica.branch(at: end.name)] != nil)
      })
    let isOfBranch = try !beyond.isEmpty && MemberReplica.all(db).contains { $0.expired == 0 && beyond.contains($0.replica) }
    return { !isOfBranch && !beyond.contains($0) }
  }
}
