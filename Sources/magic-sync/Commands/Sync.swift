import ArgumentParser
import MagicData
import MagicReplication
import MagicTransport

struct Sync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
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
    let opened = try OpenedDatabase(database.path, mustExist: false)
    let isNew = !folder.isThere
    let report = try await opened.use { magic in try await MagicReplicator(magic, remote: folder).sync() }
    let exchanged = Exchanged(
      madeDatabase: opened.isNew, madeRemote: isNew, pulled: Moved(report.pull), pushed: Moved(report.push))
    try output.print(exchanged.sentences(opened.path, folder), exchanged)
    try report.pull.checkHeldBack()
  }
}
