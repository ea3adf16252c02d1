import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Pull: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Fetches and merges what the database lacks.",
    discussion: """
      Makes the database if it is not there. All of it is merged or, after an error, nothing.

      Example: magic-sync pull notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let folder = try RemoteAddress.remote(at: remote.address)
    try folder.check()
    let report = try await OpenedDatabase(database.path, mustExist: false).use { magic in
      try await MagicReplicator(magic, remote: folder).pull()
    }
    let moved = Moved(report)
    try output.print(moved.sentence("pulled"), ["pulled": moved])
    try report.checkHeldBack()
  }
}
