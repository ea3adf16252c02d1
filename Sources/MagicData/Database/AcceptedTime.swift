package import GRDB

/// Up to which time stamps are accepted, since a person said so of a clock that was ahead (C-5). It only rises.
package enum AcceptedTime {
  /// In milliseconds since 1970; 0 if nobody has said so.
  package static func read(_ db: Database) throws -> Int64 {
    // Each exchange asks.
    guard try db.has("magic_accepted") else { return 0 }
    var select = try SQL(db, Statements.selectAcceptedTime)
    return try select.step() ? select.integer(0) : 0
  }

  package static func raise(to milliseconds: Int64, _ db: Database) throws {
    guard try milliseconds > read(db) else { return }
    try db.execute(sql: Statements.createAcceptedTime)
    var insert = try SQL(db, Statements.setAcceptedTime)
    try insert.bind(milliseconds)
    try insert.run()
  }
}
