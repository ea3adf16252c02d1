import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Push: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
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
    let report = try await OpenedDatabase(database.path, mustExist: true).use { magic in
      try await MagicReplicator(magic, remote: folder).push()
    }
    let moved = Moved(report)
    try output.print(moved.sentence("pushed"), ["pushed": moved])
  }
}
