internal import Foundation
internal import Logging
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore
internal import NIOPosix

/// Serves a server's metrics over HTTP (`--metrics`); every request gets the same page.
struct MetricsPage: Sendable {
  private let channel: any Channel
  private static let maxVisitors = 16
  /// Where it is, port chosen.
  let address: String

  init(_ address: String, _ server: ServerContext) async throws {
    let endpoint = try Endpoint(address)
    let visitors = Locked(0)
    guard case .tcp(let host, let port) = endpoint, Endpoint.isLoopback(host) else {
      throw MagicDataError(.notAllowed, "\(address): figures are given at a loopback address alone, as tcp://127.0.0.1:9420")
    }
    do {
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptGuard(server.logger)) }
        }
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          let isRoom = visitors.withLock { visitors in
            guard visitors < MetricsPage.maxVisitors else { return false }
            visitors += 1
            return true
          }
          guard isRoom else { return channel.close() }
          channel.closeFuture.whenComplete { _ in visitors.withLock { $0 -= 1 } }
          return channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Page(server)) }
        }
        .bind(host: host, port: port).get()
    } catch {
      throw Listener.refusal(address, error)
    }
    channel.closeFuture.whenComplete { _ in
      // The server goes on without.
      if server.stop.count == 0 { server.logger.error("\(address): figures are given no more") }
    }
    let authority = endpoint.with(port: channel.localAddress?.port).text.dropFirst("tcp://".count)
    self.address = "http://\(authority)/metrics"
  }

  func close() async { try? await channel.close() }
}

private final class Page: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let server: ServerContext
  private var request = ByteBuffer()
  private var isAnswered = false

  private static let (maxRequest, maxTime) = (16_384, TimeAmount.seconds(5))

  init(_ server: ServerContext) {
    self.server = server
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Page.maxTime) { channel.close(promise: nil) }
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswered else { return }
    var part = unwrapInboundIn(data)
    request.writeBuffer(&part)
    guard request.readableBytes <= Page.maxRequest else { return context.close(promise: nil) }
    guard request.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) != nil else { return }
    isAnswered = true
    let (channel, server) = (context.channel, server)
    Task {
      // Of a database that is busy the page says what is known without it.
      let frontier = (try? await server.served.frontier()) ?? Frontier()
      let page = server.metrics.text(sessions: server.limits.sessions, frontier)
      let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n"
      // Who has gone needs no page.
      try? await channel.writeAndFlush(ByteBuffer(string: head + page))
      // It closes when it has the page, or the time is over. What else it sends is read: what nobody took ends in a reset.
      try? await channel.close(mode: .output)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// A connection that could not be taken, as when there are too many open files, is no reason to take no others.
final class AcceptGuard: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let logger: Logger
  /// What was the matter last.
  private let fault: Locked<String?>
  /// Whether it was said that none can be taken, and none was since.
  private var isSaid = false

  /// What the system lacks is lacking for a while, and the connection that waits for it would be tried again at once.
  private static let (lacks, pause) = ([EMFILE, ENFILE, ENOBUFS, ENOMEM], TimeAmount.milliseconds(100))

  init(_ logger: Logger, _ fault: Locked<String?> = Locked(nil)) {
    (self.logger, self.fault) = (logger, fault)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isSaid = false
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let reason = Connector.reason(error)
    fault.withLock { $0 = reason }
    guard let error = error as? IOError, AcceptGuard.lacks.contains(error.errnoCode) else {
      logger.warning("a connection could not be taken: \(reason)")
      return
    }
    if !isSaid { logger.warning("connections have to wait: \(reason)") }
    isSaid = true
    let channel = context.channel
    // Who has closed it meanwhile takes no connections.
    channel.setOption(.autoRead, value: false).whenSuccess {
      channel.eventLoop.scheduleTask(in: AcceptGuard.pause) { channel.setOption(.autoRead, value: true) }
    }
  }
}
