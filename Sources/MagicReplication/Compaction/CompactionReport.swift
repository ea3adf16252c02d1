/// What a compaction did, or would do.
public struct CompactionReport: Sendable, Equatable {
  /// Entries of transactions that everybody has acknowledged, and how many of them stay: one for each value that is in force,
  /// roughly.
  public internal(set) var entries = 0
  public internal(set) var keptEntries = 0
  /// Bytes of the journal's rows that hold them, and that are left.
  public internal(set) var bytes = 0
  public internal(set) var keptBytes = 0
  /// The sizes of the database file before and after; a dry run leaves both the same.
  public internal(set) var fileBytes = 0
  public internal(set) var newFileBytes = 0
  /// Removed objects of which everybody is told that nothing of what they held is needed any more (Protocol/checkpoint.md,
  /// K-23). What they held goes with a compaction after everybody has heard of it.
  public internal(set) var purged = 0
  /// Replicas, by their ids, that have written something and have not said what they have. As long as there are any, all
  /// history stays: let them push, or expire them (``MagicReplicator/expire(_:)``).
  public internal(set) var waitsFor: [String] = []
  /// Whether history stays since replicas have acknowledged more than is remembered (Protocol/checkpoint.md, K-8): of 10,000
  /// replicas, and 1,000,000 ends of what they hold. What some say is not heard then, however often they push, until those are
  /// expired that are no more, or that ``waitsFor`` names.
  public internal(set) var isBeyondMemory = false
  /// Replicas, by their ids, that have not acknowledged all that is held, each with how many transactions that is: those stay
  /// until it has.
  public internal(set) var behind: [String: Int] = [:]
  /// Transactions of this database that stay as they are until it has pushed them: where no other replica is known, nothing
  /// else shows that what it wrote is what it wrote before, and not what came after it was put back from a backup.
  public internal(set) var unsent = 0

  package init() {}

  /// What was freed, or would be, of the journal's rows.
  public var freedBytes: Int { bytes - min(bytes, keptBytes) }
}
