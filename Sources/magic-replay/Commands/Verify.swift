import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Verify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Folds a journal and compares it with the tables; checks checksums, gaps, links and assets.",
    discussion: """
      Of a database everything is read; of a folder or bundle the journal, as `log` reads it (magic-sync verify looks at each file of a folder, whether it counts or not). Exit code 4: a database's tables are not what its journal folds to, as after a change by SQL; 3: something is damaged or missing, the rest is whole. --repair \
      settles the former in one transaction: with `journal`, rows become what the journal says; with `tables`, what the rows say becomes changes of this replica, which others merge.

      Examples:
        magic-replay verify notes
        magic-replay verify notes --repair journal
        magic-replay verify /mnt/share/notes --json
      """)

  @OptionGroup var source: SourceArgument

  @Option(help: ArgumentHelp("Which side is right: journal or tables. (MAGIC_REPLAY_REPAIR)", valueName: "side"))
  var repair: RepairSide?

  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let source = try await source.open()
    let chosen = repair ?? Twin.choice("REPAIR")
    guard case .database(let magic) = source else {
      guard chosen == nil else { throw ValidationError("--repair is for a database.") }
      return try await read(source)
    }
    var settled: Int?
    if let chosen { settled = try await magic.repair(chosen) }
    let check = Verified(try await DatabaseCheck(magic))
    try await magic.close()
    let text = settled.map { "settled \($0.counted("object"))\n" } ?? ""
    return Outcome(
      text: text + check.text, content: check, status: check.hasFaults ? .differs : check.isPartial ? .partlyDone : .success)
  }

  /// Every file, and then every transaction of it.
  private func read(_ source: JournalSource) async throws -> Outcome {
    let (statistics, report) = try await source.statistics(LogSelection())
    try output.tell(report)
    let content = Content(
      transactions: statistics.transactions, entries: statistics.total.entries, bytes: statistics.storedBytes,
      unread: report.unread.count, missing: report.missing.count)
    return Outcome(
      text:
        "\(statistics.transactions.counted("transaction")) with \(statistics.total.entries.counted("change")), \(statistics.storedBytes.asBytes)"
        + "\n\(report.isComplete ? "all is well" : "not all is well")", content: content,
      status: report.isComplete ? .success : .partlyDone)
  }

  private struct Content: Encodable {
    let transactions, entries, bytes, unread, missing: Int
  }
}

extension RepairSide: ExpressibleByArgument {}
