import ArgumentParser
import Console
import MagicData
import MagicReplication
import MagicTransport

struct Remote: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remote",
    abstract: "Gives remotes names, which the database keeps.",
    discussion: """
      The names are this database's own, and go nowhere. Without a name, commands mean the only remote, or the one named origin. With a server's name go \
      the fingerprint and the paths of token, certificates and key that are given with it: what is given to a command goes before, and what the environment has after.

      Examples:
        magic-sync remote add notes origin /mnt/share/notes
        magic-sync remote add notes hub tls://hub.example.org --ca ca.pem --token-file token
        magic-sync remote set notes hub tls://hub2.example.org
        magic-sync sync notes
      """,
    subcommands: [Add.self, Change.self, Remove.self, List.self])

  struct Add: Command {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Names a remote. It need not be there yet.",
      discussion: "Example: magic-sync remote add notes stick /media/stick/notes")

    @OptionGroup var database: DatabaseArgument
    @Argument(help: ArgumentHelp("The remote's name: a to z, digits, - and _.", valueName: "NAME"))
    var name: String
    @Argument(
      help: ArgumentHelp("A folder's path or file: URL, a server's URL, or a .magicbundle file.", valueName: "URL"),
      completion: .file())
    var address: String
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func perform() async throws -> Outcome {
      let place = try RemoteLocation(toBeNamed: address, connection)
      let remote = NamedRemote(name: name, address: place.text, options: place.isServer ? connection.kept : [:])
      try await CommandDatabase(database.path, output).use { magic in try await magic.addRemote(remote) }
      return Outcome(text: "\(remote.name) is \(remote.way(" "))", content: remote)
    }
  }

  struct Change: Command {
    static let configuration = CommandConfiguration(
      commandName: "set", abstract: "Gives a name another address, or other options.",
      discussion: """
        Of a server that stays one, what is not given anew is kept: the token's file, and where both are tls:// how the server is known; --insecure is said anew.

        Example: magic-sync remote set notes stick /media/other/notes
        """)

    @OptionGroup var database: DatabaseArgument
    @Argument(help: ArgumentHelp("The remote's name.", valueName: "NAME"))
    var name: String
    @Argument(
      help: ArgumentHelp("A folder's path or file: URL, a server's URL, or a .magicbundle file.", valueName: "URL"),
      completion: .file())
    var address: String
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func perform() async throws -> Outcome {
      let place = try RemoteLocation(toBeNamed: address, connection)
      let remote = try await CommandDatabase(database.path, output).use { magic in
        guard let former = try await magic.remotes().first(where: { $0.name == name }) else { throw NamedRemote.unknown(name) }
        let kept = place.isServer ? connection.keptBeside(former.options, isEncrypted: place.isEncrypted) : [:]
        let remote = NamedRemote(name: name, address: place.text, options: kept)
        try await magic.setRemote(remote)
        return remote
      }
      return Outcome(text: "\(remote.name) is \(remote.way(" "))", content: remote)
    }
  }

  struct Remove: Command {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Forgets a name, and that there was a remote. That stays as it is.",
      discussion: "Example: magic-sync remote remove notes stick")

    @OptionGroup var database: DatabaseArgument
    @Argument(help: ArgumentHelp("The remote's name.", valueName: "NAME"))
    var name: String
    @OptionGroup var output: OutputOptions

    func perform() async throws -> Outcome {
      try await CommandDatabase(database.path, output).use { magic in try await magic.removeRemote(name) }
      return Outcome(text: "forgot \(name)", content: ["name": name])
    }
  }

  struct List: Command {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Prints names, addresses, and what they keep.",
      discussion: "Example: magic-sync remote list notes --json")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform() async throws -> Outcome {
      let remotes = try await CommandDatabase(database.path).look { magic in try await magic.remotes() }
      return Outcome(
        text: remotes.map { "\($0.name)\t\($0.way("\t"))" }.joined(separator: "\n"), content: ["remotes": remotes])
    }
  }
}

extension RemoteLocation {
  fileprivate init(toBeNamed address: String, _ connection: ConnectionOptions) throws {
    try self.init(address, connection)
    guard !isPipe else { throw ValidationError("a pipe has no name.") }
  }

  fileprivate var isEncrypted: Bool { if case .server(let remote) = self { remote.scheme == "tls" } else { false } }
}

extension NamedRemote {
  /// The address, and what it is reached with.
  fileprivate func way(_ separator: String) -> String {
    guard !options.isEmpty else { return address }
    let options = options.sorted { $0.key < $1.key }.map { $1.isEmpty ? "--\($0)" : "--\($0) \($1)" }
    return address + separator + options.joined(separator: " ")
  }
}
