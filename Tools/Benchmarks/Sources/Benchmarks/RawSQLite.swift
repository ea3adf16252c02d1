import Foundation
import GRDBSQLite

/// What SQLite itself takes: its own calls, prepared statements, the same pragmas, and the table that MagicData makes, without a journal.
final class RawSQLite {
  struct Row {
    var zIndex: Int64
    var name: String
    var owner: String
    var weight: Double
    var lives: Int
  }

  private var db: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  init(_ path: String) {
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil))
    run("PRAGMA journal_mode = WAL")
    run("PRAGMA synchronous = NORMAL")
    run(
      """
      CREATE TABLE IF NOT EXISTS Cat (
        z_index INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, owner TEXT, weight REAL, lives INTEGER);
      CREATE TABLE IF NOT EXISTS Owner (z_index INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
      CREATE TABLE IF NOT EXISTS Member (z_index INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
      CREATE TABLE IF NOT EXISTS Link (owner INTEGER, target INTEGER, PRIMARY KEY (owner, target)) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS Reverse ON Link (target, owner);
      """)
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(db)
  }

  func run(_ sql: String) {
    check(sqlite3_exec(db, sql, nil, nil, nil))
  }

  func insert(_ name: String, _ owner: String, _ weight: Double, _ lives: Int) {
    let statement = prepared("INSERT INTO Cat (name, owner, weight, lives) VALUES (?, ?, ?, ?)")
    bind(statement, 1, name)
    bind(statement, 2, owner)
    sqlite3_bind_double(statement, 3, weight)
    sqlite3_bind_int64(statement, 4, Int64(lives))
    step(statement)
  }

  func insert(owner: String, members: [String]) {
    let insertOwner = prepared("INSERT INTO Owner (name) VALUES (?)")
    bind(insertOwner, 1, owner)
    step(insertOwner)
    let row = sqlite3_last_insert_rowid(db)
    for member in members {
      let insertMember = prepared("INSERT INTO Member (text) VALUES (?)")
      bind(insertMember, 1, member)
      step(insertMember)
      let link = prepared("INSERT INTO Link (owner, target) VALUES (?, ?)")
      sqlite3_bind_int64(link, 1, row)
      sqlite3_bind_int64(link, 2, sqlite3_last_insert_rowid(db))
      step(link)
    }
  }

  func owners() -> [(name: String, members: [String])] {
    let statement = prepared(
      """
      SELECT o.z_index, o.name, m.text FROM Owner o JOIN Link l ON l.owner = o.z_index JOIN Member m ON m.z_index = l.target
      ORDER BY o.z_index, l.target
      """)
    var owners: [(name: String, members: [String])] = []
    var last: Int64 = -1
    while sqlite3_step(statement) == SQLITE_ROW {
      if sqlite3_column_int64(statement, 0) != last {
        last = sqlite3_column_int64(statement, 0)
        owners.append((text(statement, 1), []))
      }
      owners[owners.count - 1].members.append(text(statement, 2))
    }
    sqlite3_reset(statement)
    return owners
  }

  func update(_ name: String, lives: Int) {
    let statement = prepared("UPDATE Cat SET lives = ? WHERE name = ?")
    sqlite3_bind_int64(statement, 1, Int64(lives))
    bind(statement, 2, name)
    step(statement)
  }

  func all() -> [Row] {
    let statement = prepared("SELECT z_index, name, owner, weight, lives FROM Cat ORDER BY z_index")
    var rows: [Row] = []
    while sqlite3_step(statement) == SQLITE_ROW { rows.append(row(statement)) }
    sqlite3_reset(statement)
    return rows
  }

  func find(_ name: String) -> Row? {
    let statement = prepared("SELECT z_index, name, owner, weight, lives FROM Cat WHERE name = ?")
    bind(statement, 1, name)
    defer { sqlite3_reset(statement) }
    return sqlite3_step(statement) == SQLITE_ROW ? row(statement) : nil
  }

  private func row(_ statement: OpaquePointer?) -> Row {
    Row(
      zIndex: sqlite3_column_int64(statement, 0), name: text(statement, 1), owner: text(statement, 2),
      weight: sqlite3_column_double(statement, 3), lives: Int(sqlite3_column_int64(statement, 4)))
  }

  private func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
    guard let start = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  private func bind(_ statement: OpaquePointer?, _ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(statement, index, $0.baseAddress, Int32($0.count), RawSQLite.copied)
      }
    }
  }

  private func prepared(_ sql: String) -> OpaquePointer? {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    check(sqlite3_prepare_v3(db, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    statements[sql] = statement
    return statement
  }

  private func step(_ statement: OpaquePointer?) {
    precondition(sqlite3_step(statement) == SQLITE_DONE)
    sqlite3_reset(statement)
  }

  private func check(_ status: Int32) {
    precondition(status == SQLITE_OK, String(cString: sqlite3_errmsg(db)))
  }
}
