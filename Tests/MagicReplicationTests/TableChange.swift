import Foundation
import GRDB
import MagicJournal
import TestSupport

/// Changes of a database's tables by SQL, as a program of bytes has them: nine a change.
enum TableChange {
  struct Column: Sendable {
    let table: String
    let name: String
  }

  /// Of all tables.
  static func columns(of file: URL) async throws -> [Column] {
    let queue = try DatabaseQueue(path: file.path)
    defer { try? queue.close() }
    return try await queue.read { db in
      try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
      )
      .flatMap { table in try db.columns(in: table).map { Column(table: table, name: $0.name) } }
    }
  }

  static func run(_ program: [UInt8], on file: URL, _ columns: [Column]) throws {
    guard !program.isEmpty else { return }
    let queue = try DatabaseQueue(path: file.path)
    defer { try? queue.close() }
    try queue.write { db in
      for start in stride(from: 0, to: program.count, by: 9) {
        let step = Array(program[start..<min(start + 9, program.count)]) + [UInt8](repeating: 0, count: 9)
        // What the table's constraints refuse is not done.
        try? change(step, columns[Int(step[0]) % columns.count], db)
      }
    }
  }

  private static func change(_ step: [UInt8], _ column: Column, _ db: Database) throws {
    let (table, name) = (column.table.quotedDatabaseIdentifier, column.name.quotedDatabaseIdentifier)
    let rows = try Row.fetchAll(db, sql: "SELECT *, \(name) AS magic_value FROM \(table)")
    guard !rows.isEmpty else { return }
    let row = rows[Int(step[1]) % rows.count]
    let number = step[4..<9].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    let value: DatabaseValue = row["magic_value"]
    let changed: (any DatabaseValueConvertible)?
    switch (step[2] % 8, value.storage) {
    case (0, _): changed = nil
    case (1, _): changed = [Int64.min, .max, -1, 0, 1, 1 << 32, 1 << 54, 1 << 61, 1 << 62][Int(step[3]) % 9]
    case (2, _): changed = number
    case (3, _): changed = ["", "é", "\u{0}", "Note", "-1"][Int(step[3]) % 5]
    case (_, .int64(let stored)): changed = stored &+ Int64(Int8(bitPattern: step[3]))
    case (_, .blob(let data)):
      var bytes = [UInt8](data)
      for fault in 0..<min(bytes.count, 2) { bytes[(Int(step[3 + fault]) << 2 + fault) % bytes.count] = step[5 + fault] }
      changed = Data(step[2] % 8 == 7 ? bytes.prefix(Int(step[3])) : bytes[...])
    default: changed = Data(step[3..<9])
    }
    // By all columns, since not every table has a rowid.
    let keys = row.columnNames.filter { $0 != "magic_value" }
    let condition = keys.map { "\($0.quotedDatabaseIdentifier) IS ?" }.joined(separator: " AND ")
    try db.execute(
      sql: "UPDATE \(table) SET \(name) = ? WHERE \(condition)",
      arguments: StatementArguments([changed] + keys.map { row[$0] as DatabaseValue }))
  }
}
