import ArgumentParser
import Console
import MagicData
import MagicReplication
import MagicTransport

struct Log: Command {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Prints a journal's entries, newest last.",
    discussion: """
      A line has the time, the replica and its sequence, what was done to which object, and the values that were set. An object without a primary value is \
      named by its birth, 32 digits; a date is its seconds since 2001. What is damaged is named after what can be read, with exit code 3.

      Examples:
        magic-replay log notes --limit 20
        magic-replay log notes --type Note --primary groceries --since "2d ago"
        magic-replay log /mnt/share/notes --follow --json
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var window: WindowOptions

  @Option(help: "Only objects of this type.")
  var type: String?

  @Option(help: ArgumentHelp("Only the object with this primary value, number or birth.", valueName: "value"))
  var primary: String?

  @Option(help: ArgumentHelp("Only entries with this operation: update, remove or purge.", valueName: "op"))
  var op: Operation?

  // Whatever follows is its value, so that -1 gets an answer of its own.
  @Option(parsing: .unconditional, help: "Print only the last so many. (MAGIC_REPLAY_LIMIT)")
  var limit: Int?

  @Flag(help: "Go on with what is written from now on, until interrupted. (MAGIC_REPLAY_FOLLOW)")
  var follow = false

  @OptionGroup var output: OutputOptions

  enum Operation: String, ExpressibleByArgument, CaseIterable, Sendable {
    case update, remove, purge

    var listed: MagicHistory.Operation? { MagicHistory.Operation(rawValue: rawValue) }
  }

  func validate() throws {
    guard (limit ?? EnvironmentVariable.int("LIMIT") ?? 0) >= 0 else { throw ValidationError("--limit takes a number from 0.") }
  }

  func perform() async throws -> Outcome {
    let follow = follow || EnvironmentVariable.flag("FOLLOW")
    let source = try await source.open(connection.options)
    var selection = try window.selection()
    selection.limit = limit ?? EnvironmentVariable.int("LIMIT")
    selection.filter = EntryFilter(
      type: type ?? EnvironmentVariable.text("TYPE"), object: primary ?? EnvironmentVariable.text("PRIMARY"),
      operation: (op ?? EnvironmentVariable.choice("OP"))?.listed)
    let listing = EntryListing(output)
    guard !follow || source.grows else {
      throw ValidationError(
        "\(DisplayName.text(source.path)) is a file that does not grow; follow a database, a folder or a server.")
    }
    let first = try await listing.print(source, selection)
    var report = first.report
    if follow {
      let told = Locked(first.told)
      do {
        for try await growth in source.growth(after: told) {
          if case .retrying(let error, let pause) = growth {
            try output.tell(error, retryingAfter: pause)
            continue
          }
          let before = told.withLock { $0 }
          let more = try await listing.printOnceThere(source, selection, after: before)
          report = report.followed(by: more.report, told: more.told)
          told.withLock { $0 = more.told }
        }
      } catch is CancellationError {
        // Interrupted, as was to be.
      }
    }
    // A name that was mistyped looks like a journal without entries.
    if listing.count == 0, selection.isPart, !follow, !output.quiet {
      try await source.sayNothing("no entry matches", of: selection.filter.type)
    }
    return Outcome(
      text: "", content: ["entries": listing.count], status: report.isComplete ? .success : .partlyDone)
  }
}
