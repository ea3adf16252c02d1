package import GRDB
package import MagicJournal

/// Reads the journal's tables: by address for those who send it on, by object for those who fold it.
package struct JournalReader {
  package let schema: StoredSchema
  private let db: Database

  package init(_ db: Database) throws {
    self.init(db, try StoredSchema(db))
  }

  package init(_ db: Database, _ schema: StoredSchema) {
    self.db = db
    self.schema = schema
  }

  // MARK: By address

  package func frontier() throws -> Frontier {
    var frontier = Frontier()
    for (replica, row) in try replicas() { frontier[replica] = try JournalReader.lastSequence(row, db) }
    return frontier
  }

  package func name(at sequence: UInt64, of replica: ReplicaID) throws -> TransactionName? {
    guard let row = try row(of: replica) else { return nil }
    var select = try SQL(db, Statements.selectName)
    try select.bind(row)
    try select.bind(Int64(sequence))
    guard try select.step() else { return nil }
    return TransactionName(stamp: select.stamp(0), tag: UInt32(truncatingIfNeeded: select.integer(1)))
  }

  /// The transactions of a replica after a sequence, in their order, one at a time in memory.
  package func forEachTransaction(
    of replica: ReplicaID, after sequence: UInt64, _ body: (Transaction) throws -> Void
  ) throws {
    guard let row = try row(of: replica) else { return }
    var select = try SQL(db, Statements.selectTransactions)
    try select.bind(row)
    try select.bind(Int64(sequence))
    var (next, last) = (sequence + 1, Stamp.earliest)
    while try select.step() {
      let name = TransactionName(stamp: select.stamp(1), tag: UInt32(truncatingIfNeeded: select.integer(2)))
      guard UInt64(exactly: select.integer(0)) == next, name.stamp > last, name.stamp <= .latest else {
        throw damaged("the transactions of a replica do not follow each other")
      }
      (next, last) = (next + 1, name.stamp)
      try body(
        Transaction(
          replica: replica, sequence: next - 1, name: name, root: try select.identifier(3),
          entries: try entries(from: select.integer(4), count: select.integer(5), of: name)))
    }
  }

  /// All transactions that are held, those of one replica in their order.
  package func forEachTransaction(_ body: (Transaction) throws -> Void) throws {
    for replica in try frontier().replicas { try forEachTransaction(of: replica, after: 0, body) }
  }

  private func entries(from first: Int64, count: Int64, of name: TransactionName) throws -> [Entry] {
    guard 1...Int64(Limits.entries) ~= count, 0...(Int64.max - count) ~= first else {
      throw damaged("a transaction has no entries that could be found")
    }
    var select = try SQL(db, Statements.selectEntries)
    try select.bind(first)
    try select.bind(first + count - 1)
    var entries: [Entry] = []
    while try select.step() {
      let entry = try entry(select, try type(select.int(0)))
      guard entry.isPossible(at: entries.count, of: name) else {
        throw damaged("an entry is of another time than its transaction")
      }
      entries.append(entry)
    }
    guard entries.count == count else { throw damaged("a transaction lacks entries") }
    return entries
  }

  // MARK: By object

  /// Whether the object has an entry at this stamp or later.
  package func hasEntry(from stamp: Stamp, of zIndex: Int64, type: Int) throws -> Bool {
    var select = try SQL(db, Statements.hasEntryFrom)
    try select.bind(type)
    try select.bind(zIndex)
    try select.bind(stamp)
    return try select.step()
  }

  /// The entry of an object in the transaction that is being written: its stamp, and the first number of its entries.
  func entry(of zIndex: Int64, type: Int, at stamp: Stamp, from first: Int64) throws -> (number: Int64, entry: Entry)? {
    var select = try SQL(db, Statements.selectEntry)
    try select.bind(type)
    try select.bind(zIndex)
    try select.bind(stamp)
    try select.bind(first)
    guard try select.step() else { return nil }
    return (select.integer(0), try entry(select, try self.type(type)))
  }

  /// The object's latest remove, and whether this replica made it.
  func lastRemove(of zIndex: Int64, type: Int, by replicaRow: Int64) throws -> (stamp: Stamp, isOwn: Bool)? {
    var select = try SQL(db, Statements.lastRemove)
    try select.bind(type)
    try select.bind(zIndex)
    return try select.step() ? (select.stamp(0), select.integer(1) == replicaRow) : nil
  }

  /// The object, folded from all its entries.
  package func state(of zIndex: Int64, type: Int) throws -> ObjectState {
    let roots = try rootsByRow()
    var select = try SQL(db, Statements.selectHistory)
    try select.bind(type)
    try select.bind(zIndex)
    var state = ObjectState()
    while try select.step() { try fold(select, into: &state, try self.type(type), roots) }
    return state
  }

  /// Every object that the journal speaks of, folded, alive or not. Memory holds one object at a time.
  package func forEachObject(_ body: (StoredType, ObjectKey, ObjectState) throws -> Void) throws {
    let roots = try rootsByRow()
    var select = try SQL(db, Statements.selectAllHistories)
    var current: (type: StoredType, zIndex: Int64, key: ObjectKey, state: ObjectState)?
    while try select.step() {
      let type = try type(select.int(5))
      if current?.type.id != type.id || current?.zIndex != select.integer(6) {
        if let current { try body(current.type, current.key, current.state) }
        let key = try ObjectKey(value: select.value(7, type.keyKind), of: type.schema)
        current = (type, select.integer(6), key, ObjectState())
      }
      if var object = current {
        current = nil
        try fold(select, into: &object.state, type, roots)
        current = object
      }
    }
    if let current { try body(current.type, current.key, current.state) }
  }

  private func fold(
    _ row: borrowing SQL, into state: inout ObjectState, _ type: StoredType, _ roots: [Int64: ReplicaID]
  ) throws {
    guard let root = roots[row.integer(4)] else { throw damaged("a transaction's root is unknown") }
    state.fold(
      try operation(row, 0, base: 1), try StoredFields.decode(row.bytes(2), of: type.schema),
      at: Version(stamp: row.stamp(3), root: root), of: type.schema)
  }

  // MARK: Parts

  /// Of a row that has object, operation, base and fields from its second column on.
  private func entry(_ row: borrowing SQL, _ type: StoredType) throws -> Entry {
    Entry(
      type: type.id, key: try ObjectKey(value: row.value(1, type.keyKind), of: type.schema),
      operation: try operation(row, 2, base: 3), fields: try StoredFields.decode(row.bytes(4), of: type.schema))
  }

  private func operation(_ row: borrowing SQL, _ column: Int32, base: Int32) throws -> Entry.Operation {
    switch row.integer(column) {
    case 0: .remove
    case 1: .update
    case 2: .revival(base: row.stamp(base))
    case 3: .birth
    default: throw damaged("an entry has an unknown operation")
    }
  }

  private func type(_ id: Int) throws -> StoredType {
    guard schema.types.indices.contains(id) else { throw damaged("an entry has an unknown type") }
    return schema.types[id]
  }

  private func replicas() throws -> [(ReplicaID, Int64)] {
    var select = try SQL(db, Statements.selectReplicas)
    var replicas: [(ReplicaID, Int64)] = []
    while try select.step() { replicas.append((try select.identifier(1), select.integer(0))) }
    return replicas
  }

  private func rootsByRow() throws -> [Int64: ReplicaID] {
    Dictionary(uniqueKeysWithValues: try replicas().map { ($1, $0) })
  }

  private func row(of replica: ReplicaID) throws -> Int64? {
    var select = try SQL(db, Statements.selectReplica)
    try select.bind(replica)
    return try select.step() ? select.integer(0) : nil
  }

  private static func lastSequence(_ row: Int64, _ db: Database) throws -> UInt64 {
    var select = try SQL(db, Statements.lastSequence)
    try select.bind(row)
    guard try select.step() else { return 0 }
    guard let last = UInt64(exactly: select.integer(0)), last < Limits.sequence else {
      throw damaged("the sequences of a replica have no end")
    }
    return last
  }

  private func damaged(_ what: String) -> MagicDataError {
    JournalReader.damaged(what)
  }

  private static func damaged(_ what: String) -> MagicDataError {
    MagicDataError(.notADatabase, "the database is damaged: \(what)")
  }
}
