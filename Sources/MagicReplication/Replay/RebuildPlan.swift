internal import MagicData
internal import MagicJournal

/// What of a journal a database is made of.
public struct RebuildPlan: Sendable {
  /// What was written later is left out; `nil` for nothing.
  public var until: MagicMoment?
  /// By name; none stands for all.
  public var types: Set<String> = []
  /// How the ids of replicas begin; none stands for all.
  public var replicas: [String] = []
  /// How the ids of replicas begin of which nothing waits for a clock (C-5).
  public var accepted: [String] = []
  /// Transactions that are left out.
  public var skipped: [MagicMoment] = []
  /// Merges in another order, which follows from this number.
  public var seed: UInt64?
  /// Whether it is shown and thrown away: a damaged segment is taken as far as its bytes still tell, and nothing waits for a
  /// clock.
  var isForShow = false
  /// Whether contents of assets come along.
  var fetchesAssets = true
  /// Hears how many changes are merged, after each transaction.
  package var merged: (@Sendable (_ changes: Int) -> Void)?
  /// Merges no transaction above this version: of those of `until` the one that comes last.
  var through: Version?

  /// - Parameter until: what was written later is left out.
  public init(until: MagicMoment? = nil) {
    self.until = until
  }

  /// Whether what is merged of each replica is a run from its first transaction on, each whole: only that is a state that a
  /// replica of the same data set can be in.
  package var isRun: Bool { types.isEmpty && skipped.isEmpty }

  /// Whether only what matches something is taken, which may be nothing.
  package var isPart: Bool { !isRun || !replicas.isEmpty || until != nil }

  func window(_ journal: OpenJournal) throws -> JournalWindow {
    var window = JournalWindow()
    (window.replicas, window.salvages) = (replicas, isForShow)
    window.until = try until.map { try journal.stamp(at: $0, replicas) }
    if let givenUp = journal.givenUp {
      guard isRun, replicas.isEmpty else {
        throw MagicDataError(
          .notFound,
          "history up to \(givenUp.inLog) was given up by compact, so what is left can be taken whole alone: without --type, --skip and --replica"
        )
      }
      try window.until.map(journal.checkIsKnown)
    }
    return window
  }
}

/// What a rebuilding did.
public struct RebuildReport: Sendable {
  /// How many were merged.
  public internal(set) var transactions = 0
  /// How many changes of objects they have.
  public internal(set) var changes = 0
  /// Whether the database is a data set of its own, which does not sync with the source.
  public internal(set) var isOwnDataSet = false
  /// The report of the pull that it comes down to.
  public internal(set) var pull = PullReport()
  /// What of the source could not be read.
  public internal(set) var read = MagicReadReport()

  /// Whether all of the sources could be read and taken, contents of assets included.
  public var isComplete: Bool { read.isComplete && pull.isComplete }
  /// Whether there was something, and all of it was taken, but for contents of assets.
  package var holdsAll: Bool { changes > 0 && read.isComplete && pull.heldBack.isEmpty }
}
