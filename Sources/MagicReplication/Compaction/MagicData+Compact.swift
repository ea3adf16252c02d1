internal import Foundation
public import MagicData
internal import MagicJournal

extension MagicData {
  /// Gives up history that every replica has acknowledged: of each object only what its state is made of stays, values, removes
  /// and who wrote them when (Protocol/checkpoint.md, K-1 to K-5).
  ///
  /// Where no other replica is known, that is what the database had pushed by its last push, or everything if there was none
  /// (K-5).
  ///
  /// What removed objects held goes a step later: the compaction tells everybody that it is not needed any more, and one that
  /// comes after everybody has acknowledged that gives it up (K-23).
  ///
  /// Objects, digest, and what a later merge comes to are the same as before; conflicts and the log of that time are gone. The
  /// file becomes smaller. Other processes may use the database meanwhile; their writes wait, for ten seconds, and throw `busy`
  /// then: a large journal is best compacted while nobody writes.
  ///
  /// - Parameters:
  ///   - keeping: history that is younger than this stays, by the stamps of its transactions.
  ///   - isDryRun: counts, and changes nothing.
  /// - Throws: `MagicDataError` with `fork` if a replica has acknowledged other transactions than are held here, `failed` if
  ///   one has said that it holds the same and comes to something else, `busy`, `full`; the database is as it was then.
  ///   `CancellationError`, which may come when history is gone and its space in the file is being given back.
  /// - Complexity: O(journal).
  @discardableResult
  public func compact(keeping: Duration = .zero, isDryRun: Bool = false) async throws -> CompactionReport {
    try await compact(keeping: keeping, isDryRun: isDryRun, hearing: nil)
  }

  /// - Parameter said: what a dry run takes into account beside what the database knows, and does not keep.
  func compact(keeping: Duration, isDryRun: Bool, hearing said: FolderAcknowledgements?) async throws -> CompactionReport {
    let oldest = oldest(keeping)
    var report = CompactionReport()
    report.fileBytes = try await store.fileBytes()
    report.newFileBytes = report.fileBytes
    let (store, counted) = (store, report)
    let compacted: @Sendable (Connection) throws -> CompactionReport = { db in
      var report = counted
      let members = try Members(db, hearing: said)
      try members.checkAgreement()
      let floor = try report.floor(db, members, oldest)
      if let floor {
        var compaction = try JournalCompaction(db, to: floor)
        try isDryRun ? compaction.plan(Task.checkCancellation) : compaction.run(Task.checkCancellation)
        report.take(compaction.outcome)
      }
      let purges = try db.purges(below: floor ?? JournalIndex(db).floor(), members)
      report.purged = purges.count
      if !isDryRun { try store.write(purges, db) }
      return report
    }
    if isDryRun { return try await store.read(compacted) }
    report = try await store.write(compacted)
    do {
      // History that was given up before a process was killed, or by a pull, left its space in the file as well.
      try await store.shrink()
    } catch let error as MagicDataError where [.full, .busy].contains(error.code) {
      // The history is gone all the same; the next compaction gives the space back.
    }
    report.newFileBytes = try await store.fileBytes()
    return report
  }

  /// Looks what there would be once history was given up: in a copy, so that nobody waits and nothing here is written to.
  func ifCompacted<Result: Sendable>(
    keeping: Duration, hearing said: FolderAcknowledgements?, _ look: @Sendable @escaping (Connection) throws -> Result
  ) async throws -> Result {
    let oldest = oldest(keeping)
    let isWhole = try await store.read { db in
      var report = CompactionReport()
      return try report.floor(db, Members(db, hearing: said), oldest) == nil
    }
    if isWhole { return try await store.read(look) }
    let scratch = try ScratchFolder("compaction")
    defer { withExtendedLifetime(scratch) {} }
    let file = DatabaseLocation(scratch.url.appendingPathComponent("copy.sqlite"))
    try await store.copy(to: file.file, isSentOn: false)
    let copy = MagicData(store: try Store(.file(file, mustExist: true), store.surroundings, isForReading: true))
    let result = try await copy.store.write { db in
      var report = CompactionReport()
      if let floor = try report.floor(db, Members(db, hearing: said), oldest) {
        var compaction = try JournalCompaction(db, to: floor)
        try compaction.run(Task.checkCancellation)
      }
      return try look(db)
    }
    try await copy.close()
    return result
  }

  /// The time, in milliseconds since 1970, before which history is given up.
  private func oldest(_ keeping: Duration) -> Int64 {
    // For longer than there have been stamps is for ever.
    let age = min(keeping.components.seconds, Stamp.latest.milliseconds / 1_000) * 1_000
    return keeping > .zero ? store.surroundings.milliseconds() - age : .max
  }
}

extension CompactionReport {
  fileprivate mutating func take(_ outcome: JournalCompaction.Outcome) {
    (entries, keptEntries, bytes, keptBytes) = (outcome.entries, outcome.keptEntries, outcome.bytes, outcome.keptBytes)
  }

  /// How far the floor may rise, or `nil` if it stays where it is.
  fileprivate mutating func floor(_ db: Connection, _ members: Members, _ oldest: Int64) throws -> NamedFrontier? {
    let journal = try JournalReader(db)
    let (raised, unsent, hindrances) = try members.floor(journal)
    self.unsent = Int(clamping: unsent)
    let held = try journal.frontier()
    isBeyondMemory = members.isBeyondMemory(held)
    for (replica, transactions) in members.behind(held) { behind[replica.description] = Int(clamping: transactions) }
    for hindrance in hindrances {
      switch hindrance {
      case .silent(let replica): waitsFor.append(replica.description)
      case .forked(let replica):
        throw MagicDataError(
          .fork,
          """
          replica \(replica) has acknowledged other transactions than are held here under the same numbers: a database is in use as two, as a copy or from a \
          backup. Nothing was compacted. Sync to learn which, or expire that replica
          """)
      }
    }
    let before = try journal.floor()
    var floor = before
    for replica in raised.replicas {
      let end = try journal.last(of: replica, upTo: raised[replica], before: oldest)
      // Of more than a checkpoint takes, ends beside others included, history stays (K-5).
      guard floor[replica] != nil || floor.count < Limits.raisedReplicas else { continue }
      guard end > before[replica]?.sequence ?? 0, let name = try journal.name(at: end, of: replica) else { continue }
      floor[replica] = NamedFrontier.End(sequence: end, name: name)
    }
    return floor == before ? nil : floor
  }
}

extension JournalReader {
  /// The last sequence up to `end` whose transaction was written before a time. Stamps rise with sequences.
  fileprivate func last(of replica: ReplicaID, upTo end: UInt64, before milliseconds: Int64) throws -> UInt64 {
    var (low, high) = (try floor(of: replica)?.sequence ?? 0, end)
    while low < high {
      let middle = low + (high - low + 1) / 2
      let isOld = try name(at: middle, of: replica).map { $0.stamp.milliseconds <= milliseconds } ?? false
      if isOld { low = middle } else { high = middle - 1 }
    }
    return low
  }
}
