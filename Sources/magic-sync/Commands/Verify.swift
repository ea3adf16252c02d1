import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Verify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a database against its journal, its assets, and a remote's files.",
    discussion: """
      Reads everything and changes nothing: SQLite's file, each object's row against the fold of its entries, each asset's content against its name, each \
      segment's checksums. Without REMOTE, and without a folder or bundle as the remote that has a name, the database alone. Exit code 1: the database is damaged; 3: files are damaged or \
      missing, the rest is whole.

      Examples:
        magic-sync verify notes
        magic-sync verify notes /mnt/share/notes
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var remote: RemoteArgument
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let check = try await database.use { magic in try await DatabaseCheck(magic) }
    let names = try await database.use { magic in try await magic.remotes() }
    var folder: FolderCheck?
    if remote.address != nil || !names.isEmpty {
      let place = try await remote.place(in: database)
      // A server's files are verified there.
      if remote.address != nil || !place.isServer { folder = try await place.useFolder(.pull) { try FolderCheck($0) } }
    }
    let content = Verified(check, folder)
    return Outcome(
      text: content.text, content: content, status: content.hasFaults ? .failure : content.isPartial ? .partlyDone : .success)
  }
}
