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
    let database = try CommandDatabase(database.path)
    let (isDatabaseNew, isRemoteNew) = (!database.exists, !folder.isThere)
    let report = try await database.useOrBuild { magic in try await MagicReplicator(magic, remote: folder).sync() }
    let exchanged = Exchanged(
      madeDatabase: isDatabaseNew, madeRemote: isRemoteNew, pulled: Moved(report.pull), pushed: Moved(report.push))
    try output.print(exchanged.sentences(database.path, folder), exchanged)
    let pushed = Result { try report.push.checkUnread() }
    try report.pull.checkHeldBack()
    try pushed.get()
  }
}
