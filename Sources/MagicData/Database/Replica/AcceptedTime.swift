package import GRDB
internal import MagicJournal

/// Up to which time stamps are accepted, since a person said so of a clock that was ahead (C-5). It only rises.
package enum AcceptedTime {
  /// The latest time that can be accepted: a thousand years before the last stamp, so that a clock that has come so far can
  /// still go on (C-5).
  package static let last = Stamp.latest.milliseconds - 1_000 * 31_556_952_000

  /// In milliseconds since 1970; 0 if nobody has said so.
  package static func read(_ db: Database) throws -> Int64 {
    // Each exchange asks.
    guard try db.has(.acceptedTime) else { return 0 }
    var select = try SQL(db, Statements.selectAcceptedTime)
    return try select.step() ? select.integer(0) : 0
  }

  package static func raise(to milliseconds: Int64, _ db: Database) throws {
    let milliseconds = min(milliseconds, last)
    guard try milliseconds > read(db) else { return }
    try db.make(.acceptedTime)
    var insert = try SQL(db, Statements.setAcceptedTime)
    try insert.bind(milliseconds)
    try insert.run()
  }
}
