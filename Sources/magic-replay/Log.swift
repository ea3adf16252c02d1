import ArgumentParser
import MagicReplication

struct Log: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints a journal's entries, newest last.",
    discussion: """
      SOURCE is a database, a folder remote, a segment file or a bundle. A line has the time, the replica and its sequence, what was done to which \
      object, and the values that were set. An object without a primary value is named by its birth, 32 digits; a date is its seconds \
      since 2001.

      Example: magic-replay log notes --limit 20
      """)

  @Argument(help: ArgumentHelp("Where the journal is.", valueName: "SOURCE"))
  var source: String

  @Option(help: "Print only the last so many entries.")
  var limit: Int?

  @Flag(help: "Print a JSON object a line.")
  var json = false

  func validate() throws {
    guard (limit ?? 0) >= 0 else { throw ValidationError("--limit takes a number from 0.") }
  }

  func run() async throws {
    let lines = try await JournalSource(at: source).log()
    for line in lines.suffix(limit ?? lines.count) { print(json ? line.json : line.text) }
  }
}
