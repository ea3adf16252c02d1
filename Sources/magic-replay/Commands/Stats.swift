import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication
import MagicTransport

struct Stats: Command {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Counts what a journal holds, by type, replica and day, and what compaction would free.",
    discussion: """
      Bytes are those of objects' names and values before compression, but for what the source takes where it is kept. What compaction would free are values that \
      later writes took the place of, and those of removed objects, once every replica has acknowledged all of the journal (magic-sync compact --dry-run says what it would \
      free now); of a large journal it is an estimate. --plot draws changes over time per \
      replica, and the journal's growth.

      Examples:
        magic-replay stats notes
        magic-replay stats /mnt/share/notes --since "30d ago" --plot changes.svg
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var window: WindowOptions

  @Option(
    help: ArgumentHelp("Draw it into this file, whose name ends in .svg. (MAGIC_REPLAY_PLOT)", valueName: "file"),
    completion: .file(extensions: ["svg"]))
  var plot: String?

  @OptionGroup var output: OutputOptions

  private var plotPath: String? { plot ?? EnvironmentVariable.text("PLOT") }

  func validate() throws {
    guard plotPath.map({ $0.lowercased().hasSuffix(".svg") }) ?? true else {
      throw ValidationError("--plot writes SVG; name a file that ends in .svg.")
    }
  }

  func perform() async throws -> Outcome {
    let plot = plotPath.map { URL(fileURLWithPath: RemoteAddress.absolute($0)).linked }
    if let plot {
      // Told before the journal is read.
      let folder = plot.deletingLastPathComponent().path
      guard FileManager.default.fileExists(atPath: folder) else {
        throw MagicDataError(.notFound, "there is no folder \(folder); make it first")
      }
    }
    let statistics = try await source.open(connection.options).statistics(window.selection())
    let report = statistics.report
    if let plot {
      do {
        let drawing = Data(Plot(statistics.timeline).svg.utf8)
        try DurableFile.write(to: plot, permissions: DurableFile.permissions(of: plot)) { append in try append(drawing) }
      } catch let error as MagicDataError where [.full, .notAllowed].contains(error.code) {
        let reason = error.code == .full ? "no space is left" : "check that its folder may be written"
        throw MagicDataError(error.code, "\(plot.path) could not be written; \(reason)", cause: error)
      }
    }
    try output.tell(report)
    let content = Content(statistics)
    return Outcome(
      text: content.text(statistics.timeline), content: content, status: report.isComplete ? .success : .partlyDone)
  }

  /// What programs get.
  private struct Content: Encodable {
    struct Share: Encodable {
      let entries, removes, bytes: Int

      init(_ share: MagicJournalStatistics.Share) {
        (entries, removes, bytes) = (share.entries, share.removes, share.bytes)
      }
    }

    struct Compaction: Encodable {
      let values, bytes: Int
      let isEstimate: Bool
    }

    let transactions, entries, removes, bytes, storedBytes: Int
    let first, last: String?
    let types, replicas: [String: Share]
    let days: [String: [String: Int]]
    let compaction: Compaction

    init(_ statistics: MagicJournalStatistics) {
      transactions = statistics.transactions
      (entries, removes, bytes) = (statistics.total.entries, statistics.total.removes, statistics.total.bytes)
      storedBytes = statistics.storedBytes
      (first, last) = (statistics.first?.inLog, statistics.last?.inLog)
      (types, replicas) = (statistics.types.mapValues(Share.init), statistics.replicas.mapValues(Share.init))
      days = statistics.days
      let compaction = statistics.compaction
      self.compaction = Compaction(values: compaction.values, bytes: compaction.bytes, isEstimate: compaction.isEstimate)
    }

    func text(_ timeline: Timeline) -> String {
      var lines = [
        "\(transactions.counted("transaction")), \(entries.counted("entry", "entries")), \(removes.grouped) of them removes",
        "values    \(bytes.asBytes), kept in \(storedBytes.asBytes)\(Content.compression(bytes, storedBytes))",
        "compaction would free \(compaction.isEstimate ? "about " : "")\(compaction.values.counted("value")), \(compaction.bytes.asBytes), "
          + "once every replica has acknowledged all",
      ]
      guard let first, let last else { return lines[0] }
      lines.append("from      \(first) to \(last)")
      if isatty(STDOUT_FILENO) != 0 {
        lines.append("          \(Plot(timeline).sparkline(width: min(60, Terminal.width - 12)))")
      }
      func share(_ what: String, _ name: String, _ share: Share) -> String {
        "\(what)  \(name)  \(share.entries.counted("entry", "entries")), \(share.bytes.asBytes)"
      }
      lines += types.sorted { $0.key < $1.key }.map { share("type    ", $0.key, $0.value) }
      lines += replicas.sorted { $0.key < $1.key }.map { share("replica ", $0.key, $0.value) }
      lines += days.sorted { $0.key < $1.key }.map { day, counts in
        "day       \(day)  \(counts.values.reduce(0, +).counted("entry", "entries"))"
          + (counts.count > 1 ? " of \(counts.count) replicas" : "")
      }
      return lines.joined(separator: "\n")
    }

    /// Nothing where what surrounds the values takes more than compression saves.
    private static func compression(_ values: Int, _ stored: Int) -> String {
      let tenths = stored > 0 ? values * 10 / stored : 0
      guard tenths > 10 else { return "" }
      return " (compressed \(tenths / 10).\(tenths % 10) to 1)"
    }
  }
}
