public import MagicData

/// What a replicator tells of its work: see ``MagicReplicator/events``.
public enum MagicReplicationEvent: Sendable {
  /// Some way through a pull or a push; told a few times a second.
  case progress(MagicProgress)
  /// A pull merged something. It is committed.
  case applied(PullReport)
  /// A push wrote something, which is in the remote.
  case sent(PushReport)
  /// A value of this replica that a merge made lose, or one that arrived and had lost to this replica's: of one pull the first
  /// 1,000; ``PullReport/conflicts`` counts all. Of a dry run, one that would lose.
  case conflict(MagicConflict)
  /// A replica whose clock is too far ahead: what it wrote since waits in the remote. The report has it among
  /// ``PullReport/heldBack``.
  case parked(PullReport.HeldBack)
  /// A file of which nothing was taken; all else was.
  case unread(UnreadFile)
  /// Transactions that are missing in the remote: before others, which wait there, or after all, as who put them there has
  /// said.
  case missing(PullReport.Gap)
  /// Contents of assets that objects name and that are not to be had yet.
  case lacking(assets: Int)
  /// The database is a copy of one that is in use, or was put back from a backup: it goes on as a replica of its own, of this
  /// id. Nothing is lost. The former id is the other one's; if no database goes on under it, ``MagicReplicator/expire(_:)`` has
  /// nobody wait for it.
  case becameReplica(String, former: String)
  /// Two databases have written under this id, as a copy or a backup of one does: what both wrote is held under ids of their
  /// own from here on. Nothing is lost.
  case closed(String)
  /// A replica, of this id, or the remote holds the same transactions and came to other values: one of the two is damaged. Told
  /// by ``MagicReplicator/run(every:)``, once until a look finds nothing more of it; ``MagicReplicator/sync()`` ends with an
  /// error that says what to do.
  case differed(from: String)
  /// One database is in use as two; nothing was changed, and a person has to decide.
  case forked(MagicDataError)
  /// Database and remote hold the same.
  case inStep
  /// A round of ``MagicReplicator/run(every:)`` failed; the next one begins after this time.
  case retrying(MagicDataError, after: Duration)
  /// ``MagicReplicator/run(every:)`` has ended, with the error that it throws, or with none: its task was cancelled, or the
  /// database closed.
  case stopped((any Error)?)
}

/// How far a pull or a push has come.
public struct MagicProgress: Sendable, Equatable {
  /// What is on its way: from the remote, or to it.
  public enum Phase: String, Sendable {
    case pull, push
  }

  /// Whether it is a pull or a push.
  public let phase: Phase
  /// Those that were moved so far.
  public let transactions: Int
  /// Those that there are to move, at most: a checkpoint may stand for more than it holds.
  public let totalTransactions: Int
  /// One for each object that a transaction touched.
  public let changes: Int

  package init(phase: Phase, transactions: Int, totalTransactions: Int, changes: Int) {
    self.phase = phase
    self.transactions = transactions
    self.totalTransactions = totalTransactions
    self.changes = changes
  }
}
