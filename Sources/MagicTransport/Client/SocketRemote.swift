public import Foundation
public import MagicData
public import MagicReplication
internal import NIOCore
internal import NIOSSL

/// A server of MagicData elsewhere, to exchange a journal with (Protocol/wire.md).
///
/// ```swift
/// let replicator = MagicReplicator(magic, remote: try SocketRemote("tls://hub.example.org:7420"))
/// try await replicator.sync()
/// ```
///
/// Nothing is connected before a replicator has something to ask, and a connection lasts as long as its call: that of
/// ``MagicReplicator/run(every:)`` stays, and comes back after a break.
public struct SocketRemote: Sendable {
  /// Whom to trust, and how to be trusted. Secrets stand in files that nobody else may read.
  public struct Options: Sendable {
    /// A file with the token that the server knows this client by.
    public var token: URL?
    /// Certificates (PEM) that the server's has to come from, instead of the system's.
    public var authority: URL?
    /// The SHA-256 of the server's own certificate, 64 hexadecimal digits, with or without colons. It is all that counts then.
    public var fingerprint: String?
    /// Lets the token go over a plain `tcp:` connection to another machine, where others can read it on the way.
    public var isInsecure = false
    /// A certificate and its key (PEM) that the server asks for.
    public var certificate: URL?
    /// The key of ``certificate`` (PEM), which nobody else may read.
    public var key: URL?
    /// For an `ssh:` address: the program that connects, in place of ssh, with the same arguments.
    public var ssh = "ssh"
    /// For an `ssh:` address: `magic-sync` as the other machine's shell finds it.
    public var remoteProgram = "magic-sync"
    /// An option of a command line that was given for a certificate, the server's or the client's: it means nothing to a server
    /// without.
    package var certificateOption: String?

    /// Has no token and no certificate, and trusts the certificates that the system does.
    public init() {}
  }

  let endpoint: Endpoint
  let options: Options
  /// How it is reached: `tcp`, `tls`, `unix` or `ssh`.
  package var scheme: String { endpoint.scheme }
  /// Breaks its connections off; `nil` if nobody asks for that.
  private(set) var breaker: LinkBreaker?

  /// - Parameter address: `tcp://host:port`, `tls://host:port`, `unix:/path` or `ssh://[user@]host/path`; the port is 7420 if
  ///   none is named.
  /// - Throws: `MagicDataError` with `notFound` for what is no address, `value` for a fingerprint that is none.
  public init(_ address: String, options: Options = Options()) throws {
    endpoint = try Endpoint(address)
    self.options = options
    if let fingerprint = options.fingerprint { _ = try ClientTLS.digits(fingerprint) }
    // Who wrote tcp:// for tls:// would take the server for one that was checked.
    if case .tls = endpoint { return }
    if let option = options.certificateOption {
      throw MagicDataError(.value, "\(option) is for a tls:// URL, and \(address) is none: it does not say who is there")
    }
  }

  /// The address, in full.
  public var address: String { endpoint.text }
}

extension MagicReplicator {
  /// Exchanges the journal of a database with a server.
  public init(_ magic: MagicData, remote: SocketRemote) {
    self.init(magic, over: remote)
  }
}

extension SocketRemote {
  /// Runs `body` so that who cancels it breaks the connection off, if there is one, as a link does that breaks by itself: what
  /// had come whole is merged, and then `unreachable` is thrown. Nothing else of `body` is cancelled then.
  package func breakingOff<Result: Sendable>(
    _ body: @Sendable @escaping (SocketRemote) async throws -> Result
  ) async throws -> Result {
    let breaker = LinkBreaker()
    var breakable = self
    breakable.breaker = breaker
    let work = Task { [breakable] in try await body(breakable) }
    return try await withTaskCancellationHandler {
      try await work.value
    } onCancel: {
      if !breaker.breakOff() { work.cancel() }
    }
  }
}

extension SocketRemote: Remote {
  package var text: String { address }

  package func opened<Result: Sendable>(
    for magic: MagicData, _ body: (any OpenRemote) async throws -> Result
  ) async throws -> Result {
    let token = try options.token.map { try SecretFile.token($0) } ?? []
    let (returns, refused) = (Locked(Session.Returns()), Locked(Session.Refused?.none))
    while true {
      if breaker?.isBroken == true { throw brokenOff }
      do {
        try await magic.store.assureReplica()
        let state = try await magic.store.readBriefly { db in try DatabaseState(db) }
        let hello = Hello(replica: state.replica, dataSet: state.isSettled ? state.dataSet : nil, token: token)
        let (channel, program) = try await connect()
        defer { program?.end() }
        do {
          return try await talk(hello, channel, returns, after: refused, body)
        } catch let error as MagicDataError where error.code == .unreachable && breaker?.isBroken != true {
          throw await program?.refusal(text, error) ?? error
        }
      } catch is Session.ReplicaChanged {
        // It comes again under its own.
        guard returns.withLock({ $0.takeFork() }) else {
          throw MagicDataError(
            .fork,
            "\(text) has other transactions under each id that the database takes; the server, or what it keeps, is damaged")
        }
      } catch let forked as Session.Forked {
        guard returns.withLock({ $0.takeFork() }) else { throw forked.error }
        returns.withLock { $0.tellsNames = false }
      } catch let error as Session.Refused {
        // It comes again and asks anew. Several ids may become others' one after the other.
        if returns.withLock({ $0.isRefused }) { try await Task.sleep(for: .seconds(1)) }
        returns.withLock { $0.isRefused = true }
        refused.withLock { $0 = error }
      }
    }
  }

  private var brokenOff: MagicDataError { MagicDataError(.unreachable, "the connection to \(text) was broken off") }

  private func talk<Result: Sendable>(
    _ hello: Hello, _ channel: NIOAsyncChannel<Frame, Frame>, _ returns: Locked<Session.Returns>,
    after refused: Locked<Session.Refused?>, _ body: (any OpenRemote) async throws -> Result
  ) async throws -> Result {
    let (mailbox, changes, silence, room) = (Mailbox(), ChangeSignal(), Deadline(), Deadline())
    let (text, connection) = (text, channel.channel)
    do {
      return try await channel.executeThenClose { inbound, outbound in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await Reader(text, mailbox, changes, silence).run(inbound, outbound) }
          let deadlines = [(silence, "has not been heard of for a minute"), (room, "has taken nothing for three minutes")]
          for (deadline, what) in deadlines {
            group.addTask {
              try await deadline.wait()
              mailbox.finish(MagicDataError(.unreachable, "\(text) \(what)"))
              changes.tell()
              try await connection.close()
            }
          }
          defer { group.cancelAll() }
          breaker?.begin {
            mailbox.finish(brokenOff)
            changes.tell()
            connection.close(mode: .all, promise: nil)
          }
          defer { breaker?.end() }
          return try await body(
            Session(text, hello, outbound, mailbox, changes, room, returns, after: refused))
        }
      }
    } catch let error as MagicDataError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch let error as Session.ReplicaChanged {
      throw error
    } catch let error as Session.Forked {
      throw error
    } catch let error as Session.Refused {
      throw error
    } catch {
      throw mailbox.end ?? SocketRemote.broken(text, error)
    }
  }

  static func broken(_ text: String, _ error: (any Error)?) -> MagicDataError {
    switch error {
    case let error as MagicDataError: error
    case is WireError where text.hasPrefix("ssh:"):
      MagicDataError(
        .failed,
        """
        \(text): the other machine's shell, or ssh, prints something before magic-sync does; its startup files must print \
        nothing where there is no terminal
        """)
    case let error as WireError:
      MagicDataError(.failed, "\(text) speaks another protocol, as tls: or another program does: \(error.message)")
    case let error as NIOSSLError: ClientTLS.refusal(text, error)
    case let error as NIOSSLExtraError: ClientTLS.refusal(text, error)
    case let error as BoringSSLError: ClientTLS.refusal(text, error)
    case let error?: MagicDataError(.unreachable, "the connection to \(text) broke: \(Connector.reason(error))", cause: error)
    case nil: MagicDataError(.unreachable, "\(text) closed the connection")
    }
  }
}

/// Reads frames as long as there are any.
private struct Reader: Sendable {
  let text: String
  let mailbox: Mailbox
  let changes: ChangeSignal
  let silence: Deadline

  init(_ text: String, _ mailbox: Mailbox, _ changes: ChangeSignal, _ silence: Deadline) {
    (self.text, self.mailbox, self.changes, self.silence) = (text, mailbox, changes, silence)
  }

  func run(_ inbound: NIOAsyncChannelInboundStream<Frame>, _ outbound: NIOAsyncChannelOutboundWriter<Frame>) async {
    let pings = ChangeSignal()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // The answer waits for room behind what is sent, which over a slow link takes longer than a silence: what is heard
        // meanwhile counts (W-12). One is enough for several.
        var heard = 0
        while !Task.isCancelled {
          await pings.wait(after: heard)
          heard = pings.count
          // Why it cannot be written, whoever reads is told as well.
          guard !Task.isCancelled, (try? await outbound.write(Frame(.pong))) != nil else { return }
        }
      }
      await read(inbound, pings)
      group.cancelAll()
    }
  }

  private func read(_ inbound: NIOAsyncChannelInboundStream<Frame>, _ pings: ChangeSignal) async {
    var failure: MagicDataError?
    do {
      silence.set(WireLimits.silence)
      for try await frame in inbound {
        switch frame.kind {
        case .ping: pings.tell()
        case .changed: changes.tell()
        case .error:
          mailbox.finish(WireError.said(frame, by: text))
          changes.tell()
          return
        default:
          // Who takes it may be busy with what came before for as long as that takes.
          silence.clear()
          await mailbox.put(frame)
        }
        silence.set(WireLimits.silence)
      }
    } catch {
      failure = SocketRemote.broken(text, error)
    }
    mailbox.finish(failure ?? SocketRemote.broken(text, nil))
    changes.tell()
  }
}
