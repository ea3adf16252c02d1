internal import Foundation
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// One connection to a server, from its coming to its end.
///
/// One task reads and answers; others only watch: that the client is heard of in time, that it hears of changes, that the
/// server stops.
final class ServerSession: Sendable {
  let server: ServerContext
  let channel: NIOAsyncChannel<Frame, Frame>
  let address: String
  private let id: Int
  let deadline = Deadline()
  let shared = Locked(Shared())
  let counted = Locked((in: 0, out: 0))

  /// What the watching tasks know of the session.
  struct Shared {
    var isWatching = false
    /// What the client was told to be here.
    var told: Frontier?
    /// Whose transactions it has brought.
    var brought = Set<ReplicaID>()
    /// Replicas of whose transactions something was not taken since it was last said, as another file stands in its place.
    var displaced = Set<ReplicaID>()
    /// Whether its id is its token's.
    var isClaimed = false
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

  init(_ server: ServerContext, _ channel: NIOAsyncChannel<Frame, Frame>, from address: String) {
    self.server = server
    self.channel = channel
    self.address = address
    id = server.limits.enter(channel.channel)
  }

  func run() async {
    let start = ContinuousClock.now
    var client: ClientIdentity?
    var failure: WireError?
    do {
      try await channel.executeThenClose { inbound, outbound in
        await withTaskGroup(of: Void.self) { group in
          var iterator = inbound.makeAsyncIterator()
          group.addTask { await self.watchDeadline() }
          group.addTask { await self.watchStop(outbound) }
          do {
            deadline.set(WireLimits.handshake)
            let opening = try await greet(&iterator)
            client = opening
            // Where the database is busy the welcome may take longer than a client waits in silence (W-12).
            group.addTask { await self.ping(outbound) }
            let dataSet = try await welcome(opening, outbound)
            group.addTask { await self.tellChanges(outbound) }
            try await converse(opening, dataSet, &iterator, outbound)
          } catch {
            failure = await refuse(error, hasBegun: client != nil, &iterator, outbound)
          }
          shared.withLock { $0.isOver = true }
          group.cancelAll()
        }
      }
    } catch {
      // It was closed already.
    }
    server.limits.leave(id)
    log(client, failure, ContinuousClock.now - start)
  }

  // MARK: Frames

  private func next(
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, pongsCount: Bool = true
  ) async throws -> Frame? {
    while let frame = try await iterator.next() {
      count(in: frame.wireLength)
      guard frame.kind == .pong else { return frame }
      if pongsCount { deadline.set(WireLimits.silence) }
    }
    return nil
  }

  /// One that has to come, within what a frame of a kind has begun and as long as that is allowed (W-3).
  func data(
    of kind: Frame.Kind, _ client: ClientIdentity,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, atMost count: Int
  ) async throws -> ByteBuffer {
    deadline.set(WireLimits.silence)
    // Who is there and sends nothing holds up others that have the same.
    guard let frame = try await next(&iterator, pongsCount: false) else { throw Gone() }
    deadline.clear()
    _ = try client.right(to: kind)
    guard frame.kind == .data, 1...count ~= frame.body.readableBytes else {
      throw WireError(.protocolViolation, "\(count) bytes were to come, and a frame of kind \(frame.kind) did")
    }
    return frame.body
  }

  func send(_ frame: Frame, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    deadline.set(WireLimits.silence)
    try await outbound.write(frame)
    deadline.clear()
    count(out: frame.wireLength)
  }

  func count(in received: Int = 0, out sent: Int = 0) {
    counted.withLock { $0 = ($0.in + received, $0.out + sent) }
    server.metrics.moved(in: received, out: sent)
  }

  // MARK: Beginning

  private func greet(_ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator) async throws -> ClientIdentity {
    guard let frame = try await next(&iterator) else { throw Gone() }
    // What it takes from here on is the server's time.
    deadline.clear()
    let hello = try Hello(frame)
    // Zeros are a hub's (W-2).
    guard hello.replica != .unset else { throw WireError(.protocolViolation, "a client has a replica id") }
    guard hello.versions.contains(Hello.version) else {
      throw WireError(.version, "this server speaks version \(Hello.version) of the protocol, and not \(hello.versions)")
    }
    shared.withLock { $0.who = "somebody who claims to be replica \(hello.replica)" }
    var holder = Tokens.Holder(name: "anyone", rights: [.read, .write])
    if let tokens = server.tokens {
      guard let known = tokens.current.holder(of: hello.token) else {
        throw WireError(.token, hello.token.isEmpty ? "a token is needed (--token-file)" : "the token is not known here")
      }
      holder = known
    }
    shared.withLock { $0.who = "\(holder.name), replica \(hello.replica)" }
    if let owners = server.owners, try owners.isOthers(hello.replica, than: holder.name) {
      throw WireError.belongsToAnother(hello.replica)
    }
    guard server.limits.admit(id, from: address) else { throw WireError(.busy, "there are too many connections; try again") }
    return ClientIdentity(hello: hello, holder: holder, tokens: server.tokens)
  }

  /// - Returns: the data set that the client was told.
  private func welcome(
    _ client: ClientIdentity, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws -> DataSetID? {
    // A peer has one replica id, and nobody else may come under it.
    let own = try await server.served.replica()
    guard own != client.hello.replica else {
      throw WireError(.fork, "this server's database is a copy of the client's, or the same")
    }
    let dataSet = try await server.served.dataSet()
    try await send(
      Welcome(
        replica: own, dataSet: dataSet, rights: client.holder.rights, capabilities: Hello.capabilities
      ).frame, outbound)
    return dataSet
  }

  // MARK: Conversation

  /// What the client has said and sent.
  private struct Delivery {
    /// The data set that it was told of. It has compared that one, and goes on with no other.
    private var dataSet: DataSetID?
    /// What it has said to hold.
    var held: [HeldRun] = []
    private var opened: (any Inbox)?
    /// Whether some of it is not settled.
    private(set) var isUnsettled = false

    init(_ told: DataSetID?) { dataSet = told }

    /// - Returns: the data set that is there, if the client was told of no other (W-5).
    mutating func goOn(with there: DataSetID) throws -> DataSetID {
      guard dataSet == nil || dataSet == there else {
        throw WireError(.busy, "what is served here is another data set by now; connect again")
      }
      dataSet = there
      return there
    }

    /// Where the next of it goes.
    mutating func inbox(of served: any Served, _ dataSet: DataSetID) async throws -> any Inbox {
      let inbox: any Inbox
      if let opened { inbox = opened } else { inbox = try await served.inbox(dataSet) }
      (opened, isUnsettled) = (inbox, true)
      return inbox
    }

    mutating func settle() async throws {
      try await opened?.settle(held)
      isUnsettled = false
    }
  }

  /// - Parameter told: the data set that the client was told of.
  private func converse(
    _ client: ClientIdentity, _ told: DataSetID?,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    var delivery = Delivery(told)
    var isWriting = false
    while true {
      shared.withLock { $0.isBusy = delivery.isUnsettled }
      deadline.set(WireLimits.silence)
      guard var frame = try await next(&iterator) else { return }
      deadline.clear()
      shared.withLock { $0.isBusy = true }
      if try client.right(to: frame.kind) == .write, !isWriting {
        isWriting = true
        let here = shared.withLock { $0.told } ?? Frontier()
        server.metrics.holds(delivery.held, client.hello.replica, here: here, isKnown: true)
      }
      if frame.kind == .make {
        let made = try await server.served.make(try frame.dataSet())
        try await send(.dataSet(.made, delivery.goOn(with: made)), outbound)
        continue
      }
      if frame.kind == .watch {
        try frame.expectEmpty()
        shared.withLock { $0.isWatching = true }
        continue
      }
      guard let there = try await server.served.dataSet() else { throw WireError(.notThere, "nothing is held here yet") }
      let dataSet = try delivery.goOn(with: there)
      try await answer(&frame, dataSet, &delivery, client, &iterator, outbound)
    }
  }

  /// What takes a data set. The frame's body goes once it is read: what it asks for may take long.
  private func answer(
    _ frame: inout Frame, _ dataSet: DataSetID, _ delivery: inout Delivery, _ client: ClientIdentity,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    switch frame.kind {
    case .held:
      delivery.held = try frame.take { try $0.held() }
      try await answer(.standing, dataSet, delivery.held, of: delivery.held, client, outbound)
      // What came while it was made was not told, as something else was then.
      await tellChange(outbound)
    case .pull:
      try await give(after: frame.take { try $0.frontier() }, dataSet, client, outbound)
    case .segment:
      let inbox = try await delivery.inbox(of: server.served, dataSet)
      try await receive(frame, dataSet, into: inbox, client, &iterator)
    case .checkpoint:
      let inbox = try await delivery.inbox(of: server.served, dataSet)
      try await receive(checkpoint: frame, dataSet, into: inbox, client, &iterator)
    case .members:
      let blocks = try frame.take { try $0.blocks() }
      guard let said = blocks.first else { throw WireError(.protocolViolation, "nothing was said") }
      let answers = try await server.served.acknowledged(
        dataSet, said, by: client.hello.replica, atMost: WireLimits.saidBytes,
        before: { [self] in try claim(client) }, isThere: { try checkIsThere() })
      try await send(.blocks(.said, answers), outbound)
    case .settle:
      try frame.expectEmpty()
      shared.withLock { $0.isSettling = true }
      try await delivery.settle()
      // Others hear of it once it is known here, whatever becomes of the answer; this client hears of it by that.
      server.served.changes.tell()
      try await answer(.settled, dataSet, [], of: delivery.held, client, outbound)
      shared.withLock { $0.isSettling = false }
      await tellChange(outbound)
    case .which:
      let digits = try frame.take { try $0.which() }
      let files = try await server.served.contents(Set(digits), isThere: { try checkIsThere() })
      try await send(.have(digits.map { digits in files[digits].flatMap { ChunkReader.length(of: $0) } }), outbound)
    case .fetch:
      let (digits, offset) = try frame.content()
      try await give(digits, from: offset, outbound)
    case .store:
      let (digits, length) = try frame.content()
      let inbox = try await delivery.inbox(of: server.served, dataSet)
      try await receive(digits, length, into: inbox, client, &iterator, outbound)
    case .digest:
      let frontier = try frame.take { try $0.frontier() }
      let digest = try await server.served.digest(at: frontier, isThere: { try checkIsThere() })
      try await send(.digest(digest), outbound)
    default: throw WireError(.protocolViolation, "a frame of kind \(frame.kind) does not belong here")
    }
  }

  /// W-4: who writes something makes its id its own, if it may still write (W-3). It is called once all of that has come, and
  /// waits for a disk.
  func claim(_ client: ClientIdentity) throws {
    _ = try client.right(to: .segment)
    guard let owners = server.owners, !shared.withLock({ $0.isClaimed }) else { return }
    let (replica, name) = (client.hello.replica, client.holder.name)
    guard try owners.claim(replica, for: name) else { throw WireError.belongsToAnother(replica) }
    shared.withLock { $0.isClaimed = true }
  }

  /// Who may write must not bring in so many replicas that no answer has room for them any more.
  func checkRoom(for replicas: Set<ReplicaID>) async throws {
    guard !shared.withLock({ replicas.isSubset(of: $0.brought) }) else { return }
    try checkRoom(for: replicas, here: try await server.served.replicas())
  }

  func checkRoom(for replicas: Set<ReplicaID>, here: Set<ReplicaID>) throws {
    let new = shared.withLock { shared in
      shared.brought.formUnion(replicas)
      return shared.brought.subtracting(here).count
    }
    guard new == 0 || here.count + new <= WireLimits.replicas else {
      throw WireError(.notAllowed, "this would be more than \(WireLimits.replicas) replicas, which is all that a server takes")
    }
  }

  /// - Parameters:
  ///   - held: what is compared.
  ///   - known: what the client has said to hold.
  private func answer(
    _ kind: Frame.Kind, _ dataSet: DataSetID, _ held: [HeldRun], of known: [HeldRun], _ client: ClientIdentity,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    var standing = try await server.served.standing(
      dataSet, comparedWith: held, of: client.hello.replica, isThere: { try checkIsThere() })
    if let owners = server.owners {
      try standing.close(owners.others(than: client.holder.name), first: Set(known.map(\.replica)))
    }
    if kind == .settled {
      standing.displace(
        shared.withLock { shared in
          defer { shared.displaced = [] }
          return shared.displaced
        })
    }
    let isAccepting = kind == .standing && client.hello.capabilities.contains("accepted")
    if isAccepting {
      try checkIsThere()
      standing.acceptedTime = try await server.served.acceptedTime(dataSet)
    }
    let frontier = standing.frontier
    shared.withLock { $0.told = frontier }
    server.metrics.holds(held, client.hello.replica, here: frontier)
    let frame = Frame.standing(kind, standing, accepting: isAccepting)
    guard frame.fits else {
      throw WireError(
        .failed,
        """
        something of \(standing.parts.count) replicas is held here, and no answer has room for all of them; exchange by the \
        path of the server's own folder
        """)
    }
    try await send(frame, outbound)
  }

  // MARK: End

  struct Gone: Error {}

  /// For who waits here, and not for a frame, or has waited for others.
  func checkIsThere() throws {
    guard channel.channel.isActive, !shared.withLock({ $0.isOver }) else { throw Gone() }
  }
}
