package import MagicJournal

/// Which transactions are read. A source leaves out what it can without reading it.
package struct JournalWindow: Sendable {
  /// The first and the last stamp.
  package var since: Stamp?
  package var until: Stamp?
  /// How the ids of replicas begin; none stands for all.
  package var replicas: [String] = []
  /// What is known already.
  package var after = Frontier()
  /// What below that is not known, of a folder that was read before.
  var told = ReadProgress()
  /// The first stamp of that: what is older was left out on purpose.
  var sinceInHoles: Stamp?
  /// Whether what compaction has kept comes as well: transactions with the sequence 0 (K-2).
  package var hasKept = true
  /// So many of the last transactions of each replica are enough.
  package var last: Int?
  /// Whether of a damaged segment is shown what its bytes still tell. Who merges believes nothing before its check (S-1).
  var salvages = true
  /// A transaction of more entries may come in parts: several in a row with its name and so many entries at most.
  var atOnce = Int.max

  package init() {}

  /// Whether no moment or number leaves transactions out.
  var isAll: Bool { since == nil && until == nil && last == nil }

  package func has(_ id: ReplicaID) -> Bool {
    replicas.isEmpty || replicas.contains { id.begins(with: $0) }
  }

  func has(_ name: TransactionName, _ root: ReplicaID) -> Bool {
    has(root) && since.map { name.stamp >= $0 } ?? true && until.map { name.stamp <= $0 } ?? true
  }

  /// Whether a transaction is in it, for who reads more.
  func has(_ transaction: Transaction) -> Bool {
    guard has(transaction.name, transaction.replica) else { return false }
    guard transaction.sequence > 0 else { return hasKept }
    if transaction.sequence > after[transaction.replica] { return true }
    return told.lacks(transaction.sequence, of: transaction.replica)
      && sinceInHoles.map { transaction.name.stamp >= $0 } ?? true
  }

  /// Whether what a checkpoint has kept comes: later only of one that could not be read before.
  func hasKept(of checkpoint: CheckpointFile) -> Bool { hasKept || told.awaits(checkpoint) }

  /// A window from the beginning on, of all replicas, with the same end.
  var widened: JournalWindow {
    var window = self
    (window.since, window.replicas, window.after, window.hasKept) = (nil, [], Frontier(), true)
    (window.told, window.sinceInHoles) = (ReadProgress(), nil)
    return window
  }
}
