package import GRDB
internal import GRDBSQLite

/// As GRDB's own, which compile their statements anew each time: a tenth of a short transaction.
extension Database {
  func beginWriting() throws {
    // GRDB asks SQLite itself whether a transaction is open; of its end it has to be told, for those who wait for that. What
    // else it notes of a beginning (its date, and whether the app has suspended its databases) is not used here.
    let begin = try SQL(self, "BEGIN IMMEDIATE")
    try begin.run()
  }
  func endWriting() throws { try cachedStatement(sql: "COMMIT").execute() }

  /// If SQLite has not done so by itself.
  func undoWriting() throws {
    if isInsideTransaction { try cachedStatement(sql: "ROLLBACK").execute() }
  }

  /// A number that is another one after each commit of this connection, one higher, and whenever it finds that somebody else
  /// has committed, which it does where it begins to read: that of the file as it was then. Only whether two are equal means
  /// anything. `nil` if SQLite does not say.
  var dataVersion: UInt32? {
    var version: UInt32 = 0
    return sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK ? version : nil
  }

  /// Runs statements that see the same moment.
  func atOneMoment<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try cachedStatement(sql: "BEGIN").execute()
    return try committed(body)
  }

  /// Within a transaction that has begun: it ends with `body`.
  func committed<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try begun { db in
      let result = try body(db)
      try endWriting()
      return result
    }
  }

  /// Within a transaction that has begun: it goes on after `body`, or is undone if that throws.
  func begun<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try body(self)
    } catch {
      // What went wrong first is what counts.
      try? undoWriting()
      throw error
    }
  }

  /// Within a transaction: all that `body` does, or nothing.
  package func whole<Result>(_ body: (Database) throws -> Result) throws -> Result {
    // Else this would begin one, which is not immediate.
    try checkInTransaction()
    try beginPart()
    do {
      let result = try body(self)
      try endPart()
      return result
    } catch {
      undoPart()
      // Whoever handles what a part throws goes on in the transaction. What SQLite and GRDB say nobody handles.
      if !(error is DatabaseError || error is CancellationError) { try checkInTransaction() }
      throw error
    }
  }

  /// Outside of a transaction each statement would commit by itself.
  func checkInTransaction() throws {
    // SQLite rolls back by itself when the disk is full, for one.
    guard isInsideTransaction else {
      throw MagicDataError(
        .transaction, "SQLite has rolled the transaction back after an error, or it was closed; begin anew")
    }
  }

  // Parts stand within each other: SQLite means the innermost of a name. Where a task was cancelled GRDB runs nothing but a
  // whole rollback, and a part has to be undone alone then, too. What GRDB notes of savepoints is for observers of changes, and
  // there are none.
  func beginPart() throws { try SQL(self, "SAVEPOINT magic").run() }
  func endPart() throws { try SQL(self, "RELEASE magic").run() }

  /// Undoes what was done since the part began, or, if that cannot be, the whole transaction: no half of a part is ever
  /// committed.
  func undoPart() {
    // SQLite may have rolled everything back by itself.
    guard isInsideTransaction else { return }
    do {
      try SQL(self, "ROLLBACK TO magic").run()
      try endPart()
    } catch {
      // What went wrong first is what its caller hears of, and this fails only with a connection that can do nothing any more.
      try? undoWriting()
    }
  }

  /// Runs statements for so long, or until SQLite looks up from what it is doing then; `nil` if they were not done by then.
  package func within<Result>(_ duration: Duration, _ body: (Database) throws -> Result) throws -> Result? {
    var limit = TimeLimit(end: .now + duration)
    return try withUnsafeMutablePointer(to: &limit) { limit in
      // A thousand of SQLite's instructions, some for each row, mostly take some ten microseconds. One that reads a large value
      // takes its time.
      sqlite3_progress_handler(
        sqliteConnection, 1_000,
        { limit in limit?.assumingMemoryBound(to: TimeLimit.self).pointee.isOver() ?? false ? 1 : 0 }, limit)
      defer { sqlite3_progress_handler(sqliteConnection, 0, nil, nil) }
      do {
        return try body(self)
      } catch {
        guard limit.pointee.isSpent else { throw error }
        return nil
      }
    }
  }
}

/// When statements are ended that are not done.
private struct TimeLimit {
  let end: ContinuousClock.Instant
  private(set) var isSpent = false

  init(end: ContinuousClock.Instant) {
    self.end = end
  }

  mutating func isOver() -> Bool {
    isSpent = isSpent || .now >= end
    return isSpent
  }
}
