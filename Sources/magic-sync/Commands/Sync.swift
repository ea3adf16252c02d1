import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Sync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Pulls, then pushes.",
    discussion: """
      Makes the database, and the remote's folder, if they are not there.

      Example: magic-sync sync notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let folder = try RemoteAddress.remote(at: remote.address)
    let report = try await OpenedDatabase(database.path, mustExist: false).use { magic in
      try await MagicReplicator(magic, remote: folder).sync()
    }
    let (pulled, pushed) = (Moved(report.pull), Moved(report.push))
    try output.print(
      pulled.sentence("pulled") + "\n" + pushed.sentence("pushed"), ["pulled": pulled, "pushed": pushed])
    try report.pull.checkHeldBack()
  }
}
