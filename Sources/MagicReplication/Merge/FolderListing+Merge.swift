internal import Foundation
internal import MagicData
internal import MagicJournal

/// A database's floor and those of the checkpoints that are taken into it.
private struct RaisedFloor {
  let held: NamedFrontier
  /// What is taken.
  private var taken = NamedFrontier()
  /// Ends for what is kept beside that (K-20).
  private(set) var beside: NamedFrontier
  /// What is held and what is taken, without the ends beside them.
  private(set) var reached: NamedFrontier

  init(held: NamedFrontier, beside: NamedFrontier) {
    (self.held, self.beside, reached) = (held, beside, held)
  }

  mutating func take(_ floor: NamedFrontier) {
    for other in [taken, held] { beside.raise(to: floor.beside(other)) }
    taken.raise(to: floor)
    reached.raise(to: floor)
  }

  /// All of it.
  var whole: NamedFrontier {
    var whole = reached
    whole.raise(to: beside)
    return whole
  }

  var count: Int { whole.count }
  /// An upper bound of `count`, for which nothing is put together.
  var most: Int { reached.count + beside.count }
}

/// Merges what a folder holds into a database.
extension FolderListing {
  /// Merges what is new, and does so again if a checkpoint shows that what was held is not what it covers (L-20), or is false.
  mutating func mergeAll(
    into db: Connection, _ store: Store, _ milliseconds: Int64, _ accepted: [String],
    _ said: FolderAcknowledgements?, _ events: EventSource
  ) throws -> (PullReport, [MagicConflict]) {
    // What may be undone costs what it changes.
    guard !checkpoints.isEmpty else {
      do {
        return try merge(into: db, store, beside: NamedFrontier(), milliseconds, accepted, said, events)
      } catch  where error is Uncovered || error is FalseCheckpoints || error is VanishedCheckpoint {
        throw MagicDataError(.busy, "a checkpoint came while the remote was read that has to be looked at first; try again")
      }
    }
    var beside = NamedFrontier()
    while true {
      var listing = self
      do {
        let merged = try db.whole { try listing.merge(into: $0, store, beside: beside, milliseconds, accepted, said, events) }
        self = listing
        return merged
      } catch let uncovered as Uncovered {
        for (replica, last) in uncovered.replicas { try store.moveAway(replica, after: last, db) }
        beside.raise(to: uncovered.beside)
      } catch let checkpoints as FalseCheckpoints {
        for file in checkpoints.files { rejectFalse(file) }
        // What was found beside these tells nothing.
        beside = NamedFrontier()
      } catch let vanished as VanishedCheckpoint {
        // Another compaction stands for it by now (F-20).
        reject(vanished.file, vanished.error)
        beside = NamedFrontier()
      }
    }
  }

  /// - Parameter beside: ends for what was kept and is not covered (K-20).
  private mutating func merge(
    into db: Connection, _ store: Store, beside: NamedFrontier, _ milliseconds: Int64, _ accepted: [String],
    _ said: FolderAcknowledgements?, _ events: EventSource
  ) throws -> (PullReport, [MagicConflict]) {
    let own = try DatabaseState(db).replica
    limit(to: try Branches(db).closings, floor: try JournalIndex(db).floor())
    let dropped = try UnsentAssets.dropped(db)
    var merger = try Merger(
      db, milliseconds: milliseconds, there: frontier, limits: limits, accepted: accepted, events: events)
    let before = merger.held
    let meter = ProgressMeter(events, .pull, of: waiting(after: before))
    try checkForks(JournalIndex(db), merger.held, own: own)
    var report = PullReport()
    var (taken, ahead) = ([TakenCheckpoint](), SegmentReadAhead())
    var floor = RaisedFloor(held: try JournalIndex(db).floor(), beside: beside)
    var isLacking: Bool
    repeat {
      let count = rejected.count
      try mergeCheckpoints(&merger, &taken, &floor, &report, meter)
      for replica in replicas { try mergeSegments(of: replica, &merger, &ahead, &report, meter) }
      // What a damaged file would have led to, a checkpoint may stand for.
      isLacking = rejected.count > count
    } while try lookAgain() || isLacking
    let waiting = try adopt(&merger, db) { report.count($0.header) }
    try merger.finish()
    try keep(taken, floor, before: (before, merger.mark), own: own, db)
    try UnsentAssets.keep(of: own, beyond: frontier, before: dropped, db)
    // Headers that told nothing of what was held then may tell of it by now.
    try checkForks(JournalIndex(db), merger.held, own: own)
    // Who has never written or acknowledged anything, under whatever id, may only read, or is thrown away.
    if !merger.restored.isEmpty,
      try merger.held[own] > 0 || Members(db).all[own]?.acknowledged != nil || !UnsentAssets.left(db).isEmpty
    {
      try store.write(merger.restored, db)
    }
    say(what: merger.held, leaves: &report, heldBack: Set(merger.heldBack.keys), said: said)
    report.gaps += waiting
    report.gaps += merger.beside.sorted { $0.key < $1.key }.map { .init(replica: $0.key.description, sequences: $0.value) }
    report.transactions = merger.transactions
    report.changes = merger.changes
    report.conflicts = merger.conflicts.count
    report.heldBack = merger.heldBack.sorted { $0.key < $1.key }.map {
      .init(replica: $0.key.description, aheadMilliseconds: $0.value.milliseconds - milliseconds)
    }
    return (report, merger.conflicts.list)
  }

  /// Those that it takes to go on from what is held (K-16, K-20).
  private mutating func mergeCheckpoints(
    _ merger: inout Merger, _ taken: inout [TakenCheckpoint], _ floor: inout RaisedFloor, _ report: inout PullReport,
    _ meter: ProgressMeter
  ) throws {
    // One that has to wait holds up no other.
    var waiting: Set<URL> = []
    while let checkpoint = needed(by: merger.held, besides: waiting) ?? rival(taken, floor, merger.held, besides: waiting) {
      guard merger.mayTake(checkpoint.header) else {
        waiting.insert(checkpoint.url)
        continue
      }
      guard hasRoom(for: checkpoint, floor) else { continue }
      guard try isWhole(checkpoint, latest: merger.latest) else { continue }
      let (first, held) = (merger.nextRow, merger.held)
      report.inflatedBytes += checkpoint.bytes
      do {
        try checkpoint.read { part in
          report.inflatedBytes += part.inflation
          try merger.merge(kept: part) { try meter.moved(changes: $0) }
        }
      } catch let error as MagicDataError where error.code == .notFound {
        throw VanishedCheckpoint(file: checkpoint, error: error)
      }
      merger.raise(to: checkpoint.floor)
      floor.take(checkpoint.floor)
      taken.append(TakenCheckpoint(file: checkpoint, rows: first..<merger.nextRow, held: held))
      report.checkpoints += 1
      report.bytes += checkpoint.bytes
    }
  }

  /// All of one replica's that go on from what is held, up to what has to wait.
  private mutating func mergeSegments(
    of replica: ReplicaID, _ merger: inout Merger, _ ahead: inout SegmentReadAhead, _ report: inout PullReport,
    _ meter: ProgressMeter
  ) throws {
    while merger.ahead[replica] == nil, let file = next(after: merger.held[replica], of: replica) {
      guard let segment = try orReject(file, { try ahead.take($0) }) else { continue }
      // Read while this one is merged.
      if let file = next(after: file.name.last, of: replica) ?? following(replica, merger.held) { ahead.read(file) }
      guard try hasRoom(for: file, { try merger.learn(segment.schema) }) else { continue }
      // It waits, and all after it.
      guard !merger.isBeside(segment) else { return }
      try merger.merge(segment) { try meter.moved(changes: $0) }
      report.count(segment.header)
    }
  }

  /// Whether a database takes what a file speaks of (J-15); if not, the file is rejected, and the others go on (H-21).
  mutating func hasRoom(for file: File, _ learn: () throws -> Void) throws -> Bool {
    do {
      try learn()
      return true
    } catch let error as MagicDataError where error.code == .tooLarge {
      reject(file, MagicDataError(.tooLarge, "\(file.url.path): \(error.message)"))
      return false
    }
  }

  /// Whether a floor has room for what a checkpoint stands for, beside what is taken already, and for ends beside that (K-16);
  /// if not, it is rejected: no checkpoint would take that floor, so nobody would ever get it from here.
  private mutating func hasRoom(for checkpoint: CheckpointFile, _ floor: RaisedFloor) -> Bool {
    // An end may have another one beside each floor.
    guard floor.most + 3 * checkpoint.replicas.count > Limits.raisedReplicas else { return true }
    // Where the room for ends beside others is in use already, those of both are taken.
    let isInUse = max(floor.count, checkpoint.replicas.count) > Limits.raisedReplicas
    let limit = isInUse ? Limits.floorReplicas : Limits.raisedReplicas
    var raised = floor
    raised.take(checkpoint.floor)
    guard raised.count > limit else { return true }
    reject(
      checkpoint,
      MagicDataError(
        .tooLarge,
        """
        \(checkpoint.url.path): with it history would be given up of \(raised.count) replicas, and there is room for \(limit). Nothing of it was taken
        """))
    return false
  }

  /// What is next of the replicas that come after one.
  private func following(_ replica: ReplicaID, _ held: Frontier) -> File? {
    replicas.lazy.filter { $0 > replica }.compactMap { next(after: held[$0], of: $0) }.first
  }

  /// K-13, K-14: the floor rises, and what lay below it already is kept with what came.
  private func keep(
    _ taken: [TakenCheckpoint], _ floor: RaisedFloor, before: (held: Frontier, mark: Int64), own: ReplicaID, _ db: Connection
  ) throws {
    guard !taken.isEmpty else { return }
    try CheckpointCover(taken, db, before: before, own: own, beside: floor.beside).check()
    var compaction = try JournalCompaction(db, to: floor.whole)
    // Of a database that held nothing there is nothing to give up, but for segments that were merged before it.
    if taken.count == 1, taken[0].rows.lowerBound == 1 {
      try compaction.raise()
    } else {
      try compaction.run(Task.checkCancellation)
    }
    // Nobody writes under their ids (K-8).
    for replica in floor.beside.replicas { try MemberReplica.expire(replica, db) }
  }

  /// K-20.
  private func rival(
    _ taken: [TakenCheckpoint], _ floor: RaisedFloor, _ held: Frontier, besides waiting: Set<URL>
  ) -> CheckpointFile? {
    rival(to: floor.reached, held, besides: waiting).flatMap { rival in
      taken.contains { $0.file.url == rival.url } ? nil : rival
    }
  }

  /// How many transactions are to come, at most: of those that a checkpoint stands for, some may be given up.
  private func waiting(after held: Frontier) -> Int {
    let frontier = frontier
    return Int(clamping: replicas.map { frontier[$0] - min(frontier[$0], held[$0]) }.clampedSum)
  }

  /// A file that turns out to be damaged counts no more (F-9).
  mutating func segmentOrReject(_ file: File) throws -> Segment? { try orReject(file) { try FolderListing.segment($0) } }

  mutating func orReject<Content>(_ file: File, _ read: (File) throws -> Content) throws -> Content? {
    do {
      return try read(file)
    } catch let error as MagicDataError {
      reject(file, error)
      return nil
    }
  }

  /// F-10: the files that hold what nothing else gave, the holes before what is there, and what somebody has put there that no
  /// file has.
  func say(
    what held: Frontier, leaves report: inout PullReport, heldBack: Set<ReplicaID> = [], said: FolderAcknowledgements? = nil
  ) {
    for replica in replicas where !heldBack.contains(replica) {
      guard let missing = hole(after: held[replica], of: replica) else { continue }
      report.gaps.append(.init(replica: replica.description, sequences: missing))
    }
    if let put = said?.put {
      // He may name any number of replicas (H-32).
      for replica in put.replicas where !heldBack.contains(replica) && report.gaps.count < PullReport.mostGaps {
        if let gap = gap(to: put[replica], of: replica, beyond: held[replica]) { report.gaps.append(gap) }
      }
    }
    report.unread = unread(beyond: held, heldBack)
    report.unread += unreadCheckpoints(beyond: held, isLacking: held.replicas.isEmpty || !report.gaps.isEmpty)
  }

  /// What somebody has put there, and no file has any more, or yet, nor who asks.
  ///
  /// - Parameter put: the last sequence that somebody says to have put there.
  func gap(to put: UInt64, of replica: ReplicaID, beyond held: UInt64) -> PullReport.Gap? {
    let reach = max(held, reach(of: replica))
    let last = min(put, limits[replica] ?? .max)
    return last > reach ? .init(replica: replica.description, sequences: reach + 1...last) : nil
  }

  /// The last sequence of a replica that some file is named for, whether it can be read or has come whole.
  func reach(of replica: ReplicaID) -> UInt64 {
    let names = (runs[replica]?.files ?? []).map(\.name) + rejected.map(\.name).filter { $0.replica == replica }
    return max(covered[replica], names.map(\.last).max() ?? 0)
  }

  func unread(beyond held: Frontier, _ heldBack: Set<ReplicaID> = []) -> [UnreadFile] {
    rejectedSegments(beyond: held).filter { !heldBack.contains($0.name.replica) }.map { name, error in
      UnreadFile(path: url(of: name).path, code: error.code, message: error.message + FolderListing.remedy(error))
    }
  }

  /// The replicas of which unreadable files hold more than is held.
  func unreadReplicas(beyond held: Frontier) -> Set<ReplicaID> {
    var replicas = Set(rejectedSegments(beyond: held).map(\.name.replica))
    for floor in rejectedCheckpoints.compactMap(\.floor) {
      replicas.formUnion(floor.replicas.filter { floor[$0] > held[$0] })
    }
    return replicas
  }

  private func unreadCheckpoints(beyond held: Frontier, isLacking: Bool) -> [UnreadFile] {
    rejectedCheckpoints(beyond: held, isLacking: isLacking).map { url, error in
      UnreadFile(path: url.path, code: error.code, message: error.message + FolderListing.remedy(error))
    }
  }

  func rejectedSegments(beyond held: Frontier) -> [(name: SegmentFileName, error: MagicDataError)] {
    rejected.filter { $0.name.last > held[$0.name.replica] }
  }

  /// Checkpoints that were rejected and reach beyond what is held. How far one reaches whose header cannot be read is not
  /// known: it is among them if something is lacking.
  func rejectedCheckpoints(beyond held: Frontier, isLacking: Bool) -> [(url: URL, error: MagicDataError)] {
    rejectedCheckpoints.filter { _, floor, _ in
      floor.map { floor in floor.replicas.contains { floor[$0] > held[$0] } } ?? isLacking
    }.map { ($0.url, $0.error) }
  }

  private static func remedy(_ error: MagicDataError) -> String {
    error.code == .damaged
      ? "; if it is not still on its way, delete it: whoever has what it held writes it again with the next push" : ""
  }
}
