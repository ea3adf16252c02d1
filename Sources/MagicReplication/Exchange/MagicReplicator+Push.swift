internal import Foundation
package import MagicData
package import MagicJournal

extension MagicReplicator {
  /// Sends what the remote lacks: this replica's transactions, those that it holds of others, and then the contents of assets.
  /// Makes the remote if there is none.
  ///
  /// - Throws: `MagicDataError` with `incompatible` (another data set), `fork`, `full`, `notAllowed`, `notFound`, `exists` (the
  ///   folder is no remote, and not empty), `busy` (its magicdata.json has not come yet, or another program has locked the
  ///   folder that the assets' folder is in) or `damaged`; of a server also `unreachable`, `unauthorized` or `failed`;
  ///   `CancellationError`. What was written before stays, and is whole.
  @discardableResult
  public func push() async throws -> PushReport {
    try await telling {
      try await remote.opened(for: magic) { remote in
        let delivery = try await push(remote, made(remote))
        try await remember()
        return delivery.report
      }
    }
  }

  func push(_ remote: any OpenRemote, _ dataSet: DataSetID) async throws -> Delivery {
    var delivery = try await remote.deliver(magic, dataSet, source)
    if try await magic.store.readBriefly({ db in try StoredSchema(db).hasAssets }) {
      try await sendAssets(remote, &delivery.report)
    }
    let report = delivery.report
    if report.transactions > 0 || report.checkpoints > 0 || report.assets > 0 { source.tell(.sent(report)) }
    for file in delivery.report.unread { source.tell(.unread(file)) }
    return delivery
  }
}

extension FolderRemote {
  package func deliver(_ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws -> Delivery {
    let store = magic.store
    // What is here for the time may come to nobody: who has packed it settles.
    if !isForTheTime, try await !store.readBriefly({ db in try DatabaseState(db).isSettled }) {
      try await IncomingSegments(self).withSnapshot(of: magic, dataSet, events) { _, _ in }
      try makeSegments()
      // From here on something may flow, so both sides stand for one data set.
      try await store.write { db in try DatabaseState.settle(dataSet, db) }
    }
    var delivery = try await IncomingSegments(self).withSnapshot(of: magic, dataSet, events) { db, snapshot in
      // What it holds is on the disk before anybody else has it (J-21).
      try store.syncToDisk(db)
      try makeSegments()
      let (held, listing) = (snapshot.held, snapshot.listing)
      let holes = held.replicas.flatMap { listing.holes(of: $0, through: held[$0]) }
      let waiting = Int(clamping: holes.map { $0.upperBound - $0.lowerBound + 1 }.clampedSum)
      var push = JournalPush(
        remote: self, dataSet: dataSet, snapshot: snapshot, meter: ProgressMeter(events, .push, of: waiting),
        floor: try snapshot.journal.floor())
      do {
        try push.send()
      } catch let error as MagicDataError where error.code == .notAllowed && waiting > 0 && access(segments.path, W_OK) != 0 {
        // It names a file that nobody knows.
        throw MagicDataError(
          .notAllowed,
          """
          \(folder.path) may only be read here, and \(waiting) \(waiting == 1 ? "transaction waits" : "transactions wait") to be pushed; pull instead \
          (`magic-sync pull DB`, with `--watch` for as long as it runs), or get the right to write there
          """, cause: error)
      }
      push.tidy()
      var delivery = Delivery()
      (delivery.report, delivery.pushed) = (push.report, try snapshot.journal.named(held))
      return delivery
    }
    do {
      try await sayPushed(delivery.pushed, magic, dataSet)
    } catch let error as MagicDataError where error.code == .notAllowed {
      // Who may only read and has nothing to send is in step all the same; not to be known keeps history where it is, and
      // nothing else. What stands in the folder's place is said each time: nobody is known there.
      if delivery.report.segments + delivery.report.checkpoints > 0 || obstacle(acks) != nil {
        delivery.report.unread.append(UnreadFile(path: acks.path, code: error.code, message: error.message))
      }
    }
    return delivery
  }

  /// Binds a database to the data set of what was here for the time, before anybody may have it (F-11).
  ///
  /// - Throws: `MagicDataError` with `incompatible` if somebody has bound it to another meanwhile.
  package func settle(_ magic: MagicData) async throws {
    let dataSet = try dataSet()
    let isBound = try await magic.store.readBriefly { db in
      let state = try DatabaseState(db)
      return state.isSettled && state.dataSet == dataSet
    }
    guard !isBound else { return }
    try await magic.store.write { db in try DatabaseState.settle(dataSet, db) }
  }
}

/// Sends what no file that counts has, in as many segments as it takes (F-6).
private struct JournalPush {
  let remote: FolderRemote
  let dataSet: DataSetID
  let snapshot: Snapshot
  let meter: ProgressMeter
  let floor: NamedFrontier
  var listing: FolderListing
  var report = PushReport()
  /// Why something could not be sent that everything else does not wait for.
  private var refused: MagicDataError?

  init(
    remote: FolderRemote, dataSet: DataSetID, snapshot: Snapshot, meter: ProgressMeter, floor: NamedFrontier
  ) {
    (self.remote, self.dataSet, self.snapshot, self.meter, self.floor) = (remote, dataSet, snapshot, meter, floor)
    listing = snapshot.listing
  }

  private var journal: JournalReader { snapshot.journal }
  private var held: Frontier { snapshot.held }

  mutating func send() throws {
    let settled = try readDoubted()
    try sendCheckpoint()
    for replica in held.replicas {
      try mend(replica)
      for hole in holes(of: replica) { try send(replica, hole) }
    }
    for name in settled { remote.settleDoubt(name) }
    if let refused { throw refused }
  }

  /// Whether something may be written where a file is of another format or data set (S-2); if not, that is said at the end.
  private mutating func mayWrite(_ check: () throws -> Void) throws -> Bool {
    do {
      try check()
      return true
    } catch let error as MagicDataError where error.code == .incompatible {
      refused = refused ?? error.refusing
      return false
    }
  }

  /// K-17.
  private mutating func sendCheckpoint() throws {
    guard floor.replicas.contains(where: { !listing.holes(of: $0, through: floor[$0]?.sequence ?? 0).isEmpty }) else { return }
    guard try mayWrite({ [listing] in try listing.checkMayWriteCheckpoint() }) else { return }
    let checkpoint: CheckpointFile
    do {
      checkpoint = try CheckpointFile.write(journal, snapshot.state, dataSet, into: remote)
    } catch let error as MagicDataError where error.code == .tooLarge {
      // What lies above the floor is sent all the same.
      refused = refused ?? error
      return
    }
    listing.add(checkpoint)
    report.checkpoints += 1
    report.bytes += checkpoint.bytes
    report.inflatedBytes += try checkpoint.inflatedBytes()
  }

  /// What the remote lacks of the transactions that are held.
  private func holes(of replica: ReplicaID) -> [ClosedRange<UInt64>] {
    let floor = floor[replica]?.sequence ?? 0
    return listing.holes(of: replica, through: held[replica]).compactMap { hole in
      hole.upperBound > floor ? max(hole.lowerBound, floor + 1)...hole.upperBound : nil
    }
  }

  /// F-19. What was to be sent is sent: that the folder cannot be tidied is no failure of the push.
  mutating func tidy() {
    var consolidation = Consolidation(dataSet: dataSet, writer: snapshot.state.replica, extent: .own)
    try? consolidation.run(on: &listing)
  }

  /// F-16: looks at files that somebody found damaged, if what they should hold is held here.
  ///
  /// - Returns: the doubts that are settled once the holes are filled.
  private mutating func readDoubted() throws -> [String] {
    let doubted = try remote.doubted()
    var settled: [String] = []
    for text in doubted where CheckpointFile.isName(text) {
      if let checkpoint = listing.checkpoints.first(where: { $0.url.lastPathComponent == text }) {
        let floor = checkpoint.floor.frontier
        guard floor.replicas.allSatisfy({ floor[$0] <= held[$0] }) else { continue }
        _ = try listing.isWhole(checkpoint)
      }
      settled.append(text)
    }
    for (text, name) in doubted.compactMap({ text in SegmentFileName(text).map { (text, $0) } }) {
      guard let file = listing.runs[name.replica]?.files.first(where: { $0.name == name }) else {
        // What is not there, or does not count, speaks for itself.
        settled.append(text)
        continue
      }
      guard name.last <= held[name.replica] else { continue }
      _ = try listing.segmentOrReject(file)
      settled.append(text)
    }
    return settled
  }

  /// Replaces damaged files in whose place there is a hole, whatever this version would cut itself.
  private mutating func mend(_ replica: ReplicaID) throws {
    for (name, error) in listing.rejected where name.replica == replica && error.code == .damaged && name.last <= held[replica]
    {
      let run = name.first...name.last
      // What was given up comes with a checkpoint. Of the last one of that the name is known, and nothing else.
      guard name.first > floor[replica]?.sequence ?? 0,
        listing.holes(of: replica, through: name.last).contains(where: { $0.overlaps(run) }),
        try journal.segmentName(of: replica, run) == name.name
      else { continue }
      var writer = start(replica, name.first, try journal.name(before: name.first, of: replica))
      try journal.forEachPart(of: replica, after: name.first - 1, through: name.last) { part in
        writer.add(part)
        if part.isFirst { report.transactions += 1 }
        report.changes += part.transaction.entries.count
      }
      try finish(writer, replica, run)
    }
  }

  private mutating func send(_ replica: ReplicaID, _ hole: ClosedRange<UInt64>) throws {
    let cutter = SegmentCutter(dataSet: dataSet, writer: snapshot.state.replica, journal: journal)
    var first = hole.lowerBound
    // One is compressed, which takes about as long, while the next is collected. Of large ones memory may have no room for two,
    // and they are packed in parts.
    var before: BlockingFuture<SegmentCutter.Cut>?
    while first <= hole.upperBound, let collected = try cutter.collect(replica, first...hole.upperBound, meter) {
      try write(before?.result(), replica)
      before = collected.isLarge ? nil : BlockingFuture { try collected.finish() }
      if collected.isLarge { try write(collected.finish(), replica) }
      first = collected.run.upperBound + 1
    }
    try write(before?.result(), replica)
  }

  private mutating func write(_ cut: SegmentCutter.Cut?, _ replica: ReplicaID) throws {
    guard let cut, try write(cut.name, cut.bytes, replica, cut.run) else { return }
    report.transactions += cut.run.count
    report.changes += cut.changes
  }

  private func start(_ replica: ReplicaID, _ first: UInt64, _ previous: TransactionName) -> SegmentWriter {
    SegmentWriter(
      dataSet: dataSet, writer: snapshot.state.replica, schema: journal.schema.schema, replica: replica, first: first,
      previous: previous)
  }

  private mutating func finish(
    _ writer: SegmentWriter, _ replica: ReplicaID, _ run: ClosedRange<UInt64>
  ) throws {
    let (name, bytes) = try writer.finish()
    try write(name, bytes, replica, run)
  }

  /// - Returns: whether it was.
  @discardableResult
  private mutating func write(_ name: String, _ bytes: [UInt8], _ replica: ReplicaID, _ run: ClosedRange<UInt64>) throws -> Bool
  {
    let file = SegmentFileName(replica: replica, first: run.lowerBound, last: run.upperBound, name: name)
    guard try mayWrite({ [listing] in try listing.checkMayWrite(file) }) else { return false }
    try DurableFile.write(bytes, to: listing.url(of: file))
    report.segments += 1
    report.bytes += bytes.count
    report.inflatedBytes += SegmentHeader.length + (try SegmentHeader(bytes).bodyLength)
    try listing.add(file, bytes)
    return true
  }
}

extension MagicDataError {
  fileprivate var refusing: MagicDataError {
    MagicDataError(
      code,
      """
      \(message). It was not replaced. All other transactions were sent, and no contents of assets; use the version that wrote \
      it, or move it away if nothing needs it
      """,
      cause: cause)
  }
}

extension JournalReader {
  func name(before sequence: UInt64, of replica: ReplicaID) throws -> TransactionName {
    try sequence == 1 ? .none : name(at: sequence - 1, of: replica) ?? .none
  }

  /// S-3.
  fileprivate func segmentName(of replica: ReplicaID, _ run: ClosedRange<UInt64>) throws -> String? {
    guard run.count <= Limits.segmentTransactions else { return nil }
    var names: [TransactionName] = []
    for sequence in run {
      guard let name = try name(at: sequence, of: replica) else { return nil }
      names.append(name)
    }
    return Segment.name(of: names)
  }
}
