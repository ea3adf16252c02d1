import ArgumentParser
import Console
import Foundation
import MagicReplication

/// What a command that exchanges prints.
struct ExchangeSummary: Encodable, Sendable {
  /// Whether nothing stays of it.
  var isDryRun = false
  var madeDatabase = false
  var madeRemote = false
  var pulled: TransferSummary?
  var pushed: TransferSummary?

  /// What a command that exchanged ends with. Who asked for quiet is told of what went well by the exit code.
  func outcome(_ database: String, _ remote: String, _ status: ExitCode, _ output: OutputOptions) -> Outcome {
    let isTold = !output.quiet || status != .success
    return Outcome(text: isTold ? sentences(database, remote) : "", content: self, status: status)
  }

  private func sentences(_ database: String, _ remote: String) -> String {
    var sentences: [String] = []
    if madeDatabase { sentences.append("made the database \(database)") }
    if madeRemote { sentences.append("made the remote \(remote)") }
    if let pulled { sentences.append(pulled.sentence(isDryRun ? "would pull" : "pulled", lacking: "the database")) }
    // What could not be pulled the remote lacks as well.
    let isComplete = pulled?.isComplete ?? true
    if let pushed { sentences.append(pushed.sentence("pushed", lacking: isComplete ? "the remote" : nil)) }
    return sentences.joined(separator: "\n")
  }
}

/// One direction of an exchange.
struct TransferSummary: Encodable, Sendable {
  var segments = 0
  var checkpoints = 0
  var transactions = 0
  var changes = 0
  var bytes = 0
  var inflatedBytes = 0
  /// The number of conflicts that a pull has met.
  var conflicts: Int?
  /// Contents of assets.
  var assets = 0
  var assetBytes = 0
  /// Contents that are nowhere to be had.
  var missingAssets = 0
  var unread: [ErrorRecord] = []
  var missing: [Gap] = []

  init(_ report: PushReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (checkpoints, bytes, inflatedBytes) = (report.checkpoints, report.bytes, report.inflatedBytes)
    (assets, assetBytes, missingAssets) = (report.assets, report.assetBytes, report.missingAssets)
    unread = report.unread.map(ErrorRecord.init)
  }

  init(_ report: PullReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (checkpoints, bytes, inflatedBytes) = (report.checkpoints, report.bytes, report.inflatedBytes)
    conflicts = report.conflicts
    (assets, assetBytes, missingAssets) = (report.assets, report.assetBytes, report.missingAssets)
    unread = report.unread.map(ErrorRecord.init)
    missing = report.gaps.map(Gap.init)
  }

  static func += (left: inout TransferSummary, right: TransferSummary) {
    left.segments += right.segments
    left.checkpoints += right.checkpoints
    left.transactions += right.transactions
    left.changes += right.changes
    left.bytes += right.bytes
    left.inflatedBytes += right.inflatedBytes
    left.assets += right.assets
    left.assetBytes += right.assetBytes
    // What is missing is what the last look missed.
    (left.missingAssets, left.unread, left.missing) = (right.missingAssets, right.unread, right.missing)
    if let conflicts = right.conflicts { left.conflicts = (left.conflicts ?? 0) + conflicts }
  }

  var hasMoved: Bool { checkpoints > 0 || transactions > 0 || assets > 0 }

  /// Whether nothing is missing that is known of.
  var isComplete: Bool { unread.isEmpty && missing.isEmpty && missingAssets == 0 }

  /// - Parameter lacking: who lacks nothing if nothing was moved; `nil` if that is not known.
  func sentence(_ verb: String, lacking: String?) -> String {
    var parts: [String] = []
    if checkpoints > 0 { parts.append("\(verb) \(checkpoints.counted("checkpoint")), in place of history that was given up") }
    if transactions > 0 {
      // A server's checkpoint is not looked into.
      let inflated = inflatedBytes < bytes ? "" : ", \(inflatedBytes.asBytes) before compression"
      parts.append(
        """
        \(verb) \(transactions.counted("transaction")) with \(changes.counted("change")) in \
        \(segments.countedSegments(and: checkpoints)): \(bytes.asBytes)\(inflated)
        """)
    }
    if assets > 0 { parts.append("\(verb) \(assets.counted("asset")): \(assetBytes.asBytes)") }
    guard parts.isEmpty else { return parts.joined(separator: "\n") }
    guard let lacking, isComplete else { return "\(verb) nothing" }
    return "\(verb) nothing: \(lacking) lacks nothing"
  }
}
