internal import MagicData
internal import MagicJournal
internal import MagicReplication

/// What the database has and the server lacks, on its way there (W-8).
extension Session {
  func deliver(_ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws -> Delivery {
    var (delivery, attempt) = (Delivery(), Attempt())
    do {
      // What was found before the push may not have been so any more: then it is asked for, once.
      if try await !deliver(magic, dataSet, events, compareForPush(magic), &delivery, &attempt) {
        _ = try await deliver(magic, dataSet, events, compare(magic), &delivery, &attempt)
      }
    } catch let error as MagicDataError where error.code == .unauthorized && !attempt.replicas.isEmpty {
      throw Refused(error: error, attempt: attempt)
    }
    return delivery
  }

  /// - Parameters:
  ///   - what: the server lacks, in words.
  ///   - isOwn: whether this database alone can be expected to have it.
  func mayOnlyRead(lacking what: String, isOwn: Bool) -> MagicDataError {
    MagicDataError(
      .unauthorized,
      """
      \(text): the token may only read, and the server lacks what is held here (\(what))\
      \(isOwn ? "" : "; whoever has it as well, and may write, sends it"). Pull instead (`magic-sync pull DB`, with `--watch` for as long \
      as it runs), or use a token that may write
      """, cause: isOwn ? nil : LeftToOthers())
  }

  /// - Parameter own: the id that the database has, and those that it has left.
  private func mayOnlyRead(lacking holes: [(ReplicaID, ClosedRange<UInt64>)], own: Set<ReplicaID>) -> MagicDataError {
    var counts: [ReplicaID: UInt64] = [:]
    for (replica, run) in holes { counts[replica, default: 0] += run.upperBound - run.lowerBound + 1 }
    // The own ones are what to do something about.
    guard let one = counts.keys.filter(own.contains).min() ?? counts.keys.min(), let count = counts[one] else {
      return mayOnlyRead(lacking: "a checkpoint", isOwn: false)
    }
    let what = "\(count) \(count == 1 ? "transaction" : "transactions") of replica \(one)"
    return mayOnlyRead(
      lacking: what + (counts.count > 1 ? " and some of \(counts.count - 1) more" : ""), isOwn: own.contains(one))
  }

  /// - Returns: `false` if the server lacks what it was remembered to have.
  private func deliver(
    _ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource, _ compared: Compared, _ delivery: inout Delivery,
    _ attempt: inout Attempt
  ) async throws -> Bool {
    if !compared.isSure {
      try await arrivalsNow(for: magic, dataSet).part(magic, from: compared.suspects, dataSet, events)
      if !compared.isBranch {
        let compared = try await compare(magic)
        guard compared.suspects.isEmpty else { throw forkError }
        return try await deliver(magic, dataSet, events, compared, &delivery, &attempt)
      }
    }
    let (held, there, store) = (compared.held, compared.there, magic.store)
    notice(there, held)
    let (state, floor, own) = try await store.read { db in
      // What it holds is on the disk before anybody else has it (J-21).
      try store.syncToDisk(db)
      let state = try DatabaseState(db)
      return (state, try JournalIndex(db).floor().frontier, Set(try UnsentAssets.written(db).keys).union([state.replica]))
    }
    guard state.replica == replica else { throw ReplicaChanged() }
    let closed = Set(there.parts.filter(\.isClosed).map(\.held.replica))
    if let refused = refused.withLock({ $0.take() }) {
      attempt.sent = refused.attempt.sent.filter { $0.isHeld(there) }
      for sent in attempt.sent { delivery.report.add(sent.report) }
      // What is no other's by now either would be refused again.
      guard !closed.isDisjoint(with: refused.attempt.replicas) else { throw refused.error }
    }
    // From here on something may flow, so both sides stand for one data set.
    if !state.isSettled { try await store.write { db in try DatabaseState.settle(dataSet, db) } }
    let lack = Lack(of: there, held, above: floor)
    guard !lack.isNothing else {
      remember(compared, there: there)
      delivery.pushed = compared.named
      try await acknowledge(compared.named, magic, dataSet)
      return true
    }
    guard welcome.rights.contains(.write) else { throw mayOnlyRead(lacking: lack.runs, own: own) }
    try await sayAccepted(magic, dataSet)
    attempt.replicas = lack.replicas
    if lack.isOfCheckpoint { attempt.replicas.formUnion(Set(floor.replicas).subtracting(closed)) }
    try await send(lack, held, magic, dataSet, events, &delivery.report, &attempt)
    return try await confirm(compared, lack.replicas, magic, dataSet, &delivery)
  }

  /// What a server lacks of what is held, and takes.
  private struct Lack {
    /// Above the floor.
    let runs: [(ReplicaID, ClosedRange<UInt64>)]
    /// Whether something up to the floor is lacking (K-17).
    let isOfCheckpoint: Bool

    init(of there: Standing, _ held: Frontier, above floor: Frontier) {
      isOfCheckpoint = floor.replicas.contains { !there.holes(of: $0, through: floor[$0]).isEmpty }
      runs = held.replicas.flatMap { replica in
        there.holes(of: replica, through: held[replica]).filter { $0.upperBound > floor[replica] }.map {
          (replica, max($0.lowerBound, floor[replica] + 1)...$0.upperBound)
        }
      }
    }

    var isNothing: Bool { runs.isEmpty && !isOfCheckpoint }
    var replicas: Set<ReplicaID> { Set(runs.map(\.0)) }
  }

  /// Sends the checkpoint, and then segments. What a peer gets of them is settled now and then on the way (W-8).
  private func send(
    _ lack: Lack, _ held: Frontier, _ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource,
    _ report: inout PushReport, _ attempt: inout Attempt
  ) async throws {
    var (settledBytes, settledAt, mostBytes) = (report.bytes, ContinuousClock.now, WireLimits.unsettledBytes)
    if lack.isOfCheckpoint { try await sendCheckpoint(magic, dataSet, &report) }
    let meter = ProgressMeter(events, .push, of: lack.runs.reduce(0) { $0 + $1.1.count })
    let writer = replica
    for (replica, hole) in lack.runs {
      var first = hole.lowerBound
      while first <= hole.upperBound, case let run = first...hole.upperBound,
        let cut = try await magic.store.read({ db in
          try SegmentCutter(dataSet: dataSet, writer: writer, journal: JournalReader(db)).cutNow(replica, run)
        })
      {
        try await send(.segment(cut.name, cut.bytes[..<SegmentHeader.length]))
        try await send(cut.bytes[SegmentHeader.length...])
        report.count(cut)
        attempt.note(cut, of: replica)
        try meter.moved(changes: cut.changes, transactions: cut.run.count)
        first = cut.run.upperBound + 1
        // What a hub has whole stays; what a peer has not merged goes with the session.
        if welcome.replica != nil, report.bytes - settledBytes >= mostBytes {
          let asked = ContinuousClock.now
          try await settle(held)
          // What each settle costs grows with the database: where that takes longer than the link does, there is less to lose
          // by a break.
          let settled = ContinuousClock.now
          if settled - asked > asked - settledAt { mostBytes = min(2 * mostBytes, WireLimits.mostUnsettledBytes) }
          (settledBytes, settledAt) = (report.bytes, settled)
        }
      }
    }
  }

  /// Has what was sent kept for good, and says what this database has.
  ///
  /// - Parameter sent: whose transactions.
  /// - Returns: `false` if the server lacks what it was remembered to have.
  private func confirm(
    _ compared: Compared, _ sent: Set<ReplicaID>, _ magic: MagicData, _ dataSet: DataSetID, _ delivery: inout Delivery
  ) async throws -> Bool {
    let held = compared.held
    let (settled, isSame) = try await settle(held, magic)
    // What was sent just now, and the server does not take yet, is not sent again at once.
    if compared.isRemembered,
      held.replicas.contains(where: { !sent.contains($0) && !settled.holes(of: $0, through: held[$0]).isEmpty })
    {
      return false
    }
    let displaced = settled.parts.filter(\.isDisplaced).map(\.held.replica)
    guard displaced.isEmpty else { throw displacedError(displaced) }
    if isSame { remember(compared, there: settled) }
    delivery.pushed = compared.named
    try await acknowledge(compared.named, magic, dataSet)
    // What a closing of which it was told just now has moved is held under another id.
    let left = try await magic.store.readBriefly { db in try JournalIndex(db).frontier() }
    for replica in sent.sorted() {
      for hole in settled.holes(of: replica, through: min(held[replica], left[replica])) {
        delivery.report.unread.append(
          UnreadFile(path: text, code: .failed, message: "\(text) " + notTaken(hole, replica)))
      }
    }
    return true
  }

  /// As a push to the folder's path ends then (F-6): who has not put all of it there does not say that he has.
  private func displacedError(_ replicas: [ReplicaID]) -> MagicDataError {
    let named = replicas.prefix(8).map { "replica \($0)" }.joined(separator: ", ")
    return MagicDataError(
      .incompatible,
      """
      \(text) has files of another format or data set in the place of transactions of \
      \(named)\(replicas.count > 8 ? " and \(replicas.count - 8) more" : ""). They were not replaced. All other transactions were sent, and no \
      contents of assets; use the version that wrote them, or have them moved away if nothing needs them
      """)
  }

  /// C-5: a peer hears what was accepted before it merges what was stamped so.
  private func sayAccepted(_ magic: MagicData, _ dataSet: DataSetID) async throws {
    guard welcome.replica != nil, offers("accepted"), offers("members"),
      let (said, time) = try await magic.sayAccepted(beyond: acceptedThere.withLock { $0 }, dataSet)
    else { return }
    // What it says of others comes with the answer to the acknowledgement.
    _ = try await ask(.blocks(.members, [said]), for: .said)
    acceptedThere.withLock { $0 = time }
  }

  private func notTaken(_ run: ClosedRange<UInt64>, _ replica: ReplicaID) -> String {
    let what = "transactions \(run.lowerBound) to \(run.upperBound) of replica \(replica)"
    guard welcome.replica != nil else {
      return "did not keep \(what): its folder was changed meanwhile. The next push sends them again"
    }
    return """
      does not take \(what) yet: by its clock they are from the future, or it has no room for their types and fields. Set right the clock that is wrong, or let its \
      database pull with --accept \(replica.description.prefix(8)), which also says what there is no room for
      """
  }

  /// K-17.
  private func sendCheckpoint(_ magic: MagicData, _ dataSet: DataSetID, _ report: inout PushReport) async throws {
    guard offers("checkpoints") else {
      throw MagicDataError(
        .incompatible,
        "\(text) lacks what this database has no history of any more, and takes no checkpoints; it needs a newer version")
    }
    guard let checkpoint = try await ServedDatabase(magic).checkpoint(dataSet, after: Frontier()) else { return }
    let length = checkpoint.file.length
    try await send(.length(.checkpoint, length))
    try await FileChunks(checkpoint.file).forEach(from: 0, through: length) { try await send(Frame(.data, $0)) }
    report.checkpoints += 1
    report.bytes += length
    withExtendedLifetime(checkpoint) {}
  }

  /// K-7: says what this database has, and takes what others have said. Of a session that stays not more often than once a
  /// second, as nobody waits for it.
  private func acknowledge(_ pushed: NamedFrontier, _ magic: MagicData, _ dataSet: DataSetID) async throws {
    guard offers("members"), welcome.rights.contains(.write) else { return }
    let isDue = acknowledged.withLock { last in
      last.isOwed = last.at.map { $0 + Session.pause > .now } ?? false
      if !last.isOwed { last.at = .now }
      return !last.isOwed
    }
    guard isDue else { return }
    try await say(pushed, magic, dataSet)
    // A closing that it was told of has moved something, and no commit to the journal says so.
    let held = try await magic.store.readBriefly { db in try JournalIndex(db).frontier() }
    if pushed.replicas.contains(where: { held[$0] < pushed[$0]?.sequence ?? 0 }) { changes.tell() }
  }

  private func say(_ pushed: NamedFrontier, _ magic: MagicData, _ dataSet: DataSetID) async throws {
    try await magic.acknowledge(dataSet, pushed, atMost: WireLimits.saidBytes) { said in
      let answer = try await ask(.blocks(.members, [said]), for: .said)
      return try reading { () throws(WireError) in try answer.blocks() }
    }
  }

  func acknowledge(_ pushed: NamedFrontier, for magic: MagicData) async throws -> Bool {
    guard offers("members"), welcome.rights.contains(.write) else { return false }
    try await say(pushed, magic, dataSet())
    return true
  }

  private static let pause = Duration.seconds(1)

  var due: ContinuousClock.Instant? { acknowledged.withLock { $0.isOwed ? $0.at.map { $0 + Session.pause } : nil } }

  // MARK: Kept for good

  /// Asks for what was sent to be kept for good; returns what the server holds then, and whether it is the same as here as far
  /// as both hold it.
  private func settle(_ held: Frontier, _ magic: MagicData) async throws -> (Standing, isSame: Bool) {
    let there = try await settle(held)
    // Of somebody else's transactions under the same numbers the next question tells, which comes soon if this is not known to
    // be in step.
    let found = try await magic.store.readBriefly { [replica] db in
      try there.difference(own: replica, held) { try JournalIndex(db).name(at: $0, of: $1) }
    }
    guard found == Standing.Difference() else {
      frontierThere.withLock { $0 = Frontier() }
      return (there, false)
    }
    return (there, true)
  }

  /// Asks for all that was sent to be kept for good, contents and parts too; returns what the server holds then.
  @discardableResult
  func settle(_ held: Frontier) async throws -> Standing {
    let answer = try await ask(Frame(.settle), for: .settled)
    let there = try reading { () throws(WireError) in try answer.standing() }
    notice(there, held)
    return there
  }

  /// The server does not tell again of what it has told in answer to a push (W-11): what no pull has looked at and is not held
  /// is a change.
  private func notice(_ there: Standing, _ held: Frontier) {
    let before = frontierThere.withLock { $0 }
    let frontier = there.frontier
    frontierThere.withLock { $0 = frontier }
    if frontier.replicas.contains(where: { frontier[$0] > max(before[$0], held[$0]) }) { changes.tell() }
  }
}

extension Session.Attempt {
  fileprivate mutating func note(_ cut: SegmentCutter.Cut, of replica: ReplicaID) {
    var report = PushReport()
    report.count(cut)
    sent.append(Session.Sent(replica: replica, run: cut.run, report: report))
  }
}

extension PushReport {
  fileprivate mutating func add(_ other: PushReport) {
    segments += other.segments
    transactions += other.transactions
    changes += other.changes
    bytes += other.bytes
    inflatedBytes += other.inflatedBytes
  }
}
