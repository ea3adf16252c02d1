internal import Foundation
internal import Logging
internal import MagicData
internal import MagicJournal
internal import MagicReplication
internal import NIOCore
internal import NIOPosix

/// A server's figures for who asks over HTTP (`--metrics`). It answers every request with the same page.
struct MetricsPage: Sendable {
  private let channel: any Channel
  /// Where it is, port chosen.
  let address: String

  init(_ address: String, _ house: House) async throws {
    let endpoint = try Endpoint(address)
    guard case .tcp(let host, let port) = endpoint, Endpoint.isLoopback(host) else {
      throw MagicDataError(.notAllowed, "\(address): figures are given at a loopback address alone, as tcp://127.0.0.1:9420")
    }
    do {
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptGuard(house.logger)) }
        }
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Page(house)) }
        }
        .bind(host: host, port: port).get()
    } catch {
      throw Listener.refusal(address, error)
    }
    let authority = endpoint.with(port: channel.localAddress?.port).text.dropFirst("tcp://".count)
    self.address = "http://\(authority)/metrics"
  }

  func close() async { try? await channel.close() }
}

private final class Page: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let house: House
  private var request = ByteBuffer()

  private static let (maxRequest, maxTime) = (16_384, TimeAmount.seconds(5))

  init(_ house: House) {
    self.house = house
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Page.maxTime) { channel.close(promise: nil) }
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    request.writeBuffer(&part)
    guard request.readableBytes <= Page.maxRequest else { return context.close(promise: nil) }
    guard request.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) != nil else { return }
    let (channel, house) = (context.channel, house)
    Task {
      // Of a database that is busy the page says what is known without it.
      let frontier = (try? await house.served.frontier()) ?? Frontier()
      let page = house.tally.text(sessions: house.door.sessions, frontier)
      let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n"
      // Who has gone needs no page.
      try? await channel.writeAndFlush(ByteBuffer(string: head + page))
      try? await channel.close()
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
  /// Whether it was said that none can be taken, and none was since.
  private var isSaid = false

  /// What the system lacks is lacking for a while, and the connection that waits for it would be tried again at once.
  private static let (lacks, pause) = ([EMFILE, ENFILE, ENOBUFS, ENOMEM], TimeAmount.milliseconds(100))

  init(_ logger: Logger) {
    self.logger = logger
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isSaid = false
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError, AcceptGuard.lacks.contains(error.errnoCode) else { return }
    if !isSaid { logger.warning("connections have to wait: \(Connector.reason(error))") }
    isSaid = true
    let channel = context.channel
    // Who has closed it meanwhile takes no connections.
    channel.setOption(.autoRead, value: false).whenSuccess {
      channel.eventLoop.scheduleTask(in: AcceptGuard.pause) { channel.setOption(.autoRead, value: true) }
    }
  }
}
