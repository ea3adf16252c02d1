internal import Foundation
internal import Logging
internal import MagicData
internal import MagicReplication
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// An address to listen at.
struct Listener: Sendable {
  private let endpoint: Endpoint
  private let tls: NIOSSLContext?
  private let logger: Logger

  /// - Throws: `MagicDataError` for an address that must not be listened at.
  init(_ endpoint: Endpoint, _ options: MagicServer.Options) throws {
    (self.endpoint, logger) = (endpoint, options.logger)
    switch endpoint {
    case .tcp(let host, _):
      guard options.isInsecure || Endpoint.isLoopback(host) else {
        throw MagicDataError(
          .notAllowed,
          "\(endpoint.text) can be reached and read by others; listen at tls://, at a loopback address, or say --insecure")
      }
      tls = nil
    case .tls: tls = try Listener.context(options)
    case .unix: tls = nil
    case .ssh:
      throw MagicDataError(.notFound, "\(endpoint.text) cannot be listened at; sshd runs magic-sync serve --stdio by itself")
    }
  }

  private static func context(_ options: MagicServer.Options) throws -> NIOSSLContext {
    guard let certificate = options.certificate, let key = options.key else {
      throw MagicDataError(.notFound, "a tls:// address needs a certificate and its key (--cert, --key)")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try Certificates.read(certificate).map { .certificate($0) },
      privateKey: .privateKey(try Certificates.key(key)))
    configuration.minimumTLSVersion = .tlsv12
    if let authority = options.clientAuthority {
      configuration.trustRoots = .certificates(try Certificates.read(authority))
      configuration.certificateVerification = .noHostnameVerification
    }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw MagicDataError(.failed, "the certificate and its key do not fit", cause: error)
    }
  }

  func bind() async throws -> Bound {
    let (connections, continuation) = AsyncStream.makeStream(of: (any Channel).self)
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelInitializer { [logger] channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptGuard(logger)) }
      }
      .serverChannelOption(.backlog, value: 512)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      // Nothing is read before there is somebody to read it.
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.writeBufferWaterMark, value: WireLimits.waiting)
      .childChannelInitializer { channel in
        if case .terminated = continuation.yield(channel) { return channel.close() }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
    let channel: any Channel
    do {
      switch endpoint {
      case .tcp(let host, let port), .tls(let host, let port):
        channel = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1).bind(host: host, port: port).get()
      case .unix(let path): channel = try await bind(path, bootstrap)
      case .ssh: throw MagicDataError(.notFound, "\(endpoint.text) cannot be listened at")
      }
    } catch let error as MagicDataError {
      throw error
    } catch {
      throw Listener.refusal(endpoint.text, error)
    }
    channel.closeFuture.whenComplete { _ in continuation.finish() }
    let socket = if case .unix(let path) = endpoint { FileIdentity(of: URL(fileURLWithPath: path)) } else { FileIdentity?.none }
    return Bound(
      endpoint: endpoint.with(port: channel.localAddress?.port), channel: channel, socket: socket, connections: connections,
      tls: tls)
  }

  static func refusal(_ address: String, _ error: any Error) -> MagicDataError {
    let isTaken = (error as? IOError)?.errnoCode == EADDRINUSE
    return MagicDataError(
      isTaken ? .busy : .notAllowed, "\(address) cannot be listened at: \(Connector.reason(error))", cause: error)
  }

  /// In a folder of its own, which nobody else may enter, until it has its mode: there is no moment at which others could connect.
  private func bind(_ path: String, _ bootstrap: ServerBootstrap) async throws -> any Channel {
    try await removeStale(path)
    let file = URL(fileURLWithPath: path)
    let folder = file.deletingLastPathComponent().appendingPathComponent(".s\(UInt32.random(in: 0 ... .max))")
    guard mkdir(folder.path, 0o700) == 0 else { throw DurableFile.failure("could not be made", file) }
    defer { rmdir(folder.path) }
    let first = folder.appendingPathComponent("s")
    guard first.path.utf8.count < Endpoint.maxPath else {
      throw MagicDataError(
        .notAllowed,
        "unix:\(path) is too long to be listened at: its folder's path has to be shorter by \(first.path.utf8.count + 1 - Endpoint.maxPath) bytes"
      )
    }
    let channel = try await bootstrap.bind(unixDomainSocketPath: first.path).get()
    guard chmod(first.path, 0o600) == 0, rename(first.path, path) == 0 else {
      let failure = DurableFile.failure("could not be made", file)
      unlink(first.path)
      try? await channel.close()
      throw failure
    }
    return channel
  }

  /// A socket at which nobody answers was left by who was killed.
  private func removeStale(_ path: String) async throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw MagicDataError(.exists, "\(path) is there, and is no socket; name another path")
    }
    if let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(unixDomainSocketPath: path).get()
    {
      try? await channel.close()
      throw MagicDataError(.busy, "somebody listens at unix:\(path) already")
    }
    unlink(path)
  }
}

/// An address that is listened at.
struct Bound: Sendable {
  let endpoint: Endpoint
  let channel: any Channel
  /// The file of a socket that has one.
  let socket: FileIdentity?
  /// Those that came and are not read from yet; none is lost when the listener closes.
  let connections: AsyncStream<any Channel>
  let tls: NIOSSLContext?

  var text: String { endpoint.text }

  func close() async {
    try? await channel.close()
    // Somebody else may listen there by now.
    if case .unix(let path) = endpoint, FileIdentity(of: URL(fileURLWithPath: path)) == socket { unlink(path) }
  }

  private func address(of connection: any Channel) -> String {
    if case .unix = endpoint { return endpoint.text }
    return connection.remoteAddress?.ipAddress ?? "somebody who has gone"
  }

  /// Lets clients in until it is closed; returns when the last one has gone.
  func serve(_ house: House) async {
    await withDiscardingTaskGroup { group in
      for await connection in connections {
        group.addTask {
          do {
            let frames = try await connection.eventLoop.submit {
              if let tls { try connection.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
              return try connection.frames(isServer: true)
            }.get()
            let visit = Visit(house, frames, from: address(of: connection))
            connection.setOption(.autoRead, value: true).whenFailure { _ in connection.close(promise: nil) }
            await visit.run()
          } catch {
            connection.close(promise: nil)
          }
        }
      }
    }
  }
}
