internal import GRDB
internal import MagicJournal

/// One transaction of this replica: rows, journal entries and clock change together, within one SQLite transaction (J-19).
struct LocalTransaction {
  /// How far it has come: what is kept of it while nobody holds the connection.
  struct Progress: Sendable {
    let state: DatabaseState
    let name: TransactionName
    fileprivate var writer: JournalWriter
    fileprivate var isRecorded = false
    fileprivate var size = 0
    fileprivate var ordinal: UInt32 = 0
    fileprivate var schema: StoredSchema?
    fileprivate let touched = TouchedObjects()
  }

  let db: Database
  /// The database file whose z indexes these are.
  let store: Identifier
  private(set) var progress: Progress

  var state: DatabaseState { progress.state }
  var name: TransactionName { progress.name }
  /// Of the next entry.
  var ordinal: UInt32 { progress.ordinal }

  init(_ db: Database, _ store: Identifier, _ surroundings: Surroundings) throws {
    let state = try DatabaseState(db)
    let stamp = try state.lastStamp.next(at: surroundings.milliseconds())
    let name = TransactionName(stamp: stamp, tag: UInt32(truncatingIfNeeded: surroundings.random()))
    self.init(db, store, Progress(state: state, name: name, writer: JournalWriter(state)))
  }

  /// Goes on where another one stopped, in the same SQLite transaction.
  init(_ db: Database, _ store: Identifier, _ progress: Progress) {
    self.db = db
    self.store = store
    self.progress = progress
  }

  /// Before an operation: the entries of those before it are to be found by whoever folds.
  mutating func prepare() throws {
    if ordinal > 0, !progress.isRecorded { try record(entries: 0) }
  }

  /// An entry of an object, or, if the transaction has one already, the net effect of both (J-2).
  ///
  /// - Parameter isNew: that it has none is known, since the object got its z index just so.
  mutating func append(_ entry: Entry, zIndex: Int64, isNew: Bool = false) throws {
    if progress.touched.insert(entry.type, zIndex), !isNew, let written = try written(entry.type, zIndex) {
      let place = UInt32(written.number - progress.writer.first)
      let joined = written.entry.followed(by: entry, at: place, of: name, try schema(of: [written.entry, entry]))
      try count(joined.size - written.entry.size)
      return try progress.writer.rewrite(written.number, joined, db)
    }
    progress.ordinal += 1
    try count(entry.size)
    try progress.writer.append(entry, zIndex: zIndex, stamp: name.stamp, db)
  }

  private mutating func count(_ size: Int) throws {
    progress.size += size
    guard progress.size <= Limits.transactionBytes, ordinal <= Limits.entries else {  // J-2, J-20
      throw MagicDataError(
        .tooLarge,
        "one transaction takes at most \(Limits.transactionBytes) bytes and \(Limits.entries) objects; save less at once")
    }
  }

  private func written(_ type: Int, _ zIndex: Int64) throws -> (number: Int64, entry: Entry)? {
    try JournalReader(db).entry(of: zIndex, type: type, at: name.stamp, from: progress.writer.first)
  }

  private mutating func record(entries: Int) throws {
    try progress.writer.record(
      replica: state.replica, sequence: state.lastSequence + 1, name: name, root: state.replica, entries: entries, db)
    progress.isRecorded = true
  }

  /// The type of entries, which may have fields that the app's model has not.
  private mutating func schema(of entries: [Entry]) throws -> TypeSchema {
    if let types = progress.schema?.types, let type = entries.last?.type, types.indices.contains(type),
      entries.allSatisfy({ $0.fields.allSatisfy { types[type].schema.fields.indices.contains($0.field) } })
    {
      return types[type].schema
    }
    let schema = try StoredSchema(db)
    progress.schema = schema
    return schema.types[entries[0].type].schema
  }

  /// A transaction without entries leaves no trace (J-10).
  mutating func finish() throws {
    guard ordinal > 0 else { return }
    if progress.isRecorded { try progress.writer.count(db) } else { try record(entries: Int(ordinal)) }
    progress.writer.finish()
    try progress.writer.moveClock(to: name.stamp, db)
  }
}

/// Objects that a transaction may have an entry of. What is rolled back stays in it: it only tells when there is no need to look.
private final class TouchedObjects: Sendable {
  private struct Address: Hashable {
    let type: Int
    let zIndex: Int64
  }

  private let addresses = Locked<Set<Address>>([])

  /// Whether the object was in it already.
  func insert(_ type: Int, _ zIndex: Int64) -> Bool {
    addresses.withLock { !$0.insert(Address(type: type, zIndex: zIndex)).inserted }
  }
}

extension Entry {
  /// What this entry and a later one of the same object and transaction come to (J-2).
  fileprivate func followed(by later: Entry, at ordinal: UInt32, of name: TransactionName, _ type: TypeSchema) -> Entry {
    var entry = later
    let isBornHere = key == .birth(Birth(transaction: name, ordinal: ordinal))
    switch (operation, later.operation) {
    case (_, .remove):
      break
    case (.remove, _):
      // Made again: nothing of before shines through.
      entry.operation = isBornHere ? .birth : .revival(base: Stamp(name.stamp.bits - 1))
    default:
      entry.operation = operation
      let slots = Set(later.fields.map { type.slots[$0.field] })
      entry.fields = (fields.filter { !slots.contains(type.slots[$0.field]) } + later.fields).sorted { $0.field < $1.field }
    }
    return entry
  }
}

extension Store {
  /// Runs `body` in a transaction of this replica: all of it happens, or none. The caller has passed the gate.
  func change<Result: Sendable>(
    _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) async throws -> Result {
    let (id, surroundings) = (id, surroundings)
    return try await writeNow { db in
      var transaction = try LocalTransaction(db, id, surroundings)
      let result = try body(&transaction)
      try transaction.finish()
      return result
    }
  }
}
