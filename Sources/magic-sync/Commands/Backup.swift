import ArgumentParser
import Console
import MagicData

struct Backup: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies a database with its assets, while others read and write it.",
    discussion: """
      The copy is as the database was at one moment: whole and on the disk, or not there at all. It is a replica of its own with the whole journal, and knows the remotes that the \
      database has names for. Where there is a database already, nothing is written. To put a backup back, move away what is left of the database, and copy the backup to its place.

      Examples:
        magic-sync backup notes /mnt/backups/notes-31
        magic-sync backup /mnt/backups/notes-31 notes
      """)

  @OptionGroup var database: DatabaseArgument

  @Argument(
    help: ArgumentHelp("Where the copy is made: a folder, or a .sqlite, .sqlite3 or .db file.", valueName: "PATH"),
    completion: .file())
  var path: String

  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !path.isEmpty else { throw ValidationError("the backup's path is empty.") }
  }

  func perform() async throws -> Outcome {
    let (database, copy) = (try CommandDatabase(database.path), try CommandDatabase(path))
    let url = try CommandDatabase.url(of: path)
    try await database.look { magic in try await magic.backup(to: url) }
    return Outcome(
      text: output.quiet ? "" : "made the database \(copy.path.printable), a copy of \(database.path.printable)",
      content: ["path": copy.path])
  }
}
