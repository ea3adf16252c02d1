internal import Foundation
internal import MagicData
package import MagicJournal
package import MagicReplication

/// Prints entries as they are read, and what could not be.
package final class EntryListing: Sendable {
  private let output: OutputOptions
  private let lines = LineWriter()
  private let state = Locked((line: EntryLine(), count: 0, said: Set<String>()))

  package init(_ output: OutputOptions) {
    self.output = output
  }

  package var count: Int { state.withLock { $0.count } }

  /// - Parameter after: what was printed already.
  package func print(
    _ source: JournalSource, _ selection: LogSelection, after: Frontier? = nil
  ) async throws -> (report: MagicReadReport, reached: Frontier) {
    let isJSON = output.json
    let (report, reached) = try await source.forEachEntry(selection, after: after) { [self] entry, transaction, schema in
      try state.withLock {
        $0.count += 1
        try lines.line(isJSON ? $0.line.json(entry, of: transaction, schema) : $0.line.text(entry, of: transaction, schema))
      }
    }
    try lines.flush()
    let untold = state.withLock { state in
      var untold = report
      untold.remove { !state.said.insert($0).inserted }
      return untold
    }
    try output.tell(untold)
    return (report, reached)
  }
}

extension OutputOptions {
  /// What could not be read: remarks for people, events for programs.
  package func tell(_ report: MagicReadReport) throws {
    guard json else { return report.say() }
    for file in report.unread {
      try event("unread", Unread(path: file.path, code: "\(file.code)", message: file.message))
    }
    if let date = report.historyBegins { try event("compacted", Compacted(until: date.inLog)) }
    for gap in report.missing {
      try event(
        "missing", Missing(replica: gap.replica, firstMissing: gap.missing.lowerBound, lastMissing: gap.missing.upperBound))
    }
  }

  private struct Unread: Encodable {
    let path, code, message: String
  }

  private struct Compacted: Encodable {
    let until: String
  }

  private struct Missing: Encodable {
    let replica: String
    let firstMissing, lastMissing: UInt64
  }
}

extension MagicReadReport {
  /// In remarks.
  package func say() {
    for file in unread { Terminal.say(file.message, .yellow) }
    if let historyBegins {
      Terminal.say(
        "history up to \(historyBegins.inLog) was given up by compact: of it only what was in force is shown", .yellow)
    }
    for gap in missing {
      Terminal.say(
        "the transactions \(gap.missing.lowerBound) to \(gap.missing.upperBound) of replica \(gap.replica) are missing", .yellow
      )
    }
  }
}
