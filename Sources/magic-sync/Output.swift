import ArgumentParser
import Foundation
import MagicReplication

/// What a command prints when it is done: a sentence for people, or an object for programs.
struct OutputOptions: ParsableArguments {
  @Flag(help: "Print the result as one JSON object.")
  var json = false

  func print(_ sentence: @autoclosure () -> String, _ object: some Encodable) throws {
    var line = Data(sentence().utf8)
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      line = try encoder.encode(object)
    }
    // Unlike `print`, this fails if the result cannot be written.
    try FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8))
  }
}

/// What a command that exchanges prints.
struct Exchanged: Encodable {
  var madeDatabase = false
  var madeRemote = false
  var pulled: Moved?
  var pushed: Moved?

  func sentences(_ database: String, _ remote: FolderRemote) -> String {
    var sentences: [String] = []
    if madeDatabase { sentences.append("made the database \(database)") }
    if madeRemote { sentences.append("made the remote \(remote.folder.path)") }
    if let pulled { sentences.append(pulled.sentence("pulled", lacking: "the database")) }
    if let pushed { sentences.append(pushed.sentence("pushed", lacking: "the remote")) }
    return sentences.joined(separator: "\n")
  }
}

/// One direction of an exchange.
struct Moved: Encodable {
  var segments: Int
  var transactions: Int
  var changes: Int
  var bytes: Int
  var inflatedBytes: Int
  var assets: Int
  var assetBytes: Int
  /// Contents of assets that are nowhere to be had.
  var missingAssets: Int
  var unread: [Unread]
  var parked: [Waiting] = []

  struct Unread: Encodable {
    var path: String
    var message: String
  }

  struct Waiting: Encodable {
    var replica: String
    var firstMissing: UInt64
    var lastMissing: UInt64
  }

  init(_ report: PushReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (bytes, inflatedBytes) = (report.bytes, report.inflatedBytes)
    (assets, assetBytes, missingAssets) = (report.assets, report.assetBytes, report.missingAssets)
    unread = report.unread.map { Unread(path: $0.path, message: $0.message) }
  }

  init(_ report: PullReport) {
    (segments, transactions, changes) = (report.segments, report.transactions, report.changes)
    (bytes, inflatedBytes) = (report.bytes, report.inflatedBytes)
    (assets, assetBytes, missingAssets) = (report.assets, report.assetBytes, report.missingAssets)
    unread = report.unread.map { Unread(path: $0.path, message: $0.message) }
    parked = report.parked.map {
      Waiting(replica: $0.replica, firstMissing: $0.missing.lowerBound, lastMissing: $0.missing.upperBound)
    }
  }

  /// - Parameter lacking: who lacks nothing if nothing was moved.
  func sentence(_ verb: String, lacking: String) -> String {
    var parts: [String] = []
    if transactions > 0 {
      parts.append(
        """
        \(verb) \(transactions.counted("transaction")) with \(changes.counted("change")) in \(segments.counted("segment")): \
        \(bytes.asBytes), \(inflatedBytes.asBytes) before compression
        """)
    }
    if assets > 0 { parts.append("\(verb) \(assets.counted("asset")): \(assetBytes.asBytes)") }
    guard parts.isEmpty else { return parts.joined(separator: "\n") }
    let isComplete = unread.isEmpty && parked.isEmpty && missingAssets == 0
    return "\(verb) nothing" + (isComplete ? ": \(lacking) lacks nothing" : "")
  }
}

extension PullReport {
  /// Says on standard error what waits and what is damaged, and ends with the code for "partly done" if anything does or is.
  func checkHeldBack() throws {
    for replica in heldBack {
      let ahead = Duration.milliseconds(replica.aheadMilliseconds).formatted(
        .units(allowed: [.days, .hours, .minutes], width: .wide))
      FileHandle.standardError.write(
        Data(
          """
          magic-sync: the clock of replica \(replica.replica) is \(ahead) ahead. What it wrote since waits in the remote until \
          that time has come; the rest was merged. Set its clock right.

          """.utf8))
    }
    var lines = unread.map(\.message)
    lines += parked.map { parked in
      let (first, last) = (parked.missing.lowerBound, parked.missing.upperBound)
      return """
        transactions \(first) to \(last) of replica \(parked.replica) are missing in the remote. What follows them waits there until \
        they come; whoever has them sends them with the next push
        """
    }
    if missingAssets > 0 {
      lines.append(
        """
        \(missingAssets.counted("asset")) of objects could not be had: the content is not in the remote yet, or damaged there. The next \
        pull looks for it again
        """)
    }
    for line in lines { FileHandle.standardError.write(Data("magic-sync: \(line)\n".utf8)) }
    if !isComplete { throw ExitCode.partlyDone }
  }
}

extension PushReport {
  /// Says which of the database's own assets are damaged, and ends with the code for "partly done" if any are.
  func checkUnread() throws {
    for file in unread { FileHandle.standardError.write(Data("magic-sync: \(file.message)\n".utf8)) }
    if !unread.isEmpty { throw ExitCode.partlyDone }
  }
}

extension Int {
  func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }

  /// With a comma between thousands, whatever the locale.
  var grouped: String {
    var digits = Array(String(magnitude))
    for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
    return (self < 0 ? "-" : "") + String(digits)
  }

  var asBytes: String {
    switch self {
    case ..<1_000: "\(self) bytes"
    case ..<1_000_000: "\(tenths(of: 1_000)) kB"
    default: "\(tenths(of: 1_000_000)) MB"
    }
  }

  private func tenths(of unit: Int) -> String {
    let tenths = (self * 10 + unit / 2) / unit
    return "\((tenths / 10).grouped).\(tenths % 10)"
  }
}
