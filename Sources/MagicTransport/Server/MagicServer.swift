public import Foundation
public import Logging
public import MagicData
public import MagicReplication
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Serves a database or a folder to replicas elsewhere (Protocol/wire.md).
///
/// ```swift
/// let server = MagicServer(magic, at: ["tcp://127.0.0.1:7420"])
/// try await server.run()
/// ```
///
/// A database that is served merges what its clients send, and they get what it holds. A folder is a hub: it stores and
/// forwards, and needs neither schema nor database. Clients that stay hear of changes at once.
public struct MagicServer: Sendable {
  /// Who may come in, and how.
  public struct Options: Sendable {
    /// A token a line, alone, or followed by a name and `read`, `write` or `readwrite`. Without one, everybody may come in.
    /// Which replica belongs to which token is kept in a file beside it. It is read anew once it was replaced; one that could
    /// not be read then changes nothing, and is an error in the log.
    public var tokens: URL?
    /// The certificate (PEM, with those above it) and its key, which `tls:` addresses need; these files are read anew in the
    /// same way.
    public var certificate: URL?
    /// The key of ``certificate`` (PEM), which nobody else may read.
    public var key: URL?
    /// Certificates (PEM) that clients' certificates have to come from; then each client needs one.
    public var clientAuthority: URL?
    /// Lets `tcp:` addresses be others than this machine's own.
    public var isInsecure = false
    /// Where to give figures as Prometheus' text: `tcp://127.0.0.1:port`.
    public var metrics: String?
    /// A line a session at `info`, one for what was refused at `warning`.
    public var logger = Logger(label: "magic-sync")

    /// Lets everybody in, at this machine's own `tcp:` addresses and Unix sockets.
    public init() {}
  }

  private let served: any Served
  private let addresses: [String]
  private let options: Options

  /// - Parameter addresses: `tcp://host:port`, `tls://host:port` or `unix:/path`; with port 0 the system chooses.
  public init(_ magic: MagicData, at addresses: [String], options: Options = Options()) {
    self.init(ServedDatabase(magic), at: addresses, options)
  }

  /// The folder is made with the first push, if the one above it is there.
  public init(folder: FolderRemote, at addresses: [String], options: Options = Options()) {
    self.init(ServedFolder(folder), at: addresses, options)
  }

  private init(_ served: any Served, at addresses: [String], _ options: Options) {
    (self.served, self.addresses, self.options) = (served, addresses, options)
  }

  /// Serves until the task is cancelled, or the database is closed; then it finishes what clients have asked for, within 30
  /// seconds, and returns.
  ///
  /// - Parameters:
  ///   - listening: hears of the addresses, ports chosen, once clients can come.
  ///   - figures: hears before that of the `http:` address of ``Options/metrics``, if there is one.
  /// - Throws: `MagicDataError` with `notAllowed` for a plain address that others can reach, files of secrets that others can
  ///   read, or a socket that cannot be made; `busy` for an address that somebody else serves, `exists` for a file that is no
  ///   socket; `value` for a file of tokens that is none, `damaged` for the file of replicas beside it; `failed` for a
  ///   certificate and a key that do not fit, and when the system takes an address away meanwhile, or somebody the file of a
  ///   Unix socket; `notFound` for what is no address, a `tls:` one without certificate and key, files that are not there, and
  ///   when the database's file is removed or replaced meanwhile.
  public func run(
    _ listening: @Sendable ([String]) -> Void = { _ in }, figures: @Sendable (String) -> Void = { _ in }
  ) async throws {
    let (server, listeners) = try prepare()
    try server.tellOfLostNames()
    var bound: [BoundListener] = []
    do {
      for listener in listeners { bound.append(try await listener.bind()) }
    } catch {
      for listener in bound { await listener.close() }
      throw error
    }
    let metrics: MetricsPage?
    do {
      metrics = try await options.metrics.asyncMap { try await MetricsPage($0, server) }
    } catch {
      for listener in bound { await listener.close() }
      throw error
    }
    if let metrics { figures(metrics.address) }
    listening(bound.map(\.text))
    let all = bound
    try await stopping(server.stop) {
      // What clients have asked for is finished, so it must not be cancelled with this task.
      let watching = watch(server.stop)
      let failure = await withTaskGroup(of: MagicDataError?.self) { group in
        group.addTask {
          await server.stop.wait(after: 0)
          for listener in all { await listener.close() }
          await metrics?.close()
          return nil
        }
        for listener in all { group.addTask { await listener.serve(server) } }
        return await group.reduce(MagicDataError?.none) { $0 ?? $1 }
      }
      watching.cancel()
      try await watching.value
      if let failure { throw failure }
    }
  }

  /// Serves one client over two open files, such as standard input and output, until it goes, the task is cancelled or the
  /// database is closed.
  public func run(input: Int32, output: Int32) async throws {
    for descriptor in [input, output] {
      var status = stat()
      // What is no stream cannot be waited for.
      guard fstat(descriptor, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) || isatty(descriptor) == 1
      else {
        throw MagicDataError(.notAllowed, "standard input and output have to be pipes or sockets, as ssh makes them")
      }
    }
    let (server, _) = try prepare()
    let channel = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .takingOwnershipOfDescriptors(input: input, output: output) { channel in
        channel.eventLoop.makeCompletedFuture { try channel.frames(isServer: true) }
      }
    try await stopping(server.stop) {
      let watching = watch(server.stop)
      await ServerSession(server, channel, from: "stdio").run()
      server.stop.tell()
      watching.cancel()
      try await watching.value
    }
  }

  /// Watches what is served; if that is no more there, or closed, `stop` is told.
  private func watch(_ stop: ChangeSignal) -> Task<Void, any Error> {
    Task {
      defer { stop.tell() }
      try await served.watch()
    }
  }

  private func prepare() throws -> (ServerContext, [Listener]) {
    let server = ServerContext(
      served: served, tokens: try options.tokens.map { try Tokens.renewed($0, options.logger) },
      owners: try options.tokens.map { try Owners(besides: $0, options.logger) },
      limits: ConnectionLimits(), metrics: ServerMetrics(isKept: options.metrics != nil), logger: options.logger,
      stop: ChangeSignal())
    return (server, try addresses.map { try Listener(Endpoint($0), options) })
  }

  /// Runs `body` to its end; when this task is cancelled, `stop` is told.
  private func stopping(_ stop: ChangeSignal, _ body: @Sendable @escaping () async throws -> Void) async throws {
    let serving = Task(operation: body)
    try await withTaskCancellationHandler {
      try await serving.value
    } onCancel: {
      stop.tell()
    }
  }
}

extension Optional {
  fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async rethrows -> Result? {
    guard let self else { return nil }
    return try await body(self)
  }
}
