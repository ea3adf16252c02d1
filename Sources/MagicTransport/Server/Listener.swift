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
  private let tls: Reloading<NIOSSLContext>?
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
    case .tls: tls = try ServerTLS.renewed(options)
    case .unix: tls = nil
    case .ssh:
      throw MagicDataError(.notFound, "\(endpoint.text) cannot be listened at; sshd runs magic-sync serve --stdio by itself")
    }
  }

  func bind() async throws -> BoundListener {
    let (connections, continuation) = AsyncStream.makeStream(of: (any Channel).self)
    let fault = Locked(String?.none)
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelInitializer { [logger] channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptGuard(logger, fault)) }
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
    let found: (channel: any Channel, socket: FileIdentity?)
    do {
      switch endpoint {
      case .tcp(let host, let port), .tls(let host, let port):
        let bootstrap = bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        found = (try await bootstrap.bind(host: host, port: port).get(), nil)
      case .unix(let path): found = try await bind(path, bootstrap)
      case .ssh: throw MagicDataError(.notFound, "\(endpoint.text) cannot be listened at")
      }
    } catch let error as MagicDataError {
      throw error
    } catch {
      throw Listener.refusal(endpoint.text, error)
    }
    let channel = found.channel
    channel.closeFuture.whenComplete { _ in continuation.finish() }
    return BoundListener(
      endpoint: endpoint.with(port: channel.localAddress?.port), channel: channel, socket: found.socket,
      connections: connections, fault: fault, tls: tls)
  }

  static func refusal(_ address: String, _ error: any Error) -> MagicDataError {
    let isTaken = (error as? IOError)?.errnoCode == EADDRINUSE
    return MagicDataError(
      isTaken ? .busy : .notAllowed, "\(address) cannot be listened at: \(Connector.reason(error))", cause: error)
  }

  /// In a folder of its own, which nobody else may enter, until it has its mode: there is no moment at which others could
  /// connect.
  private func bind(
    _ path: String, _ bootstrap: ServerBootstrap
  ) async throws -> (channel: any Channel, socket: FileIdentity?) {
    let file = URL(fileURLWithPath: path)
    let folder = file.deletingLastPathComponent().appendingPathComponent(".s\(UInt32.random(in: 0 ... .max))")
    guard mkdir(folder.path, 0o700) == 0 else { throw DurableFile.failure("could not be made", file) }
    defer { rmdir(folder.path) }
    // From the look to the name: of two that start at once the second would take away what the first has put there.
    let lock = try await FileLock(beside: file, "somebody else is about to listen at unix:\(path)")
    defer { withExtendedLifetime(lock) {} }
    try await removeStale(path)
    let first = folder.appendingPathComponent("s")
    guard first.path.utf8.count < Endpoint.maxPath else {
      throw MagicDataError(
        .notAllowed,
        "unix:\(path) is too long to be listened at: its folder's path has to be shorter by \(first.path.utf8.count + 1 - Endpoint.maxPath) bytes"
      )
    }
    let channel = try await bootstrap.bind(unixDomainSocketPath: first.path).get()
    guard chmod(first.path, 0o600) == 0, let socket = FileIdentity(of: first), rename(first.path, path) == 0 else {
      let failure = DurableFile.failure("could not be made", file)
      unlink(first.path)
      try? await channel.close()
      throw failure
    }
    return (channel, socket)
  }

  /// A socket at which nobody answers was left by who was killed.
  private func removeStale(_ path: String) async throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw MagicDataError(.exists, "\(path) is there, and is no socket; name another path")
    }
    do {
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(unixDomainSocketPath: path).get()
      try? await channel.close()
    } catch let error as IOError where error.errnoCode == ECONNREFUSED {
      unlink(path)
      return
    } catch let error as IOError where error.errnoCode == ENOENT {
      return
    } catch let error as IOError where error.errnoCode == EACCES {
      throw MagicDataError(.notAllowed, "\(path) is somebody else's socket; name another path", cause: error)
    } catch {
      // Who has no room for one more, for the moment, is there.
      throw MagicDataError(
        .busy, "somebody listens at unix:\(path) already, or may: \(Connector.reason(error))", cause: error)
    }
    throw MagicDataError(.busy, "somebody listens at unix:\(path) already")
  }
}

/// An address that is listened at.
struct BoundListener: Sendable {
  let endpoint: Endpoint
  let channel: any Channel
  /// The file of a socket that has one.
  let socket: FileIdentity?
  /// Those that came and are not read from yet; none is lost when the listener closes.
  let connections: AsyncStream<any Channel>
  /// Why a connection could not be taken, of the last one that could not.
  let fault: Locked<String?>
  let tls: Reloading<NIOSSLContext>?

  var text: String { endpoint.text }

  func close() async {
    // As long as this listens nobody else takes the path, unless somebody has removed the file; afterwards another's file may
    // have got its number.
    if case .unix(let path) = endpoint, channel.isActive, FileIdentity(of: URL(fileURLWithPath: path)) == socket {
      unlink(path)
    }
    try? await channel.close()
  }

  private func address(of connection: any Channel) -> String {
    if case .unix = endpoint { return endpoint.text }
    return connection.remoteAddress?.ipAddress ?? "somebody who has gone"
  }

  /// Closes it once nobody can come any more: the socket's file was removed, or another is in its place.
  private func watchSocket() async {
    guard case .unix(let path) = endpoint, let socket else { return }
    let file = URL(fileURLWithPath: path)
    var looks = 0
    // Twice in a row, for who moves it away and back.
    while looks < 2 {
      guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
      // A share that does not answer for a moment says nothing of it.
      let isGone = FileIdentity(of: file).map { $0 != socket } ?? (ChunkReader.hindrance(to: file) == nil)
      looks = isGone ? looks + 1 : 0
    }
    fault.withLock { $0 = "its file was removed or replaced" }
    try? await channel.close()
  }

  /// Lets clients in until it is closed; returns when the last one has gone.
  ///
  /// - Returns: what is the matter, if nobody was told to stop before.
  func serve(_ server: ServerContext) async -> MagicDataError? {
    await withTaskGroup(of: Void.self, returning: MagicDataError?.self) { group in
      group.addTask { await watchSocket() }
      defer { group.cancelAll() }
      return await letIn(server)
    }
  }

  private func letIn(_ server: ServerContext) async -> MagicDataError? {
    await withTaskGroup(of: Void.self, returning: MagicDataError?.self) { group in
      let running = Locked(0)
      var kept = 0
      for await connection in connections {
        // Those that have ended, which the group would keep for as long as it lasts.
        while kept > running.withLock({ $0 }) {
          await group.next()
          kept -= 1
        }
        kept += 1
        running.withLock { $0 += 1 }
        group.addTask {
          defer { running.withLock { $0 -= 1 } }
          do {
            let context = tls?.current
            let frames = try await connection.eventLoop.submit {
              if let context { try connection.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
              return try connection.frames(isServer: true)
            }.get()
            let visit = ServerSession(server, frames, from: address(of: connection))
            connection.setOption(.autoRead, value: true).whenFailure { _ in connection.close(promise: nil) }
            await visit.run()
          } catch {
            connection.close(promise: nil)
          }
        }
      }
      guard server.stop.count == 0 else { return nil }
      // Nobody comes in here any more, of which whoever runs it has to hear.
      server.stop.tell()
      let reason = fault.withLock { $0 }.map { ": \($0)" } ?? ""
      return MagicDataError(.failed, "\(text) takes no connections any more\(reason); start the server again")
    }
  }
}
