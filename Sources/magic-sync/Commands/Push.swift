import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Push: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Sends what the remote lacks.",
    discussion: """
      Makes the remote's folder if the folder above is there.

      Example: magic-sync push notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let folder = try RemoteAddress.remote(at: remote.address)
    let database = try CommandDatabase(database.path)
    let isNew = !folder.isThere
    let report = try await database.use { magic in try await MagicReplicator(magic, remote: folder).push() }
    let exchanged = Exchanged(madeRemote: isNew, pushed: Moved(report))
    try output.print(exchanged.sentences(database.path, folder), exchanged)
    try report.checkUnread()
  }
}
