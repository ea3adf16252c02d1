internal import Foundation
internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Fetches what the remote has and the database lacks, and merges it, in one transaction: all of it or, after an error, nothing.
  ///
  /// - Throws: `MagicDataError` with `notFound` (no remote), `incompatible` (another data set or format), `damaged`, `fork`, `busy` or `full`.
  @discardableResult
  public func pull() async throws -> PullReport {
    try await telling { try await pullOnce() }
  }

  private func pullOnce() async throws -> PullReport {
    let dataSet = try await agreed(remote.dataSet())
    let remote = remote
    // What is there already costs a look at the frontiers, and no write.
    let (listing, isInStep) = try await magic.store.read { db in
      let snapshot = try Snapshot(db, remote, dataSet)
      let (listing, held) = (snapshot.listing, snapshot.held)
      try listing.checkComplete(held, heldBack: [])
      let hasNothingNew = listing.replicas.allSatisfy { listing.next(after: held[$0], of: $0) == nil }
      return (listing, snapshot.state.isSettled && hasNothingNew)
    }
    if isInStep { return PullReport() }
    let milliseconds = magic.store.surroundings.milliseconds()
    let events = source
    let (report, conflicts) = try await magic.store.write { db in
      var listing = listing
      try DatabaseState.settle(dataSet, db)
      return try listing.merge(into: db, milliseconds, events)
    }
    magic.store.forgetTypes()
    tell(report, conflicts)
    return report
  }
}

extension FolderListing {
  fileprivate mutating func merge(
    into db: Connection, _ milliseconds: Int64, _ events: EventSource
  ) throws -> (PullReport, [MagicConflict]) {
    let own = try DatabaseState(db).replica
    var merger = try Merger(db, milliseconds: milliseconds, there: frontier)
    let meter = ProgressMeter(events, .pull, of: waiting(after: merger.held))
    try checkForks(JournalReader(db), merger.held, own: own)
    var report = PullReport()
    for replica in replicas {
      while merger.heldBack[replica] == nil, let file = next(after: merger.held[replica], of: replica) {
        let segment: Segment
        do {
          segment = try FolderListing.segment(file)
        } catch let error as MagicDataError {
          reject(file, error)
          continue
        }
        try merger.merge(segment) { try meter.moved(changes: $0) }
        report.segments += 1
        report.bytes += SegmentHeader.length + segment.header.storedLength
        report.inflatedBytes += SegmentHeader.length + segment.header.bodyLength
      }
    }
    try checkComplete(merger.held, heldBack: Set(merger.heldBack.keys))
    try merger.finish()
    // Headers that told nothing of what was held then may tell of it by now.
    try checkForks(JournalReader(db), merger.held, own: own)
    report.transactions = merger.transactions
    report.changes = merger.changes
    report.conflicts = merger.conflictCount
    report.heldBack = merger.heldBack.sorted { $0.key < $1.key }.map {
      .init(replica: $0.key.description, aheadMilliseconds: $0.value.milliseconds - milliseconds)
    }
    return (report, merger.conflicts)
  }

  /// How many transactions are to come.
  private func waiting(after held: Frontier) -> Int {
    let frontier = frontier
    return replicas.reduce(0) { $0 + Int(clamping: frontier[$1] - min(frontier[$1], held[$1])) }
  }

  /// A file that cannot be read, and whose content nothing else gave, ends the pull (F-10).
  func checkComplete(_ held: Frontier, heldBack: Set<ReplicaID>) throws {
    for (name, error) in rejected where name.last > held[name.replica] && !heldBack.contains(name.replica) {
      // It may be covered by files that are still to be read.
      guard next(after: held[name.replica], of: name.replica) == nil else { continue }
      let remedy =
        error.code == .damaged
        ? "; if the file is not still on its way, delete it: whoever has what it held writes it again with the next push" : ""
      throw MagicDataError(error.code, "\(error.message). The database is as it was\(remedy)", cause: error)
    }
  }
}
