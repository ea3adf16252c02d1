internal import ArgumentParser
internal import Foundation
package import MagicTransport

/// How a client proves who it is, and knows who its server is. Secrets stand in files, never in arguments.
///
/// Commands have it beside other groups, never within one: the parser's debug build checks a group within a group once for each check of the outer one, which
/// was half the time of a short command.
package struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .customLong("token-file"),
    help: ArgumentHelp("For a server: the file with this client's token. (\(Twin.variable("TOKEN_FILE")))", valueName: "file"))
  private var tokenFile: String?

  @Option(
    name: .customLong("ca"),
    help: ArgumentHelp(
      "For a tls: URL: certificates that the server's has to come from, instead of the system's. (\(Twin.variable("CA")))",
      valueName: "file"))
  private var authority: String?

  @Option(
    name: .customLong("fingerprint"),
    help: ArgumentHelp(
      "For a tls: URL: the SHA-256 of the server's certificate, which alone counts then. (\(Twin.variable("FINGERPRINT")))",
      valueName: "digits"))
  private var fingerprint: String?

  @Option(
    name: .customLong("cert"),
    help: ArgumentHelp(
      "For a tls: URL that asks for one: this client's certificate. (\(Twin.variable("CERT")))", valueName: "file"))
  private var certificate: String?

  @Option(
    name: .customLong("key"), help: ArgumentHelp("The key of that certificate. (\(Twin.variable("KEY")))", valueName: "file"))
  private var key: String?

  @Flag(
    name: .customLong("insecure"),
    help: ArgumentHelp("Send the token over a plain tcp: URL to another machine. (\(Twin.variable("INSECURE")))"))
  private var isInsecure = false

  package init() {}

  package func validate() throws {
    let (certificate, key) = (certificate ?? Twin.text("CERT"), key ?? Twin.text("KEY"))
    guard (certificate == nil) == (key == nil) else { throw ValidationError("--cert and --key go together.") }
  }

  package var options: SocketRemote.Options {
    var options = SocketRemote.Options()
    func file(_ path: String?, _ twin: String) -> URL? {
      (path ?? Twin.text(twin)).map { URL(fileURLWithPath: RemoteAddress.absolute($0)) }
    }
    options.token = file(tokenFile, "TOKEN_FILE")
    options.authority = file(authority, "CA")
    options.isInsecure = isInsecure || Twin.flag("INSECURE")
    options.fingerprint = fingerprint ?? Twin.text("FINGERPRINT")
    options.certificate = file(certificate, "CERT")
    options.key = file(key, "KEY")
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
