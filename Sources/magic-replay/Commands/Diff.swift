import ArgumentParser
import Console
import MagicJournal
import MagicReplication
import MagicTransport

struct Diff: Command {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Prints what was added, changed and removed between two moments, or two sources.",
    discussion: """
      Examples:
        magic-replay diff notes --from "1d ago"
        magic-replay diff notes --from 2026-01-01 --to 2026-02-01 --json
        magic-replay diff notes /mnt/share/notes --check
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions

  @Argument(help: ArgumentHelp("The source to compare with.", valueName: "OTHER"), completion: .file())
  var other: String?

  @Option(help: ArgumentHelp("What it was then …", valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("… and then; without it, now.", valueName: "time"))
  var to: String?

  @Option(help: "Only objects of this type.")
  var type: String?

  @Flag(help: "Exit with 4 if there is a difference. (MAGIC_REPLAY_CHECK)")
  var check = false

  @OptionGroup var output: OutputOptions

  private func moments() throws -> (from: MagicMoment?, to: MagicMoment?) {
    (try (from ?? twin("FROM")).map { try MagicMoment($0) }, try (to ?? twin("TO")).map { try MagicMoment($0) })
  }

  /// Between two sources there is nothing to name beside them.
  private func twin(_ name: String) -> String? { other == nil ? EnvironmentVariable.text(name) : nil }

  func validate() throws {
    let (from, to) = try checking { try moments() }
    guard (other == nil) == (from != nil), other == nil || to == nil else {
      throw ValidationError("name either two sources, or one and --from with or without --to.")
    }
    try checkInput(of: [source.address, other ?? ""])
  }

  func perform() async throws -> Outcome {
    let source = try await source.open(connection.options)
    let printer = DifferencePrinter(isJSON: output.json)
    let type = type ?? EnvironmentVariable.text("TYPE")
    let report: MagicReadReport
    if let other {
      let other = try await RemoteAddress.source(at: rereadable(other), options: connection.options)
      report = try await source.differences(to: other, type: type) {
        try printer.add($0)
      }
    } else {
      let (from, to) = try moments()
      guard let from else { throw ValidationError("--from is missing.") }
      report = try await source.differences(from: from, to: to, type: type) { try printer.add($0) }
    }
    try printer.finish()
    try output.tell(report)
    // A name that was mistyped looks like a type of which nothing differs.
    if printer.count == 0, let type, !output.quiet { Terminal.say("no object of type \(type.printable) differs", .yellow) }
    let differs = (check || EnvironmentVariable.flag("CHECK")) && printer.count > 0
    return Outcome(
      text: "", content: printer.content, status: !report.isComplete ? .partlyDone : differs ? .differs : .success)
  }
}

// @unchecked: a reading hands its differences over one after the other.
private final class DifferencePrinter: @unchecked Sendable {
  struct Content: Encodable, Sendable {
    var added = 0
    var changed = 0
    var removed = 0
  }

  private let isJSON: Bool
  private let lines = LineWriter()
  private(set) var content = Content()

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  var count: Int { content.added + content.changed + content.removed }

  func add(_ difference: ObjectDifference) throws {
    switch difference.kind {
    case .added: content.added += 1
    case .changed: content.changed += 1
    case .removed: content.removed += 1
    }
    guard isJSON else {
      try lines.line("\(difference.kind.rawValue.padding(to: 8))\(difference.type) \(difference.object.printable)")
      for field in difference.fields {
        let (before, after) = (field.before?.shownJSON, field.after?.shownJSON)
        try lines.line(
          "  \(field.name): \([before, after].compactMap { $0 }.joined(separator: " → "))\(difference.kind == .changed && after == nil ? " → nothing" : "")"
        )
      }
      return
    }
    let fields = difference.fields.map {
      "\(Value.text($0.name).json):{\"before\":\($0.before?.shownJSON ?? "null"),\"after\":\($0.after?.shownJSON ?? "null")}"
    }.joined(separator: ",")
    try lines.line(
      "{\"event\":\"difference\",\"kind\":\"\(difference.kind.rawValue)\",\"type\":\(Value.text(difference.type).json),\"object\":\(Value.text(difference.object).json),\"fields\":{\(fields)}}"
    )
  }

  func finish() throws { try lines.flush() }
}

extension String {
  fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
