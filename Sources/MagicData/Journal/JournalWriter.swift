internal import GRDB
package import MagicJournal

/// Appends transactions to the journal's tables: local ones, and those that a merge brings.
///
/// One transaction after the other: `begin`, `append` for each entry, `finish`. A transaction is one row of `magic_journal`, a
/// large one several in a row.
package struct JournalWriter: Sendable {
  private struct Current: Sendable {
    let replica: Int64
    /// `nil` for what is kept of one at or below the floor.
    let sequence: UInt64?
    let name: TransactionName
    let root: Int64
    /// Its first row.
    let first: Int64
    var entries = 0
  }

  private var current: Current?
  /// The row that is being filled.
  private var row: Int64
  private var pending = EntryRow()
  private var scratch = ByteWriter()
  private(set) var lastRun: JournalRun?
  /// The root of the kept entries that were written last, if nothing followed.
  private var lastKept: Int64?
  private let own: (id: ReplicaID, row: Int64)
  /// The rows of other replicas, as far as they were met.
  private var replicas: [ReplicaID: Int64] = [:]

  package init(_ state: DatabaseState) {
    row = state.lastRow + 1
    lastRun = state.lastRun
    own = (state.replica, state.replicaRow)
  }

  /// The journal's last row, once the transaction is finished.
  var lastRow: Int64 { row - 1 }
  /// Where the next entry goes.
  package var next: EntryPlace { EntryPlace(row: row, index: pending.count, isLatest: true) }
  /// Where the transaction's first entry is.
  var first: EntryPlace { EntryPlace(row: current?.first ?? row, index: 0, isLatest: true) }

  package mutating func begin(
    replica: ReplicaID, sequence: UInt64, name: TransactionName, root: ReplicaID, _ db: Connection
  ) throws {
    current = Current(
      replica: try row(of: replica, db), sequence: sequence, name: name, root: try row(of: root, db), first: row)
  }

  /// Begins what is kept of a transaction at or below the floor (K-2). Its rows stand by themselves.
  package mutating func beginKept(name: TransactionName, root: ReplicaID, _ db: Connection) throws {
    let root = try row(of: root, db)
    current = Current(replica: root, sequence: nil, name: name, root: root, first: row)
  }

  /// - Parameter isLatest: whether its object has no entry with a higher stamp.
  /// - Returns: where the entry is, for the object's row.
  @discardableResult
  package mutating func append(
    _ entry: Entry, zIndex: Int64, previous: EntryPlace, isLatest: Bool = true, _ db: Connection
  ) throws -> EntryPlace {
    let place = EntryPlace(row: row, index: pending.count, isLatest: isLatest)
    pending.append(StoredEntry(entry: entry, zIndex: zIndex, previous: previous), &scratch)
    try appended(db)
    return place
  }

  /// Appends an update that stands in a segment, and changes nothing.
  package mutating func append(
    late update: EncodedEntry, as type: LearntType, zIndex: Int64, previous: EntryPlace, _ db: Connection
  ) throws -> EntryPlace {
    let place = EntryPlace(row: row, index: pending.count, isLatest: false)
    pending.append(update, as: type, zIndex: zIndex, previous: previous)
    try appended(db)
    return place
  }

  /// Appends an entry of which key and fields are encoded already: an update, or a birth without a number.
  mutating func append(
    _ operation: Entry.Operation, of type: Int, _ key: UnsafeRawBufferPointer, _ fields: UnsafeRawBufferPointer, zIndex: Int64,
    previous: EntryPlace,
    _ db: Connection
  ) throws {
    scratch.removeAll()
    StoredEntry.encode(operation, of: type, key, fields, zIndex: zIndex, previous: previous, to: &scratch)
    pending.append(encoded: scratch.bytes)
    try appended(db)
  }

  /// Appends an entry that stands as `StoredEntry` encodes it.
  mutating func append(encoded entry: ArraySlice<UInt8>, _ db: Connection) throws {
    pending.append(encoded: entry)
    try appended(db)
  }

  /// Where entries will be that are appended next.
  ///
  /// - Parameter lengths: in bytes, of each.
  func places(of lengths: [Int]) -> [EntryPlace] {
    var (row, count, bytes) = (row, pending.count, pending.bytes.count)
    return lengths.map { length in
      defer {
        bytes += ByteWriter.length(ofVarint: UInt64(length)) + length
        count += 1
        if EntryRow.isFull(count, bytes) { (row, count, bytes) = (row + 1, 0, 0) }
      }
      return EntryPlace(row: row, index: count, isLatest: true)
    }
  }

  private mutating func appended(_ db: Connection) throws {
    current?.entries += 1
    if pending.isFull { try flush(db) }
  }

  /// What is pending is to be found in the tables.
  mutating func flush(_ db: Connection) throws {
    guard let current, !pending.isEmpty else { return }
    try write(current, entries: current.sequence == nil ? pending.count : row == current.first ? 0 : nil, db)
    row += 1
    pending.removeAll()
  }

  /// After a transaction's last entry.
  package mutating func finish(_ db: Connection) throws {
    guard let current else { return }
    guard let sequence = current.sequence else { return try finishKept(current, db) }
    self.current = nil
    lastKept = nil
    let isOneRow = row == current.first
    if !pending.isEmpty {
      try write(current, entries: isOneRow ? current.entries : nil, db)
      row += 1
      pending.removeAll()
    }
    if !isOneRow {
      var update = try SQL(db, Statements.updateEntryCount)
      try update.bind(current.entries)
      try update.bind(current.first)
      try update.run()
    }
    // A transaction of one row goes on with the run before it, if that is its replica's.
    let rows = row - current.first
    if rows == 1, let lastRun, lastRun.goesOn(current.replica, sequence, at: current.first) { return }
    let run = JournalRun(first: current.first, replica: current.replica, sequence: sequence, isOne: rows > 1)
    try run.insert(db)
    lastRun = run
  }

  private mutating func finishKept(_ current: Current, _ db: Connection) throws {
    try flush(db)
    self.current = nil
    lastRun = nil
    guard row > current.first, lastKept != current.replica else { return }
    try JournalRun.insertKept(from: current.first, root: current.replica, db)
    lastKept = current.replica
  }

  private func write(_ current: Current, entries: Int?, _ db: Connection) throws {
    var insert = try SQL(db, Statements.insertRow)
    try insert.bind(row)
    try insert.bind(current.name.stamp)
    try insert.bind(Int64(current.name.tag))
    try insert.bind(current.root)
    if let entries { try insert.bind(entries) } else { try insert.bindNull() }
    try insert.bind(pending.bytes.bytes)
    try insert.run()
  }

  // MARK: Entries of the transaction that is not finished yet

  func entry(at place: EntryPlace, _ types: [StoredType], _ db: Connection) throws -> StoredEntry {
    do {
      let parts = try EntryRow.parts(of: try data(at: place, db))
      guard parts.indices.contains(place.index) else { throw JournalError(.damaged, "an entry is not where it was put") }
      var part = parts[place.index]
      return try StoredEntry(from: &part, types)
    } catch let error as JournalError {
      throw MagicDataError(.notADatabase, "the database is damaged: \(error.message)", cause: error)
    }
  }

  mutating func rewrite(_ entry: StoredEntry, at place: EntryPlace, _ db: Connection) throws {
    do {
      let replaced = try EntryRow.replacing(place.index, in: try data(at: place, db), by: entry)
      guard place.row != row else {
        pending = replaced
        return
      }
      var update = try SQL(db, Statements.updateRow)
      try update.bind(replaced.bytes.bytes)
      try update.bind(place.row)
      try update.run()
    } catch let error as JournalError {
      throw MagicDataError(.notADatabase, "the database is damaged: \(error.message)", cause: error)
    }
  }

  private func data(at place: EntryPlace, _ db: Connection) throws -> [UInt8] {
    if place.row == row { return pending.bytes.bytes }
    var select = try SQL(db, Statements.selectData)
    try select.bind(place.row)
    return try select.step() ? select.bytes(0) : []
  }

  // MARK: Replicas and the clock

  /// The clock never falls behind what is folded (C-2, C-3).
  package func moveClock(to stamp: Stamp, _ db: Connection) throws {
    var update = try SQL(db, Statements.moveClock)
    try update.bind(stamp)
    try update.run()
  }

  private mutating func row(of replica: ReplicaID, _ db: Connection) throws -> Int64 {
    if replica == own.id { return own.row }
    if let row = replicas[replica] { return row }
    let row = try JournalWriter.row(of: replica, db)
    replicas[replica] = row
    return row
  }

  static func row(of replica: ReplicaID, _ db: Connection) throws -> Int64 {
    var select = try SQL(db, Statements.selectReplica)
    try select.bind(replica)
    if try select.step() { return select.integer(0) }
    var insert = try SQL(db, Statements.insertReplica)
    try insert.bind(replica)
    try insert.run()
    return db.lastInsertedRowID
  }
}

/// Rows of `magic_journal` that follow each other and hold a replica's transactions with sequences that do so too: a row of
/// `magic_run`.
struct JournalRun: Sendable, Equatable {
  let first: Int64
  let replica: Int64
  /// The first transaction's sequence.
  let sequence: UInt64
  /// Whether all its rows are one transaction.
  let isOne: Bool

  init(first: Int64, replica: Int64, sequence: UInt64, isOne: Bool) {
    self.first = first
    self.replica = replica
    self.sequence = sequence
    self.isOne = isOne
  }

  /// As the database has it, which somebody may have changed by hand. `lastRow` is its last, or of the whole journal.
  init(checking first: Int64, replica: Int64, sequence: Int64, isOne: Bool, lastRow: Int64) throws {
    guard 1...EntryPlace.lastRow ~= first, first...EntryPlace.lastRow ~= lastRow, 1..<Int64(Limits.sequence) ~= sequence else {
      throw MagicDataError(.notADatabase, "the database is damaged: the transactions of a replica do not follow each other")
    }
    self.init(first: first, replica: replica, sequence: UInt64(sequence), isOne: isOne)
  }

  func insert(_ db: Connection) throws {
    try JournalRun.insert(first, replica, Int64(sequence), isOne, db)
  }

  /// Rows of kept entries, which have no sequences: their run has its own first row's number in their place, below 0 (J-32).
  static func insertKept(from first: Int64, root: Int64, _ db: Connection) throws {
    try insert(first, root, -first, false, db)
  }

  private static func insert(_ first: Int64, _ replica: Int64, _ sequence: Int64, _ isOne: Bool, _ db: Connection) throws {
    var insert = try SQL(db, Statements.insertRun)
    try insert.bind(first)
    try insert.bind(replica)
    try insert.bind(sequence)
    try insert.bind(isOne ? 1 : 0)
    try insert.run()
  }

  /// Whether a transaction in the next row belongs to it.
  func goesOn(_ replica: Int64, _ sequence: UInt64, at row: Int64) -> Bool {
    !isOne && self.replica == replica && sequence >= self.sequence && sequence - self.sequence == UInt64(row - first)
  }

  /// The sequence of its last transaction, if its last row is this one.
  func lastSequence(_ lastRow: Int64) -> UInt64 {
    isOne ? sequence : sequence + UInt64(lastRow - first)
  }
}
