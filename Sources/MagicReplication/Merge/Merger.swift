internal import MagicData
internal import MagicJournal

/// Folds transactions of other replicas into a database, within one SQLite transaction (Protocol/merge.md).
struct Merger {
  private let db: Connection
  private var schema: StoredSchema
  private var writer: JournalWriter
  /// Beyond it a stamp is held back (C-5). Fixed at the start, or a row of stamps could creep on without bound.
  private let latest: Int64
  private var clock: Stamp
  /// Objects for which order matters. Each is folded once, at the end, however many of its entries come.
  private var unfolded: [Int: [Int64: ObjectKey]] = [:]

  private(set) var held: Frontier
  private(set) var transactions = 0
  private(set) var changes = 0
  /// Replicas whose clocks are too far ahead, with the first stamp that waits.
  private(set) var heldBack: [ReplicaID: Stamp] = [:]

  /// How far ahead another replica's clock may be: C-5.
  private static let bound: Int64 = 3_600_000

  init(_ db: Connection, milliseconds: Int64) throws {
    self.db = db
    let reader = try JournalReader(db)
    schema = reader.schema
    held = try reader.frontier()
    let state = try DatabaseState(db)
    writer = JournalWriter(state)
    clock = state.lastStamp
    latest = max(milliseconds, clock.milliseconds) + Merger.bound
  }

  /// Merges what is new in a segment that begins no later than what is next. Stops before the first transaction that has to wait.
  mutating func merge(_ segment: Segment) throws {
    let learnt = try schema.learn(segment.schema, db)
    let reader = JournalReader(db, schema)
    for transaction in segment.transactions where transaction.sequence > held[transaction.replica] {
      precondition(transaction.sequence == held[transaction.replica] + 1, "a merge leaves no gap")
      guard transaction.name.stamp.milliseconds <= latest else {
        heldBack[transaction.replica] = transaction.name.stamp
        return
      }
      try merge(transaction, learnt, reader)
      held[transaction.replica] = transaction.sequence
    }
  }

  /// Folds what is left to fold, and moves the clock above all that was merged (C-2).
  func finish() throws {
    let reader = JournalReader(db, schema)
    for (type, objects) in unfolded {
      let table = ObjectTable(schema.types[type], db)
      for (zIndex, key) in objects { try refold(key, zIndex, table, reader) }
    }
    try writer.moveClock(to: clock, db)
  }

  private mutating func merge(_ transaction: Transaction, _ learnt: [LearntType], _ reader: JournalReader) throws {
    try writer.record(
      replica: transaction.replica, sequence: transaction.sequence, name: transaction.name, root: transaction.root,
      entries: transaction.entries.count, db)
    for entry in transaction.entries { try merge(entry.translated(learnt), transaction.name.stamp, reader) }
    writer.finish()
    clock = max(clock, transaction.name.stamp)
    transactions += 1
    changes += transaction.entries.count
  }

  private mutating func merge(_ entry: Entry, _ stamp: Stamp, _ reader: JournalReader) throws {
    let table = ObjectTable(schema.types[entry.type], db)
    if let zIndex = try table.zIndex(of: entry.key) {
      // With nothing at its stamp or above, the entry wins as a whole, and there is nothing to compare.
      let isLatest =
        try unfolded[entry.type]?[zIndex] == nil && !reader.hasEntry(from: stamp, of: zIndex, type: entry.type)
      try writer.append(entry, zIndex: zIndex, stamp: stamp, db)
      switch entry.operation {
      case .update where isLatest: _ = try table.update(zIndex, entry.key, entry.fields)
      case .remove where isLatest: _ = try table.remove(entry.key, zIndex)
      default: unfolded[entry.type, default: [:]][zIndex] = entry.key
      }
    } else if let zIndex = try table.absentZIndex(of: entry.key) {
      try writer.append(entry, zIndex: zIndex, stamp: stamp, db)
      unfolded[entry.type, default: [:]][zIndex] = entry.key
    } else if entry.operation == .remove {
      // It arrived before what it removes.
      try writer.append(entry, zIndex: table.reserve(entry.key), stamp: stamp, db)
    } else {
      try writer.append(entry, zIndex: table.insert(entry.key, entry.fields, zIndex: nil), stamp: stamp, db)
    }
  }

  private func refold(_ key: ObjectKey, _ zIndex: Int64, _ table: ObjectTable, _ reader: JournalReader) throws {
    let state = try reader.state(of: zIndex, type: table.type.id)
    guard state.isAlive else {
      _ = try table.remove(key, zIndex)
      return
    }
    try table.replace(key, state.values.map { FieldValue(field: $0.field, value: $0.value) }, zIndex: zIndex)
  }
}

extension Entry {
  /// The same, with the types and fields of the database in place of the segment's.
  fileprivate func translated(_ learnt: [LearntType]) -> Entry {
    let type = learnt[type]
    var entry = self
    entry.type = type.id
    entry.fields = fields.map { FieldValue(field: type.fields[$0.field], value: $0.value) }.sorted { $0.field < $1.field }
    return entry
  }
}
