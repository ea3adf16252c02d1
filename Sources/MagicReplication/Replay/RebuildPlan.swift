internal import MagicData
internal import MagicJournal

/// What of a journal a database is made of.
package struct RebuildPlan: Sendable {
  package var until: MagicMoment?
  /// By name; none stands for all.
  package var types: Set<String> = []
  /// How the ids of replicas begin; none stands for all.
  package var replicas: [String] = []
  /// Transactions that are left out.
  package var skipped: [MagicMoment] = []
  /// Merges in another order, which follows from this number.
  package var seed: UInt64?
  /// Whether a damaged segment is taken as far as its bytes still tell: for what is shown and thrown away.
  var salvages = false
  /// Whether contents of assets come along.
  var fetchesAssets = true
  /// Merges no transaction above this version: of those of `until` the one that comes last.
  var through: Version?

  package init() {}

  /// Whether what is merged of each replica is a run from its first transaction on, each whole: only that is a state that a replica of the same data set can be in.
  package var isRun: Bool { types.isEmpty && skipped.isEmpty }

  func window(_ journal: OpenJournal) throws -> JournalWindow {
    var window = JournalWindow()
    (window.replicas, window.salvages) = (replicas, salvages)
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
package struct RebuildReport: Sendable {
  package var transactions = 0
  package var changes = 0
  /// Whether the database is a data set of its own, which does not sync with the source.
  package var isOwnDataSet = false
  /// Of the pull that it comes down to.
  package var pull = PullReport()
  package var read = MagicReadReport()

  package var isComplete: Bool { read.isComplete && pull.isComplete }
}
