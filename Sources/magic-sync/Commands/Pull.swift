import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Pull: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull",
    abstract: "Fetches and merges what the database lacks.",
    discussion: """
      Makes the database if it is not there. What is damaged in the remote, or waits, is said and keeps nothing else back.

      Example: magic-sync pull notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let folder = try RemoteAddress.remote(at: remote.address)
    try folder.check()
    let database = try CommandDatabase(database.path)
    let isNew = !database.exists
    let report = try await database.useOrBuild { magic in try await MagicReplicator(magic, remote: folder).pull() }
    let exchanged = Exchanged(madeDatabase: isNew, pulled: Moved(report))
    try output.print(exchanged.sentences(database.path, folder), exchanged)
    try report.checkHeldBack()
  }
}
