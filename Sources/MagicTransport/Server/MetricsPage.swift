internal import Foundation
internal import Logging
internal import MagicData
internal import NIOCore
internal import NIOPosix

/// A server's figures for who asks over HTTP (`--metrics`). It answers every request with the same page.
struct MetricsPage: Sendable {
  private let channel: NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>
  let text: String

  init(_ address: String, _ house: House) async throws {
    guard case .tcp(let host, let port) = try Endpoint(address), Endpoint.isLoopback(host) else {
      throw MagicDataError(.notAllowed, "\(address): figures are given at a loopback address alone, as tcp://127.0.0.1:9420")
    }
    do {
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .bind(host: host, port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try NIOAsyncChannel(
              wrappingChannelSynchronously: channel, configuration: .init(inboundType: ByteBuffer.self, outboundType: ByteBuffer.self))
          }
        }
    } catch {
      throw MagicDataError(.notAllowed, "\(address) cannot be listened at: \(Connector.reason(error))", cause: error)
    }
    text = "tcp://\(host):\(channel.channel.localAddress?.port ?? port)"
    house.logger.info("figures at http://\(host):\(channel.channel.localAddress?.port ?? port)/metrics")
  }

  func close() async { try? await channel.channel.close() }

  func serve(_ house: House) async {
    await withDiscardingTaskGroup { group in
      try? await channel.executeThenClose { inbound in
        for try await connection in inbound { group.addTask { await answer(connection, house) } }
      }
    }
  }

  private static let (maxRequest, maxTime) = (16_384, Duration.seconds(5))

  private func answer(_ connection: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ house: House) async {
    try? await connection.executeThenClose { inbound, outbound in
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          guard (try? await Task.sleep(for: MetricsPage.maxTime)) != nil else { return }
          try? await connection.channel.close()
        }
        defer { group.cancelAll() }
        var request = ByteBuffer()
        do {
          for try await part in inbound {
            request.writeImmutableBuffer(part)
            guard request.readableBytes <= MetricsPage.maxRequest else { return }
            if request.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) != nil { break }
          }
          let page = house.tally.text(sessions: house.door.sessions)
          let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n"
          try await outbound.write(ByteBuffer(string: head + page))
        } catch {
          // Whoever asked has gone.
        }
      }
    }
  }
}
