internal import GRDB
internal import MagicJournal

/// One transaction of this replica: rows, journal entries and clock change together, within one SQLite transaction (J-19).
struct LocalTransaction {
  let db: Database
  /// The opening of the database whose z indexes these are.
  let store: Identifier
  let state: DatabaseState
  let name: TransactionName
  private let sequence: UInt64
  private var writer: JournalWriter
  private var size = 0
  private(set) var ordinal: UInt32 = 0

  init(_ db: Database, _ store: Identifier, _ surroundings: Surroundings) throws {
    self.db = db
    self.store = store
    state = try DatabaseState(db)
    sequence = try JournalReader.lastSequence(state.replicaRow, db) + 1
    let stamp = try state.lastStamp.next(at: surroundings.milliseconds())
    name = TransactionName(stamp: stamp, tag: UInt32(truncatingIfNeeded: surroundings.random()))
    writer = try JournalWriter(db)
  }

  mutating func append(_ entry: Entry, zIndex: Int64) throws {
    size += entry.size
    ordinal += 1
    guard size <= Limits.transactionBytes, ordinal <= Limits.entries else {  // J-2, J-20
      throw MagicDataError(
        .tooLarge,
        "one transaction takes at most \(Limits.transactionBytes) bytes and \(Limits.entries) objects; save less at once")
    }
    try writer.append(entry, zIndex: zIndex, stamp: name.stamp)
  }

  /// A transaction without entries leaves no trace (J-10).
  mutating func finish() throws {
    guard ordinal > 0 else { return }
    try writer.record(
      replica: state.replica, sequence: sequence, name: name, root: state.replica, entries: Int(ordinal))
    writer.finish()
    try writer.moveClock(to: name.stamp)
  }
}

extension Store {
  /// Runs `body` in a transaction of this replica: all of it happens, or none.
  func change<Result: Sendable>(
    _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) async throws -> Result {
    let (id, surroundings) = (id, surroundings)
    return try await write { db in
      var transaction = try LocalTransaction(db, id, surroundings)
      let result = try body(&transaction)
      try transaction.finish()
      return result
    }
  }
}
