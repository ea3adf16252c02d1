internal import GRDB
package import MagicJournal

/// Appends transactions to the journal's tables: local ones, and those that a merge brings.
package struct JournalWriter: Sendable {
  private var transaction: Int64
  private var firstEntry: Int64
  private var nextEntry: Int64
  private var replicas: [ReplicaID: Int64] = [:]

  package init(_ state: DatabaseState) {
    transaction = state.lastTransaction + 1
    firstEntry = state.lastEntry + 1
    nextEntry = firstEntry
    replicas = [state.replica: state.replicaRow]
  }

  /// The number of the transaction's first entry.
  var first: Int64 { firstEntry }

  /// Another content for an entry of the transaction that is not finished yet.
  func rewrite(_ number: Int64, _ entry: Entry, _ db: Connection) throws {
    var update = try SQL(db, Statements.updateEntry)
    try update.bind(contentOf: entry)
    try update.bind(number)
    try update.run()
  }

  /// How many entries the transaction has that was recorded before them.
  func count(_ db: Connection) throws {
    var update = try SQL(db, Statements.updateTransaction)
    try update.bind(nextEntry - firstEntry)
    try update.bind(transaction)
    try update.run()
  }

  /// The next entry of the transaction that `record` tells of, before or after.
  package mutating func append(_ entry: Entry, zIndex: Int64, stamp: Stamp, _ db: Connection) throws {
    var insert = try SQL(db, Statements.insertEntry)
    try insert.bind(nextEntry)
    try insert.bind(transaction)
    try insert.bind(entry.type)
    try insert.bind(zIndex)
    try insert.bind(entry.key.value)
    try insert.bind(stamp)
    try insert.bind(contentOf: entry)
    try insert.run()
    nextEntry += 1
  }

  package mutating func record(
    replica: ReplicaID, sequence: UInt64, name: TransactionName, root: ReplicaID, entries: Int, _ db: Connection
  ) throws {
    let rows = (try row(of: replica, db), try row(of: root, db))
    var insert = try SQL(db, Statements.insertTransaction)
    try insert.bind(transaction)
    try insert.bind(rows.0)
    try insert.bind(Int64(sequence))
    try insert.bind(name.stamp)
    try insert.bind(Int64(name.tag))
    try insert.bind(rows.1)
    try insert.bind(firstEntry)
    try insert.bind(entries)
    try insert.run()
  }

  /// After a transaction's record and its last entry.
  package mutating func finish() {
    transaction += 1
    firstEntry = nextEntry
  }

  /// The clock never falls behind what is folded (C-2, C-3).
  package func moveClock(to stamp: Stamp, _ db: Connection) throws {
    var update = try SQL(db, Statements.moveClock)
    try update.bind(stamp)
    try update.run()
  }

  private mutating func row(of replica: ReplicaID, _ db: Connection) throws -> Int64 {
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

extension SQL {
  /// Operation, base and fields.
  fileprivate mutating func bind(contentOf entry: Entry) throws {
    try bind(Int64(entry.operation.code))
    if let base = entry.operation.base { try bind(base) } else { try bindNull() }
    if entry.operation == .remove { try bindNull() } else { try bind(StoredFields.encode(entry.fields)) }
  }
}

/// An entry's fields as `magic_entry.fields` has them (J-18).
enum StoredFields {
  static func encode(_ fields: [FieldValue]) -> [UInt8] {
    var writer = ByteWriter()
    for field in fields {
      writer.varint(field.field)
      field.value.encode(to: &writer)
    }
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8], of type: TypeSchema) throws -> [FieldValue] {
    do throws(JournalError) {
      var reader = ByteReader(bytes)
      var fields: [FieldValue] = []
      while !reader.isAtEnd {
        fields.append(
          FieldValue(field: try reader.index(below: type.fields.count, "field"), value: try Value(from: &reader)))
      }
      return fields
    } catch {
      throw MagicDataError(.notADatabase, "the database is damaged: an entry of type \(type.name) cannot be read", cause: error)
    }
  }
}
