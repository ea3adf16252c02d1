package import GRDB
package import MagicJournal

/// Reads the journal's tables: by address for those who send it on, by object for those who fold it.
package struct JournalReader: JournalAddresses {
  package let schema: StoredSchema
  package let db: Database
  private let rows = RowCache()

  package init(_ db: Database) throws {
    self.init(db, try StoredSchema(db))
  }

  package init(_ db: Database, _ schema: StoredSchema) {
    self.db = db
    self.schema = schema
  }

  // MARK: By address

  /// The transactions of a replica after a sequence, in their order, one at a time in memory.
  package func forEachTransaction(
    of replica: ReplicaID, after sequence: UInt64, through end: UInt64 = .max, _ body: (Transaction) throws -> Void
  ) throws {
    var whole = WholeTransactions()
    try forEachPart(of: replica, after: sequence, through: end) { part in
      if let transaction = whole.add(part) { try body(transaction) }
    }
  }

  /// Visits the transactions of a replica, large ones in the parts in which they are stored.
  package func forEachPart(
    of replica: ReplicaID, after sequence: UInt64, through end: UInt64 = .max, _ body: (TransactionPart) throws -> Void
  ) throws {
    do {
      try forEach(of: replica, after: sequence) { part in
        guard part.transaction.sequence <= end else { throw EndOfRun() }
        try body(part)
        if part.isLast, part.transaction.sequence == end { throw EndOfRun() }
      }
    } catch is EndOfRun {}
  }

  /// Some of the transactions of a replica from a sequence on, for who takes them at leisure: at most `count`, and few if they
  /// are large. None at the end.
  package func transactions(of replica: ReplicaID, from sequence: UInt64, atMost count: Int) throws -> [Transaction] {
    var (whole, transactions): (WholeTransactions, [Transaction]) = (WholeTransactions(), [])
    var entries = 0
    do {
      try forEach(of: replica, after: sequence - 1, atMost: Int64(count)) { part in
        guard let transaction = whole.add(part) else { return }
        transactions.append(transaction)
        entries += transaction.entries.count
        if transactions.count >= count || entries >= JournalReader.entriesAtOnce { throw EndOfRun() }
      }
    } catch is EndOfRun {}
    return transactions
  }

  /// So many entries are held at once.
  private static let entriesAtOnce = 4_096

  /// The first sequence of a replica whose transaction is stamped at or above `stamp`; one above the last if there is none.
  package func firstSequence(of replica: ReplicaID, from stamp: Stamp, through last: UInt64) throws -> UInt64 {
    // A replica's stamps rise with its sequences (J-2).
    var (low, high): (UInt64, UInt64) = ((try floor(of: replica)?.sequence ?? 0) + 1, last + 1)
    while low < high {
      let middle = (low + high) / 2
      guard let name = try name(at: middle, of: replica) else { throw damaged("a transaction is not there") }
      if name.stamp < stamp { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The address of the transaction that a row of the journal belongs to; of what is kept, its root and the sequence 0.
  package func address(ofRow id: Int64) throws -> (replica: ReplicaID, sequence: UInt64) {
    var select = try SQL(db, Statements.selectAddressOfRow)
    try select.bind(id)
    guard try select.step() else { throw damaged("a row of the journal is in no run") }
    if select.integer(1) < 0 { return (try root(ofRow: id), 0) }
    let run = try JournalRun(
      checking: select.integer(0), replica: 0, sequence: select.integer(1), isOne: select.integer(2) != 0, lastRow: id)
    return (try select.identifier(3), run.lastSequence(id))
  }

  private struct EndOfRun: Error {}

  private func forEach(
    of replica: ReplicaID, after sequence: UInt64, atMost count: Int64 = -1, _ body: (TransactionPart) throws -> Void
  ) throws {
    guard let row = try row(of: replica) else { return }
    var (next, last) = (sequence + 1, Stamp.earliest)
    for run in try runs(of: row, from: next, atMost: count) {
      guard let first = run.row(of: next) else {
        guard run.last < next else { throw damaged("the transactions of a replica do not follow each other") }
        continue
      }
      try forEachPart(run, from: first) { begun, entries in
        if begun.taken == 0 {
          guard begun.name.stamp > last, begun.name.stamp <= .latest else {
            throw damaged("the transactions of a replica do not follow each other")
          }
          last = begun.name.stamp
        }
        let transaction = Transaction(
          replica: replica, sequence: next, name: begun.name, root: begun.root, entries: entries)
        let part = TransactionPart(transaction, before: begun.taken, count: begun.count)
        try body(part)
        if part.isLast { next += 1 }
      }
    }
  }

  /// Row by row.
  private func forEachPart(_ run: RunOfRows, from first: Int64, _ body: (BegunTransaction, [Entry]) throws -> Void) throws {
    var select = try SQL(db, Statements.selectRows)
    try select.bind(first)
    try select.bind(run.lastRow)
    var open: BegunTransaction?
    var id = first
    while try select.step() {
      guard select.integer(0) == id else { throw damaged("the journal lacks rows") }
      id += 1
      let name = TransactionName(stamp: select.stamp(1), tag: UInt32(truncatingIfNeeded: select.integer(2)))
      if !select.isNull(4) {
        guard open == nil else { throw damaged("a large transaction has two beginnings") }
        guard 1...Int64(Limits.entries) ~= select.integer(4) else { throw damaged("a transaction has an impossible length") }
        open = BegunTransaction(name: name, root: try select.identifier(3), count: select.int(4))
      }
      guard var begun = open, begun.name == name else { throw damaged("a part of a transaction stands alone") }
      let entries = try entries(of: select.bytes(5), after: begun.taken, name)
      let left = begun.count - begun.taken - entries.count
      // A row is a transaction, or all rows of the run are one. Whoever stops at the last entry has to know that it is the
      // last.
      let isLastRow = !run.run.isOne || id == run.lastRow + 1
      guard !entries.isEmpty, left >= 0, (left == 0) == isLastRow else {
        throw damaged("a transaction lacks entries, or has too many")
      }
      try body(begun, entries)
      begun.taken += entries.count
      open = isLastRow ? nil : begun
    }
    guard id == run.lastRow + 1 else { throw damaged("the journal lacks rows") }
  }

  private func entries(of data: [UInt8], after taken: Int, _ name: TransactionName) throws -> [Entry] {
    let parts = try parts(of: data)
    var entries: [Entry] = []
    entries.reserveCapacity(parts.count)
    for var part in parts {
      let entry = try stored(&part).entry
      guard entry.isPossible(at: taken + entries.count, of: name) else {
        throw damaged("an entry is of another time than its transaction")
      }
      entries.append(entry)
    }
    return entries
  }

  /// All transactions that are held, those of one replica in their order; before them what is kept of those at and below the
  /// floor, which have the sequence 0.
  package func forEachTransaction(_ body: (Transaction) throws -> Void) throws {
    try forEachKept(body)
    let floor = try floor()
    for replica in try frontier().replicas {
      try forEachTransaction(of: replica, after: floor[replica]?.sequence ?? 0, body)
    }
  }

  // MARK: By object

  /// The highest stamp among an object's entries.
  package func highestStamp(from last: EntryPlace) throws -> Stamp {
    if last.isLatest, !last.isNone { return try stamp(at: last) }
    return try latestEntry(from: last)?.stamp ?? .earliest
  }

  /// The entry with the highest stamp; `nil` of an object that has none.
  package func latestEntry(from last: EntryPlace) throws -> LatestEntry? {
    var latest: LatestEntry?
    try follow(from: last) { place, row, range in
      guard let entry = LatestEntry(place, of: row, range, types: schema.types.count) else {
        throw damaged("an entry cannot be read")
      }
      if latest.map({ $0.stamp < entry.stamp }) ?? true { latest = entry }
      // The one that was later than those before may have been given up since.
      return place.isLatest ? .none : entry.head.previous
    }
    return latest
  }

  func stamp(at place: EntryPlace) throws -> Stamp {
    if let known = rows.stamp, known.row == place.row { return known.stamp }
    if let row = rows.row, row.id == place.row { return row.stamp }
    var select = try SQL(db, Statements.selectStamp)
    try select.bind(place.row)
    guard try select.step() else { throw damaged("an object's entry is not there") }
    let stamp = select.stamp(0)
    rows.stamp = (place.row, stamp)
    return stamp
  }

  /// The object's latest remove that is known, and whether this replica made it.
  ///
  /// - Parameter open: where the transaction begins that this replica has not finished: it has no run yet.
  func lastRemove(
    from last: EntryPlace, by replicaRow: Int64, since open: EntryPlace
  ) throws -> (stamp: Stamp, isOwn: Bool)? {
    var found: (stamp: Stamp, row: Int64?)?
    try forEachEntry(from: last) { stamp, _, place, entry in
      // Of a remove that is known by a purge alone nobody here knows whose it is.
      let isHere = entry.operation.isRemove
      guard let remove = isHere ? stamp : entry.operation.knownRemove?.stamp else { return }
      if found.map({ $0.stamp < remove || $0.stamp == remove && $0.row == nil }) ?? true {
        found = (remove, isHere ? place.row : nil)
      }
    }
    guard let found else { return nil }
    guard let row = found.row else { return (found.stamp, false) }
    return (found.stamp, try row >= open.row || self.replicaRow(of: row) == replicaRow)
  }

  private func replicaRow(of row: Int64) throws -> Int64? {
    var select = try SQL(db, Statements.selectReplicaOfRow)
    try select.bind(row)
    return try select.step() ? select.integer(0) : nil
  }

  /// The object, folded from all its entries, or from those up to a stamp.
  package func state(from last: EntryPlace, of type: Int, until: Stamp = .latest) throws -> ObjectState {
    let schema = try self.type(type).schema
    var state = ObjectState()
    try forEachEntry(from: last) { stamp, root, _, entry in
      guard stamp <= until else { return }
      state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: schema)
    }
    return state
  }

  /// An object's entries, in no order that means anything: stamp, root, place, entry.
  package func forEachEntry(from last: EntryPlace, _ body: (Stamp, ReplicaID, EntryPlace, Entry) throws -> Void) throws {
    try walk(from: last) { stamp, root, place, stored in try body(stamp, root, place, stored.entry) }
  }

  /// Visits an object's entries from the last one on, with where each stands.
  func walk(from last: EntryPlace, _ body: (Stamp, ReplicaID, EntryPlace, StoredEntry) throws -> Void) throws {
    try follow(from: last) { place, row, range in
      var part = ByteReader(row.bytes, range)
      let stored = try stored(&part)
      try body(row.stamp, row.root, place, stored)
      return stored.previous
    }
  }

  /// From place to place.
  ///
  /// - Parameter next: where the one behind an entry is, whose part of a row it gets; `EntryPlace.none` if there is none, or
  ///   none is wanted.
  private func follow(
    from last: EntryPlace, _ next: (EntryPlace, JournalRow, Range<Int>) throws -> EntryPlace
  ) throws {
    var (place, way) = (last, ChainOrder())
    while !place.isNone {
      // A circle would have no end.
      guard way.leads(to: place) else { throw damaged("an object's entries have no beginning") }
      let row = try row(place.row)
      guard let range = row.part(place.index) else { throw damaged("an object's entry is not there") }
      place = try next(place, row, range)
    }
  }

  /// Every object that the journal speaks of, folded, alive or not. Memory holds one object at a time.
  package func forEachObject(_ body: (StoredType, ObjectKey, ObjectState) throws -> Void) throws {
    for type in schema.types { try forEachObject(of: type) { try body(type, $0, $1) } }
  }

  /// Visits all objects of one type.
  package func forEachObject(of type: StoredType, _ body: (ObjectKey, ObjectState) throws -> Void) throws {
    let table = ObjectTable(type, db)
    try table.forEachPlace { key, place in
      if !place.last.isNone { try body(key, try state(from: place.last, of: type.id)) }
    }
  }

  // MARK: Parts

  /// Puts other entries before some of a row's.
  func link(_ links: RowLinks, inRow id: Int64) throws {
    var select = try SQL(db, Statements.selectData)
    try select.bind(id)
    guard try select.step() else { throw damaged("an object's entry is not there") }
    try link(links, inRow: id, of: select.bytes(0))
  }

  /// - Parameter bytes: the row's.
  func link(_ links: RowLinks, inRow id: Int64, of bytes: [UInt8]) throws {
    do {
      try EntryRow.linking(links, in: bytes, types: schema.types.count) { linked in
        var update = try SQL(db, Statements.updateRow)
        try update.bind(copied: linked)
        try update.bind(id)
        try update.run()
      }
    } catch let error as JournalError {
      throw damaged("a transaction cannot be read", error)
    }
    if rows.row?.id == id { rows.row = nil }
  }

  private func row(_ id: Int64) throws -> JournalRow {
    if let row = rows.row, row.id == id { return row }
    var select = try SQL(db, Statements.selectEntryRow)
    try select.bind(id)
    guard try select.step() else { throw damaged("an object's entry is not there") }
    // A merge goes on to learn roots.
    if rows.roots[select.integer(1)] == nil { rows.roots = try rootsByRow() }
    guard let replica = rows.roots[select.integer(1)] else { throw damaged("a transaction's root is unknown") }
    let data = select.bytes(2)
    let ranges = try reading("a transaction") { () throws(JournalError) in try EntryRow.ranges(of: data) }
    let row = JournalRow(id: id, stamp: select.stamp(0), root: replica, bytes: data, parts: ranges)
    rows.row = row
    return row
  }

  func parts(of data: [UInt8]) throws -> [ByteReader] {
    try reading("a transaction") { () throws(JournalError) in try EntryRow.parts(of: data) }
  }

  func stored(_ part: inout ByteReader) throws -> StoredEntry {
    try reading { () throws(JournalError) in try StoredEntry(from: &part, schema.types) }
  }

  /// What cannot be read here is a damage of the database.
  package func reading<Content>(
    _ what: String = "an entry", _ read: () throws(JournalError) -> Content
  ) throws -> Content {
    do {
      return try read()
    } catch {
      throw damaged("\(what) cannot be read", error)
    }
  }

  private func type(_ id: Int) throws -> StoredType {
    guard schema.types.indices.contains(id) else { throw damaged("an entry has an unknown type") }
    return schema.types[id]
  }

  private func rootsByRow() throws -> [Int64: ReplicaID] {
    Dictionary(uniqueKeysWithValues: try replicas().map { ($1, $0) })
  }

}

/// A transaction of which rows are still to come.
private struct BegunTransaction {
  let name: TransactionName
  let root: ReplicaID
  let count: Int
  /// Entries of earlier rows.
  var taken = 0
}

/// Puts transactions together that come in parts.
private struct WholeTransactions {
  private var open: Transaction?

  mutating func add(_ part: TransactionPart) -> Transaction? {
    if part.isFirst { open = part.transaction } else { open?.entries += part.transaction.entries }
    guard part.isLast else { return nil }
    defer { open = nil }
    return open
  }
}

/// The row that was read last: objects that were written together are mostly read together.
private final class RowCache {
  var row: JournalRow?
  /// The stamp of a row of which nothing else was asked.
  var stamp: (row: Int64, stamp: Stamp)?
  var roots: [Int64: ReplicaID] = [:]
}
