public import Foundation
internal import MagicData
internal import MagicJournal

/// What of a journal could not be read. All else was.
public struct MagicReadReport: Sendable, Equatable {
  /// Files, or parts of them, that are damaged or of a newer format, or of a branch that is not told apart or taken yet
  /// (`fork`); messages name the place.
  public internal(set) var unread: [UnreadFile] = []
  /// Transactions that are missing before others that are there.
  public internal(set) var gaps: [PullReport.Gap] = []

  /// When history begins, if it was given up before that: of what was written until then only that was shown which compaction
  /// has kept.
  public internal(set) var historyBegins: Date?

  /// Paths of checkpoints that can be read, and below whose floors nothing is left to be told.
  var settled: Set<String> = []
  /// Whether nothing is lacking any more of a source that says at each reading what is: troubles that are not said again have
  /// passed.
  var isAllTold = false

  /// Whether everything was read.
  public var isComplete: Bool { unread.isEmpty && gaps.isEmpty }

  init() {}

  /// What a pull left where it was.
  package init(_ pull: PullReport, from remote: String) {
    unread =
      pull.unread
      + pull.heldBack.map {
        UnreadFile(
          path: remote, code: .failed,
          message:
            """
            the clock of replica \($0.replica) is \($0.aheadMilliseconds / 1_000) s ahead, and what it wrote since was left out; \
            --accept \($0.replica.prefix(8)) takes it all the same
            """)
      }
    gaps = pull.gaps
  }

  func joined(_ other: MagicReadReport) -> MagicReadReport {
    var report = self
    report.unread += other.unread
    report.gaps += other.gaps
    report.historyBegins = [historyBegins, other.historyBegins].compactMap { $0 }.max()
    return report
  }

  /// The report with what a reading found that came before. Both name the same files.
  func joined(toFirst first: MagicReadReport) -> MagicReadReport {
    var first = first
    let paths = Set(unread.map(\.path))
    first.unread.removeAll { paths.contains($0.path) }
    first.gaps.removeAll { gap in gaps.contains { $0.overlaps(gap) } }
    return first.joined(self)
  }

  /// What is lacking after another reading has gone on from this one: what was missing is until it was told, also where a
  /// compaction has given it up meanwhile.
  ///
  /// - Parameter told: what was told by both.
  package func followed(by next: MagicReadReport, told: ReadProgress) -> MagicReadReport {
    var first = self
    first.gaps.removeAll { gap in ReplicaID(gap.replica).map { !told.lacks(gap.sequences, of: $0) } ?? false }
    first.unread.removeAll { file in
      if next.settled.contains(file.path) { return true }
      guard let name = SegmentFileName(URL(fileURLWithPath: file.path).lastPathComponent) else { return next.isAllTold }
      // What lies beyond where an id was closed is told under another one.
      return !told.lacks(name.first...name.last, of: name.replica) || file.code == .fork && next.isAllTold
    }
    // What this reading lacked may be given up before the next one.
    for file in next.unread { first.add(file) }
    for gap in next.gaps { first.add(gap) }
    first.historyBegins = [historyBegins, next.historyBegins].compactMap { $0 }.max()
    return first
  }

  /// More than anybody reads.
  private static let most = 1_000

  mutating func add(_ file: UnreadFile) {
    // A look-up beforehand may have met it.
    if unread.count < MagicReadReport.most, !unread.contains(file) { unread.append(file) }
  }

  mutating func add(_ gap: PullReport.Gap) {
    // A look-up beforehand may have met a part of it.
    guard !gaps.contains(where: { $0.contains(gap) }) else { return }
    gaps.removeAll { gap.contains($0) }
    if gaps.count < MagicReadReport.most { gaps.append(gap) }
  }

  /// Leaves out what was said before, by its text.
  package mutating func remove(_ wasSaid: (String) -> Bool) {
    unread.removeAll { wasSaid($0.message) }
    gaps.removeAll { wasSaid("\($0.replica) \($0.sequences)") }
    // One that is later is said again.
    if let begin = historyBegins, wasSaid("until \(begin.inLog)") { historyBegins = nil }
  }
}

/// Where the parts of a reading say what they could not read. It stays within one reading, on one thread at a time.
final class ReadProblems {
  private(set) var report = MagicReadReport()
  /// Floors of which what is kept was read whole, and of which something of it could not be.
  private var (whole, lacking): ([Frontier], [Frontier]) = ([], [])

  /// Whether something of what is kept below a floor could not be read, and no other source had it: what is left is not what
  /// the floor stands for.
  var isKeptLacking: Bool {
    lacking.contains { floor in
      !whole.contains { other in floor.replicas.allSatisfy { floor[$0] <= other[$0] } }
    }
  }

  /// Where two databases have written under one id, and nobody has closed it yet: one branch alone is shown, as far as it goes.
  private(set) var forks: [MagicDataError] = []

  /// - Parameter path: of the source.
  func add(fork error: MagicDataError, in path: String) {
    forks.append(error)
    add(
      UnreadFile(path: path, code: error.code, message: "\(path): \(error.message); not all that was written under it is shown")
    )
  }

  func add(_ file: UnreadFile) { report.add(file) }

  /// What was not read of each replica in a folder, and not left out on purpose, rising.
  private(set) var holes: [ReplicaID: [ReadProgress.Hole]] = [:]
  /// Files that may have it, or more, once they are whole.
  private(set) var awaited: Set<URL> = []

  func lack(_ holes: [ReadProgress.Hole], of replica: ReplicaID) { self.holes[replica] = holes }

  func awaits(_ file: URL) { awaited.insert(file) }

  /// Checkpoints that may be read once they are whole.
  private(set) var awaitedCheckpoints: Set<URL> = []

  func awaits(checkpoint: URL) { awaitedCheckpoints.insert(checkpoint) }

  func settle(_ checkpoint: CheckpointFile) { report.settled.insert(checkpoint.url.path) }

  func settleAll() { report.isAllTold = true }

  /// What is kept below a floor was read to its end.
  func readKept(_ floor: Frontier, isWhole: Bool) {
    if isWhole { whole.append(floor) } else { lacking.append(floor) }
  }

  /// Whether what is kept below a checkpoint's floor was read whole.
  func isWhole(_ checkpoint: CheckpointFile) -> Bool { whole.contains(checkpoint.floor.frontier) }

  func add(_ gap: PullReport.Gap) { report.add(gap) }
}

extension PullReport.Gap {
  fileprivate func contains(_ other: PullReport.Gap) -> Bool {
    replica == other.replica && sequences.lowerBound <= other.sequences.lowerBound
      && sequences.upperBound >= other.sequences.upperBound
  }
}
