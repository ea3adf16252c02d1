internal import Foundation
package import GRDB

/// Access for callers that hold up their thread.
extension Store {
  /// For how long a thread that others may be in need of, for what is waited for to end, is held up: a thread of Swift's pool,
  /// or the main one.
  private static let sharedThreadSeconds: TimeInterval = 1

  static var patience: TimeInterval {
    // Where there is a task, its thread is one of few that all tasks share.
    let isShared = Thread.isMainThread || withUnsafeCurrentTask { $0 != nil }
    return isShared ? sharedThreadSeconds : busySeconds
  }

  func exclusivelyBlocking<Result>(_ body: () throws -> Result) throws -> Result {
    try HeldConnection.checkNone(of: self)
    try checkOutsideTransaction()
    guard gate.enter(within: Store.patience) else {
      throw MagicDataError(
        .busy,
        """
        the database is being written by somebody else of this process; try again, or await a call that does not block: on the main thread, and \
        in a task, a blocking one waits for a second at most, since what it waits for may need the thread
        """)
    }
    defer {
      settleAssetsBlocking()
      gate.leave()
    }
    try Task.checkCancellation()
    return try body()
  }

  package func readBlocking<Result>(_ body: (Database) throws -> Result) throws -> Result {
    func read() throws -> Result {
      try Store.failing("the database could not be read") {
        try accessing { try database.read { db in try HeldConnection.run(of: self) { try body(db) } } }
      }
    }
    // In memory there is one connection, and a transaction may be open on it.
    return database is DatabaseQueue ? try exclusivelyBlocking(read) : try read()
  }

  /// Writes on the caller's thread, when its turn has come.
  package func writeInTurnBlocking<Result>(_ body: (Database) throws -> Result) throws -> Result {
    defer { commits.committed() }
    return try exclusivelyBlocking {
      try writeBlocking { db in
        let result = try body(db)
        try assets.noteDropped(db)
        return result
      }
    }
  }

  /// Runs `body` in an SQLite transaction, which is rolled back if it throws; its own error comes out as it is. The caller has
  /// passed the gate.
  package func writeBlocking<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let doing = "the database could not be written"
    let result = try Store.failing(doing) {
      try accessing {
        try database.writeWithoutTransaction { db -> Swift.Result<Result, any Error> in
          guard try begins(db, within: Store.patience) else {
            throw MagicDataError(.busy, "\(doing): another process holds it; try again")
          }
          do {
            let result = try body(db)
            // It may have taken long.
            try checkIsInPlace()
            try Store.failing(doing) { try db.endWriting() }
            return .success(result)
          } catch {
            // SQLite may have rolled back by itself; if this fails as well, it does when the connection closes.
            try? db.undoWriting()
            return .failure(error)
          }
        }
      }
    }
    return try result.get()
  }
}
