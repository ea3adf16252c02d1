internal import Foundation
internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Fetches what the remote has and the database lacks, and merges it in one transaction; then the contents of assets that objects name.
  ///
  /// What cannot be read, or waits, keeps nothing else back: the report says what it is (F-10).
  /// - Throws: `MagicDataError` with `notFound` (no remote), `incompatible` (another data set or format), `fork`, `busy` or `full`; the database is as
  ///   it was then, unless contents of assets could not be written: what was merged before stays. `CancellationError`.
  ///
  /// - Parameter accepting: replicas whose clocks are ahead, by their ids (``PullReport/heldBack``) or how these begin: what they wrote is merged all the same, and this
  ///   database's clock goes on from there. With the next push that is told to the others, who then hold back nothing up to that time either.
  @discardableResult
  public func pull(accepting replicas: Set<String> = []) async throws -> PullReport {
    let replicator = accepting(replicas)
    return try await telling {
      try await remote.opened(for: magic) { try await replicator.pull($0, agreed($0.dataSet())) }
    }
  }

  func pull(_ remote: any OpenRemote, _ dataSet: DataSetID) async throws -> PullReport {
    try await merge(remote.arrivals(for: magic, dataSet), of: dataSet, contents: remote)
  }

  /// - Parameter contents: where contents of assets are to be had.
  func merge(_ arrivals: Arrivals, of dataSet: DataSetID, contents remote: any OpenRemote) async throws -> PullReport {
    defer { withExtendedLifetime(arrivals) {} }
    while true {
      do {
        return try await mergeOnce(arrivals, of: dataSet, contents: remote)
      } catch let error as MagicDataError {
        guard try await magic.close(error.cause as? Fork, arrivals.folder, dataSet, source) else { throw error }
      }
    }
  }

  private func mergeOnce(
    _ arrivals: Arrivals, of dataSet: DataSetID, contents remote: any OpenRemote
  ) async throws -> PullReport {
    // What is there already costs a look at the frontiers, and no write.
    let (listing, inStep, lacking) = try await arrivals.withSnapshot(of: magic, dataSet, source) {
      [assets = magic.store.assets] db, snapshot in
      let (listing, held) = (snapshot.listing, snapshot.held)
      guard snapshot.state.isSettled, listing.needed(by: held) == nil,
        try listing.checkpoints.isEmpty || listing.rival(to: snapshot.journal.floor(), held) == nil,
        listing.replicas.allSatisfy({ listing.next(after: held[$0], of: $0) == nil }),
        try listing.foreign(snapshot.journal, snapshot.branches).isEmpty
      else {
        return (listing, PullReport?.none, [String]())
      }
      var report = PullReport()
      listing.say(what: held, leaves: &report)
      return (listing, report, assets.lacking(try snapshot.journal.schema.assetNames(db)))
    }
    var (report, conflicts) = (inStep ?? PullReport(), [MagicConflict]())
    if inStep == nil { (report, conflicts) = try await merge(listing, of: dataSet, in: arrivals.folder) }
    if let path = arrivals.temporaryPath { report.unread = report.unread.map { $0.of(remote.text, insteadOf: path) } }
    report.unread += arrivals.unread
    report.parked += arrivals.parked
    do {
      try await arrivals.folder.learnMembers(magic)
      if let interruption = arrivals.interruption { throw interruption }
      let named =
        inStep == nil
        ? try await magic.store.read { [assets = magic.store.assets] db in
          assets.lacking(try StoredSchema(db).assetNames(db))
        } : lacking
      let missing = try await magic.store.copyAssets(named, &report)
      try await fetchAssets(missing, remote, &report)
    } catch {
      // What was merged stays.
      tell(report, conflicts)
      throw error
    }
    tell(report, conflicts)
    return report
  }

  private func merge(_ listing: FolderListing, of dataSet: DataSetID, in folder: FolderRemote) async throws -> (
    PullReport, [MagicConflict]
  ) {
    let milliseconds = magic.store.surroundings.milliseconds()
    let events = source
    // What cannot be read keeps nothing else back (K-7).
    let acceptedTime = (try? folder.acknowledged(dataSet))?.values.map(\.acceptedTime).max() ?? 0
    let (report, conflicts, doubtful) = try await magic.store.write { [store = magic.store, accepted] db in
      var listing = listing
      // Before what it is about comes, which would wait otherwise.
      try AcceptedTime.raise(to: acceptedTime, db)
      let (report, conflicts) = try listing.mergeAll(into: db, store, milliseconds, accepted, events)
      // A remote of which nothing could be read binds nobody (F-11).
      if report.transactions > 0 || report.isComplete { try DatabaseState.settle(dataSet, db) }
      return (report, conflicts, listing.doubtful)
    }
    for name in doubtful { folder.doubt(name) }
    return (report, conflicts)
  }
}

extension FolderListing {
  /// The same again if a checkpoint shows that what was held is not what it covers (L-20), or is false.
  fileprivate mutating func mergeAll(
    into db: Connection, _ store: Store, _ milliseconds: Int64, _ accepted: [String], _ events: EventSource
  ) throws -> (PullReport, [MagicConflict]) {
    // What may be undone costs what it changes.
    guard !checkpoints.isEmpty else {
      do {
        return try merge(into: db, beside: NamedFrontier(), milliseconds, accepted, events)
      } catch  where error is Uncovered || error is FalseCheckpoints {
        throw MagicDataError(.busy, "a checkpoint came while the remote was read that has to be looked at first; try again")
      }
    }
    var beside = NamedFrontier()
    while true {
      var listing = self
      do {
        let merged = try db.whole { try listing.merge(into: $0, beside: beside, milliseconds, accepted, events) }
        self = listing
        return merged
      } catch let uncovered as Uncovered {
        for (replica, last) in uncovered.replicas { try store.moveAway(replica, after: last, db) }
        beside.raise(to: uncovered.beside)
      } catch let checkpoints as FalseCheckpoints {
        for file in checkpoints.files { rejectFalse(file) }
        // What was found beside these tells nothing.
        beside = NamedFrontier()
      }
    }
  }

  /// - Parameter beside: ends for what was kept and is not covered (K-20).
  private mutating func merge(
    into db: Connection, beside: NamedFrontier, _ milliseconds: Int64, _ accepted: [String], _ events: EventSource
  ) throws -> (PullReport, [MagicConflict]) {
    let own = try DatabaseState(db).replica
    limit(to: try Branches(db).closings, floor: try JournalIndex(db).floor())
    let dropped = try UnsentAssets.dropped(db)
    var merger = try Merger(db, milliseconds: milliseconds, there: frontier, limits: limits, accepted: accepted)
    let before = merger.held
    let meter = ProgressMeter(events, .pull, of: waiting(after: before))
    try checkForks(JournalIndex(db), merger.held, own: own)
    var report = PullReport()
    var (taken, ahead) = ([TakenCheckpoint](), SegmentAhead())
    repeat {
      while let checkpoint = try needed(by: merger.held) ?? rival(taken, merger.held, db),
        merger.mayTake(checkpoint.header)
      {
        guard try isWhole(checkpoint) else { continue }
        let (first, held) = (merger.nextRow, merger.held)
        try checkpoint.read { part in try merger.merge(kept: part) { try meter.moved(changes: $0) } }
        merger.raise(to: checkpoint.floor)
        taken.append(TakenCheckpoint(file: checkpoint, rows: first..<merger.nextRow, held: held))
        report.checkpoints += 1
        report.bytes += checkpoint.bytes
      }
      for replica in replicas {
        while merger.heldBack[replica] == nil, let file = next(after: merger.held[replica], of: replica) {
          guard let segment = try segmentOrReject(file, { try ahead.take($0) }) else { continue }
          // Read while this one is merged.
          if let file = next(after: file.name.last, of: replica) ?? following(replica, merger.held) { ahead.read(file) }
          do {
            try merger.learn(segment.schema)
          } catch let error as MagicDataError where error.code == .tooLarge {
            // Of this file alone: the others go on (H-21).
            reject(file, MagicDataError(.tooLarge, "\(file.url.path): \(error.message)"))
            continue
          }
          try merger.merge(segment) { try meter.moved(changes: $0) }
          report.segments += 1
          report.bytes += SegmentHeader.length + segment.header.storedLength
          report.inflatedBytes += SegmentHeader.length + segment.header.bodyLength
        }
      }
    } while try lookAgain()
    let waiting = try adopt(&merger, db) { file in
      report.segments += 1
      report.bytes += SegmentHeader.length + file.header.storedLength
      report.inflatedBytes += SegmentHeader.length + file.header.bodyLength
    }
    try merger.finish()
    try keep(taken, beside: beside, before: (before, merger.mark), own: own, db)
    try UnsentAssets.keep(of: own, beyond: frontier, before: dropped, db)
    // Headers that told nothing of what was held then may tell of it by now.
    try checkForks(JournalIndex(db), merger.held, own: own)
    say(what: merger.held, leaves: &report, heldBack: Set(merger.heldBack.keys))
    report.parked += waiting
    report.transactions = merger.transactions
    report.changes = merger.changes
    report.conflicts = merger.conflictCount
    report.heldBack = merger.heldBack.sorted { $0.key < $1.key }.map {
      .init(replica: $0.key.description, aheadMilliseconds: $0.value.milliseconds - milliseconds)
    }
    return (report, merger.conflicts)
  }

  /// What is next of the replicas that come after one.
  private func following(_ replica: ReplicaID, _ held: Frontier) -> File? {
    replicas.lazy.filter { $0 > replica }.compactMap { next(after: held[$0], of: $0) }.first
  }

  /// K-13, K-14: the floor rises, and what lay below it already is kept with what came.
  private func keep(
    _ taken: [TakenCheckpoint], beside: NamedFrontier, before: (held: Frontier, mark: Int64), own: ReplicaID, _ db: Connection
  ) throws {
    guard !taken.isEmpty else { return }
    let held = try JournalIndex(db).floor()
    var (floor, beside) = (NamedFrontier(), beside)
    for checkpoint in taken {
      for other in [floor, held] { beside.raise(to: checkpoint.file.floor.beside(other)) }
      floor.raise(to: checkpoint.file.floor)
    }
    try CheckpointCover(taken, db, before: before, own: own, beside: beside).check()
    floor.raise(to: beside)
    var compaction = try JournalCompaction(db, to: floor)
    // Of a database that held nothing there is nothing to give up, but for segments that were merged before it.
    if taken.count == 1, taken[0].rows.lowerBound == 1 {
      try compaction.raise()
    } else {
      try compaction.run(Task.checkCancellation)
    }
    // Nobody writes under their ids (K-8).
    for replica in beside.replicas { try MemberReplica.expire(replica, db) }
  }

  /// K-20.
  private func rival(_ taken: [TakenCheckpoint], _ held: Frontier, _ db: Connection) throws -> CheckpointFile? {
    guard !checkpoints.isEmpty else { return nil }
    var floor = try JournalIndex(db).floor()
    for checkpoint in taken { floor.raise(to: checkpoint.file.floor) }
    return rival(to: floor, held).flatMap { rival in
      taken.contains { $0.file.url == rival.url } ? nil : rival
    }
  }

  /// How many transactions are to come.
  private func waiting(after held: Frontier) -> Int {
    let frontier = frontier
    let start = needed(by: held) == nil ? held : covered
    return Int(clamping: replicas.map { frontier[$0] - min(frontier[$0], start[$0]) }.clampedSum)
  }

  /// A file that turns out to be damaged counts no more (F-9).
  mutating func segmentOrReject(_ file: File, _ read: (File) throws -> Segment = FolderListing.segment) throws -> Segment? {
    do {
      return try read(file)
    } catch let error as MagicDataError {
      reject(file, error)
      return nil
    }
  }

  /// F-10: the files that hold what nothing else gave, and the holes before what is there.
  func say(what held: Frontier, leaves report: inout PullReport, heldBack: Set<ReplicaID> = []) {
    report.unread = unread(beyond: held, heldBack)
    report.unread += unreadCheckpoints(beyond: held)
    for replica in replicas where !heldBack.contains(replica) {
      guard let missing = hole(after: held[replica], of: replica) else { continue }
      report.parked.append(.init(replica: replica.description, missing: missing))
    }
  }

  func unread(beyond held: Frontier, _ heldBack: Set<ReplicaID> = []) -> [UnreadFile] {
    rejected.filter { $0.name.last > held[$0.name.replica] && !heldBack.contains($0.name.replica) }.map { name, error in
      UnreadFile(path: url(of: name).path, code: error.code, message: error.message + FolderListing.remedy(error))
    }
  }

  /// Of one whose header cannot be read it is not known how far it reaches: it is said if something is lacking.
  private func unreadCheckpoints(beyond held: Frontier) -> [UnreadFile] {
    let isLacking = held.replicas.isEmpty || replicas.contains { hole(after: held[$0], of: $0) != nil }
    return rejectedCheckpoints.filter { _, floor, _ in
      floor.map { floor in floor.replicas.contains { floor[$0] > held[$0] } } ?? isLacking
    }.map { url, _, error in UnreadFile(path: url.path, code: error.code, message: error.message + FolderListing.remedy(error))
    }
  }

  private static func remedy(_ error: MagicDataError) -> String {
    error.code == .damaged
      ? "; if it is not still on its way, delete it: whoever has what it held writes it again with the next push" : ""
  }
}

/// The segment that is probably wanted next.
private struct SegmentAhead {
  private enum Ahead: Sendable {
    case segment(Segment)
    /// Of which the entries are to be taken when it is wanted.
    case reader(SegmentReader)
  }

  private var reading: (file: SegmentFileName, work: Aside<Ahead>)?

  /// What a cut mostly leaves (S-8): of more, two at once may be more than memory has room for. Small entries take ten times as much there as in a body.
  private static let (maxBytes, maxEntries) = (Limits.segmentCut / 4 * 5, 1 << 17)

  mutating func read(_ file: FolderListing.File) {
    guard reading?.file != file.name, file.header.bodyLength <= SegmentAhead.maxBytes else { return }
    reading = (
      file.name,
      Aside {
        let reader = try FolderListing.reader(file)
        guard reader.mostEntries <= SegmentAhead.maxEntries else { return .reader(reader) }
        return .segment(try FolderListing.segment(file, reader))
      }
    )
  }

  mutating func take(_ file: FolderListing.File) throws -> Segment {
    guard let reading, reading.file == file.name else { return try FolderListing.segment(file) }
    self.reading = nil
    switch try reading.work.result() {
    case .segment(let segment): return segment
    case .reader(let reader): return try FolderListing.segment(file, reader)
    }
  }
}
