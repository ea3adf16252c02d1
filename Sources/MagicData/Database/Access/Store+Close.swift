internal import Dispatch
internal import Foundation
internal import GRDB
internal import GRDBSQLite

extension Store {
  func close() async throws {
    try checkOutsideItsTransaction()
    commits.close()
    try await closeConnections(empties: true)
  }

  /// Waits for those who read, which have to be given a thread of Swift's pool to end; so it is not spent on one.
  ///
  /// - Parameter empties: whether SQLite's WAL is brought into the file before.
  func closeConnections(empties: Bool = false) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async { [self] in
        continuation.resume(
          with: Result {
            accesses.end()
            try closeUnused(empties: empties)
          })
      }
    }
  }

  func closeBlocking() throws {
    try checkOutsideItsTransaction()
    guard accesses.end(within: Store.patience, commits.close) else {
      throw MagicDataError(
        .busy,
        "the database could not be closed: somebody in this process reads it or writes to it; try again when that has ended")
    }
    try closeUnused(empties: true)
  }

  /// Closes all connections, once nobody uses one and nobody can any more. Who comes while somebody does waits for that, and
  /// hears the same.
  private func closeUnused(empties: Bool) throws {
    try closed.withLock { closed in
      if closed == nil { closed = try closeAll(empties: empties) }
      try closed?.get()
    }
  }

  /// For who has the database alone.
  ///
  /// - Returns: what is to be said of it, if all are closed.
  func closeAll(empties: Bool) throws -> Result<Void, any Error> {
    let ended = Result { try lookUps?.end() }
    let brought = Result { try bringInRest(empties: empties) }
    // Connections that read go last, and leave a WAL that is in the file already: without one the next opening would have to
    // write, also of who only reads, and while another process holds the lock (GRDB 102, 739).
    do {
      try database.close()
    } catch {
      accesses.goOn()
      throw error
    }
    file?.noteClosed()
    if empties {
      log?.clear()
      scratch?.remove()
    }
    return ended.flatMap { _ in brought }
  }

  /// Nobody writes to the WAL any more.
  private func bringInRest(empties: Bool) throws {
    guard let log, let file, !log.end(empties: empties) else { return }
    guard file.isInPlace else { return try bringIn(displaced: file) }
    do {
      try bringIn(.full)
    } catch let error as DatabaseError where [.SQLITE_FULL, .SQLITE_IOERR].contains(error.resultCode) {
      let path = file.location.file.path
      throw MagicDataError(
        error,
        "the last commits to \(path) stay in its log (\(path)-wal), without which it is not whole, until it is closed again")
    } catch {
      // It is open elsewhere, or may only be read: what stays in the WAL the next opening finds there.
    }
  }

  /// Brings SQLite's WAL into the file, on the writer's own connection, also where that was the last to let go of the database.
  private func bringIn(_ mode: Database.CheckpointMode) throws {
    guard let log else { return }
    try database.unsafeReentrantWrite { db in
      try Store.waiting(0.1, db.sqliteConnection) { try log.checkpoint(mode, onWriter: db) }
    }
  }

  /// Brings SQLite's WAL into a file that does not have its name any more, or whose WAL does not. Somebody may have opened the
  /// file with another WAL, whose locks are elsewhere than this one's: so nobody else may have it open, nor open it meanwhile,
  /// by SQLite's lock on the file itself. But where another file has the name by now, no WAL may stay beside it: it would be
  /// taken for that one's.
  ///
  /// A WAL that is in the file already has nothing to bring, and is cut in any case. But where another program has begun one in
  /// its place, that stays, and nothing is done.
  ///
  /// - Throws: `busy` if nobody else finds what stays in the log.
  func bringIn(displaced file: DatabaseFile) throws {
    guard let log else { return }
    let mustClear = file.isReplaced && file.hasLog
    let isInFile = database.unsafeReentrantWrite(WriteAheadLog.isInFile)
    guard !isInFile || !file.hasOthersLog else {
      // The last connection that closes would delete the log by its name.
      return database.unsafeReentrantWrite(Store.keepLog)
    }
    // Each has a lock on it until it is closed.
    (database as? DatabasePool)?.invalidateReadOnlyConnections()
    func bring() throws {
      try database.unsafeReentrantWrite { db in
        guard let (handle, methods) = Store.file(SQLITE_FCNTL_FILE_POINTER, of: db.sqliteConnection) else { return }
        let isAlone = methods.xLock(handle, SQLITE_LOCK_EXCLUSIVE) == SQLITE_OK
        defer { _ = methods.xUnlock(handle, SQLITE_LOCK_SHARED) }
        guard isAlone || isInFile || mustClear else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        try Store.waiting(0.1, db.sqliteConnection) { try log.checkpoint(.truncate, onWriter: db) }
      }
    }
    do {
      // A connection may be closing just now.
      try Store.retrying(for: .milliseconds(100), where: { _ in true }, bring)
    } catch {
      guard file.hasLogAlone else { return }
      let path = file.location.file.path
      throw MagicDataError(
        .busy,
        """
        the last commits to \(path) are in its log alone (\(path)-wal): the file was moved, or the log removed, while it was open, and it is open elsewhere; close it there, and then move the file back \
        beside that log, and open it
        """, cause: error)
    }
  }
}
