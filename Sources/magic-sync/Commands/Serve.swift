import ArgumentParser
import Console
import Foundation
import Logging
import MagicData
import MagicReplication
import MagicTransport

struct Serve: Command {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a database or a folder to replicas elsewhere.",
    discussion: """
      A database merges what its clients send. A folder stores and forwards: it needs no schema, and is made with the first push. Serves until it is interrupted, \
      which finishes what clients have asked for and is a success then. A plain tcp: address has to be this machine's own, unless --insecure is given. Without \
      --token-file everybody may come in. A token's line has the token alone, or TOKEN NAME and one of read, write and readwrite. The files of tokens and \
      certificates are read anew once they were replaced: put a new one in place with mv.

      Examples:
        magic-sync serve hub --listen tcp://127.0.0.1:7420
        magic-sync serve notes --listen tls://0.0.0.0 --cert cert.pem --key key.pem --token-file tokens
        magic-sync serve notes --stdio
      """)

  @Argument(
    help: ArgumentHelp("A database, or a folder that is a remote or becomes one.", valueName: "DB|FOLDER"), completion: .file())
  var path: String

  @Option(
    help: ArgumentHelp(
      "Where to listen: tcp://host:port, tls://host:port or unix:/path; may be given several times. Port 0 lets the system choose. (MAGIC_SYNC_LISTEN)",
      valueName: "URL"))
  private var listen: [String] = []

  @Flag(help: "Serve one client over standard input and output. (MAGIC_SYNC_STDIO)")
  var stdio = false

  @Option(
    help: ArgumentHelp("The file with the tokens of those who may come in. (MAGIC_SYNC_TOKEN_FILE)", valueName: "file"),
    completion: .file())
  var tokenFile: String?

  @Option(
    help: ArgumentHelp("For tls: the certificate, with those above it, in PEM. (MAGIC_SYNC_CERT)", valueName: "file"),
    completion: .file())
  var cert: String?

  @Option(help: ArgumentHelp("Its key, in PEM. (MAGIC_SYNC_KEY)", valueName: "file"), completion: .file())
  var key: String?

  @Option(
    help: ArgumentHelp(
      "Certificates that clients' certificates have to come from; each client needs one then. (MAGIC_SYNC_CLIENT_CA)",
      valueName: "file"), completion: .file())
  var clientCa: String?

  @Flag(help: "Let others read what goes over a plain tcp: address. (MAGIC_SYNC_INSECURE)")
  var insecure = false

  @Option(
    help: ArgumentHelp(
      "Give figures as Prometheus' text at this address, such as tcp://127.0.0.1:9420. (MAGIC_SYNC_METRICS)", valueName: "URL"))
  var metrics: String?

  @Option(
    help: ArgumentHelp(
      "What is worth a line: trace, debug, info, notice, warning, error, critical. (MAGIC_SYNC_LOG_LEVEL)", valueName: "level"),
    completion: .list(Logger.Level.allCases.map(\.rawValue)))
  var logLevel: String?

  @OptionGroup var output: OutputOptions

  // What stands on the command line goes before.
  private var isStdio: Bool { stdio || listen.isEmpty && EnvironmentVariable.flag("STDIO") }
  private var addresses: [String] { listen.isEmpty && !stdio ? EnvironmentVariable.text("LISTEN").map { [$0] } ?? [] : listen }
  private var figures: String? { metrics ?? (stdio ? nil : EnvironmentVariable.text("METRICS")) }
  /// By what goes to and from the client.
  var isOutputTaken: Bool { isStdio }

  func validate() throws {
    guard !path.isEmpty else { throw ValidationError("the path of what is served is empty.") }
    _ = try CommandDatabase.url(of: path)
    guard isStdio != !addresses.isEmpty else {
      throw ValidationError(
        isStdio
          ? "--listen and --stdio do not go together; give one of the two."
          : "name where to listen with --listen, or give --stdio.")
    }
    guard !isStdio || figures == nil else {
      throw ValidationError("--stdio serves one client, so there are no figures to give.")
    }
    for address in addresses where !Serve.isListenable(address) {
      // Of a socket the path can be wrong alone.
      if address.lowercased().hasPrefix("unix:"), let error = Serve.fault(of: address) as? MagicDataError {
        throw ValidationError("--listen: \(error.message).")
      }
      throw ValidationError("--listen takes tcp://host:port, tls://host:port or unix:/path, and '\(address)' is none of these.")
    }
    if let address = figures, Serve.scheme(of: address) != "tcp" {
      throw ValidationError("--metrics takes an address as tcp://127.0.0.1:9420, and '\(address)' is none.")
    }
    let hasCertificate = (cert ?? EnvironmentVariable.text("CERT")) != nil && (key ?? EnvironmentVariable.text("KEY")) != nil
    let hasTLS = addresses.contains { Serve.scheme(of: $0) == "tls" }
    guard cert ?? key ?? clientCa == nil || hasTLS else {
      throw ValidationError(
        "--cert, --key and --client-ca are for a tls:// address, and clients of no other are asked who they are.")
    }
    guard hasCertificate || !hasTLS else {
      throw ValidationError("a tls:// address needs a certificate and its key: --cert and --key.")
    }
    if let level = logLevel ?? EnvironmentVariable.text("LOG_LEVEL"), Logger.Level(rawValue: level) == nil {
      throw ValidationError("--log-level takes trace, debug, info, notice, warning, error or critical.")
    }
  }

  /// Whether it is an address of a server that can be one's own: ssh: goes to others alone.
  private static func isListenable(_ address: String) -> Bool { ["tcp", "tls", "unix"].contains(scheme(of: address)) }

  /// `nil` if it is no address of a server; why it is none, `fault` tells.
  private static func scheme(of address: String) -> String? { try? SocketRemote(address).scheme }

  private static func fault(of address: String) -> (any Error)? {
    do {
      _ = try SocketRemote(address)
      return nil
    } catch {
      return error
    }
  }

  func perform() async throws -> Outcome {
    raiseOpenFiles()
    let url = try CommandDatabase.url(of: path)
    var isFolder: ObjCBool = false
    let isThere = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
    let location = DatabaseLocation(url)
    if location.folder == nil || location.exists {
      return try await CommandDatabase(path).use { magic in try await run(MagicServer(magic, at: addresses, options: options)) }
    }
    guard !isThere || isFolder.boolValue else {
      throw MagicDataError(.notADatabase, "\(url.path) is neither a database nor a folder")
    }
    let folder = FolderRemote(url)
    // What can be no remote is refused at once, and not with the first client.
    try folder.checkCanBeRemote()
    // A path that was mistyped serves nothing.
    if !folder.isThere, !isStdio, !output.quiet { Terminal.say("\(url.path) is no remote yet; the first push makes it one") }
    return try await run(MagicServer(folder: folder, at: addresses, options: options))
  }

  /// Each client is an open file, and what it sends is others.
  private func raiseOpenFiles() {
    var limit = rlimit()
    #if canImport(Darwin)
      let resource = RLIMIT_NOFILE
    #else
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    guard getrlimit(resource, &limit) == 0 else { return }
    let wanted = min(limit.rlim_max, 8_192)
    guard limit.rlim_cur < wanted else { return }
    limit.rlim_cur = wanted
    setrlimit(resource, &limit)
  }

  private func run(_ server: MagicServer) async throws -> Outcome {
    if isStdio {
      // Standard output is the client's.
      try await server.run(input: dup(STDIN_FILENO), output: dup(STDOUT_FILENO))
      return Outcome(text: "")
    }
    let output = output
    // Clients that do not know its authority know it by that.
    let fingerprint = options.certificate.flatMap { try? Certificates.fingerprint(of: $0) }
    @Sendable func say(_ event: String, _ address: String) {
      let own = address.hasPrefix("tls:") ? fingerprint : nil
      if output.json {
        try? output.event(event, ["address": address, "fingerprint": own].compactMapValues { $0 })
      } else {
        try? output.line("\(event) at \(address)" + (own.map { "\nfingerprint \($0)" } ?? ""))
      }
    }
    try await server.run { addresses in
      for address in addresses { say("listening", address) }
    } figures: { address in
      say("figures", address)
    }
    return Outcome(text: "", content: Empty())
  }

  private var options: MagicServer.Options {
    var options = MagicServer.Options()
    func file(_ path: String?, _ twin: String) -> URL? {
      (path ?? EnvironmentVariable.text(twin)).map { URL(fileURLWithPath: RemoteAddress.absolute($0)) }
    }
    options.tokens = file(tokenFile, "TOKEN_FILE")
    options.certificate = file(cert, "CERT")
    options.key = file(key, "KEY")
    options.clientAuthority = file(clientCa, "CLIENT_CA")
    options.isInsecure = insecure || EnvironmentVariable.flag("INSECURE")
    options.metrics = figures
    options.logger = Logger(label: "magic-sync") { label in StreamLogHandler.standardError(label: label) }
    let level = (logLevel ?? EnvironmentVariable.text("LOG_LEVEL")).flatMap { Logger.Level(rawValue: $0) }
    options.logger.logLevel = level ?? (output.quiet || isStdio ? .warning : .info)
    return options
  }
}
