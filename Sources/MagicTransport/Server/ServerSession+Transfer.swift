internal import Logging
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// Files on their way: segments, checkpoints, contents of assets.
extension ServerSession {
  // MARK: Segments and checkpoints

  func receive(
    _ frame: Frame, _ dataSet: DataSetID, into inbox: any Inbox, _ client: ClientIdentity,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator
  ) async throws {
    let (hash, head) = try frame.segment()
    let segment = try ArrivingSegment(head, name: hash, in: inbox.folder, isDurable: inbox.isDurable)
    let (name, header) = (segment.name, segment.header)
    guard header.dataSet == dataSet else { throw WireError(.dataSet, "a segment belongs to another data set") }
    guard header.writer == client.hello.replica else {
      throw WireError(.notAllowed, "a segment was written by another replica than the one that sends it")
    }
    if let owners = server.owners, try owners.isOthers(header.replica, than: client.holder.name) {
      throw WireError.belongsToAnother(header.replica)
    }
    try await checkRoom(for: [header.replica])
    while segment.lacking > 0 {
      try await data(of: .segment, client, &iterator, atMost: segment.lacking).withUnsafeReadableBytes {
        try segment.append($0)
      }
    }
    let whole = Whole(segment)
    do {
      try await offPool { [self] in
        inbox.received(name, try whole.arrived.finish(before: { try claim(client) }))
      }
    } catch let error as MagicDataError where error.cause is NotReplaced {
      return notTaken([header.replica], error)
    }
    server.metrics.took(header, from: client.hello.replica)
  }

  func receive(
    checkpoint frame: Frame, _ dataSet: DataSetID, into inbox: any Inbox, _ client: ClientIdentity,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator
  ) async throws {
    guard let length = try frame.length() else { throw WireError(.protocolViolation, "a checkpoint without a length") }
    let checkpoint = try ArrivingCheckpoint(length, of: dataSet, in: inbox.folder, isDurable: inbox.isDurable)
    while checkpoint.lacking > 0 {
      let most = min(checkpoint.lacking, WireLimits.maxPieceBytes)
      try await data(of: .checkpoint, client, &iterator, atMost: most).withUnsafeReadableBytes {
        try checkpoint.append($0)
      }
    }
    let whole = Whole(checkpoint)
    let (brought, obstacle): (Set<ReplicaID>, MagicDataError?) = try await offPool { [owners = server.owners] in
      var named: Set<ReplicaID> = []
      func check(_ writer: ReplicaID, _ replicas: [ReplicaID]) throws {
        guard writer == client.hello.replica else {
          throw WireError(.notAllowed, "a checkpoint was written by another replica than the one that sends it")
        }
        for replica in replicas where try owners?.isOthers(replica, than: client.holder.name) ?? false {
          throw WireError(
            .notAllowed,
            """
            a checkpoint stands for replica \(replica), which belongs to another token; put it into the server's own folder, \
            with push and that folder's path
            """)
        }
        named = Set(replicas)
      }
      do {
        try whole.arrived.look(check)
        return (named, nil)
      } catch let error as MagicDataError where error.cause is NotReplaced {
        return (named, error)
      }
    }
    if let obstacle { return notTaken(brought, obstacle) }
    // A peer counts where it merges.
    let counts = inbox.isDurable
    if counts { try await server.arriving.enter() }
    defer { if counts { server.arriving.leave() } }
    try checkIsThere()
    let here = try await server.served.replicas()
    try await offPool { [self] in
      try checkRoom(for: brought, here: here)
      let name = try whole.arrived.finish(before: { try claim(client) })
      inbox.receivedCheckpoint(name, brought)
    }
  }

  /// H-39: what stands in its place keeps nothing else from coming; the next `SETTLED` says so.
  private func notTaken(_ replicas: Set<ReplicaID>, _ error: MagicDataError) {
    server.logger.warning("\(address): \(error)")
    shared.withLock { $0.displaced.formUnion(replicas) }
  }

  /// All that it takes to go on from a frontier.
  func give(
    after frontier: Frontier, _ dataSet: DataSetID, _ client: ClientIdentity,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    var frontier = frontier
    // What comes meanwhile may come with it, or not.
    let given = try await server.served.frontier()
    while let checkpoint = try await server.served.checkpoint(dataSet, after: frontier, isThere: { try checkIsThere() }) {
      try await give(checkpoint, client, outbound)
      frontier.raise(to: checkpoint.floor)
    }
    let unread = try await server.served.segments(
      dataSet, after: frontier, isThere: { try checkIsThere() }, { segment in try await self.give(segment, outbound) })
    try await send(.texts(.pulled, unread), outbound)
    if unread.isEmpty { server.metrics.holds(given, client.hello.replica, here: given) }
  }

  private func give(_ segment: ServedSegment, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    try await send(.segment(segment.name, segment.header[...]), outbound)
    switch segment.body {
    case .bytes(let bytes): try await send(bytes, outbound)
    case .file(let file):
      try await FileChunks(file).forEach(from: SegmentHeader.length, through: file.length) {
        try await send(Frame(.data, $0), outbound)
      }
    }
  }

  private func give(
    _ checkpoint: ServedCheckpoint, _ client: ClientIdentity, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    guard client.hello.capabilities.contains("checkpoints") else {
      throw WireError(.version, "history was given up here, and the client takes no checkpoints; use a newer version")
    }
    let file = checkpoint.file
    try await send(.length(.checkpoint, file.length), outbound)
    try await FileChunks(file).forEach(from: 0, through: file.length) { try await send(Frame(.data, $0), outbound) }
    withExtendedLifetime(checkpoint) {}
  }

  private func send(_ bytes: ArraySlice<UInt8>, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    var rest = bytes
    while !rest.isEmpty {
      try await send(Frame(.data, ByteBuffer(bytes: rest.prefix(WireLimits.pieceBytes))), outbound)
      rest = rest.dropFirst(WireLimits.pieceBytes)
    }
  }

  // MARK: Contents

  func give(_ digits: String, from offset: Int, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async throws {
    let found = try await server.served.contents([digits], isThere: { try checkIsThere() })
    guard let file = found[digits], let length = ChunkReader.length(of: file) else {
      return try await send(.length(.content, nil), outbound)
    }
    try await send(.length(.content, length), outbound)
    guard offset < length else { return }
    var hash = SHA256()
    try await FileChunks(file).forEach(from: offset, through: length) { piece in
      piece.withUnsafeReadableBytes { hash.update($0) }
      try await send(Frame(.data, piece), outbound)
    }
    // Who gets it throws it away; from here on it counts as one that is not here, so that whoever has it sends it.
    if offset == 0, hash.finish().hexadecimal != digits { await server.served.doubt(content: digits) }
  }

  /// Waits for who brings the same content; `nil` if it has come so.
  ///
  /// - Throws: `MagicDataError` with `busy` if it takes too long.
  private func arriving(_ digits: String, _ length: Int, into inbox: any Inbox) async throws -> ArrivingContent? {
    let start = ContinuousClock.now
    var hasWaited = false
    while true {
      do {
        let content = try ArrivingContent(digits, in: inbox.contents)
        guard hasWaited else { return content }
        let file = try await server.served.contents([digits], isThere: { try checkIsThere() })[digits]
        var isHere = file.map { ChunkReader.length(of: $0) == length } ?? false
        if !isHere { isHere = try await isWaiting(digits, length, in: inbox) }
        guard isHere else { return content }
        content.abandon()
        return nil
      } catch let error as MagicDataError where error.code == .busy && ContinuousClock.now - start < WireLimits.sameContent {
        hasWaited = true
        try checkIsThere()
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Whether a content came whole that is not settled, of a session that has ended or of another one. What cannot be read, or
  /// is another, is sent anew.
  private func isWaiting(_ digits: String, _ length: Int, in inbox: any Inbox) async throws -> Bool {
    guard !inbox.isDurable else { return false }
    let file = inbox.contents.content(digits)
    return try await offPool { try ChunkReader.length(of: file) == length && AssetContent.check(file, digits, {}) == nil }
  }

  func receive(
    _ digits: String, _ length: Int, into inbox: any Inbox, _ client: ClientIdentity,
    _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator, _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async throws {
    let isThere = try await isWaiting(digits, length, in: inbox)
    guard !isThere, let content = try await arriving(digits, length, into: inbox) else {
      // Or somebody else has brought it meanwhile.
      inbox.received(digits)
      try await send(.length(.from, length), outbound)
      return try await send(Frame(.stored), outbound)
    }
    if content.offset > length { try content.restart() }
    try await send(.length(.from, content.offset), outbound)
    while content.offset < length {
      let most = min(length - content.offset, WireLimits.maxPieceBytes)
      try await data(of: .store, client, &iterator, atMost: most).withUnsafeReadableBytes { try content.append($0) }
    }
    let whole = Whole(content)
    try await offPool {
      // All of it may have been here before.
      _ = try client.right(to: .store)
      try whole.arrived.finish()
    }
    inbox.received(digits)
    try await send(Frame(.stored), outbound)
  }
}
