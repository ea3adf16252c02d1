package import Foundation
package import MagicData
package import MagicReplication

/// Prints entries as they are read, and what could not be.
// @unchecked: a reading hands its entries over one after the other, and is awaited.
package final class EntryListing: @unchecked Sendable {
  private let output: OutputOptions
  package private(set) var count = 0
  private var said: Set<String> = []
  /// Whether something of a reading is printed: another one would print it again.
  private var hasBegun = false

  package init(_ output: OutputOptions) {
    self.output = output
  }

  /// - Parameter after: what was told already.
  package func print(
    _ source: JournalSource, _ selection: LogSelection, after: ReadProgress? = nil
  ) async throws -> (report: MagicReadReport, told: ReadProgress) {
    hasBegun = false
    let (report, told, count) = try await source.writeLines(
      selection, after: after, isJSON: output.json, atOnce: LineWriter.atOnce
    ) { [self] in
      hasBegun = true
      try LineWriter.write($0, to: STDOUT_FILENO)
    }
    hasBegun = true
    self.count += count
    var untold = report
    untold.remove { !said.insert($0).inserted }
    try output.tell(untold)
    return (report, told)
  }

  /// Prints a source once it is there: a folder on a share may be away for a while, or there is no room to look at its
  /// checkpoints, which is known before anything of it is printed. That there is no room for what is printed ends it.
  package func printOnceThere(
    _ source: JournalSource, _ selection: LogSelection, after: ReadProgress
  ) async throws -> (report: MagicReadReport, told: ReadProgress) {
    var backOff = BackOff(from: .seconds(1))
    while true {
      do {
        return try await print(source, selection, after: after)
      } catch let error as MagicDataError where source.isFolder && !hasBegun && [.notFound, .full].contains(error.code) {
        let pause = backOff.next()
        try output.tell(error, retryingAfter: pause)
        try await Task.sleep(for: pause)
      }
    }
  }
}

extension OutputOptions {
  /// What could not be read: remarks for people, events for programs.
  package func tell(_ report: MagicReadReport, to handle: FileHandle = .standardOutput) throws {
    guard json else { return report.say(isQuiet: quiet) }
    for file in report.unread {
      try event("unread", ErrorRecord(file), to: handle)
    }
    if let date = report.historyBegins { try event("compacted", Compacted(until: date.inLog), to: handle) }
    for gap in report.gaps { try event("missing", Gap(gap), to: handle) }
  }

  /// That a server is asked again, after a pause.
  package func tell(_ error: MagicDataError, retryingAfter pause: Duration) throws {
    if json {
      try event("retrying", ErrorRecord(error, retryingAfter: pause))
    } else if !quiet {
      Terminal.say(ErrorRecord.text(error, retryingAfter: pause), .yellow)
    }
  }

  private struct Compacted: Encodable {
    let until: String
  }
}

extension MagicReadReport {
  /// What is lacking is said always, and what is as somebody wanted it is a remark.
  package func say(isQuiet: Bool) {
    for file in unread { Terminal.say(file.message.printable, .yellow) }
    if let historyBegins, !isQuiet {
      Terminal.say(
        "history up to \(historyBegins.inLog) was given up by compact: of it only what was in force is left", .yellow)
    }
    for gap in gaps {
      Terminal.say(
        "the transactions \(gap.sequences.lowerBound) to \(gap.sequences.upperBound) of replica \(gap.replica) are missing",
        .yellow
      )
    }
  }
}
