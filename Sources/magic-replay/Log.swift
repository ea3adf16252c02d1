import ArgumentParser
import Foundation
import MagicJournal
import MagicReplication

struct Log: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints a journal's entries, newest last.",
    discussion: """
      SOURCE is a database, a segment file or a folder remote. A line has the time, the replica and its sequence, what was done to which \
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
    let lines = Collected()
    try await JournalSource(at: source).forEachTransaction { transaction, schema in
      for entry in transaction.entries { lines.append(LogLine(entry, of: transaction, schema)) }
    }
    let sorted = lines.sorted()
    for line in sorted.suffix(limit ?? sorted.count) { print(try json ? line.json : line.text) }
  }
}

/// Entries from a source that hands them over one at a time.
// @unchecked: `lines` is touched only while `lock` is held.
private final class Collected: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [LogLine] = []

  func append(_ line: LogLine) {
    lock.withLock { lines.append(line) }
  }

  func sorted() -> [LogLine] {
    lock.withLock { lines.sorted { $0.version < $1.version } }
  }
}
