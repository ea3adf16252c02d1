import ArgumentParser
import Console
import Foundation
import MagicReplication

struct LogCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Prints a database's entries, newest last, or what lost to what.",
    discussion: """
      With --conflicts: values of one replica that a later write of another took the place of, whether its writer knew of them or not; that is not in the \
      journal. `magic-replay undo --transaction` takes back what either of the two did, as it is named here. `magic-replay log` reads folders, segments and bundles as well.

      Examples:
        magic-sync log notes --limit 20
        magic-sync log notes --conflicts --json
      """)

  @OptionGroup var database: DatabaseArgument

  // Whatever follows is its value, so that -1 gets an answer of its own.
  @Option(parsing: .unconditional, help: "Print only the last so many. (MAGIC_SYNC_LIMIT)")
  var limit: Int?

  @Flag(help: "Print what lost, and to what. (MAGIC_SYNC_CONFLICTS)")
  var conflicts = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (limit ?? EnvironmentVariable.int("LIMIT") ?? 0) >= 0 else { throw ValidationError("--limit takes a number from 0.") }
  }

  func perform() async throws -> Outcome {
    let limit = limit ?? EnvironmentVariable.int("LIMIT") ?? .max
    return try await CommandDatabase(database.path).look { magic in
      if conflicts || EnvironmentVariable.flag("CONFLICTS") {
        let all = try await magic.conflicts()
        for conflict in all.suffix(limit) {
          if output.json { try output.event("conflict", conflict) } else { try output.line(conflict.text) }
        }
        return Outcome(text: "", content: ["conflicts": all.count])
      }
      var selection = LogSelection()
      selection.limit = limit == .max ? nil : limit
      let listing = EntryListing(output)
      let (report, _) = try await listing.print(.database(magic), selection)
      return Outcome(text: "", content: ["entries": listing.count], status: report.isComplete ? .success : .partlyDone)
    }
  }
}
