internal import MagicData
internal import MagicJournal

/// Folds transactions of other replicas into a database, within one SQLite transaction (Protocol/merge.md).
struct Merger {
  let db: Connection
  private var schema: StoredSchema
  var writer: JournalWriter
  /// Beyond it a stamp is held back (C-5). Fixed at the start, or a row of stamps could creep on without bound.
  let latest: Int64
  /// The highest time beyond it that was not held back, since its replica is accepted.
  var acceptedTime: Int64 = 0
  /// How the ids of replicas begin of which no stamp is held back.
  let accepted: [String]
  var clock: Stamp
  /// Before the merge.
  let own: OwnWrites
  /// Before the merge: of the journal.
  let mark: Int64
  /// Objects that are not folded anew and of which what this replica wrote may be in conflict with what came: they are looked
  /// through at the end.
  var contested: [Int: [ObjectKey: ObjectPlace]] = [:]
  /// Entries of which it was told that they lost, in the order of their places.
  var told: [EntryPlace] = []
  /// The ids that were left by the branches that were held, once they are asked for.
  var leftIDs: Set<ReplicaID>?
  /// Objects for which order matters. Each is folded once, at the end, however many of its entries come.
  private var unfolded: [Int: [ObjectKey: Unfolded]] = [:]
  var reader: JournalReader
  var late = LateEntries()
  /// The values of an update that loses which another write took the place of.
  var differing: [LatestEntry.Difference] = []
  /// By type.
  var kinds: [Kind]

  var held: Frontier
  /// The journal's row for what is merged next.
  var nextRow: Int64 { writer.next.row }
  /// The last sequences of closed ids (J-33).
  let limits: [ReplicaID: UInt64]
  private(set) var transactions = 0
  private(set) var changes = 0
  /// Replicas whose clocks are too far ahead, with the first stamp that waits.
  var heldBack: [ReplicaID: Stamp] { ahead.merging(floorsAhead) { first, _ in first } }
  /// Those of them of whom a transaction waits: and so does what follows it.
  var ahead: [ReplicaID: Stamp] = [:]
  /// The replicas of whom checkpoints wait. What comes before the first transaction that is ahead need not wait for them.
  var floorsAhead: [ReplicaID: Stamp] = [:]

  var conflicts: ToldConflicts

  /// What is void of objects that are alive, by purges alone, and is held here (K-24).
  private(set) var restored: [ObjectPurge] = []

  /// The ends of checkpoints that were merged, where nothing was held.
  var raised: [ReplicaID: NamedFrontier.End] = [:]
  /// What waits behind such an end, since it goes on from another transaction.
  var beside: [ReplicaID: ClosedRange<UInt64>] = [:]

  /// To accept all: each id begins so.
  static let everyone: Set<String> = [""]

  /// How far ahead another replica's clock may be: C-5.
  private static let bound: Int64 = 3_600_000

  /// Beyond which time a stamp is held back.
  static func latest(at milliseconds: Int64, _ clock: Stamp, _ db: Connection) throws -> Int64 {
    try max(milliseconds, clock.milliseconds, AcceptedTime.read(db)) + bound
  }

  /// - Parameters:
  ///   - there: what the remote holds.
  ///   - limits: of closed ids the last sequences.
  ///   - accepted: how the ids of replicas begin of which no stamp is held back.
  ///   - events: where it is told what lost.
  init(
    _ db: Connection, milliseconds: Int64, there: Frontier = Frontier(), limits: [ReplicaID: UInt64] = [:],
    accepted: [String] = [], events: EventSource? = nil
  ) throws {
    (self.db, self.limits, self.accepted) = (db, limits, accepted)
    conflicts = ToldConflicts(events)
    reader = try JournalReader(db)
    schema = reader.schema
    kinds = Array(repeating: Kind(), count: schema.types.count)
    held = try reader.frontier()
    let state = try DatabaseState(db)
    writer = JournalWriter(state)
    clock = state.lastStamp
    own = try OwnWrites(of: state.replica, reader, held: held, there: there, db)
    mark = state.lastRow
    latest = try Merger.latest(at: milliseconds, clock, db)
  }

  /// Merges what is new in a segment that begins no later than what is next. Stops before the first transaction that has to
  /// wait.
  ///
  /// - Parameter merged: hears of each transaction, with its number of changes.
  mutating func merge(_ segment: EncodedSegment, _ merged: (Int) throws -> Void = { _ in }) throws {
    let learnt = try learn(segment.schema)
    try checkFork(segment)
    let replica = segment.header.replica
    let limit = limits[replica] ?? .max
    for transaction in segment.transactions where transaction.head.sequence > held[replica] {
      let (head, count) = (transaction.head, transaction.entries.count)
      guard head.sequence <= limit else { return }
      precondition(head.sequence == held[replica] + 1, "a merge leaves no gap")
      guard !holdsBack(head) else { return }
      try begin(head)
      try transaction.entries.forEachEntry { try merge($0, learnt[$0.type], head.version, of: replica) }
      try finish(head, entries: count)
      held[replica] = head.sequence
      try merged(count)
    }
  }

  /// Merges kept entries. They rise by their stamps, as the entries of one object do, so mostly each wins as a whole.
  mutating func merge(kept part: CheckpointPart, _ merged: (Int) throws -> Void) throws {
    let learnt = try learn(part.schema)
    for transaction in part.transactions {
      try merge(transaction, learnt)
      try merged(transaction.entries.count)
    }
  }

  /// Makes room for what a schema speaks of.
  @discardableResult
  mutating func learn(_ schema: Schema) throws -> [LearntType] {
    let (db, before) = (db, self.schema)
    let learnt: [LearntType]
    do {
      learnt = try db.whole { try self.schema.learn(schema, $0) }
    } catch {
      // A half of it would be in the way of others.
      self.schema = before
      throw error
    }
    reader = JournalReader(db, self.schema)
    while kinds.count < self.schema.types.count { kinds.append(Kind()) }
    return learnt
  }

  /// Merges one transaction that is not held, whatever is held of its replica. `false` if it has to wait for its time.
  mutating func take(_ transaction: Transaction, _ learnt: [LearntType]) throws -> Bool {
    guard !holdsBack(transaction) else { return false }
    try merge(transaction, learnt)
    return true
  }

  /// Folds what is left to fold, and moves the clock above all that was merged (C-2).
  mutating func finish() throws {
    for (type, objects) in unfolded {
      let table = ObjectTable(schema.types[type], db)
      for (key, object) in objects { try refold(key, object.place, table) }
    }
    for (type, objects) in contested {
      for (key, place) in objects where unfolded[type]?[key] == nil {
        try forEachEntry(of: key, place, schema.types[type].schema) { _, _ in }
      }
    }
    try writer.moveClock(to: clock, db)
    if acceptedTime > 0 { try AcceptedTime.raise(to: acceptedTime, db) }
  }

  private mutating func merge(_ transaction: Transaction, _ learnt: [LearntType]) throws {
    try begin(transaction)
    for entry in transaction.entries { try merge(entry.translated(learnt), transaction.version) }
    try finish(transaction, entries: transaction.entries.count)
  }

  private mutating func begin(_ transaction: Transaction) throws {
    if transaction.sequence > 0 {
      try writer.begin(
        replica: transaction.replica, sequence: transaction.sequence, name: transaction.name, root: transaction.root, db)
    } else {
      try writer.beginKept(name: transaction.name, root: transaction.root, db)
    }
  }

  private mutating func finish(_ transaction: Transaction, entries: Int) throws {
    try late.write(reader)
    try writer.finish(db)
    clock = max(clock, transaction.name.stamp)
    transactions += 1
    changes += entries
  }

  /// One that stands in a segment. Of most updates no entry need be made to find out that they lose.
  ///
  /// - Parameter replica: the id that it is read under.
  private mutating func merge(
    _ entry: EncodedEntry, _ type: LearntType, _ version: Version, of replica: ReplicaID
  ) throws {
    let table = ObjectTable(schema.types[type.id], db)
    if entry.isLife, try expectsNew(table), try insertNew(entry.made().translated(type), table) { return }
    guard entry.isUpdate, unfolded[type.id].map({ $0[entry.objectKey] == nil }) ?? true else {
      return try merge(entry.made().translated(type), version)
    }
    let place = try kinds[type.id].found.place(of: entry, table)
    if let place {
      kinds[type.id].isLosing = try isBeaten(entry, type, version, of: replica, place, table)
      if kinds[type.id].isLosing { return }
    }
    try merge(entry.made().translated(type), version, place, table)
  }

  private mutating func merge(_ entry: Entry, _ version: Version) throws {
    let table = ObjectTable(schema.types[entry.type], db)
    if entry.operation.isLife, try expectsNew(table), try insertNew(entry, table) { return }
    if let object = unfolded[entry.type]?[entry.key] {
      try number(entry, object.place, table)
      return try setAside(entry, version.stamp, object)
    }
    try merge(entry, version, kinds[entry.type].found.place(of: entry.key, table), table)
  }

  /// One of an object of which nothing waits to be folded.
  ///
  /// - Parameter place: of its row, if it has one.
  private mutating func merge(_ entry: Entry, _ version: Version, _ place: ObjectPlace?, _ table: ObjectTable) throws {
    let stamp = version.stamp
    // What objects lead to may get a z index and no row.
    for relation in table.type.relations { if let relation { kinds[relation.target.id].isWhole = nil } }
    if let place {
      // With nothing at its stamp or above, the entry wins as a whole, and there is nothing to compare.
      let highest = try reader.highestStamp(from: place.last)
      guard highest < stamp, entry.operation == .remove || (entry.operation == .update && !table.type.needsFold(entry.fields))
      else {
        try number(entry, place, table)
        return try setAside(entry, stamp, Unfolded(place: place, highest: highest))
      }
      let last = try append(entry, place, isLatest: true)
      if own.unsent <= mark, place.last.row >= own.unsent { contested[entry.type, default: [:]][entry.key] = last }
      if entry.operation == .remove {
        kinds[entry.type].isWhole = nil
        return try table.remove(entry.key, last)
      }
      guard try table.update(place.zIndex, entry.key, entry.fields, next: last.last) == place.last else {
        throw MagicDataError(.notADatabase, "the database is damaged: a row is not as it was read")
      }
    } else if let place = try table.absentPlace(of: entry.key) {
      try number(entry, place, table)
      if entry.operation.code == .purge, entry.fields.isEmpty, !place.last.isNone, place.last.isLatest {
        // What is removed stays so, and of many none need be kept in mind.
        let isLatest = try reader.highestStamp(from: place.last) < stamp
        return try table.setLast(entry.key, append(entry, place, isLatest: isLatest))
      }
      try setAside(entry, stamp, Unfolded(place: place, highest: reader.highestStamp(from: place.last)))
    } else if !entry.operation.isLife {
      try number(entry, nil, table)
      // It arrived before what it speaks of.
      kinds[entry.type].isWhole = nil
      let place = try table.reserve(entry.key)
      try table.setLast(entry.key, append(entry, place, isLatest: true))
    } else {
      let number = try number(entry, nil, table)
      let last = writer.next
      let zIndex = try table.insert(entry.key, entry.fields, number: number, zIndex: nil, last: last)
      try writer.append(entry, zIndex: zIndex, previous: .none, db)
      kinds[entry.type].isNew = true
    }
  }

  /// What new objects mostly come after: others. They are inserted without being looked for, where every object that was ever
  /// named has a row.
  private mutating func expectsNew(_ table: ObjectTable) throws -> Bool {
    let type = table.type.id
    guard !table.type.hasRelations, !table.type.schema.hasNumbers, kinds[type].isNew else { return false }
    let isWhole = try kinds[type].isWhole ?? !table.hasAbsent()
    kinds[type].isWhole = isWhole
    return isWhole
  }

  /// - Returns: `false` if there is such an object.
  private mutating func insertNew(_ entry: Entry, _ table: ObjectTable) throws -> Bool {
    let last = writer.next
    guard let zIndex = try table.insert(new: entry.key, entry.fields, last: last, isWhole: true) else {
      kinds[entry.type].isNew = false
      return false
    }
    try writer.append(entry, zIndex: zIndex, previous: .none, db)
    return true
  }

  /// What an entry says of numbers (M-16).
  ///
  /// - Parameter place: the object's, if it is known.
  /// - Returns: the number of an object that is named by its birth.
  @discardableResult
  private func number(_ entry: Entry, _ place: ObjectPlace?, _ table: ObjectTable) throws -> Int64? {
    switch entry.key {
    case .primary(.integer(let number)):
      // What has an entry is known as set.
      if place?.last.isNone ?? true { try table.set(number) }
    case .birth(let birth):
      guard let number = entry.operation.number else { return nil }
      let before = try place.flatMap { $0.last.isNone ? nil : try reader.state(from: $0.last, of: table.type.id).claim }
      return try table.claim(Claim(number: number, birth: birth), before: before)
    case .primary:
      break
    }
    return nil
  }

  /// For an object of which the order of the entries matters.
  private mutating func setAside(
    _ entry: Entry, _ stamp: Stamp, _ object: Unfolded
  ) throws {
    let place = try append(entry, object.place, isLatest: object.highest < stamp)
    if object.place.last.isNone, schema.types[entry.type].schema.hasNumbers {
      // From here on its number is set, for claims that come before it is folded.
      try ObjectTable(schema.types[entry.type], db).setLast(entry.key, place)
    }
    unfolded[entry.type, default: [:]][entry.key] = Unfolded(place: place, highest: max(object.highest, stamp))
  }

  private mutating func append(_ entry: Entry, _ place: ObjectPlace, isLatest: Bool) throws -> ObjectPlace {
    ObjectPlace(
      zIndex: place.zIndex,
      last: try writer.append(entry, zIndex: place.zIndex, previous: place.last, isLatest: isLatest, db))
  }

  private mutating func refold(_ key: ObjectKey, _ place: ObjectPlace, _ table: ObjectTable) throws {
    let schema = table.type.schema
    var state = ObjectState()
    try forEachEntry(of: key, place, schema) { version, entry in
      state.fold(entry.operation, entry.fields, at: version, of: schema)
    }
    guard state.isAlive else { return try table.remove(key, place) }
    try table.replace(key, state.row, claim: state.claim, place)
    guard let base = state.base else { return }
    restored += state.purged(of: schema).map { ObjectPurge(type: table.type.id, key: key, base: base, $0) }
  }
}
