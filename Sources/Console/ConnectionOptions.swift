internal import ArgumentParser
internal import Foundation
package import MagicTransport

/// How a client proves who it is, and knows who its server is. Secrets stand in files, never in arguments.
///
/// Commands have it beside other groups, never within one: the parser's debug build checks a group within a group once for each
/// check of the outer one, which was half the time of a short command.
package struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .customLong("token-file"),
    help: ArgumentHelp(
      "For a server: the file with this client's token. (\(EnvironmentVariable.fullName("TOKEN_FILE")))", valueName: "file"),
    completion: .file())
  private var tokenFile: String?

  @Option(
    name: .customLong("ca"),
    help: ArgumentHelp(
      "For a tls: URL: certificates that the server's has to come from, instead of the system's. (\(EnvironmentVariable.fullName("CA")))",
      valueName: "file"), completion: .file())
  private var authority: String?

  @Option(
    name: .customLong("fingerprint"),
    help: ArgumentHelp(
      "For a tls: URL: the SHA-256 of the server's certificate, which alone counts then. (\(EnvironmentVariable.fullName("FINGERPRINT")))",
      valueName: "digits"))
  private var fingerprint: String?

  @Option(
    name: .customLong("cert"),
    help: ArgumentHelp(
      "For a tls: URL that asks for one: this client's certificate. (\(EnvironmentVariable.fullName("CERT")))",
      valueName: "file"),
    completion: .file())
  private var certificate: String?

  @Option(
    name: .customLong("key"),
    help: ArgumentHelp("The key of that certificate. (\(EnvironmentVariable.fullName("KEY")))", valueName: "file"),
    completion: .file())
  private var key: String?

  @Flag(
    name: .customLong("insecure"),
    help: ArgumentHelp("Send the token over a plain tcp: URL to another machine. (\(EnvironmentVariable.fullName("INSECURE")))")
  )
  private var isInsecure = false

  package init() {}

  package func validate() throws {
    // Both come from where one of them does.
    let isGiven = self.certificate != nil || self.key != nil
    let (certificate, key) =
      isGiven ? (self.certificate, self.key) : (EnvironmentVariable.text("CERT"), EnvironmentVariable.text("KEY"))
    guard (certificate == nil) == (key == nil) else { throw ValidationError("--cert and --key go together.") }
  }

  package var options: SocketRemote.Options { options(keeping: [:]) }

  /// What a remote's name is to keep: what was given, with paths from the root. What the environment says goes on being asked
  /// for each time.
  package var kept: [String: String] {
    let given = given
    let names = ConnectionOptions.groups.filter { group in group.contains { given[$0] != nil } }.joined()
    return values([:]).filter { names.contains($0.key) }
  }

  /// What the name of a remote is to keep that kept `former` so far: what counts together, and of which nothing is given,
  /// stays. But the leave to send a token in the clear was for one machine, and what is for TLS would be passed over elsewhere,
  /// without a word.
  package func keptBeside(_ former: [String: String], isEncrypted: Bool) -> [String: String] {
    let kept = kept
    return ConnectionOptions.groups.reduce(into: kept) { all, group in
      guard group != ["insecure"], isEncrypted || !ConnectionOptions.ofTLS.contains(group),
        !group.contains(where: { kept[$0] != nil })
      else { return }
      for name in group { all[name] = former[name] }
    }
  }

  /// An option of the command line that means nothing to a remote that is no server.
  package var optionForServer: String? {
    let given = given
    return ConnectionOptions.groups.joined().first { $0 != "insecure" && given[$0] != nil }.map { "--\($0)" }
  }

  /// What counts together, by the names of options: how the server is known, and so on.
  private static let groups = [["token-file"]] + ofTLS + [["insecure"]]
  private static let ofTLS = [["ca", "fingerprint"], ["cert", "key"]]

  /// What the command line gives.
  private var given: [String: String] {
    var given: [String: String?] = ["fingerprint": fingerprint, "insecure": isInsecure ? "" : nil]
    for (name, path) in [("token-file", tokenFile), ("ca", authority), ("cert", certificate), ("key", key)] {
      given[name] = path.map(RemoteAddress.absolute)
    }
    return given.compactMapValues { $0 }
  }

  /// What the environment gives.
  private static var variables: [String: String] {
    var variables: [String: String?] = [
      "fingerprint": EnvironmentVariable.text("FINGERPRINT"), "insecure": EnvironmentVariable.flag("INSECURE") ? "" : nil,
    ]
    for (name, twin) in [("token-file", "TOKEN_FILE"), ("ca", "CA"), ("cert", "CERT"), ("key", "KEY")] {
      variables[name] = EnvironmentVariable.text(twin).map(RemoteAddress.absolute)
    }
    return variables.compactMapValues { $0 }
  }

  /// The command line goes before what a name keeps, and that before the environment, which may be meant for another server:
  /// what counts together comes from one of them.
  private func values(_ kept: [String: String]) -> [String: String] {
    let sources = [given, kept, ConnectionOptions.variables]
    var values: [String: String] = [:]
    for group in ConnectionOptions.groups {
      let source = sources.first { source in group.contains { source[$0] != nil } } ?? [:]
      for name in group { values[name] = source[name] }
    }
    return values
  }

  /// - Parameter kept: what the remote's name keeps.
  package func options(keeping kept: [String: String]) -> SocketRemote.Options {
    let values = values(kept)
    var options = SocketRemote.Options()
    func file(_ name: String) -> URL? { values[name].map { URL(fileURLWithPath: $0) } }
    options.token = file("token-file")
    options.authority = file("ca")
    options.isInsecure = values["insecure"] != nil
    options.fingerprint = values["fingerprint"]
    options.certificate = file("cert")
    options.key = file("key")
    // As git has it, and the same for every tool: the program that connects, and what it runs there.
    let environment = ProcessInfo.processInfo.environment
    func program(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    options.ssh = program("MAGIC_SYNC_SSH") ?? options.ssh
    options.remoteProgram = program("MAGIC_SYNC_REMOTE_PROGRAM") ?? options.remoteProgram
    let certificates = [("--ca", authority), ("--fingerprint", fingerprint), ("--cert", certificate), ("--key", key)]
    options.certificateOption = certificates.first { $1 != nil }?.0
    return options
  }
}
