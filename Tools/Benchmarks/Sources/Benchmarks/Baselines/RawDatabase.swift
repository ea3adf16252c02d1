import Foundation
import GRDBSQLite

/// What SQLite itself takes: its own calls, statements that are kept, the pragmas that MagicData's connections have, and no
/// journal.
final class RawDatabase {
  let handle: OpaquePointer?

  init(_ file: URL) {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    precondition(sqlite3_open_v2(file.path, &handle, flags, nil) == SQLITE_OK, "\(file.path) could not be opened")
    self.handle = handle
    run("PRAGMA journal_mode = WAL")
    run("PRAGMA synchronous = NORMAL")
    run("PRAGMA cache_size = -16000")
  }

  deinit {
    // Waits for statements that are still there.
    sqlite3_close_v2(handle)
  }

  func run(_ sql: String) {
    precondition(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, String(cString: sqlite3_errmsg(handle)))
  }

  func transaction(_ body: () throws -> Void) rethrows {
    run("BEGIN IMMEDIATE")
    try body()
    run("COMMIT")
  }

  func prepare(_ sql: String) -> RawStatement { RawStatement(self, sql) }

  var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Brings all that is in SQLite's WAL into the file.
  func checkpoint() {
    run("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}

/// A statement that is prepared once.
final class RawStatement {
  private let database: RawDatabase
  private let handle: OpaquePointer?
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  init(_ database: RawDatabase, _ sql: String) {
    self.database = database
    var handle: OpaquePointer?
    let status = sqlite3_prepare_v3(database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    precondition(status == SQLITE_OK, String(cString: sqlite3_errmsg(database.handle)))
    self.handle = handle
  }

  deinit {
    sqlite3_finalize(handle)
  }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(handle, index, $0.baseAddress, Int32($0.count), RawStatement.copied)
      }
    }
  }

  func bind(_ index: Int32, _ number: Int) {
    sqlite3_bind_int64(handle, index, Int64(number))
  }

  func bind(_ index: Int32, _ number: Double) {
    sqlite3_bind_double(handle, index, number)
  }

  /// Of a statement that returns no rows.
  func run() {
    precondition(sqlite3_step(handle) == SQLITE_DONE, String(cString: sqlite3_errmsg(database.handle)))
    sqlite3_reset(handle)
  }

  func step() -> Bool {
    let status = sqlite3_step(handle)
    precondition(status == SQLITE_ROW || status == SQLITE_DONE, String(cString: sqlite3_errmsg(database.handle)))
    return status == SQLITE_ROW
  }

  func reset() {
    sqlite3_reset(handle)
  }

  func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
  func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
  }
}
