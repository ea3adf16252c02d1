package import GRDB
internal import GRDBSQLite
package import MagicJournal

/// An open connection, within a transaction.
package typealias Connection = Database

/// A prepared statement with its values bound, read through SQLite's own calls: GRDB's rows and arguments cost two to
/// seven times as much. GRDB owns the connection, the transaction and the statement cache.
package struct SQL: ~Copyable {
  private let db: Database
  private let statement: Statement
  private let pointer: OpaquePointer
  private var bound: Int32 = 0

  /// - Parameter isKept: whether the connection keeps the statement, as it does for good, for whoever asks the same again.
  package init(_ db: Database, _ sql: String, isKept: Bool = true) throws {
    self.init(db, isKept ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql))
  }

  /// A statement that somebody keeps for a connection.
  init(_ db: Database, _ statement: Statement) {
    (self.db, self.statement, pointer) = (db, statement, statement.sqliteStatement)
    sqlite3_reset(pointer)
  }

  deinit {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  // MARK: Binding, in the order of the question marks

  package mutating func bind(_ number: Int64) throws {
    bound += 1
    try check(sqlite3_bind_int64(pointer, bound, number))
  }

  package mutating func bind(_ number: Int) throws {
    try bind(Int64(number))
  }

  package mutating func bind(_ stamp: Stamp) throws {
    try bind(stamp.stored)
  }

  package mutating func bind(_ place: EntryPlace) throws {
    try bind(place.bits)
  }

  package mutating func bind(_ text: String) throws {
    bound += 1
    var text = text
    let status = text.withUTF8 { bytes in
      // An empty text may have no address, and none means NULL.
      bytes.isEmpty
        ? sqlite3_bind_text(pointer, bound, "", 0, SQL.copied)
        : bytes.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text(pointer, bound, $0.baseAddress, Int32($0.count), SQL.copied)
        }
    }
    try check(status)
  }

  package mutating func bind(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try bind(copied: $0) }
  }

  mutating func bind(copied bytes: UnsafeRawBufferPointer) throws {
    bound += 1
    try check(
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(pointer, bound, 0)
        : sqlite3_bind_blob(pointer, bound, bytes.baseAddress, Int32(bytes.count), SQL.copied))
  }

  package mutating func bind(_ identifier: Identifier) throws {
    try bind(identifier.bytes)
  }

  /// As its 16 bytes, without an array for them.
  mutating func bind(_ birth: Birth) throws {
    let halves = birth.halves
    try withUnsafeBytes(of: (halves.high.bigEndian, halves.low.bigEndian)) { try bind(copied: $0) }
  }

  package mutating func bindNull() throws {
    bound += 1
    try check(sqlite3_bind_null(pointer, bound))
  }

  package mutating func bind(_ value: Value) throws {
    switch value {
    case .null: try bindNull()
    case .integer(let number): try bind(number)
    case .real(let number) where number.isNaN || number.bitPattern == 1 << 63:  // V-11
      try bind(withUnsafeBytes(of: number.bitPattern.bigEndian, Array.init))
    case .real(let number):
      bound += 1
      try check(sqlite3_bind_double(pointer, bound, number))
    case .text(let text), .asset(let text): try bind(text)
    case .bytes(let bytes), .coded(let bytes): try bind(bytes)
    case .reference, .list, .set, .dictionary: preconditionFailure("objects stand in rows by their z indexes")
    }
  }

  /// Binds memory that lasts until the statement has run. It is bound anew before it runs again.
  mutating func bind(_ next: UnsafeMutablePointer<NextEntry>) throws {
    bound += 1
    try check(sqlite3_bind_pointer(pointer, bound, next, NextEntry.pointerType, nil))
  }

  /// A value that stands encoded in memory which lasts until the statement has run: it is not copied.
  package mutating func bind(_ value: Value.Encoded) throws {
    switch value {
    case .null: try bindNull()
    case .integer(let number): try bind(number)
    case .real(let number): try bind(.real(number) as Value)
    case .text(let bytes):
      bound += 1
      let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      try check(
        bytes.isEmpty
          ? sqlite3_bind_text(pointer, bound, "", 0, SQL.copied)
          : sqlite3_bind_text(pointer, bound, start, Int32(bytes.count), nil))
    case .uuid(let high, let low):
      bound += 1
      let status = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: UUIDText.length) { text in
        UUIDText.write(high, low, to: text)
        return text.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text(pointer, bound, $0.baseAddress, Int32($0.count), SQL.copied)
        }
      }
      try check(status)
    case .bytes(let bytes), .coded(let bytes):
      bound += 1
      try check(
        bytes.isEmpty
          ? sqlite3_bind_zeroblob(pointer, bound, 0)
          : sqlite3_bind_blob(pointer, bound, bytes.baseAddress, Int32(bytes.count), nil))
    }
  }

  /// Binds a value while `body` runs, which is all that the statement is for: a text is not copied.
  mutating func withBound<Result>(_ value: Value, _ body: (inout SQL) throws -> Result) throws -> Result {
    guard case .text(var text) = value else {
      try bind(value)
      return try body(&self)
    }
    return try text.withUTF8 { bytes in
      try bind(.text(UnsafeRawBufferPointer(bytes)) as Value.Encoded)
      return try body(&self)
    }
  }

  // MARK: Running

  /// Moves to the next row; `false` after the last one.
  package mutating func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw error()
    }
  }

  /// Runs a statement that has no rows; returns how many rows it changed.
  @discardableResult
  package consuming func run() throws -> Int { try drain() }

  /// Runs the statement, which can be bound anew afterwards.
  package mutating func runOnce() throws -> Int {
    defer {
      sqlite3_reset(pointer)
      bound = 0
    }
    return try drain()
  }

  /// Reads the first row, if there is one, and then the statement can be bound anew.
  mutating func readOnce<Result>(_ read: (borrowing SQL) throws -> Result) throws -> Result? {
    defer {
      sqlite3_reset(pointer)
      bound = 0
    }
    return try step() ? read(self) : nil
  }

  /// Moves through all rows. The values of their columns stay for as long as `body` runs.
  mutating func forEachRow(_ body: (_ values: UnsafePointer<OpaquePointer?>) throws -> Void) throws {
    let count = Int(sqlite3_column_count(pointer))
    try withUnsafeTemporaryAllocation(of: OpaquePointer?.self, capacity: count) { values in
      guard let start = values.baseAddress else { return }
      while try step() {
        // SQLite calls these unsafe where several threads use the connection.
        for column in 0..<count { (start + column).initialize(to: sqlite3_column_value(pointer, Int32(column))) }
        try body(UnsafePointer(start))
      }
    }
  }

  private mutating func drain() throws -> Int {
    while try step() {}
    return Int(sqlite3_changes(db.sqliteConnection))
  }

  // MARK: Reading the current row

  package func integer(_ column: Int32) -> Int64 {
    sqlite3_column_int64(pointer, column)
  }

  func real(_ column: Int32) -> Double {
    sqlite3_column_double(pointer, column)
  }

  package func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(pointer, column) == SQLITE_NULL
  }

  package func int(_ column: Int32) -> Int {
    Int(integer(column))
  }

  package func stamp(_ column: Int32) -> Stamp {
    Stamp(stored: integer(column))
  }

  package func place(_ column: Int32) -> EntryPlace {
    EntryPlace(bits: integer(column))
  }

  package func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(pointer, column) else { return "" }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  package func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(pointer, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
  }

  /// A text's bytes, or bytes, where they stand until the next step; of a number its decimals.
  func withBytes(_ column: Int32, _ body: (_ bytes: UnsafeRawBufferPointer, _ isText: Bool) -> Void) {
    let isText = sqlite3_column_type(pointer, column) != SQLITE_BLOB
    let start = sqlite3_column_blob(pointer, column)
    let count = start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column))
    body(UnsafeRawBufferPointer(start: start, count: count), isText)
  }

  func birth(_ column: Int32) throws -> Birth {
    try Birth(stored: sqlite3_column_value(pointer, column))
  }

  package func identifier(_ column: Int32) throws -> Identifier {
    guard sqlite3_column_bytes(pointer, column) == 16, let start = sqlite3_column_blob(pointer, column) else {
      throw MagicDataError(.notADatabase, "the database is damaged: an id of a replica or data set has not 16 bytes")
    }
    return Identifier(
      UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
      UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  /// A value as SQLite holds it; `kind` tells bytes from coded values, and the two reals that are kept as blobs.
  package func value(_ column: Int32, _ kind: Value.Kind) -> Value {
    Value(stored: sqlite3_column_value(pointer, column), kind)
  }

  private func check(_ status: Int32) throws {
    guard status == SQLITE_OK else { throw error() }
  }

  private func error() -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(db.sqliteConnection)), message: db.lastErrorMessage,
      sql: sqlite3_sql(pointer).map { String(cString: $0) })
  }

  // SQLite's SQLITE_TRANSIENT, a macro that Swift does not import: it copies what is bound.
  static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
