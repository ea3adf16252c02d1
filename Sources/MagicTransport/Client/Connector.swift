internal import Foundation
internal import MagicData
internal import MagicJournal
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

extension SocketRemote {
  /// - Returns: the connection, and the program that carries it, if one does.
  func connect() async throws -> (channel: NIOAsyncChannel<Frame, Frame>, program: ChildProgram?) {
    do {
      switch endpoint {
      case .tcp(let host, let port):
        guard options.token == nil || options.isInsecure || Endpoint.isLoopback(host) else {
          throw MagicDataError(
            .notAllowed, "others could read the token on its way to \(text); use tls://, a tunnel, or say --insecure")
        }
        let channel = try await Connector.unlessCancelled {
          try await Connector.bootstrap.connect(host: host, port: port, channelInitializer: Connector.plain)
        }
        return (channel, nil)
      case .unix(let path):
        let channel = try await Connector.unlessCancelled {
          try await Connector.bootstrap.connect(unixDomainSocketPath: path, channelInitializer: Connector.plain)
        }
        return (channel, nil)
      case .tls(let host, let port):
        let tls = try ClientTLS(options, text, host: host)
        let channel = try await Connector.unlessCancelled {
          try await Connector.bootstrap.connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
              try tls.add(to: channel)
              return try channel.frames(isServer: false)
            }
          }
        }
        return (channel, nil)
      case .ssh(let user, let host, let port, let path):
        return try await Connector.ssh(options, user: user, host: host, port: port, path: path)
      }
    } catch let error as MagicDataError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      throw MagicDataError(.unreachable, "nobody answers at \(text): \(Connector.reason(error))", cause: error)
    }
  }
}

enum Connector {
  static var bootstrap: ClientBootstrap {
    ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(WireLimits.connect)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.writeBufferWaterMark, value: WireLimits.waiting)
  }

  static let plain: @Sendable (any Channel) -> EventLoopFuture<NIOAsyncChannel<Frame, Frame>> = { channel in
    channel.eventLoop.makeCompletedFuture { try channel.frames(isServer: false) }
  }

  /// Waits for a connection until the task is cancelled, of which NIO's `connect` does not hear.
  ///
  /// What is waited for no more ends by itself, within `WireLimits.connect` of an address; a connection that comes about after
  /// all is closed.
  fileprivate static func unlessCancelled(
    _ connect: @Sendable @escaping () async throws -> NIOAsyncChannel<Frame, Frame>
  ) async throws -> NIOAsyncChannel<Frame, Frame> {
    try Task.checkCancellation()
    let (connections, continuation) = AsyncThrowingStream<NIOAsyncChannel<Frame, Frame>, any Error>.makeStream()
    Task {
      do {
        let channel = try await connect()
        if case .terminated = continuation.yield(channel) { try await channel.executeThenClose { _, _ in } }
      } catch {
        continuation.finish(throwing: error)
      }
    }
    var iterator = connections.makeAsyncIterator()
    // A stream ends when who waits for it is cancelled.
    guard let channel = try await iterator.next() else { throw CancellationError() }
    return channel
  }

  /// Few words for what the system said.
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case let error as NIOConnectionError:
      error.connectionErrors.first.map { reason($0.error) } ?? "the host \(error.host) is not known"
    case ChannelError.connectTimeout: "no answer within \(WireLimits.connect.nanoseconds / 1_000_000_000) seconds"
    case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed, ChannelError.eof, ChannelError.outputClosed:
      "it was closed"
    default: "\(error)"
    }
  }

  /// Runs `magic-sync serve --stdio` at the other end, as git runs its own programs.
  static func ssh(
    _ options: SocketRemote.Options, user: String?, host: String, port: Int?, path: String
  ) async throws -> (NIOAsyncChannel<Frame, Frame>, ChildProgram?) {
    var words = [options.ssh]
    if let port { words += ["-p", String(port)] }
    words += ["--", user.map { "\($0)@\(host)" } ?? host, "\(options.remoteProgram) serve --stdio \(quoted(path))"]
    let child = try ChildProgram(words)
    do {
      let channel = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .takingOwnershipOfDescriptors(input: child.output, output: child.input, channelInitializer: plain)
      return (channel, child)
    } catch {
      close(child.input)
      close(child.output)
      child.end()
      throw error
    }
  }

  /// For the shell at the other end.
  private static func quoted(_ text: String) -> String {
    "'" + text.escaping("'", as: #"'\''"#) + "'"
  }
}
