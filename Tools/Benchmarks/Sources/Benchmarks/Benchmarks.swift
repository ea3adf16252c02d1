import ArgumentParser
import Foundation

@main
struct Benchmarks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract:
      "Measures MagicData against SQLite's own calls, GRDB's records and SQLite's session extension, in turn within one run.",
    discussion: """
      EXAMPLES:
        bench                                 all cases at 1,000 and 100,000 objects
        bench --objects 10000 --rounds 2      a quick look
        bench --only insert push --large      some cases, up to 1,000,000 objects
        bench --check --json run.json         the targets; exit 1 if one is missed
      """)

  @Option(help: "Objects of the cases that have a target.")
  var objects = 100_000

  @Option(help: "Rounds of each case. Medians are of so many.")
  var rounds = 5

  @Option(parsing: .upToNextOption, help: "Only cases with one of these words in their names.")
  var only: [String] = []

  @Flag(help: "Also with 1,000,000 objects. Takes long, and gigabytes of disk.")
  var large = false

  @Flag(help: "Also the peak memory of each side, in a process of its own (Linux).")
  var memory = false

  @Flag(help: "List the cases and measure nothing.")
  var list = false

  @Option(help: "Where to write everything that was measured.")
  var json: String?

  @Flag(help: "Say of each target whether it is met; exit 1 if one is missed.")
  var check = false

  @Option(help: "A folder for plots of cost against size, in SVG.")
  var plot: String?

  // A process that measures memory.
  @Option(name: .customLong("case"), help: .hidden)
  var label: String?
  @Option(help: .hidden)
  var side: String?
  @Option(help: .hidden)
  var work: String?

  func validate() throws {
    guard objects >= 1_000, rounds >= 1 else { throw ValidationError("--objects is 1,000 at least, and --rounds 1.") }
  }

  func run() async throws {
    let sizes = Sizes(objects: objects, isLarge: large)
    let cases = Case.all(sizes)
    if let label, let side, let work {
      let runner = Runner(workspace: Workspace(folder: URL(fileURLWithPath: work)), rounds: 1)
      guard let given = cases.first(where: { $0.label == label }) else { return }
      guard let use = try await runner.memory(of: given, side: side) else { return }
      return FileHandle.standardOutput.write(try JSONEncoder().encode(use))
    }
    let selected = cases.filter { given in only.isEmpty || only.contains { given.label.localizedCaseInsensitiveContains($0) } }
    if list { return print(selected.map(\.label).joined(separator: "\n")) }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("magic-bench-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try publish(try await measure(selected, in: Workspace(folder: folder)))
  }

  private func measure(_ cases: [Case], in workspace: Workspace) async throws -> Report {
    let runner = Runner(workspace: workspace, rounds: rounds)
    var report = Report(objects: objects, rounds: rounds)
    show(report.heading(withMemory: memory))
    for (index, given) in cases.enumerated() {
      log("\(index + 1) of \(cases.count): \(given.label)")
      do {
        var measured = try await runner.run(given)
        if memory {
          let arguments = ["--objects", String(objects), "--work", workspace.folder.path] + (large ? ["--large"] : [])
          for index in measured.sides.indices {
            measured.sides[index].memory = try Memory.use(
              of: given.label, side: measured.sides[index].name, arguments: arguments)
          }
        }
        report.cases.append(measured)
        show(report.lines(of: measured))
      } catch {
        // One that fails is no reason to lose what an hour has measured.
        log("\(given.label) failed: \(error)")
        report.failed.append(given.label)
      }
      // A long run that is stopped leaves what it has measured.
      try write(report)
    }
    return report
  }

  private func write(_ report: Report) throws {
    guard let json else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(report).write(to: URL(fileURLWithPath: json), options: .atomic)
  }

  private func publish(_ report: Report) throws {
    if let plot { try report.plot(to: URL(fileURLWithPath: plot, isDirectory: true)) }
    if check { print("\n" + report.verdicts) }
    if !report.failed.isEmpty { print("\nFailed: \(report.failed.joined(separator: "; "))") }
    if !report.failed.isEmpty || check && !report.isMet { throw ExitCode(1) }
  }

  /// At once, as a run takes hours and may be stopped.
  private func show(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }

  private func log(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}

extension Case {
  static func all(_ sizes: Sizes) -> [Case] {
    let topics = [
      objects, fetches, published, queries, relations, assets, files, journals, exchange, loopback, live, crowds, segments,
      idle,
      merges, replays, histories, tools,
    ]
    return topics.flatMap { $0(sizes) }
  }
}
