import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Clone: Command {
  static let configuration = CommandConfiguration(
    commandName: "clone",
    abstract: "Makes a database of what a remote holds.",
    discussion: """
      The database calls the remote origin, and keeps with that name what is given of the way to a server (paths, and not what the files hold), so that \
      `magic-sync sync DB` is enough from then on; a pipe gets no name.

      Examples:
        magic-sync clone /mnt/share/notes notes
        magic-sync clone notes.magicbundle notes.sqlite --name laptop
        ssh host magic-sync push notes - | magic-sync clone - notes
      """)

  @Argument(
    help: ArgumentHelp(
      "The remote: a folder's path or file: URL, a server's URL, a .magicbundle file, or - for a pipe.", valueName: "REMOTE"),
    completion: .file())
  var remote: String

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var naming: NameOption
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  var afterInterruption: String {
    // What had come from a server is there.
    (try? CommandDatabase(database.path).exists) == true
      ? "what had come is in \(database.path), and a pull goes on from there"
      : "everything is whole, and the next run begins anew"
  }

  func perform() async throws -> Outcome {
    let place = try RemoteLocation(remote, connection)
    let database = try CommandDatabase(database.path)
    let lock = try await database.madeAlone()
    defer { withExtendedLifetime(lock) {} }
    guard !database.exists else {
      throw MagicDataError(.exists, "there is a database at \(database.path) already; pull into it, or name another path")
    }
    let report = try await place.breakingOff { place in
      try await place.use(.pull) { remote in
        try await database.useOrFetch { magic in
          if !place.isPipe {
            try await magic.addRemote(
              NamedRemote(name: NamedRemote.defaultName, address: place.text, options: place.isServer ? connection.kept : [:]))
          }
          if let name = naming.name { try await magic.setReplicaName(name) }
          return try await Reporter(output).follow(MagicReplicator(magic, over: remote).remembering()) { try await $0.pull() }
        }
      }
    }
    let exchanged = ExchangeSummary(madeDatabase: true, pulled: TransferSummary(report))
    return exchanged.outcome(database.path, place.text, report.status, output)
  }
}
