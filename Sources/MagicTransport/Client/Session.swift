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
  let replica: ReplicaID
  private let dataSetThere: Locked<DataSetID?>
  /// What the server has told that it holds.
  let frontierThere = Locked(Frontier())
  /// What a pull has found, for the push that follows it, and then for the next exchange, if both sides were in step.
  let compared = Locked<Compared?>(nil)
  /// The refusal of a push in the session before, whose attempt the next one takes up.
  let refused: Locked<Refused?>
  /// How often its call has come again.
  let returns: Locked<Returns>
  /// Up to which time stamps are accepted there, as far as it is known (C-5).
  let acceptedThere = Locked(Int64(0))
  /// When it was last said what this database has, and whether there is more to say.
  let acknowledged = Locked((at: ContinuousClock.Instant?.none, isOwed: false))
  /// Whether the server is told the names of what is held. It ends the session if it holds others, and which is then found
  /// without.
  let tellsNames: Locked<Bool>

  init(
    _ text: String, _ hello: Hello, _ outbound: NIOAsyncChannelOutboundWriter<Frame>, _ mailbox: Mailbox,
    _ changes: ChangeSignal, _ room: Deadline, _ returns: Locked<Returns>, after refused: Locked<Refused?>
  ) async throws {
    (tellsNames, self.returns, self.refused) = (Locked(returns.withLock(\.tellsNames)), returns, refused)
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
    if isLive { try await send(Frame(.watch)) }
  }

  func offers(_ capability: String) -> Bool { welcome.capabilities.contains(capability) }

  // MARK: Frames

  func send(_ frame: Frame) async throws { try await Session.send(frame, outbound, mailbox, room) }

  private static func send(
    _ frame: Frame, _ outbound: NIOAsyncChannelOutboundWriter<Frame>, _ mailbox: Mailbox, _ room: Deadline
  ) async throws {
    // An error that came is worth more than what it makes fail.
    if let end = mailbox.end { throw end }
    guard frame.fits else {
      throw MagicDataError(
        .tooLarge,
        "the database holds something of so many replicas that no frame has room for all of them; exchange by a folder")
    }
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

  static func unexpected(_ frame: Frame, _ text: String) -> MagicDataError {
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

  func digest(at frontier: Frontier) async throws -> String? {
    // A hub folds nothing.
    guard offers("digest"), welcome.replica != nil, welcome.rights.contains(.read) else { return nil }
    let answer = try await ask(.frontier(.digest, frontier), for: .digested)
    return try reading { () throws(WireError) in try answer.digest() }
  }

  func status(of magic: MagicData, _ dataSet: DataSetID) async throws -> ReplicationStatus {
    let compared = try await compare(magic)
    guard compared.isSure else { throw forkError }
    let there = compared.there
    let now = magic.store.surroundings.milliseconds()
    return try await magic.store.read { db in try ReplicationStatus(db, there, now) }
  }

  // MARK: Changes

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
}
