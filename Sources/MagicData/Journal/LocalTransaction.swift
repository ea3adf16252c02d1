internal import GRDB
internal import MagicJournal

/// One transaction of this replica: rows, journal entries and clock change together, within one SQLite transaction (J-19).
struct LocalTransaction {
  /// How far it has come: what is kept of it while nobody holds the connection.
  struct Progress: Sendable {
    let state: DatabaseState
    let name: TransactionName
    fileprivate var writer: JournalWriter
    fileprivate var size = 0
    fileprivate(set) var ordinal: UInt32 = 0
    fileprivate var schema: StoredSchema?
    /// Types of which no object is without a row, as far as is known.
    fileprivate var whole: Set<Int> = []
    /// Types that have z indexes left for all that one transaction can add.
    fileprivate var roomy: Set<Int> = []
    /// Whether rows were written that may have named assets.
    fileprivate var touchesAssets = false
    /// By type: the next number, once it is known.
    fileprivate var numbers: [Int: Int64] = [:]
    /// By its place: the transaction's entry of an object that was there before, as it was before the transaction removed that.
    fileprivate var removed = RemovedEntries()
    /// By type: where it is by now, if more was known of it than the caller did.
    fileprivate var types: [Int: MappedType] = [:]
    /// Whether the database may have other fields, or the journal other rows, than those that were there and the transaction's
    /// own.
    fileprivate var isShared = false
  }

  let db: Database
  /// The database file whose z indexes these are.
  let store: Identifier
  private(set) var progress: Progress

  var state: DatabaseState { progress.state }
  var name: TransactionName { progress.name }
  /// The number of the next entry.
  var ordinal: UInt32 { progress.ordinal }

  /// As the first thing in one of SQLite's, right after `BEGIN IMMEDIATE`.
  init(_ db: Database, _ store: Store) throws {
    let isAsItWas = try store.identity.assure(db)
    try self.init(db, store, isAsItWas ? store.lastState.read(db) : DatabaseState(db))
  }

  /// - Parameter state: as it is by now.
  init(_ db: Database, _ store: Store, _ state: DatabaseState) throws {
    let surroundings = store.surroundings
    store.forgetTypes(before: state.fieldCount)
    let stamp = try state.lastStamp.next(at: surroundings.milliseconds())
    let name = TransactionName(stamp: stamp, tag: UInt32(truncatingIfNeeded: surroundings.random()))
    var writer = JournalWriter(state)
    try writer.begin(replica: state.replica, sequence: state.lastSequence + 1, name: name, root: state.replica, db)
    self.init(db, store.id, Progress(state: state, name: name, writer: writer))
  }

  /// Goes on where another one stopped, in the same SQLite transaction.
  init(_ db: Database, _ store: Identifier, _ progress: Progress) {
    self.db = db
    self.store = store
    self.progress = progress
  }

  /// Makes one change; returns also how far the transaction has come then.
  static func change<Result>(
    _ db: Database, _ store: Identifier, from progress: Progress, _ body: (inout LocalTransaction) throws -> Result
  ) throws -> (Result, Progress) {
    var transaction = LocalTransaction(db, store, progress)
    return (try body(&transaction), transaction.progress)
  }

  /// Reads the journal, with the entries of this transaction.
  mutating func reader() throws -> JournalReader {
    try progress.writer.flush(db)
    return try JournalReader(db)
  }

  /// The type with all its fields. What was looked up before the transaction began may lack one that another process, or a
  /// merge, has added since: a rival, which a write has to empty (J-16), or links, which a remove has to take away (J-25).
  mutating func current(_ type: MappedType) throws -> MappedType {
    if type.fieldCount >= state.fieldCount { return type }
    if let current = progress.types[type.stored.id] { return current }
    let current = try MappedType.find(type.layout, db) ?? MappedType.make(type.layout, db)
    progress.types[type.stored.id] = current
    share()
    return current
  }

  /// More is written in the same SQLite transaction than its own entries and their rows.
  mutating func share() { progress.isShared = true }

  /// Whether some object of a type may have been removed.
  mutating func hasAbsent(_ table: ObjectTable) throws -> Bool {
    if progress.whole.contains(table.type.id) { return false }
    if try table.hasAbsent() { return true }
    progress.whole.insert(table.type.id)
    return false
  }

  /// Whether the z index of an object that is written next is the one above the highest row, which SQLite gives without being
  /// asked for it.
  ///
  /// - Parameter held: by field the objects that it names, as far as they are known.
  mutating func isRowNext(_ table: ObjectTable, _ fields: [FieldValue], _ held: [Int: [Link]]) throws -> Bool {
    guard table.type.names(onlyIn: held, fields) else {
      willName(table.type)
      return false
    }
    guard try !hasAbsent(table) else { return false }
    if !progress.roomy.contains(table.type.id) {
      _ = try table.nextZIndex()
      progress.roomy.insert(table.type.id)
    }
    return true
  }

  mutating func willRemove(_ type: StoredType) {
    progress.whole.remove(type.id)
    willChange(type)
  }

  /// Objects of a type are written that may name some which are unknown here: these get z indexes, and no rows.
  mutating func willName(_ type: StoredType) {
    for case let relation? in type.relations { progress.whole.remove(relation.target.id) }
  }

  mutating func willChange(_ type: StoredType) {
    if !type.assets.isEmpty { progress.touchesAssets = true }
  }

  /// A number for an object that the app gave none (J-27).
  mutating func nextNumber(_ table: ObjectTable) throws -> Int64 {
    let number = try progress.numbers[table.type.id] ?? table.nextNumber()
    guard Numbers.claimable ~= number else {
      throw MagicDataError(
        .tooLarge, "\(table.type.schema.name) has no number left above the highest; give the object one that is not in use")
    }
    progress.numbers[table.type.id] = number + 1
    return number
  }

  /// What an app sets in one of several objects that are saved at once is given to none of the others, whichever comes first.
  mutating func willSave(_ objects: [ObjectSave], _ type: (Int) -> MappedType?) throws {
    for (number, object) in objects.enumerated() {
      guard case .integer(let set)? = object.primary, Numbers.claimable ~= set, let type = type(number),
        type.stored.schema.hasNumbers, object.isMadeByApp(for: store)
      else { continue }
      let next = try progress.numbers[type.stored.id] ?? ObjectTable(type.stored, db).nextNumber()
      progress.numbers[type.stored.id] = max(next, set + 1)
    }
  }

  /// The app has set a number.
  mutating func didSet(_ key: ObjectKey, _ table: ObjectTable) {
    if case .primary(.integer(let number)) = key { didSet(number, table) }
  }

  mutating func didSet(_ number: Int64, _ table: ObjectTable) {
    guard Numbers.claimable ~= number, let next = progress.numbers[table.type.id], next <= number
    else { return }
    progress.numbers[table.type.id] = number + 1
  }

  /// Where the next entry goes.
  var next: EntryPlace { progress.writer.next }

  /// Where the transaction's first entry is.
  var firstEntry: EntryPlace { progress.writer.first }

  /// Whether the transaction has an entry of the object whose last entry this is.
  func hasEntry(_ last: EntryPlace) -> Bool { last.bits >= progress.writer.first.bits }

  /// The first entry of an object in this transaction; the object's row says `next` as its place.
  mutating func append(_ entry: Entry, zIndex: Int64, previous: EntryPlace) throws {
    progress.ordinal += 1
    try count(entry.size)
    try check(entry)
    try progress.writer.append(entry, zIndex: zIndex, previous: previous, db)
  }

  /// Appends the entry of the object that was written last of a run.
  mutating func append(_ run: borrowing RunWriter, zIndex: Int64, previous: EntryPlace) throws {
    progress.ordinal += 1
    try count(run.size)
    try run.withEntry { key, fields in
      try progress.writer.append(
        run.operation, of: run.table.type.id, key, fields, zIndex: zIndex, previous: previous, db)
    }
  }

  /// Appends the entry of an object that was inserted with others.
  mutating func append(_ entry: ArraySlice<UInt8>, size: Int) throws {
    progress.ordinal += 1
    try count(size)
    try progress.writer.append(encoded: entry, db)
  }

  /// Where entries of these lengths, in bytes, will be.
  func places(of lengths: [Int]) -> [EntryPlace] { progress.writer.places(of: lengths) }

  /// The net effect of the entry that the transaction has of an object and of one more (J-2).
  mutating func join(_ entry: Entry, at place: EntryPlace) throws {
    var schema = try schema(of: entry)
    var written: StoredEntry
    do {
      written = try progress.writer.entry(at: place, schema.types, db)
    } catch let error as MagicDataError where error.code == .notADatabase {
      // It may have a field that was learnt since the schema was read.
      progress.schema = nil
      schema = try self.schema(of: entry)
      written = try progress.writer.entry(at: place, schema.types, db)
    }
    let joined = written.entry.followed(by: entry, at: name, schema.types[entry.type].schema)
    try count(joined.size - written.entry.size)
    try check(joined)
    if entry.operation.isRemove, !written.previous.isNone { progress.removed.keep(written.entry, at: place) }
    written.entry = joined
    try progress.writer.rewrite(written, at: place, db)
  }

  /// What is known of an object that was removed, and the values that it had then, with those that this transaction gave it
  /// before.
  func removed(
    _ absent: ObjectPlace, of type: StoredType, _ reader: JournalReader
  ) throws -> (state: ObjectState, values: [FieldValue]) {
    let state = try reader.state(from: absent.last, of: type.id)
    guard let own = progress.removed.entry(at: absent.last) else { return (state, state.row) }
    // What was made again by it is whole: nothing of before shines through (M-4).
    if own.operation.base != nil { return (state, own.fields) }
    return (state, state.row.overlaid(by: own.fields, of: type.schema))
  }

  private mutating func count(_ size: Int) throws {
    progress.size += size
    guard progress.size <= Limits.transactionBytes, ordinal <= Limits.entries else {  // J-2, J-20
      throw MagicDataError(
        .tooLarge,
        "one transaction takes at most \(Limits.transactionBytes) bytes and \(Limits.entries) objects; save less at once")
    }
  }

  /// What no reader would take is not written (V-7); other values were looked at on their owner's side.
  private func check(_ entry: Entry) throws {
    for field in entry.fields where field.value.elementCount > 0 {
      guard field.value.elementCount <= Limits.elements, field.value.encodedLength - 1 <= Limits.valueBytes else {
        throw MagicDataError(
          .tooLarge, "one property holds objects whose names take at most \(Limits.valueBytes) bytes; hold less in one")
      }
    }
  }

  /// The types as this transaction knows them: more may have been learnt since it began.
  private mutating func schema(of entry: Entry) throws -> StoredSchema {
    if let schema = progress.schema, schema.types.indices.contains(entry.type),
      entry.fields.allSatisfy({ schema.types[entry.type].schema.fields.indices.contains($0.field) })
    {
      return schema
    }
    let schema = try StoredSchema(db)
    progress.schema = schema
    return schema
  }

  /// A transaction without entries leaves no trace (J-10).
  mutating func finish(_ assets: AssetFolder) throws {
    guard ordinal > 0 else { return }
    try progress.writer.finish(db)
    if progress.touchesAssets { try assets.noteDropped(db) }
  }

  /// What the next one finds if this one, which is finished, is committed and nobody else writes; `nil` if that has to be read.
  fileprivate var stateAfter: DatabaseState? {
    if progress.isShared { return nil }
    if ordinal == 0 { return state }
    return state.followed(by: name.stamp, lastRow: progress.writer.lastRow, progress.writer.lastRun)
  }
}

/// Entries by their places, few of them together: a transaction's progress is copied with each of its changes.
private struct RemovedEntries: Sendable {
  private var entries: [Int64: [EntryPlace: Entry]] = [:]

  private static func part(of place: EntryPlace) -> Int64 { place.row >> 3 }

  func entry(at place: EntryPlace) -> Entry? { entries[RemovedEntries.part(of: place)]?[place] }

  mutating func keep(_ entry: Entry, at place: EntryPlace) {
    entries[RemovedEntries.part(of: place), default: [:]][place] = entry
  }
}

extension Entry {
  /// What this entry and a later one of the same object and transaction come to (J-2).
  fileprivate func followed(by later: Entry, at name: TransactionName, _ type: TypeSchema) -> Entry {
    var entry = later
    let isBornHere = if case .birth(let birth) = key { birth.transaction == name } else { false }
    switch (operation, later.operation) {
    case (.claim(let number), .remove):
      entry.operation = .withdrawal(number: number)
    case (.withdrawal(let number), _):
      entry.operation = later.operation.isRemove ? operation : .claim(number: number)
    case (_, .remove):
      break
    case (.remove, _):
      // Made again: nothing of before shines through.
      entry.operation = isBornHere ? .birth : .revival(base: Stamp(name.stamp.bits - 1))
    default:
      entry.operation = operation
      entry.fields = fields.overlaid(by: later.fields, of: type)
    }
    return entry
  }
}

extension Store {
  /// How long a write may take without another look at the file, which may have lost its place meanwhile.
  private static let shortly = Duration.milliseconds(1)

  /// Runs `body` in a transaction of this replica: all of it happens, or none. The caller has passed the gate.
  @inline(never) func change<Result: Sendable>(
    _ body: @Sendable @escaping (inout LocalTransaction) throws -> Result
  ) async throws -> Result {
    defer { commits.committed() }
    return try await begin("the database could not be written") { db in
      let (version, start) = (db.dataVersion, ContinuousClock.now)
      let (result, state) = try db.committed { db in
        var transaction = try LocalTransaction(db, self)
        let result = try body(&transaction)
        try transaction.finish(self.assets)
        // What takes little has been looked at just now.
        if start.duration(to: .now) > Store.shortly { try self.checkIsInPlace() }
        return (result, transaction.stateAfter)
      }
      self.lastState.keep(state, begunAt: version, db)
      return result
    }
  }
}
