package import GRDB

/// When a database next looks what it folds to (K-21), which takes a reading of everything.
package enum DigestSchedule {
  /// At first, when that time has come, and when the database has grown by half.
  ///
  /// - Parameter now: in milliseconds since 1970.
  package static func isDue(at now: Int64, _ db: Database) throws -> Bool {
    guard try db.has(.look) else { return true }
    var select = try SQL(db, Statements.selectLook)
    guard try select.step() else { return true }
    let (due, bytes) = (select.integer(0), select.int(1))
    let size = try MagicStatistics.fileBytes(db)
    // What is stored may be any number.
    return now >= due || due - now > month || size - size / 3 >= bytes
  }

  /// After a look.
  ///
  /// - Parameter hasDiffered: whether somebody folds the same to something else, which is to be looked at again soon.
  package static func looked(at now: Int64, hasDiffered: Bool, _ db: Database) throws {
    try db.make(.look)
    var set = try SQL(db, Statements.setLook)
    try set.bind(now + (hasDiffered ? day : month))
    try set.run()
  }

  private static let day: Int64 = 86_400_000
  private static let month = 30 * day
}
