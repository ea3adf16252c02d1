internal import GRDB

extension Store {
  /// The size of the file and of all that is still in SQLite's WAL.
  package func fileBytes() async throws -> Int {
    try await read { db in try Store.number(db, Statements.selectSize) }
  }

  /// Gives back the space of what was deleted, if it is much.
  package func shrink() async throws {
    let (free, pages) = try await read { db in
      (try Store.number(db, "PRAGMA freelist_count"), try Store.number(db, "PRAGMA page_count"))
    }
    // Below this another write takes it again soon.
    guard free > 16, free > pages / 8 else { return }
    do {
      try await exclusively {
        try await accessing {
          try await database.writeWithoutTransaction { [self] db in
            try checkIsInPlace()
            try db.execute(sql: "VACUUM")
            // Whoever still reads keeps the WAL as it is, until the next checkpoint.
            try? log?.checkpoint(.truncate, onWriter: db)
          }
        }
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      throw MagicDataError(error, "the database could not be made smaller; what was given up is gone all the same")
    }
  }

  private static func number(_ db: Connection, _ sql: String) throws -> Int {
    var select = try SQL(db, sql)
    return try select.step() ? select.int(0) : 0
  }
}
