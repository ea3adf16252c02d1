import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication
import MagicTransport

struct RemoteArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      """
      The remote: a name of `remote list`, a folder's path or file: URL, a server's tcp:, tls:, unix: or ssh: URL, a \
      .magicbundle file, or - for a pipe. Without it the only remote that has a \
      name is meant, or the one named origin.
      """, valueName: "REMOTE"))
  var address: String?

  @OptionGroup var connection: ConnectionOptions

  func place(in database: CommandDatabase) async throws -> RemotePlace {
    try await RemotePlace.meant(by: address, in: database, connection.options)
  }
}

extension RemotePlace {
  /// A name means what the database calls so; anything else is an address.
  static func meant(
    by address: String?, in database: CommandDatabase, _ options: SocketRemote.Options = .init()
  ) async throws -> RemotePlace {
    if let address, !NamedRemote.isValid(address) { return try RemotePlace(address, options) }
    guard database.exists else {
      guard let address else {
        throw MagicDataError(
          .notFound, "there is no database at \(database.path), which could have a remote with a name; name one")
      }
      return try RemotePlace(address, options)
    }
    let remotes = try await database.use { magic in try await magic.remotes() }
    if let address {
      return try RemotePlace(remotes.first { $0.name == address }?.address ?? address, options)
    }
    guard let remote = remotes.count == 1 ? remotes[0] : remotes.first(where: { $0.name == NamedRemote.defaultName }) else {
      throw MagicDataError(
        .notFound,
        remotes.isEmpty
          ? "no remote is named, and the database knows none; name one, or add it: magic-sync remote add DB origin URL"
          : "the database knows several remotes (\(remotes.map(\.name).joined(separator: ", "))) and none of them is origin; name one"
      )
    }
    return try RemotePlace(remote.address, options)
  }
}

/// How a client proves who it is, and knows who its server is. Secrets stand in files, never in arguments.
struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .customLong("token-file"),
    help: ArgumentHelp("For a server: the file with this client's token. (MAGIC_SYNC_TOKEN_FILE)", valueName: "file"))
  private var tokenFile: String?

  @Option(
    name: .customLong("ca"),
    help: ArgumentHelp(
      "For a tls: URL: certificates that the server's has to come from, instead of the system's. (MAGIC_SYNC_CA)",
      valueName: "file"))
  private var authority: String?

  @Option(
    name: .customLong("fingerprint"),
    help: ArgumentHelp(
      "For a tls: URL: the SHA-256 of the server's certificate, which alone counts then. (MAGIC_SYNC_FINGERPRINT)",
      valueName: "digits"))
  private var fingerprint: String?

  @Option(
    name: .customLong("cert"),
    help: ArgumentHelp("For a tls: URL that asks for one: this client's certificate. (MAGIC_SYNC_CERT)", valueName: "file"))
  private var certificate: String?

  @Option(name: .customLong("key"), help: ArgumentHelp("The key of that certificate. (MAGIC_SYNC_KEY)", valueName: "file"))
  private var key: String?

  var options: SocketRemote.Options {
    var options = SocketRemote.Options()
    func file(_ path: String?, _ twin: String) -> URL? {
      (path ?? Twin.text(twin)).map { URL(fileURLWithPath: $0) }
    }
    options.token = file(tokenFile, "TOKEN_FILE")
    options.authority = file(authority, "CA")
    options.fingerprint = fingerprint ?? Twin.text("FINGERPRINT")
    options.certificate = file(certificate, "CERT")
    options.key = file(key, "KEY")
    return options
  }
}
