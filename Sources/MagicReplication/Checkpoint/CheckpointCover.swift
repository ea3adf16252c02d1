internal import Foundation
internal import MagicData
internal import MagicJournal

/// A checkpoint that was merged, and where.
struct TakenCheckpoint {
  let file: CheckpointFile
  /// The rows of the journal that have it.
  let rows: Range<Int64>
  /// What was held then.
  let held: Frontier
}

/// A checkpoint does not come to what it says together with what it covers by its numbers: that may be others' (L-20).
struct Uncovered: Error {
  /// Replicas whose transactions are not covered, and the sequences after which they are not.
  var replicas: [ReplicaID: UInt64] = [:]
  /// Ends for what was kept already (K-20).
  var beside = NamedFrontier()

  var isEmpty: Bool { replicas.isEmpty && beside.isEmpty }
}

/// Checkpoints that do not come to the digests in their headers: whoever wrote them was damaged, or lies.
struct FalseCheckpoints: Error {
  let files: [CheckpointFile]
}

/// A checkpoint that was deleted while it was merged.
struct VanishedCheckpoint: Error {
  let file: CheckpointFile
  let error: MagicDataError
}

/// Checkpoints that were merged, to be compared with what they cover: that adds nothing to them (K-14).
struct CheckpointCover {
  /// Entries that are kept under a floor.
  private struct Kept {
    let floor: NamedFrontier
    let rows: JournalRows
    let roots: Set<ReplicaID>
    /// Under their roots, if nothing else is.
    let rest: Set<ReplicaID>
  }

  /// Whose entries a checkpoint may not have.
  private enum Suspect: Hashable {
    case transactions(ReplicaID)
    case kept(in: Int, root: ReplicaID)
  }

  private let db: Connection
  private let journal: JournalReader
  private let own: ReplicaID
  private let taken: [TakenCheckpoint]
  /// What was held before, and then what each of the checkpoints brought, if there are several.
  private let kept: [Kept]
  /// What was held before.
  private let held: Frontier
  /// Ends that what is kept is to have.
  private let beside: NamedFrontier

  /// - Parameters:
  ///   - before: what was held, up to which row of the journal.
  ///   - beside: ends that what is kept is to have.
  init(
    _ taken: [TakenCheckpoint], _ db: Connection, before: (held: Frontier, mark: Int64), own: ReplicaID, beside: NamedFrontier
  ) throws {
    (self.taken, self.db, self.own, self.held, self.beside) = (taken, db, own, before.held, beside)
    let journal = try JournalReader(db)
    self.journal = journal
    let rows = try JournalCompaction.rows(to: Frontier(), db).kept
    let writers = Set(try MemberReplica.all(db).filter { $0.acknowledged != nil }.map(\.replica))
    let others = taken.count > 1 ? taken.map { ($0.file.floor, $0.rows) } : []
    kept = try ([(try journal.floor(), 0..<before.mark + 1)] + others).map { floor, range in
      let rows = rows.clamped(to: range)
      let roots = try journal.roots(of: rows)
      return Kept(
        floor: floor, rows: rows, roots: roots, rest: Set(floor.replicas).subtracting(roots.union(writers).union([own])))
    }
  }

  /// - Throws: `FalseCheckpoints`; `Uncovered`, or `fork` if nothing is known that would help.
  func check() throws {
    var (guilty, wrong): ([(CheckpointFile, Set<Suspect>)], [CheckpointFile]) = ([], [])
    for index in taken.indices {
      let (digest, more) = try compared(index)
      if !taken[index].file.comes(to: digest) { wrong.append(taken[index].file) }
      guilty.append((taken[index].file, more))
    }
    // Against what is false nothing can be compared.
    guard wrong.isEmpty else { throw FalseCheckpoints(files: wrong) }
    for (checkpoint, guilty) in guilty where !guilty.isEmpty {
      let uncovered = remedy(guilty, checkpoint.floor)
      guard uncovered.isEmpty else { throw uncovered }
      throw MagicDataError(
        .fork,
        """
        \(checkpoint.url.path) lacks what it should cover of what is held here: somebody's transactions differ under one number, since a database is in use \
        as two. Nothing was changed. Clone the remote into a new database and use that
        """)
    }
  }

  /// What a checkpoint comes to, and whose entries add something to it.
  private func compared(_ index: Int) throws -> (digest: Digest, guilty: Set<Suspect>) {
    let (checkpoint, rows) = (taken[index].file, taken[index].rows)
    var transactions: [(replica: ReplicaID, rows: JournalRows)] = []
    for replica in doubtful(taken[index]) {
      var frontier = Frontier()
      frontier[replica] = checkpoint.floor[replica]?.sequence ?? 0
      transactions.append((replica, try JournalCompaction.rows(to: frontier, db).transactions))
    }
    // Of each that was asked for.
    var known: [Int: Set<ReplicaID>] = [:]
    func covered(_ other: Int) -> Set<ReplicaID> {
      if other == index + 1 || kept[other].roots.isEmpty { return [] }
      let found = known[other] ?? roots(of: other, coveredBy: checkpoint.floor)
      known[other] = found
      return found
    }
    // One that keeps nothing comes to nothing, and what it covers may add something to that.
    if rows.isEmpty, transactions.isEmpty, kept.indices.allSatisfy({ covered($0).isEmpty }) { return (Digest(), []) }
    func suspect(_ row: Int64, _ root: ReplicaID) -> Suspect? {
      if let (replica, _) = transactions.first(where: { $0.rows.contains(row) }) { return .transactions(replica) }
      let other = self.index(ofRow: row)
      return kept[other].rows.contains(row) && covered(other).contains(root) ? .kept(in: other, root: root) : nil
    }
    var guilty: Set<Suspect> = []
    let digest = try journal.digest { last, type in
      try Task.checkCancellation()
      var state = ObjectState()
      var suspects: Set<Suspect> = []
      let entries = try WalkedEntries(journal, from: last) { place, version, stored in
        if rows.contains(place.row) {
          state.fold(stored.entry.operation, stored.entry.fields, at: version, of: type.schema)
        } else if let suspect = suspect(place.row, version.root), !guilty.contains(suspect) {
          suspects.insert(suspect)
        }
      }
      guard !suspects.isEmpty else { return state }
      // What adds nothing shares its values with `state`.
      var together = Dictionary(uniqueKeysWithValues: suspects.map { ($0, state) })
      try entries.walk { place, version, stored in
        if !rows.contains(place.row), let suspect = suspect(place.row, version.root) {
          together[suspect]?.fold(stored.entry.operation, stored.entry.fields, at: version, of: type.schema)
        }
      }
      for (suspect, more) in together where !more.saysTheSame(as: state) { guilty.insert(suspect) }
      return state
    }
    return (digest, guilty)
  }

  /// What was held before lies before what came, and that in its order.
  private func index(ofRow row: Int64) -> Int {
    kept.count > 1 ? taken.boundary { $0.rows.lowerBound > row } : 0
  }

  /// Others of which transactions were held that it covers by their numbers alone: at its end no name was held to compare.
  private func doubtful(_ taken: TakenCheckpoint) -> [ReplicaID] {
    taken.held.replicas.filter { replica in
      let end = taken.file.floor[replica]?.sequence ?? 0
      return replica != own && taken.held[replica] > kept[0].floor[replica]?.sequence ?? 0 && taken.held[replica] < end
    }
  }

  /// Whose entries, of those that are kept under a floor, another covers. They have no addresses: where the floor has ends that
  /// the other does not cover, it shows by the root, unless an id may be a branch's, which is the root of nothing.
  private func roots(of index: Int, coveredBy other: NamedFrontier) -> Set<ReplicaID> {
    let (floor, kept) = (kept[index].floor, kept[index])
    let beyond = Set(
      floor.replicas.filter { replica in
        guard let end = floor[replica], let others = other[replica] else { return true }
        return end != others && (end.sequence >= others.sequence || beside[replica.branch(at: end.name)] != nil)
      })
    return beyond.isDisjoint(with: kept.rest) ? kept.roots.subtracting(beyond) : []
  }

  /// What is above the own floor moves to ids of its own; if there is nothing of that, what is kept gets ends of its own: those
  /// of the ids that are roots of it, or, if none is, all.
  private func remedy(_ guilty: Set<Suspect>, _ floor: NamedFrontier) -> Uncovered {
    var uncovered = Uncovered()
    for case .transactions(let replica) in guilty {
      let last = kept[0].floor[replica]?.sequence ?? 0
      if held[replica] > last { uncovered.replicas[replica] = last }
    }
    guard uncovered.replicas.isEmpty else { return uncovered }
    for index in kept.indices {
      let roots = Set(guilty.compactMap { if case .kept(index, let root) = $0 { root } else { nil } })
      guard !roots.isEmpty else { continue }
      let own = kept[index].floor
      var some = NamedFrontier()
      for root in roots { some[root] = own[root] }
      for below in [some.below(floor), own.below(floor)] {
        let new = below.replicas.filter { beside[$0] == nil && floor[$0] == nil }
        for id in new { uncovered.beside[id] = below[id] }
        if !new.isEmpty { break }
      }
    }
    return uncovered
  }
}
