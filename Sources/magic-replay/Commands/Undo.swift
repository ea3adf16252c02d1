import ArgumentParser
import Console
import Foundation
import MagicData
import MagicJournal
import MagicReplication

struct Undo: Command {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Takes back what transactions did, with changes of its own.",
    discussion: """
      Prints the changes first; on a terminal it asks before it writes them, unless it prints JSON. Where standard input is no terminal it writes at once; --dry-run \
      shows the changes and writes nothing. The journal keeps what was undone, so that this can be undone as well. What others changed since is \
      left as it is, and listed. An asset that nobody keeps any more comes back by name alone. Transactions and times are not taken from the environment.

      Examples:
        magic-replay undo notes --transaction 1a2b3c4d:17 --dry-run
        magic-replay undo notes --since "1h ago" --type Note
      """)

  @OptionGroup var database: DatabaseArgument

  @Option(help: ArgumentHelp("This transaction, as log prints it. May be given several times.", valueName: "replica:sequence"))
  var transaction: [String] = []

  @Option(help: ArgumentHelp("All that was written then or later …", valueName: "time"))
  var since: String?

  @Option(help: "… to objects of this type. May be given several times.")
  var type: [String] = []

  @Option(help: ArgumentHelp("… by this replica: its id, or how that begins. May be given several times.", valueName: "id"))
  var replica: [String] = []

  @Flag(help: "Print the changes and write nothing. (MAGIC_REPLAY_DRY_RUN)")
  var dryRun = false

  @Flag(help: "Do not ask. (MAGIC_REPLAY_YES)")
  var yes = false

  @OptionGroup var output: OutputOptions

  /// What is taken back stands on the command line alone: a variable that was set for another command would take back what
  /// nobody named. What makes it less may come from there.
  private func selection() throws -> UndoSelection {
    var selection = UndoSelection()
    selection.transactions = try transaction.map { try MagicMoment(transaction: $0) }
    selection.since = try since.map { try MagicMoment($0) }
    (selection.types, selection.replicas) = (Set(type.or("TYPE")), try replica.replicas(or: "REPLICA"))
    return selection
  }

  func validate() throws {
    let selection = try checking { try self.selection() }
    guard selection.transactions.isEmpty != (selection.since == nil) else {
      throw ValidationError("name either a --transaction or a time with --since.")
    }
  }

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path, output)
    return isDryRun ? try await database.look(undo) : try await database.use(undo)
  }

  private var isDryRun: Bool { dryRun || EnvironmentVariable.flag("DRY_RUN") }

  private func undo(_ magic: MagicData) async throws -> Outcome {
    let plan = try await magic.undoing(selection())
    try show(plan)
    var content = Content(changes: plan.changes.count, kept: plan.kept.count, written: false)
    guard !plan.changes.isEmpty else { return Outcome(text: "there is nothing to undo", content: content) }
    guard !isDryRun, try await confirms() else {
      return Outcome(text: "nothing was written", content: content)
    }
    try await magic.undo(plan)
    content.written = true
    return Outcome(text: "wrote \(plan.changes.count.counted("change"))", content: content)
  }

  private func confirms() async throws -> Bool {
    guard !yes, !EnvironmentVariable.flag("YES"), isatty(STDIN_FILENO) != 0, !output.json else { return true }
    let answer = try await Terminal.ask("Write these changes? [y/N] ")
    return ["y", "yes"].contains(answer?.lowercased() ?? "")
  }

  private func show(_ plan: UndoPlan) throws {
    for change in plan.changes {
      if output.json {
        try output.line(line(change))
        continue
      }
      try output.line("\(change.kind.rawValue) \(change.type) \(change.object.printable)")
      for field in change.fields {
        try output.line("  \(field.name): \(field.before ?? "nothing") → \(field.after ?? "nothing")")
      }
    }
    for kept in plan.kept {
      if output.json {
        try output.event("kept", KeptLine(kept))
      } else {
        try output.line(
          "left: \(kept.type) \(kept.object.printable)\(kept.property.map { "." + $0 } ?? ""), changed since by \(kept.author.replica.prefix(8)):\(kept.author.sequence)"
        )
      }
    }
  }

  private struct Content: Encodable {
    let changes, kept: Int
    var written: Bool
  }

  /// By hand: a dictionary of fields would take two names for one that differ in their bytes alone (L-3).
  private func line(_ change: UndoPlan.Change) -> String {
    func text(_ value: String?) -> String { value.map { Value.text($0).json } ?? "null" }
    let fields = change.fields.map {
      "\(text($0.name)):{\"before\":\(text($0.before)),\"after\":\(text($0.after))}"
    }.joined(separator: ",")
    return
      "{\"event\":\"undo\",\"kind\":\"\(change.kind.rawValue)\",\"type\":\(text(change.type)),\"object\":\(text(change.object)),\"fields\":{\(fields)}}"
  }

  private struct KeptLine: Encodable {
    let type, object, replica, time: String
    let property: String?
    let sequence: UInt64

    init(_ kept: UndoPlan.Kept) {
      (type, object, property) = (kept.type, kept.object, kept.property)
      (replica, time, sequence) = (kept.author.replica, kept.author.time.inLog, kept.author.sequence)
    }
  }
}
