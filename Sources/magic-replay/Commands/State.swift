import ArgumentParser
import Console
import Foundation
import MagicJournal
import MagicReplication

struct State: Command {
  static let configuration = CommandConfiguration(
    commandName: "state",
    abstract: "Prints objects as they were at a moment.",
    discussion: """
      That is what all replicas had written by then, by their own clocks, merged as it would be now. Prints a table, or with --json or --csv lines for programs. A file or a \
      folder is merged into a temporary database first.

      Examples:
        magic-replay state notes --at "2d ago"
        magic-replay state /mnt/share/notes --at 1a2b3c4d:17 --type Note --csv
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("As it was then; without it, now.", valueName: "time"))
  var at: String?

  @Option(help: "Only objects of this type.")
  var type: String?

  @Flag(help: "Print comma-separated values (RFC 4180), each type with a line of names. (MAGIC_REPLAY_CSV)")
  var csv = false

  @OptionGroup var output: OutputOptions

  private func moment() throws -> MagicMoment? { try (at ?? EnvironmentVariable.text("AT")).map { try MagicMoment($0) } }

  func validate() throws {
    _ = try checking { try moment() }
    if csv { EnvironmentVariable.overrule("JSON") }
    guard !csv || !output.json else { throw ValidationError("--csv and --json are two forms; name one of them.") }
  }

  func perform() async throws -> Outcome {
    let source = try await source.open(connection.options)
    let printer = ObjectPrinter(output.json ? .json : csv || EnvironmentVariable.flag("CSV") ? .csv : .table)
    let (moment, type) = (try moment(), type ?? EnvironmentVariable.text("TYPE"))
    let report = try await source.forEachObject(at: moment, type: type) { try printer.add($0) }
    try printer.finish()
    try output.tell(report)
    // A name that was mistyped looks like a type without objects.
    if printer.count == 0, moment != nil || type != nil, !output.quiet {
      try await source.sayNothing("no object matches", of: type)
    }
    return Outcome(
      text: "", content: ["objects": printer.count], status: report.isComplete ? .success : .partlyDone)
  }
}

/// Prints objects of one type after the other.
// @unchecked: a reading hands its objects over one after the other.
final class ObjectPrinter: @unchecked Sendable {
  enum Form { case json, csv, table }

  private let form: Form
  private let lines = LineWriter()
  private(set) var count = 0
  private var type: String?
  private var names: [String] = []
  private var columns: [String] = []
  /// Whether the third of them is the automatic number.
  private var hasNumbers = false
  private var widths: [Int] = []
  /// The first objects of a type, of which the columns of a table follow.
  private var ahead: [ObjectAt] = []

  private static let lookAhead = 1_000
  private static let maxWidth = 40

  init(_ form: Form) {
    self.form = form
  }

  func add(_ object: ObjectAt) throws {
    count += 1
    guard form != .json else { return try lines.line(json(object)) }
    if !isOfLastType(object) {
      try begin()
      (type, names, hasNumbers) = (object.type, object.fieldNames, object.mayHaveNumber)
      if form == .csv {
        columns = fixed + ObjectPrinter.distinct(names)
        try line(columns)
      }
    }
    if columns.isEmpty {
      ahead.append(object)
      if ahead.count == ObjectPrinter.lookAhead { try begin(isOver: false) }
    } else {
      try row(object)
    }
  }

  func finish() throws {
    try begin()
    try lines.flush()
  }

  /// Two types may have one name, and other primary values.
  private func isOfLastType(_ object: ObjectAt) -> Bool {
    guard let type, hasNumbers == object.mayHaveNumber, type.isSame(as: object.type) else { return false }
    return names.elementsEqual(object.fieldNames) { $0.isSame(as: $1) }
  }

  /// The columns before those of the fields.
  private var fixed: [String] { hasNumbers ? ["type", "object", "number"] : ["type", "object"] }

  /// Each name once, in the order of their bytes (L-3).
  private static func distinct(_ names: [String]) -> [String] {
    let distinct = Set(names.map { Array($0.utf8) })
    return distinct.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Prints what waits.
  private func begin(isOver: Bool = true) throws {
    if !ahead.isEmpty {
      columns = fixed + ObjectPrinter.distinct(ahead.flatMap { $0.fields.map(\.name) })
      widths = columns.map(\.count)
      for object in ahead {
        for (index, cell) in cells(object).enumerated() {
          widths[index] = min(max(widths[index], cell.count), ObjectPrinter.maxWidth)
        }
      }
      try line(columns)
      for object in ahead { try row(object) }
      ahead = []
    }
    if isOver { columns = [] }
  }

  private func row(_ object: ObjectAt) throws {
    // A field may be called as one of the columns before is.
    let known = columns.dropFirst(fixed.count)
    let more = form == .csv ? [] : object.fields.map(\.name).filter { name in !known.contains { $0.isSame(as: name) } }
    // Columns that came up later stand behind, under a line of names of their own.
    if !more.isEmpty {
      columns += more
      widths += more.map { _ in ObjectPrinter.maxWidth }
      try line(columns)
    }
    try line(cells(object))
  }

  private func cells(_ object: ObjectAt) -> [String] {
    columns.enumerated().map { index, name in
      if index == 0 { return object.type }
      if index == 1 { return form == .csv ? object.object : object.object.printable }
      if index == 2, hasNumbers { return object.number.map(String.init) ?? "" }
      guard let value = object.fields.first(where: { $0.name.isSame(as: name) })?.value else { return "" }
      if case .text(let text) = value, form == .csv { return text }
      return form == .csv ? value.shownJSON : value.shownText
    }
  }

  private func line(_ cells: [String]) throws {
    if form == .csv {
      return try lines.line(cells.map(\.quotedForCSV).joined(separator: ",") + "\r")
    }
    let padded = zip(cells, widths).enumerated().map { index, column -> String in
      let (cell, width) = column
      // The name of an object is of use as a whole. What comes later may be wider than all of which the widths follow.
      guard index == 1 || cell.count <= ObjectPrinter.maxWidth else {
        return String(cell.prefix(ObjectPrinter.maxWidth - 1)) + "…"
      }
      return cell + String(repeating: " ", count: max(0, width - cell.count))
    }
    var text = padded.joined(separator: "  ")
    while text.hasSuffix(" ") { text.removeLast() }
    try lines.line(text)
  }

  private func json(_ object: ObjectAt) -> String {
    let number = object.number.map { ",\"number\":\($0)" } ?? ""
    let fields = object.fields.map { "\(Value.text($0.name).json):\($0.value.shownJSON)" }.joined(separator: ",")
    return
      "{\"event\":\"object\",\"type\":\(Value.text(object.type).json),\"object\":\(Value.text(object.object).json)\(number),\"fields\":{\(fields)}}"
  }
}

extension String {
  /// By its bytes (L-3).
  fileprivate func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// RFC 4180. By bytes: a line end, or what a combining mark stands behind, is no character of its own.
  fileprivate var quotedForCSV: String {
    guard utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return self }
    let quote = UInt8(ascii: "\"")
    var bytes = [quote]
    for byte in utf8 { bytes += byte == quote ? [quote, quote] : [byte] }
    return String(decoding: bytes + [quote], as: UTF8.self)
  }
}
