internal import Foundation
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// One connection to a server, from `WELCOME` to its end.
final class Session: Sendable {
  let text: String
  let outbound: NIOAsyncChannelOutboundWriter<Frame>
  let mailbox: Mailbox
  /// Until when there has to be room for a frame.
  private let room: Deadline
  /// Counts `CHANGED`.
  let changes: ChangeSignal
  let welcome: Welcome
  /// Under which id the client came.
  private let replica: ReplicaID
  private let dataSetThere: Locked<DataSetID?>
  /// What the server has told that it holds.
  private let frontierThere = Locked(Frontier())
  /// What a pull has found, for the push that follows it, and then for the next exchange, if both sides were in step.
  private let compared = Locked<Compared?>(nil)
  /// When it was last said what this database has, and whether there is more to say.
  private let acknowledged = Locked((at: ContinuousClock.Instant?.none, isOwed: false))
  /// Whether the server is told the names of what is held. It ends the session if it holds others, and which is then found without.
  private let tellsNames: Locked<Bool>

  init(
    _ text: String, _ hello: Hello, _ outbound: NIOAsyncChannelOutboundWriter<Frame>, _ mailbox: Mailbox,
    _ changes: ChangeSignal, _ room: Deadline, tellsNames: Bool
  ) async throws {
    self.tellsNames = Locked(tellsNames)
    (self.text, self.outbound, self.mailbox, self.changes, self.room) = (text, outbound, mailbox, changes, room)
    try await Session.send(hello.frame, outbound, mailbox, room)
    let answer = try await mailbox.take()
    guard answer.kind == .welcome else { throw Session.unexpected(answer, text) }
    welcome = try Session.reading(text) { () throws(WireError) in try Welcome(answer) }
    guard welcome.version == Hello.version else {
      throw MagicDataError(.incompatible, "\(text) speaks version \(welcome.version), and this program \(Hello.version)")
    }
    replica = hello.replica
    dataSetThere = Locked(welcome.dataSet)
    if offers("watch"), welcome.rights.contains(.read) { try await send(Frame(.watch)) }
  }

  func offers(_ capability: String) -> Bool { welcome.capabilities.contains(capability) }

  // MARK: Frames

  func send(_ frame: Frame) async throws { try await Session.send(frame, outbound, mailbox, room) }

  private static func send(
    _ frame: Frame, _ outbound: NIOAsyncChannelOutboundWriter<Frame>, _ mailbox: Mailbox, _ room: Deadline
  ) async throws {
    // An error that came is worth more than what it makes fail.
    if let end = mailbox.end { throw end }
    room.set(WireLimits.room)
    do {
      try await outbound.write(frame)
      room.clear()
    } catch {
      try Task.checkCancellation()
      // The deadline stays, and ends this as well.
      await mailbox.waitForEnd()
      throw mailbox.end ?? MagicDataError(error, "a frame could not be sent")
    }
  }

  func ask(_ frame: Frame, for kind: Frame.Kind) async throws -> Frame {
    try await send(frame)
    return try await answer(kind)
  }

  func answer(_ kind: Frame.Kind) async throws -> Frame {
    let answer = try await mailbox.take()
    guard answer.kind == kind else { throw Session.unexpected(answer, text) }
    return answer
  }

  private static func unexpected(_ frame: Frame, _ text: String) -> MagicDataError {
    MagicDataError(.failed, "\(text) answered with a frame of kind \(frame.kind), which does not belong there")
  }

  func reading<Result>(_ body: () throws(WireError) -> Result) throws -> Result { try Session.reading(text, body) }

  private static func reading<Result>(_ text: String, _ body: () throws(WireError) -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw MagicDataError(.failed, "\(text) answered with what cannot be read: \(error.message)")
    }
  }

  /// Sends a content's or a segment's bytes.
  func send(_ bytes: ArraySlice<UInt8>) async throws {
    var rest = bytes
    while !rest.isEmpty {
      try await send(Frame(.data, ByteBuffer(bytes: rest.prefix(WireLimits.pieceBytes))))
      rest = rest.dropFirst(WireLimits.pieceBytes)
    }
  }

  // MARK: Frontiers

  /// The database has another id than the one that it came under.
  struct ReplicaChanged: Error {}

  /// The server has another transaction than the database at some address of somebody's (J-33).
  struct Forked: Error {
    let error: MagicDataError
  }

  /// Both sides, after their names were compared (W-6).
  struct Compared: Sendable {
    let held: Frontier
    let named: NamedFrontier
    let there: Standing
    /// What there is no need to ask for: what is held, and of ids that are closed what is held under others (J-33).
    var known = Frontier()
    /// Others have written under the database's own id (F-17).
    let isBranch: Bool
    /// The ids of others under which two databases have written, or may have.
    var suspects: [ReplicaID] = []
    /// How many changes had been told before.
    let changes: Int
    /// Whether it was found before, and not for this question.
    var isRemembered = false
    /// Until when it may be taken for what is, as long as the server tells of no change: nothing was there that is not held.
    var until: ContinuousClock.Instant?
  }

  func compare(_ magic: MagicData) async throws -> Compared {
    let changes = changes.count
    compared.withLock { $0 = nil }
    // Of ids that are closed the server may have other transactions.
    let (runs, own, branches) = try await magic.store.readBriefly { db in
      let branches = try Branches(db)
      let closings = branches.closings
      return (try JournalIndex(db).heldRuns().filter { closings[$0.replica] == nil }, try DatabaseState(db).replica, branches)
    }
    guard own == replica else { throw ReplicaChanged() }
    let isTelling = tellsNames.withLock { $0 }
    let answer: Frame
    do {
      answer = try await ask(.held(isTelling ? runs : []), for: .standing)
    } catch let error as MagicDataError where error.code == .fork && isTelling {
      throw Forked(error: error)
    }
    let there = try reading { () throws(WireError) in try answer.standing() }
    return try await magic.store.readBriefly { db in
      let journal = JournalIndex(db)
      let held = try journal.frontier()
      let found = try there.difference(own: own, held) { try journal.name(at: $0, of: $1) }
      var known = held
      var forked = found.forked
      for run in there.parts.map(\.held) where run.last > held[run.replica] || forked.contains(run.replica) {
        // Under another id, or as what a floor stands for beside its end (K-20).
        let isHeld = try branches.addresses(of: run.last, of: run.replica).contains {
          try journal.name(at: $0.sequence, of: $0.replica) == run.name
        }
        if isHeld { known[run.replica] = max(run.last, held[run.replica]) }
        let isRival = try journal.name(at: 1, of: run.replica.branch(at: run.name)) == run.name
        if isHeld || isRival { forked.removeAll { $0 == run.replica } }
      }
      // Of what the server has more of, and was not told the names, it is not known whether it goes on from what is held here.
      let suspects =
        isTelling
        ? []
        : there.parts.map(\.held).filter {
          held[$0.replica] > 0 && $0.last > known[$0.replica] && $0.replica != own
        }.map(\.replica)
      return Compared(
        held: held, named: try journal.named(held), there: there, known: known, isBranch: found.isBranch,
        suspects: forked + suspects,
        changes: changes)
    }
  }

  /// The same for a push. What the pull before it has found is not asked for again, if the server has told of no change since, and the database holds what it
  /// held then, or what the server does. Were it another all the same, the server's answer to the push says so.
  private func compareForPush(_ magic: MagicData) async throws -> Compared {
    let known = compared.withLock { known in
      defer { known = nil }
      return known
    }
    guard let known, known.changes == changes.count else { return try await compare(magic) }
    let (held, named) = try await magic.store.readBriefly { db in
      let journal = JournalIndex(db)
      let held = try journal.frontier()
      return (held, try journal.named(held))
    }
    let hasGrown = known.until != nil && known.held.replicas.allSatisfy { known.held[$0] <= held[$0] }
    guard held == known.held || held == known.there.frontier || hasGrown else { return try await compare(magic) }
    return Compared(
      held: held, named: named, there: known.there, known: held, isBranch: false, changes: known.changes, isRemembered: true,
      until: known.until)
  }

  /// What an exchange has ended with. The server tells of each change from then on (W-11), so there is no need to ask before the next.
  private func remember(_ ended: Compared, there: Standing) {
    guard isLive, !ended.isBranch, there.parts.allSatisfy({ $0.held.last <= ended.held[$0.held.replica] && $0.beyond.isEmpty })
    else { return }
    var found = Compared(
      held: ended.held, named: ended.named, there: there, known: ended.held, isBranch: false, changes: ended.changes)
    found.until = ended.until ?? .now + Session.trust
    compared.withLock { [found] in $0 = found }
  }

  /// In so long it is asked all the same: what is served may have been changed in ways that its server does not see.
  private static let trust = Duration.seconds(30)

  private var inStep: Compared? {
    compared.withLock { known in
      guard let found = known, let until = found.until, until > .now, found.changes == changes.count else { return nil }
      return found
    }
  }
}

extension Session: OpenRemote {
  var isLive: Bool { offers("watch") && welcome.rights.contains(.read) }

  func dataSet() async throws -> DataSetID {
    guard let dataSet = dataSetThere.withLock({ $0 }) else {
      throw MagicDataError(.notFound, "\(text) holds nothing yet; push to it first")
    }
    return dataSet
  }

  func dataSet(orMake dataSet: DataSetID) async throws -> DataSetID {
    if let there = dataSetThere.withLock({ $0 }) { return there }
    let answer = try await ask(.dataSet(.make, dataSet), for: .made)
    let made = try reading { () throws(WireError) in try answer.dataSet() }
    dataSetThere.withLock { $0 = made }
    return made
  }

  // MARK: Pull

  func arrivals(for magic: MagicData, _ dataSet: DataSetID) async throws -> Arrivals {
    if let known = inStep { return Arrivals(.nothing, known.there) }
    return try await arrivalsNow(for: magic, dataSet)
  }

  private func arrivalsNow(for magic: MagicData, _ dataSet: DataSetID) async throws -> Arrivals {
    let found = try await compare(magic)
    let there = found.there
    frontierThere.withLock { $0 = there.frontier }
    var held = found.known
    // All that is there under such an id: where it begins to differ shows in the segments.
    if found.isBranch { held[replica] = 0 }
    for suspect in found.suspects { held[suspect] = 0 }
    let isSure = !found.isBranch && found.suspects.isEmpty
    compared.withLock { $0 = isSure ? found : nil }
    guard !isSure || there.parts.contains(where: { $0.held.last > held[$0.held.replica] }) else {
      return Arrivals(.nothing, there)
    }
    let spool = try Spool()
    do {
      let unread = try await pull(after: held, dataSet, into: spool.folder)
      tellsNames.withLock { $0 = true }
      return Arrivals(spool, there, unread: unread)
    } catch let error as MagicDataError where error.code == .unreachable {
      // What came whole stays.
      return Arrivals(spool, there, interruption: error)
    }
  }

  private func pull(after held: Frontier, _ dataSet: DataSetID, into folder: FolderRemote) async throws -> [UnreadFile] {
    try await send(.frontier(.pull, held))
    while true {
      let frame = try await mailbox.take()
      if frame.kind == .pulled {
        return try reading { () throws(WireError) in try frame.texts() }.map {
          UnreadFile(path: text, code: .damaged, message: "\(text): \($0)")
        }
      }
      if frame.kind == .checkpoint {
        try await takeCheckpoint(frame, dataSet, into: folder)
        continue
      }
      guard frame.kind == .segment else { throw Session.unexpected(frame, text) }
      let (name, head) = try reading { () throws(WireError) in try frame.segment() }
      let segment: ArrivingSegment
      do {
        segment = try ArrivingSegment(head, name: name, in: folder, isDurable: false)
      } catch let error as JournalError {
        throw MagicDataError(error, "\(text) sent what is no segment that this program reads")
      }
      while segment.lacking > 0 { try await answer(.data).body.withUnsafeReadableBytes { try segment.append($0) } }
      try segment.finish()
    }
  }

  private func takeCheckpoint(_ frame: Frame, _ dataSet: DataSetID, into folder: FolderRemote) async throws {
    guard let length = try reading({ () throws(WireError) in try frame.length() }) else {
      throw MagicDataError(.failed, "\(text) sent a checkpoint without a length")
    }
    let checkpoint = try ArrivingCheckpoint(length, of: dataSet, in: folder, isDurable: false)
    while checkpoint.lacking > 0 { try await answer(.data).body.withUnsafeReadableBytes { try checkpoint.append($0) } }
    try checkpoint.finish()
  }

  // MARK: Push

  func deliver(_ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource) async throws -> Delivery {
    var delivery = Delivery()
    // What was found before the push may not have been so any more: then it is asked for, once.
    if try await !deliver(magic, dataSet, events, compareForPush(magic), &delivery) {
      _ = try await deliver(magic, dataSet, events, compare(magic), &delivery)
    }
    return delivery
  }

  /// - Returns: `false` if the server lacks what it was remembered to have.
  private func deliver(
    _ magic: MagicData, _ dataSet: DataSetID, _ events: EventSource, _ compared: Compared, _ delivery: inout Delivery
  ) async throws -> Bool {
    if compared.isBranch || !compared.suspects.isEmpty {
      try await arrivalsNow(for: magic, dataSet).part(magic, from: compared.suspects, dataSet, events)
      if !compared.isBranch {
        let compared = try await compare(magic)
        guard compared.suspects.isEmpty else {
          throw MagicDataError(.fork, "\(text) has other transactions of a replica than the database; pull first")
        }
        return try await deliver(magic, dataSet, events, compared, &delivery)
      }
    }
    let (held, there, store) = (compared.held, compared.there, magic.store)
    notice(there, held)
    let (state, floor) = try await store.read { db in
      // What it holds is on the disk before anybody else has it (J-21).
      try store.syncToDisk(db)
      return (try DatabaseState(db), try JournalIndex(db).floor().frontier)
    }
    guard state.replica == replica else { throw ReplicaChanged() }
    // From here on something may flow, so both sides stand for one data set.
    if !state.isSettled { try await store.write { db in try DatabaseState.settle(dataSet, db) } }
    let lacksCheckpoint = floor.replicas.contains { !there.holes(of: $0, through: floor[$0]).isEmpty }
    let holes = held.replicas.flatMap { replica in
      there.holes(of: replica, through: held[replica]).filter { $0.upperBound > floor[replica] }.map {
        (replica, max($0.lowerBound, floor[replica] + 1)...$0.upperBound)
      }
    }
    guard lacksCheckpoint || !holes.isEmpty else {
      remember(compared, there: there)
      delivery.pushed = compared.named
      try await acknowledge(compared.named, magic, dataSet)
      return true
    }
    guard welcome.rights.contains(.write) else {
      throw MagicDataError(
        .unauthorized, "\(text): the token may only read, and there is something to be written; pull instead")
    }
    if lacksCheckpoint { try await sendCheckpoint(magic, dataSet, &delivery.report) }
    let meter = ProgressMeter(events, .push, of: holes.reduce(0) { $0 + $1.1.count })
    for (replica, hole) in holes {
      var first = hole.lowerBound
      while first <= hole.upperBound, case let run = first...hole.upperBound,
        let cut = try await store.read({ db in
          try SegmentCutter(dataSet: dataSet, writer: state.replica, journal: JournalReader(db)).cutNow(replica, run)
        })
      {
        try await send(.segment(cut.name, cut.bytes[..<SegmentHeader.length]))
        try await send(cut.bytes[SegmentHeader.length...])
        delivery.report.count(cut)
        try meter.moved(changes: cut.changes, transactions: cut.run.count)
        first = cut.run.upperBound + 1
      }
    }
    let (settled, isSame) = try await settle(held, magic)
    // What was sent just now, and the server does not take yet, is not sent again at once.
    let sent = Set(holes.map(\.0))
    if compared.isRemembered,
      held.replicas.contains(where: { !sent.contains($0) && !settled.holes(of: $0, through: held[$0]).isEmpty })
    {
      return false
    }
    if isSame { remember(compared, there: settled) }
    delivery.pushed = compared.named
    try await acknowledge(compared.named, magic, dataSet)
    return true
  }

  /// K-17.
  private func sendCheckpoint(_ magic: MagicData, _ dataSet: DataSetID, _ report: inout PushReport) async throws {
    guard offers("checkpoints") else {
      throw MagicDataError(
        .incompatible,
        "\(text) lacks what this database has no history of any more, and takes no checkpoints; it needs a newer version")
    }
    guard let checkpoint = try await ServedDatabase(magic).checkpoint(dataSet, after: Frontier()) else { return }
    let length = PieceReader.length(of: checkpoint.file) ?? 0
    try await send(.length(.checkpoint, length))
    try await FilePieces(checkpoint.file).forEach(from: 0, through: length) { try await send(Frame(.data, $0)) }
    report.checkpoints += 1
    report.bytes += length
    withExtendedLifetime(checkpoint) {}
  }

  /// K-7: says what this database has, and takes what others have said. Of a session that stays not more often than once a second, as nobody waits for it.
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

  func digest(at frontier: Frontier) async throws -> String? {
    // A hub folds nothing.
    guard offers("digest"), welcome.replica != nil, welcome.rights.contains(.read) else { return nil }
    let answer = try await ask(.frontier(.digest, frontier), for: .digested)
    return try reading { () throws(WireError) in try answer.digest() }
  }

  // MARK: Changes

  /// Asks for what was sent to be kept for good; returns what the server holds then, and whether it is the same as here as far as both hold it.
  private func settle(_ held: Frontier, _ magic: MagicData) async throws -> (Standing, isSame: Bool) {
    let there = try await settle(held)
    // Of somebody else's transactions under the same numbers the next question tells, which comes soon if this is not known to be in step.
    let found = try await magic.store.readBriefly { [replica] db in
      try there.difference(own: replica, held) { try JournalIndex(db).name(at: $0, of: $1) }
    }
    guard found == Standing.Difference() else {
      frontierThere.withLock { $0 = Frontier() }
      return (there, false)
    }
    return (there, true)
  }

  /// The same of contents.
  @discardableResult
  func settle(_ held: Frontier) async throws -> Standing {
    let answer = try await ask(Frame(.settle), for: .settled)
    let there = try reading { () throws(WireError) in try answer.standing() }
    notice(there, held)
    return there
  }

  /// The server does not tell again of what it has told in answer to a push (W-11): what no pull has looked at and is not held is a change.
  private func notice(_ there: Standing, _ held: Frontier) {
    let before = frontierThere.withLock { $0 }
    let frontier = there.frontier
    frontierThere.withLock { $0 = frontier }
    if frontier.replicas.contains(where: { frontier[$0] > max(before[$0], held[$0]) }) { changes.tell() }
  }

  func holds(_ frontier: Frontier) -> Bool { frontierThere.withLock { $0 } == frontier }

  func position() -> RemotePosition { .count(changes.count) }

  func waitForChange(after position: RemotePosition, every interval: Duration) async throws {
    guard case .count(let count) = position else { return }
    while changes.count == count {
      try Task.checkCancellation()
      if let end = mailbox.end { throw end }
      if isLive { await changes.wait(after: count) } else { return try await Task.sleep(for: interval) }
    }
    if let end = mailbox.end { throw end }
  }

  // MARK: Status

  func status(of magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus {
    let compared = try await compare(magic)
    if compared.isBranch || !compared.suspects.isEmpty {
      throw MagicDataError(.fork, "\(text) has other transactions of a replica than the database; pull first")
    }
    let there = compared.there
    let now = magic.store.surroundings.milliseconds()
    return try await magic.store.read { db in try ReplicationStatus(db, there, now) }
  }
}

extension FolderRemote {
  /// Where there is no folder there are no files.
  fileprivate static let nothing = FolderRemote(
    FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString.lowercased()))
}
