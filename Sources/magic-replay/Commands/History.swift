import ArgumentParser
import Console
import MagicReplication

struct ObjectArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("The object's type.", valueName: "TYPE"))
  var type: String

  @Argument(help: ArgumentHelp("Its primary value, number, or birth as log prints it.", valueName: "PRIMARY"))
  var object: String
}

struct History: Command {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Prints every value that an object's fields had, when, from which replica, and what lost to what.",
    discussion: """
      Whether the writer of what won knew of what lost is not in the journal. A database finds the object by its index; of other sources everything is read.

      Examples:
        magic-replay history notes Note groceries
        magic-replay history notes Note groceries --field title --json
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var object: ObjectArguments

  @Option(help: "Only this field.")
  var field: String?

  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let history = try await source.open(connection.options).history(of: object.type, object.object)
    let report = history.report
    let field = field ?? EnvironmentVariable.text("FIELD")
    // By its bytes (L-3).
    let changes = history.changes.filter { change in
      field.map { change.property?.utf8.elementsEqual($0.utf8) ?? false } ?? true
    }
    for change in changes {
      if output.json { try output.event("change", Line(change)) } else { try output.line(change.text) }
    }
    try output.tell(report)
    // A name that was mistyped looks like a field without values.
    if changes.isEmpty, field != nil, !output.quiet { Terminal.say("no change matches", .yellow) }
    return Outcome(
      text: "", content: Content(type: history.type, object: history.object, alive: history.isAlive, changes: changes.count),
      status: report.isComplete ? .success : .partlyDone)
  }

  private struct Content: Encodable {
    let type, object: String
    let alive: Bool
    let changes: Int
  }

  private struct Line: Encodable {
    let time, replica: String
    let sequence: UInt64
    let property, value: String?
    let outcome: String
    let by: By?

    struct By: Encodable {
      let time, replica: String
      let sequence: UInt64
      let value: String?
    }

    init(_ change: MagicObjectHistory.Change) {
      (time, replica, sequence) = (change.author.time.inLog, change.author.replica, change.author.sequence)
      (property, value, outcome) = (change.property, change.value, change.outcome.rawValue)
      by = change.successor.map {
        By(time: $0.time.inLog, replica: $0.replica, sequence: $0.sequence, value: change.successorValue)
      }
    }
  }
}

extension MagicObjectHistory.Author {
  var text: String { "\(time.inLog)  \(replica.prefix(8)):\(sequence)" }
}

extension MagicObjectHistory.Change {
  var text: String {
    let what = property.map { "\($0)=\(value ?? "null")" } ?? "remove"
    let by = successor.map { "\(successorValue.map { $0 + " of " } ?? "")\($0.replica.prefix(8)):\($0.sequence)" } ?? ""
    let outcome =
      switch self.outcome {
      case .current: "current"
      case .replaced: "replaced by \(by)"
      case .lost: "lost to \(by)"
      case .removed: "removed with the object"
      case .void: "void: written before a removal that was undone"
      }
    return "\(author.text)  \(what)  \(outcome)"
  }
}

struct Blame: Command {
  static let configuration = CommandConfiguration(
    commandName: "blame",
    abstract: "Prints who wrote an object's current fields last.",
    discussion: "Example: magic-replay blame notes Note groceries")

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var object: ObjectArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let history = try await source.open(connection.options).history(of: object.type, object.object)
    let report = history.report
    for field in history.blame {
      if output.json {
        try output.event("field", Line(field))
      } else {
        try output.line("\(field.author.text)  \(field.property)=\(field.value)")
      }
    }
    try output.tell(report)
    return Outcome(
      text: history.isAlive || output.json ? "" : "\(history.type) \(history.object.printable) is removed",
      content: Content(type: history.type, object: history.object, alive: history.isAlive, fields: history.blame.count),
      status: report.isComplete ? .success : .partlyDone)
  }

  private struct Content: Encodable {
    let type, object: String
    let alive: Bool
    let fields: Int
  }

  private struct Line: Encodable {
    let property, value, time, replica: String
    let sequence: UInt64

    init(_ field: MagicObjectHistory.Blame) {
      (property, value) = (field.property, field.value)
      (time, replica, sequence) = (field.author.time.inLog, field.author.replica, field.author.sequence)
    }
  }
}
