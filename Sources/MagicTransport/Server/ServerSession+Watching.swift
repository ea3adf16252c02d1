internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore

/// What goes on beside the conversation: that the client is heard of in time, that it hears of changes, that the server stops.
extension ServerSession {
  func watchDeadline() async {
    guard (try? await deadline.wait()) != nil else { return }
    shared.withLock { $0.isSilent = true }
    try? await channel.channel.close()
  }

  func ping(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    while (try? await Task.sleep(for: WireLimits.ping)) != nil {
      guard !shared.withLock({ $0.isOver }) else { return }
      try? await outbound.write(Frame(.ping))
    }
  }

  /// W-11.
  func tellChanges(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    var seen = server.served.changes.count
    while !Task.isCancelled {
      await server.served.changes.wait(after: seen)
      guard !Task.isCancelled else { return }
      seen = server.served.changes.count
      await tellChange(outbound)
    }
  }

  func tellChange(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    let (isWatching, told) = shared.withLock { ($0.isWatching && !$0.isOver && !$0.isSettling, $0.told) }
    guard isWatching, let frontier = try? await server.served.frontier(), frontier != told else { return }
    let isNews = shared.withLock { shared in
      // Somebody else may have told it meanwhile.
      guard shared.told == told, !shared.isSettling else { return false }
      shared.told = frontier
      return true
    }
    if isNews { try? await outbound.write(Frame(.changed)) }
  }

  /// Who has asked for nothing is told to go; what was asked is finished first.
  func watchStop(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    await server.stop.wait(after: 0)
    // What it takes to say so is part of it.
    let latest = ContinuousClock.now + WireLimits.grace - WireLimits.linger
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
    await sayStop(outbound)
    try? await channel.channel.close()
  }

  /// Who takes nothing has no room for it either, and is not waited for.
  private func sayStop(_ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await outbound.write(WireError(.busy, "the server is stopping").frame) }
      group.addTask { try? await Task.sleep(for: WireLimits.linger) }
      await group.next()
      // It ends the write as well.
      group.cancelAll()
    }
  }
}
