import ArgumentParser
import Console
import Foundation
import MagicReplication
import MagicTransport

struct Export: Command {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Prints a journal as lines of JSON, from which nothing is missing.",
    discussion: """
      Protocol/export.md describes them, for other tools to read and write. Remarks, and with --json the summary, go to standard error. \
      A journal that `compact` has cut has no export; a bundle holds what is left of it. --until is not taken from the environment.

      Examples:
        magic-replay export notes > notes.jsonl
        magic-replay export /mnt/share/notes --until 2026-02-01 | gzip > january.jsonl.gz
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("Only what was written then or before.", valueName: "time"))
  var until: String?

  @OptionGroup var output: OutputOptions

  /// Not from the environment: from an export nothing is missing that was not left out by name.
  private func selection() throws -> LogSelection {
    var selection = LogSelection()
    selection.until = try until.map { try MagicMoment($0) }
    return selection
  }

  func validate() throws { _ = try checking { try selection() } }

  var isOutputTaken: Bool { true }

  func perform() async throws -> Outcome {
    let lines = LineWriter()
    let (count, report) = try await source.open(connection.options).export(selection()) { try lines.line($0) }
    try lines.flush()
    try output.tell(report, to: .standardError)
    return Outcome(
      text: output.json ? "" : "exported \(count.counted("transaction"))", content: ["transactions": count],
      status: report.isComplete ? .success : .partlyDone)
  }
}

struct Import: Command {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Makes a database of an export.",
    discussion: """
      The database is a new replica of the export's data set, as `apply` makes it. What a clock wrote that is ahead comes along if the database that was exported \
      held it, or if --accept names its replica. Every other command reads an export as well.

      Examples:
        magic-replay import notes.jsonl --into notes
        gunzip -c january.jsonl.gz | magic-replay import - --into january
      """)

  @Argument(help: ArgumentHelp("The export, or - for a pipe.", valueName: "FILE"), completion: .file())
  var file: String

  @OptionGroup var target: TargetOptions
  @OptionGroup var accepted: AcceptOption
  @OptionGroup var output: OutputOptions

  private func plan() -> RebuildPlan {
    var plan = RebuildPlan()
    plan.accepted = accepted.replicas.sorted()
    return plan
  }

  func perform() async throws -> Outcome {
    let source = try RemoteAddress.source(at: rereadable(file))
    guard case .export = source else { throw ValidationError("\(file) is no export; `apply` takes journals of other kinds.") }
    var plan = plan()
    return try await target.build(output) { magic, merged in
      plan.merged = merged
      return (try await magic.rebuild(from: [source], plan), nil, nil)
    }
  }
}
