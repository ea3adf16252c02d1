internal import Foundation
internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Fetches what the remote has and the database lacks, and merges it in one transaction; then the contents of assets that
  /// objects name.
  ///
  /// What cannot be read, or waits, keeps nothing else back: the report says what it is (F-10).
  /// - Throws: `MagicDataError` with `notFound` (no remote), `incompatible` (another data set or format), `fork`, `busy`,
  ///   `damaged`, `notAllowed` or `full`, of a server also `unreachable`, `unauthorized` or `failed`; the database is as it was
  ///   then, unless contents of assets could not be written: what was merged before stays. `CancellationError`.
  ///
  /// - Parameters:
  ///   - accepting: replicas whose clocks are ahead, by their ids (``PullReport/heldBack``) or how these begin: what they wrote
  ///     is merged all the same, and this database's clock goes on from there. With the next push that is told to the others,
  ///     who then hold back nothing up to that time either.
  ///   - isDryRun: the report says what a pull would do, and ``MagicReplicationEvent/conflict(_:)`` which values would lose,
  ///     and nothing stays of it: all is merged and taken back. Contents of assets are not looked for, and a `fork` is an error
  ///     also where a pull tells the two databases apart.
  @discardableResult
  public func pull(accepting replicas: Set<String> = [], isDryRun: Bool = false) async throws -> PullReport {
    let replicator = accepting(replicas).dryRunning(isDryRun)
    return try await telling {
      try await remote.opened(for: magic) { remote in
        let report = try await replicator.pull(remote, found(remote))
        if !isDryRun { try await remember() }
        return report
      }
    }
  }

  func pull(_ remote: any OpenRemote, _ dataSet: DataSetID) async throws -> PullReport {
    try await merge(remote.arrivals(for: magic, dataSet), of: dataSet, contents: remote)
  }

  /// - Parameter contents: where contents of assets are to be had.
  func merge(_ arrivals: IncomingSegments, of dataSet: DataSetID, contents remote: any OpenRemote) async throws -> PullReport {
    defer { withExtendedLifetime(arrivals) {} }
    while true {
      do {
        return try await mergeOnce(arrivals, of: dataSet, contents: remote)
      } catch let error as MagicDataError {
        guard !isDryRun else { throw error.hiding(what: "a pull") }
        guard try await magic.close(error.cause as? Fork, arrivals, dataSet, source) else { throw error }
      }
    }
  }

  private func mergeOnce(
    _ arrivals: IncomingSegments, of dataSet: DataSetID, contents remote: any OpenRemote
  ) async throws -> PullReport {
    // Before the files are listed: who says what he has put there has put it there before. What cannot be read keeps nothing
    // else back (K-7).
    let said = Result { try arrivals.folder.acknowledged(dataSet) }
    // What is there already costs a look at the frontiers, and no write.
    let look: @Sendable (Connection, Snapshot) throws -> (FolderListing, inStep: PullReport?, lacking: [String]?) = {
      [assets = magic.store.assets] db, snapshot in
      let (listing, held) = (snapshot.listing, snapshot.held)
      guard snapshot.state.isSettled, listing.needed(by: held) == nil,
        try listing.checkpoints.isEmpty || listing.rival(to: snapshot.journal.floor(), held) == nil,
        listing.replicas.allSatisfy({ listing.next(after: held[$0], of: $0) == nil }),
        try listing.foreign(snapshot.journal, snapshot.branches).isEmpty
      else {
        return (listing, nil, nil)
      }
      var report = PullReport()
      listing.say(what: held, leaves: &report, said: try? said.get())
      return (listing, report, assets.lacking(try snapshot.journal.schema.assetNames(db)))
    }
    let (listing, inStep, lacking) =
      try await isDryRun
      ? arrivals.look(at: magic, dataSet, look) : arrivals.withSnapshot(of: magic, dataSet, source, look)
    var (report, conflicts) = (inStep ?? PullReport(), [MagicConflict]())
    if inStep == nil { (report, conflicts) = try await merge(listing, of: dataSet, arrivals, try? said.get()) }
    if let path = arrivals.temporaryPath { report.unread = report.unread.map { $0.of(remote.text, insteadOf: path) } }
    report.unread += arrivals.unread
    report.gaps += try await notHeld(arrivals.gaps)
    do {
      switch said {
      case .success(let said): if !isDryRun { try await magic.learnMembers(said) }
      case .failure(let error as MagicDataError):
        // Who knows what others have put there, and has not come yet?
        report.unread.append(UnreadFile(path: arrivals.folder.acks.path, code: error.code, message: error.message))
      case .failure(let error): throw error
      }
      if let interruption = arrivals.interruption { throw interruption }
      if !isDryRun { try await fetchAssets(lacking, remote, &report) }
    } catch {
      // What was merged stays.
      tell(report, conflicts)
      throw error
    }
    tell(report, conflicts)
    return report
  }

  /// The contents that objects name and that are not here, from wherever they are to be had.
  ///
  /// - Parameter lacking: their names, if they are known already.
  private func fetchAssets(_ lacking: [String]?, _ remote: any OpenRemote, _ report: inout PullReport) async throws {
    var names: [String]
    if let lacking { names = lacking } else { names = try await magic.store.lackingAssets() }
    let missing = try await magic.store.copyAssets(names, &report)
    try await fetchAssets(missing, remote, &report)
    // Another process may have fetched the same.
    if report.missingAssets > 0 { report.missingAssets = magic.store.assets.lacking(Set(missing)).count }
  }

  /// What a server lacks before what it has, and is not here either.
  private func notHeld(_ gaps: [PullReport.Gap]) async throws -> [PullReport.Gap] {
    if gaps.isEmpty { return [] }
    return try await magic.store.read { db in
      let (held, closings) = (try JournalIndex(db).frontier(), try Branches(db).closings)
      return gaps.compactMap { gap in
        guard let replica = ReplicaID(gap.replica) else { return gap }
        // What lies beyond a closing is held under other ids.
        let (first, last) = (
          max(gap.sequences.lowerBound, held[replica] + 1), min(gap.sequences.upperBound, closings[replica] ?? .max)
        )
        return first <= last ? PullReport.Gap(replica: gap.replica, sequences: first...last) : nil
      }
    }
  }

  private func merge(
    _ listing: FolderListing, of dataSet: DataSetID, _ arrivals: IncomingSegments, _ said: FolderAcknowledgements?
  ) async throws -> (PullReport, [MagicConflict]) {
    let milliseconds = magic.store.surroundings.milliseconds()
    let events = source
    let (folder, most) = (arrivals.folder, arrivals.replicasAtMost)
    // A bundle that is yet to be made, as far as is seen here.
    let isToBeMade = folder.isForTheTime && listing.replicas.isEmpty && listing.checkpoints.isEmpty
    let merge: @Sendable (Connection) throws -> (PullReport, [MagicConflict], doubtful: [String]) = {
      [store = magic.store, accepted] db in
      var listing = listing
      // Before what it is about comes, which would wait otherwise.
      try AcceptedTime.raise(to: max(said?.acceptedTime ?? 0, arrivals.acceptedTime), db)
      let (report, conflicts) = try db.keepingReplicas(atMost: most) {
        try listing.mergeAll(into: db, store, milliseconds, accepted, said, events)
      }
      // A remote of which nothing could be read binds nobody, and nor does one that is made of this database and may come to
      // nobody (F-11).
      let mayBeNone = try isToBeMade && DatabaseState(db).dataSet == dataSet
      if report.transactions > 0 || report.isComplete && !mayBeNone { try DatabaseState.settle(dataSet, db) }
      return (report, conflicts, listing.doubtful)
    }
    let (report, conflicts, doubtful) = try await isDryRun ? magic.store.dryRun(merge) : magic.store.write(merge)
    if !isDryRun { for name in doubtful { folder.doubt(name) } }
    return (report, conflicts)
  }
}
