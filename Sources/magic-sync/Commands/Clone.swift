import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Clone: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clone",
    abstract: "Makes a database of what a remote holds.",
    discussion: "Example: magic-sync clone /mnt/share/notes notes")

  @OptionGroup var remote: RemoteArgument
  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let folder = try RemoteAddress.remote(at: remote.address)
    try folder.check()
    let database = try CommandDatabase(database.path)
    guard !database.exists else {
      throw MagicDataError(.exists, "there is a database at \(database.path) already; pull into it, or name another path")
    }
    let report = try await database.useOrBuild { magic in try await MagicReplicator(magic, remote: folder).pull() }
    let exchanged = Exchanged(madeDatabase: true, pulled: Moved(report))
    try output.print(exchanged.sentences(database.path, folder), exchanged)
    try report.checkHeldBack()
  }
}
