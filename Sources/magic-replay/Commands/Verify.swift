public import ArgumentParser
import Console
import MagicData
import MagicReplication

struct Verify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Folds a journal and compares it with the tables; checks checksums, gaps, links and assets.",
    discussion: """
      Of a database everything is read; of a folder or bundle the journal, as `log` reads it, and the contents of the assets that its objects name (magic-sync verify looks at each file of a folder, whether it counts or not); of a segment, an export or a server the journal alone. Exit code 4: a database's tables are not what its journal folds to, as after a change by SQL; 3: something is damaged or missing, the rest is whole. --repair \
      settles the former in one transaction: with `journal`, rows become what the journal says; with `tables`, what the rows say becomes changes of this replica, which others merge. \
      It is not taken from the environment.

      Examples:
        magic-replay verify notes
        magic-replay verify notes --repair journal
        magic-replay verify /mnt/share/notes --json
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions

  /// What is written stands on the command line alone: a variable that was set for one database would settle another.
  @Option(help: ArgumentHelp("Which side is right: journal or tables.", valueName: "side"))
  var repair: RepairSide?

  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let source = try await source.open(connection.options)
    guard case .database(let magic) = source else {
      guard repair == nil else { throw ValidationError("--repair is for a database.") }
      return try await read(source)
    }
    var settled: Int?
    if let repair { settled = try await magic.repair(repair) }
    let check = VerificationSummary(try await DatabaseCheck(magic))
    CommandDatabase.tellFresh(magic, output)
    try await magic.close()
    let text = settled.map { "settled \($0.counted("object"))\n" } ?? ""
    return Outcome(
      text: text + check.text, content: check, status: check.hasFaults ? .differs : check.isPartial ? .partlyDone : .success)
  }

  /// Every transaction, what they fold to, and the contents that objects name.
  private func read(_ source: JournalSource) async throws -> Outcome {
    let check = try await SourceCheck(source)
    try output.tell(check.report)
    let content = Content(check)
    return Outcome(
      text: content.text(isWell: check.isComplete && check.database.faults.isEmpty), content: content,
      status: !check.database.faults.isEmpty ? .differs : check.isComplete ? .success : .partlyDone)
  }

  private struct Content: Encodable {
    let transactions, entries, bytes, unread, missing: Int
    let objects: Int
    let digest: String
    let faults: [String]
    let assets: Int?
    let missingAssets, damagedAssets: [String]

    init(_ check: SourceCheck) {
      let statistics = check.statistics
      (transactions, entries, bytes) = (statistics.transactions, statistics.total.entries, statistics.storedBytes)
      (unread, missing) = (check.report.unread.count, check.report.gaps.count)
      (objects, digest, faults) = (check.database.objects, check.database.digest, check.database.faults)
      (assets, missingAssets, damagedAssets) = (check.contents, check.missingContents, check.damagedContents)
    }

    func text(isWell: Bool) -> String {
      var lines = [
        "\(transactions.counted("transaction")) with \(entries.counted("change")), \(bytes.asBytes)",
        "\(objects.counted("object")), digest \(digest)",
      ]
      if let assets { lines.append(assets.counted("asset")) }
      lines += faults.map { "fault: \($0.printable)" } + damagedAssets.map { "damaged asset: \($0.printable)" }
      lines += missingAssets.map { "missing asset: \($0.printable)" }
      return (lines + [isWell ? "all is well" : "not all is well"]).joined(separator: "\n")
    }
  }
}

extension RepairSide: ExpressibleByArgument {}
