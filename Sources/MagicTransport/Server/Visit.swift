internal import Foundation
internal import Logging
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore
internal import NIOSSL

/// What all sessions of a server have in common.
struct House: Sendable {
  let served: any Served
  let tokens: Tokens?
  let owners: Owners?
  let door: Door
  let tally: Tally
  let logger: Logger
  /// Told once: from then on nothing new is begun.
  let stop: ChangeSignal
}

/// One connection to a server, from its coming to its end.
///
/// One task reads and answers; others only watch: that the client is heard of in time, that it hears of changes, that the server stops.
final class Visit: Sendable {
  private let house: House
  private let channel: NIOAsyncChannel<Frame, Frame>
  let address: String
  private let id: Int
  private let deadline = Deadline()
  private let shared = Locked(Shared())
  private let counted = Locked((in: 0, out: 0))

  /// What the watching tasks know of the session.
  private struct Shared {
    var isWatching = false
    /// What the client was told to be here.
    var told: Frontier?
    /// Whether what the client has sent is being taken, of which it hears by the answer.
    var isSettling = false
    /// Whether something was asked for that is not answered, or sent that is not settled.
    var isBusy = false
    var isOver = false
    /// Nothing came of it, or was taken by it, for too long.
    var isSilent = false
    /// It was not finished when the server could wait no longer.
    var isCut = false
    /// Who it is, as far as that is known.
    var who = "nobody"
  }

  init(_ house: House, _ channel: NIOAsyncChannel<Frame, Frame>, from address: String) {
    self.house = house
    self.channel = channel
    self.address = address
    id = house.door.enter(channel.channel)
  }

  func run() async {
    let start = ContinuousClock.now
    var conversation: Conversation?
    var failure: WireError?
    do {
      try await channel.executeThenClose { inbound, outbound in
        await withTaskGroup(of: Void.self) { group in
          var iterator = inbound.makeAsyncIterator()
          group.addTask { await self.watchDeadline() }
          group.addTask { await self.watchStop(outbound) }
          do {
            deadline.set(WireLimits.handshake)
            let opening = try await greet(&iterator, outbound)
            conversation = opening
            group.addTask { await self.ping(outbound) }
            group.addTask { await self.tellChanges(opening, outbound) }
            try await converse(opening, &iterator, outbound)
          } catch {
            failure = await refuse(error, &iterator, outbound)
          }
          shared.withLock { $0.isOver = true }
          group.cancelAll()
        }
      }
    } catch {
      // It was closed already.
    }
    house.door.leave(id)
    log(conversation, failure, ContinuousClock.now - start)
  }

  // MARK: Frames

  private func next(_ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator) async throws -> Frame? {
    while let frame = try await iterator.next() {
      count(in: 5 + frame.body.readableBytes)
      guard frame.kind == .pong else { return frame }
      deadline.set(WireLimits.silence)
    }
    return nil
  }

  /// One that has to come, within a segment or a content.
  private func data(
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, atMost count: Int
  ) async throws -> ByteBuffer {
    deadline.set(WireLimits.silence)
    guard let frame = try await next(&iterator) else { throw WireError(.protocolViolation, "it ended within bytes") }
    deadline.clear()
    guard frame.kind == .data, 1...count ~= frame.body.readableBytes else {
      throw WireError(.protocolViolation, "\(count) bytes were to come, and a frame of kind \(frame.kind) did")
    }
    return frame.body
  }

  private func send(_ frame: Frame, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    deadline.set(WireLimits.silence)
    try await outbound.write(frame)
    deadline.clear()
    count(out: 5 + frame.body.readableBytes)
  }

  private func count(in received: Int = 0, out sent: Int = 0) {
    counted.withLock { $0 = ($0.in + received, $0.out + sent) }
    house.tally.moved(in: received, out: sent)
  }

  private func send(_ bytes: ArraySlice<UInt8>, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    var rest = bytes
    while !rest.isEmpty {
      try await send(Frame(.data, ByteBuffer(bytes: rest.prefix(WireLimits.pieceBytes))), outbound)
      rest = rest.dropFirst(WireLimits.pieceBytes)
    }
  }

  // MARK: Beginning

  private func greet(
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws -> Conversation {
    guard let frame = try await next(&iterator) else { throw Gone() }
    let hello = try Hello(frame)
    // Zeros are a hub's (W-2).
    guard hello.replica != .unset else { throw WireError(.protocolViolation, "a client has a replica id") }
    guard hello.versions.contains(Hello.version) else {
      throw WireError(.version, "this server speaks version \(Hello.version) of the protocol, and not \(hello.versions)")
    }
    shared.withLock { $0.who = "somebody who claims to be replica \(hello.replica)" }
    var holder = Tokens.Holder(name: "anyone", rights: [.read, .write])
    if let tokens = house.tokens {
      guard let known = tokens.holder(of: hello.token) else {
        throw WireError(.token, hello.token.isEmpty ? "a token is needed (--token-file)" : "the token is not known here")
      }
      holder = known
    }
    shared.withLock { $0.who = "\(holder.name), replica \(hello.replica)" }
    if let owners = house.owners, try owners.isOthers(hello.replica, than: holder.name) {
      throw WireError(.notAllowed, "replica \(hello.replica) belongs to another token")
    }
    guard house.door.admit(id, from: address) else { throw WireError(.busy, "there are too many connections; try again") }
    let opening = Conversation(hello: hello, holder: holder)
    // A peer has one replica id, and nobody else may come under it.
    let own = try await house.served.replica()
    guard own != hello.replica else { throw WireError(.fork, "this server's database is a copy of the client's, or the same") }
    try await send(
      Welcome(
        replica: own, dataSet: house.served.dataSet(), rights: holder.rights, capabilities: Hello.capabilities
      ).frame, outbound)
    return opening
  }

  // MARK: Conversation

  private func converse(
    _ conversation: Conversation, _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    var inbox: (any Inbox)?
    var held: [HeldRun] = []
    var (isUnsettled, isClaimed) = (false, false)
    while true {
      shared.withLock { $0.isBusy = isUnsettled }
      deadline.set(WireLimits.silence)
      guard let frame = try await next(&iterator) else { return }
      deadline.clear()
      shared.withLock { $0.isBusy = true }
      if try conversation.right(to: frame.kind) == .write, !isClaimed {
        try claim(conversation)
        isClaimed = true
        let here = shared.withLock { $0.told } ?? Frontier()
        house.tally.holds(held, conversation.hello.replica, here: here, isKnown: true)
      }
      if frame.kind == .make {
        try await send(.dataSet(.made, house.served.make(try frame.dataSet())), outbound)
        continue
      }
      if frame.kind == .watch {
        try frame.expectEmpty()
        shared.withLock { $0.isWatching = true }
        continue
      }
      guard let dataSet = try await house.served.dataSet() else { throw WireError(.notThere, "nothing is held here yet") }
      switch frame.kind {
      case .held:
        held = try frame.held()
        try await answer(.standing, dataSet, held, conversation, outbound)
      case .pull:
        var frontier = try frame.frontier()
        // What comes meanwhile may come with it, or not.
        let given = try await house.served.frontier()
        while let checkpoint = try await house.served.checkpoint(dataSet, after: frontier) {
          try await give(checkpoint, conversation, outbound)
          for replica in checkpoint.floor.replicas { frontier[replica] = max(frontier[replica], checkpoint.floor[replica]) }
        }
        let unread = try await house.served.segments(dataSet, after: frontier) { segment in
          try await self.give(segment, outbound)
        }
        try await send(.texts(.pulled, unread), outbound)
        if unread.isEmpty { house.tally.holds(given, conversation.hello.replica, here: given, isKnown: true) }
      case .segment:
        let box = try await inbox.or { try await house.served.inbox(dataSet) }
        inbox = box
        isUnsettled = true
        try await receive(frame, dataSet, into: box, conversation, &iterator)
      case .checkpoint:
        let box = try await inbox.or { try await house.served.inbox(dataSet) }
        inbox = box
        isUnsettled = true
        try await receive(checkpoint: frame, dataSet, into: box, conversation, &iterator)
      case .members:
        guard let said = try frame.blocks().first else { throw WireError(.protocolViolation, "nothing was said") }
        let answers = try await house.served.acknowledged(dataSet, said, by: conversation.hello.replica)
        try await send(.blocks(.said, answers), outbound)
      case .settle:
        try frame.expectEmpty()
        shared.withLock { $0.isSettling = true }
        try await inbox?.settle(held)
        isUnsettled = false
        // Others hear of it once it is known here, whatever becomes of the answer; this client hears of it by that.
        house.served.changes.tell()
        try await answer(.settled, dataSet, [], conversation, outbound)
        shared.withLock { $0.isSettling = false }
        await tellChange(outbound)
      case .which:
        let digits = try frame.which()
        let files = try await house.served.contents(Set(digits))
        try await send(.have(digits.map { digits in files[digits].flatMap { PieceReader.length(of: $0) } }), outbound)
      case .fetch:
        let (digits, offset) = try frame.content()
        try await give(digits, from: offset, outbound)
      case .store:
        let (digits, length) = try frame.content()
        let box = try await inbox.or { try await house.served.inbox(dataSet) }
        inbox = box
        isUnsettled = true
        try await receive(digits, length, into: box, &iterator, outbound)
      case .digest:
        try await send(.digest(house.served.digest(at: frame.frontier())), outbound)
      default: throw WireError(.protocolViolation, "a frame of kind \(frame.kind) does not belong here")
      }
    }
  }

  /// W-4: who writes something makes its id its own.
  private func claim(_ conversation: Conversation) throws {
    let (replica, name) = (conversation.hello.replica, conversation.holder.name)
    guard try house.owners?.claim(replica, for: name) ?? true else {
      throw WireError(.notAllowed, "replica \(replica) belongs to another token")
    }
  }

  private func answer(
    _ kind: Frame.Kind, _ dataSet: DataSetID, _ held: [HeldRun], _ conversation: Conversation,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    var standing = try await house.served.standing(dataSet, comparedWith: held, of: conversation.hello.replica)
    if let owners = house.owners {
      for index in standing.parts.indices {
        standing.parts[index].isClosed = try owners.isOthers(standing.parts[index].held.replica, than: conversation.holder.name)
      }
    }
    let frontier = standing.frontier
    shared.withLock { $0.told = frontier }
    house.tally.holds(held, conversation.hello.replica, here: frontier)
    try await send(.standing(kind, standing), outbound)
  }

  private func receive(
    _ frame: Frame, _ dataSet: DataSetID, into inbox: any Inbox, _ conversation: Conversation,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator
  ) async throws {
    let (hash, head) = try frame.segment()
    let segment = try ArrivingSegment(head, name: hash, in: inbox.folder, isDurable: inbox.isDurable)
    let (name, header) = (segment.name, segment.header)
    guard header.dataSet == dataSet else { throw WireError(.dataSet, "a segment belongs to another data set") }
    guard header.writer == conversation.hello.replica else {
      throw WireError(.notAllowed, "a segment was written by another replica than the one that sends it")
    }
    if let owners = house.owners, try owners.isOthers(header.replica, than: conversation.holder.name) {
      throw WireError(.notAllowed, "replica \(header.replica) belongs to another token")
    }
    while segment.lacking > 0 {
      try await data(&iterator, atMost: segment.lacking).withUnsafeReadableBytes { try segment.append($0) }
    }
    let whole = Whole(segment)
    try await offPool {
      inbox.received(name, try whole.arrived.finish())
    }
    house.tally.took(header, from: conversation.hello.replica)
  }

  private func receive(
    checkpoint frame: Frame, _ dataSet: DataSetID, into inbox: any Inbox, _ conversation: Conversation,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator
  ) async throws {
    guard let length = try frame.length() else { throw WireError(.protocolViolation, "a checkpoint without a length") }
    let checkpoint = try ArrivingCheckpoint(length, of: dataSet, in: inbox.folder, isDurable: inbox.isDurable)
    while checkpoint.lacking > 0 {
      try await data(&iterator, atMost: min(checkpoint.lacking, WireLimits.maxPieceBytes)).withUnsafeReadableBytes {
        try checkpoint.append($0)
      }
    }
    let whole = Whole(checkpoint)
    try await offPool { [owners = house.owners] in
      let name = try whole.arrived.finish { writer, replicas in
        guard writer == conversation.hello.replica else {
          throw WireError(.notAllowed, "a checkpoint was written by another replica than the one that sends it")
        }
        for replica in replicas where try owners?.isOthers(replica, than: conversation.holder.name) ?? false {
          throw WireError(.notAllowed, "a checkpoint stands for replica \(replica), which belongs to another token")
        }
      }
      inbox.receivedCheckpoint(name)
    }
  }

  private func give(_ segment: ServedSegment, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    try await send(.segment(segment.name, segment.header[...]), outbound)
    switch segment.body {
    case .bytes(let bytes): try await send(bytes, outbound)
    case .file(let file):
      try await FilePieces(file).forEach(from: SegmentHeader.length, through: file.length) {
        try await send(Frame(.data, $0), outbound)
      }
    }
  }

  private func give(
    _ checkpoint: ServedCheckpoint, _ conversation: Conversation, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    guard conversation.hello.capabilities.contains("checkpoints") else {
      throw WireError(.version, "history was given up here, and the client takes no checkpoints; use a newer version")
    }
    let length = PieceReader.length(of: checkpoint.file) ?? 0
    try await send(.length(.checkpoint, length), outbound)
    try await FilePieces(checkpoint.file).forEach(from: 0, through: length) { try await send(Frame(.data, $0), outbound) }
    withExtendedLifetime(checkpoint) {}
  }

  // MARK: Contents

  private func give(_ digits: String, from offset: Int, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    guard let file = try await house.served.contents([digits])[digits], let length = PieceReader.length(of: file) else {
      return try await send(.length(.content, nil), outbound)
    }
    try await send(.length(.content, length), outbound)
    guard offset < length else { return }
    var hash = SHA256()
    try await FilePieces(file).forEach(from: offset, through: length) { piece in
      piece.withUnsafeReadableBytes { hash.update($0) }
      try await send(Frame(.data, piece), outbound)
    }
    // Who gets it throws it away; from here on it counts as one that is not here, so that whoever has it sends it.
    if offset == 0, hash.finish().hexadecimal != digits { await house.served.doubt(content: digits) }
  }

  private func receive(
    _ digits: String, _ length: Int, into inbox: any Inbox,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    let content = try ArrivingContent(digits, in: inbox.contents)
    if content.offset > length { try content.restart() }
    try await send(.length(.from, content.offset), outbound)
    while content.offset < length {
      try await data(&iterator, atMost: min(length - content.offset, WireLimits.maxPieceBytes)).withUnsafeReadableBytes {
        try content.append($0)
      }
    }
    let whole = Whole(content)
    try await offPool { try whole.arrived.finish() }
    inbox.received(digits)
    try await send(Frame(.stored), outbound)
  }

  // MARK: End

  private struct Gone: Error {}

  /// Tells the client what is wrong, and goes on taking what is on its way for a moment, so that it hears it (W-13).
  private func refuse(
    _ error: any Error, _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async -> WireError? {
    if error is Gone || error is IOError || error is ChannelError || error is CancellationError { return nil }
    let isOver = shared.withLock { shared in
      defer { shared.isOver = true }
      return shared.isOver
    }
    guard !isOver else { return nil }
    if error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError {
      // There is no way to tell it.
      return WireError(.protocolViolation, "it does not speak TLS that is known here, or shows no certificate that is trusted")
    }
    let refusal = WireError(error)
    // The other refusals are the client's doing, and said with the session.
    if refusal.code == .failed { house.logger.error("\(address): \(error)") }
    deadline.set(WireLimits.linger)
    do {
      try await outbound.write(refusal.frame)
      count(out: 5 + refusal.frame.body.readableBytes)
      for _ in 0..<WireLimits.lingerFrames {
        guard try await iterator.next() != nil else { break }
      }
    } catch {
      // It has gone.
    }
    return refusal
  }

  private func log(_ conversation: Conversation?, _ failure: WireError?, _ duration: Duration) {
    let (received, sent) = counted.withLock { $0 }
    house.tally.ended(failure)
    let seconds = duration / .milliseconds(1) / 1_000
    let (who, reason) = shared.withLock {
      ($0.who, $0.isSilent ? ", closed for its silence" : $0.isCut ? ", cut short: the server stopped" : "")
    }
    let end = failure.map { ", refused: \($0.message)" } ?? reason
    // One line, whatever a client wrote.
    let line = "\(who) from \(address): \(received) bytes in, \(sent) bytes out, \(Int(seconds * 1_000)) ms\(end)"
    if failure != nil {
      house.logger.warning("\(line)")
    } else if conversation == nil {
      house.logger.debug("\(line)")
    } else {
      house.logger.info("\(line)")
    }
  }

  // MARK: Watching

  private func watchDeadline() async {
    guard (try? await deadline.wait()) != nil else { return }
    shared.withLock { $0.isSilent = true }
    try? await channel.channel.close()
  }

  private func ping(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    while (try? await Task.sleep(for: WireLimits.ping)) != nil {
      guard !shared.withLock({ $0.isOver }) else { return }
      try? await outbound.write(Frame(.ping))
    }
  }

  /// W-11.
  private func tellChanges(_ conversation: Conversation, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    var seen = house.served.changes.count
    while !Task.isCancelled {
      await house.served.changes.wait(after: seen)
      guard !Task.isCancelled else { return }
      seen = house.served.changes.count
      await tellChange(outbound)
    }
  }

  private func tellChange(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    let (isWatching, told) = shared.withLock { ($0.isWatching && !$0.isOver && !$0.isSettling, $0.told) }
    guard isWatching, let frontier = try? await house.served.frontier(), frontier != told else { return }
    let isNews = shared.withLock { shared in
      // Somebody else may have told it meanwhile.
      guard shared.told == told, !shared.isSettling else { return false }
      shared.told = frontier
      return true
    }
    if isNews { try? await outbound.write(Frame(.changed)) }
  }

  /// Who has asked for nothing is told to go; what was asked is finished first.
  private func watchStop(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    await house.stop.wait(after: 0)
    let latest = ContinuousClock.now + WireLimits.grace
    while !Task.isCancelled {
      let mayGo = shared.withLock { shared in
        guard !shared.isBusy || shared.isOver || ContinuousClock.now > latest else { return false }
        shared.isCut = shared.isBusy && !shared.isOver
        shared.isOver = true
        return true
      }
      guard !mayGo else { break }
      try? await Task.sleep(for: .milliseconds(20))
    }
    guard !Task.isCancelled else { return }
    try? await outbound.write(WireError(.busy, "the server is stopping").frame)
    try? await channel.channel.close()
  }
}

/// Who is here, and what may be asked.
struct Conversation: Sendable {
  let hello: Hello
  let holder: Tokens.Holder

  /// What a frame takes.
  ///
  /// - Throws: if the token does not give it.
  func right(to kind: Frame.Kind) throws(WireError) -> Rights {
    let needed: Rights =
      switch kind {
      case .pull, .fetch, .watch, .digest: .read
      case .make, .segment, .checkpoint, .members, .settle, .store: .write
      default: []
      }
    guard holder.rights.isSuperset(of: needed) else {
      throw WireError(.notAllowed, "the token of \(holder.name) has no right to \(needed == .read ? "read" : "write")")
    }
    return needed
  }
}

extension Optional {
  /// The value, or one that is made for it.
  fileprivate func or(_ make: () async throws -> Wrapped) async rethrows -> Wrapped {
    if let self { return self }
    return try await make()
  }
}
