import Foundation
import MagicReplication

/// What a command that exchanges prints.
struct Exchanged: Encodable, Sendable {
  var madeDatabase = false
  var madeRemote = false
  var pulled: Moved?
  var pushed: Moved?

  func sentences(_ database: String, _ remote: String) -> String {
    var sentences: [String] = []
    if madeDatabase { sentences.append("made the database \(database)") }
    if madeRemote { sentences.append("made the remote \(remote)") }
    if let pulled { sentences.append(pulled.sentence("pulled", lacking: "the database")) }
    if let pushed { sentences.append(pushed.sentence("pushed", lacking: "the remote")) }
    return sentences.joined(separator: "\n")
  }
}

/// One direction of an exchange.
struct Moved: Encodable, Sendable {
  var segments = 0
  var transactions = 0
  var changes = 0
  var bytes = 0
  var inflatedBytes = 0
  /// Of a pull.
  var conflicts: Int?

  init(_ report: PushReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (bytes, inflatedBytes) = (report.bytes, report.inflatedBytes)
  }

  init(_ report: PullReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (bytes, inflatedBytes) = (report.bytes, report.inflatedBytes)
    conflicts = report.conflicts
  }

  static func += (left: inout Moved, right: Moved) {
    left.segments += right.segments
    left.transactions += right.transactions
    left.changes += right.changes
    left.bytes += right.bytes
    left.inflatedBytes += right.inflatedBytes
    if let conflicts = right.conflicts { left.conflicts = (left.conflicts ?? 0) + conflicts }
  }

  /// - Parameter lacking: who lacks nothing if nothing was moved.
  func sentence(_ verb: String, lacking: String) -> String {
    guard transactions > 0 else { return "\(verb) nothing: \(lacking) lacks nothing" }
    return """
      \(verb) \(transactions.counted("transaction")) with \(changes.counted("change")) in \(segments.counted("segment")): \
      \(bytes.asBytes), \(inflatedBytes.asBytes) before compression
      """
  }
}
