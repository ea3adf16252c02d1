internal import Logging
internal import MagicData
internal import NIOCore
internal import NIOSSL

/// How it ends, and what is said of it.
extension ServerSession {
  /// Tells the client what is wrong, and goes on taking what is on its way for a moment, so that it hears it (W-13).
  ///
  /// - Parameter hasBegun: whether it has said who it is.
  func refuse(
    _ error: any Error, hasBegun: Bool, _ iterator: inout NIOAsyncChannelInboundStream<Frame>.AsyncIterator,
    _ outbound: NIOAsyncChannelOutboundWriter<Frame>
  ) async -> WireError? {
    if error is Gone || error is IOError || error is ChannelError || error is CancellationError { return nil }
    // It broke, as that of a client that was killed.
    if error as? NIOSSLError == .uncleanShutdown { return nil }
    let isOver = shared.withLock { shared in
      defer { shared.isOver = true }
      return shared.isOver
    }
    guard !isOver else { return nil }
    if error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError {
      // There is no way to tell it.
      return WireError(
        .protocolViolation,
        hasBegun
          ? "what it sent is not TLS as it should be: \(error)"
          : "it does not speak TLS that is known here, or shows no certificate that is trusted")
    }
    let refusal = WireError(error)
    // The other refusals are the client's doing, and said with the session; of what is not, the client does not hear all.
    if refusal.code == .failed {
      server.logger.error("\(address): \(error)")
    } else if let error = error as? MagicDataError, error.message != refusal.message {
      server.logger.warning("\(address): \(error)")
    }
    deadline.set(WireLimits.linger)
    do {
      try await outbound.write(refusal.frame)
      count(out: refusal.frame.wireLength)
      var left = WireLimits.lingerFrames
      while left > 0, try await iterator.next() != nil { left -= 1 }
      // What comes behind what is no frame is dropped as it comes: the client goes when it has heard, or the deadline ends it.
      if left > 0 { try await channel.channel.closeFuture.get() }
    } catch {
      // It has gone.
    }
    return refusal
  }

  func log(_ client: ClientIdentity?, _ failure: WireError?, _ duration: Duration) {
    let (received, sent) = counted.withLock { $0 }
    server.metrics.ended(failure)
    let seconds = duration / .milliseconds(1) / 1_000
    let (who, reason) = shared.withLock {
      ($0.who, $0.isCut ? ", cut short: the server stopped" : $0.isSilent ? ", closed for its silence" : "")
    }
    let end = failure.map { ", refused: \($0.message)" } ?? reason
    // One line, whatever a client wrote.
    let line = "\(who) from \(address): \(received) bytes in, \(sent) bytes out, \(Int(seconds * 1_000)) ms\(end)"
    if failure != nil {
      server.logger.warning("\(line)")
    } else if client == nil {
      server.logger.debug("\(line)")
    } else {
      server.logger.info("\(line)")
    }
  }
}
