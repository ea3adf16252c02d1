internal import Dispatch
internal import Foundation
package import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// What leaves the caller's actor is never inlined into what stays on it: Swift 6.3's optimizer then forgets the way back, and
/// the caller goes on where it must not be (`IsolationTests`, which the test command runs optimized as well).
extension Store {
  @inline(never) package func read<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws
    -> Result
  {
    // In memory there is one connection, and a transaction may be open on it.
    guard database is DatabaseQueue else { return try await readPastGate(body) }
    return try await exclusively { try await readPastGate(body) }
  }

  @inline(never) package func write<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws
    -> Result
  {
    try await exclusively { try await writePastGate(body) }
  }

  /// Runs `body` in a transaction that is rolled back: it writes to the database as it is by now, and nothing of that stays.
  @inline(never) package func dryRun<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws
    -> Result
  {
    try await exclusively {
      try await Store.failing("the database could not be written") {
        try await accessing {
          try await database.writeWithoutTransaction { [self] db in
            try db.beginWriting()
            let result = try db.begun { db in
              try checkIsInPlace()
              return try body(db)
            }
            try db.undoWriting()
            return result
          }
        }
      }
    }
  }

  /// Runs `body` while no other write of this process, and no transaction, is on its way.
  nonisolated(nonsending) func exclusively<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    try checkOutsideTransaction()
    try await gate.enter()
    defer { gate.leave() }
    try Task.checkCancellation()
    let result: Result
    do {
      result = try await body()
    } catch {
      await settleAssets()
      throw error
    }
    await settleAssets()
    return result
  }

  func checkOutsideTransaction() throws {
    guard !RunningTransaction.holds(self) else {
      throw MagicDataError(
        .transaction, "within a transaction, use the one that its body was given; on the database this would wait for itself")
    }
  }

  // MARK: At length, in GRDB's queues

  private func readPastGate<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws -> Result {
    try await longReads.enter()
    defer { longReads.leave() }
    return try await Store.failing("the database could not be read") {
      try await accessing {
        try await database.read { [self] db in try HeldConnection.run(of: self) { try body(db) } }
      }
    }
  }

  private func writePastGate<Result: Sendable>(_ body: @Sendable @escaping (Database) throws -> Result) async throws -> Result {
    let assets = assets
    let result = try await Store.failing("the database could not be written") {
      try await accessing {
        try await database.write { [self] db in
          try checkIsInPlace()
          let result = try body(db)
          try assets.noteDropped(db)
          // It may have taken long.
          try checkIsInPlace()
          return result
        }
      }
    }
    commits.committed()
    return result
  }

  // MARK: Shortly, on a thread of Swift's pool

  // Off the caller's actor, but without the queue hops of GRDB's own asynchronous calls, which take longer than most reads.
  // GRDB's pool is not asked for a connection there: when it closes, it waits for reads that need such a thread to end.

  /// For what mostly takes little and may take long: on a thread of Swift's pool for a while, and what is not done by then once
  /// more as `read`. `body` only reads, and keeps nothing of what it read the first time.
  ///
  /// - Parameters:
  ///   - isOneStatement: then it sees one moment without a transaction, which takes as long as a few rows.
  ///   - pace: of reads like this one, if it is known.
  @inline(never) package func readBriefly<Result: Sendable>(
    isOneStatement: Bool = false, pace: SlowReadFlag? = nil, _ body: @Sendable @escaping (Database) throws -> Result
  ) async throws -> Result {
    let brief = surroundings.brief
    if pace?.isLong != true, let result = try await lookUpNow(within: brief, isOneStatement, body) { return result }
    guard let pace else { return try await read(body) }
    return try await read { db in try pace.noting(longerThan: brief) { try body(db) } }
  }

  /// An object's row. It takes microseconds, and one statement sees one moment by itself.
  @inline(never) @concurrent func row(_ type: MappedType, _ key: ObjectKey) async throws -> FetchedRow? {
    let failed = "the database could not be read"
    await turns.take()
    guard let lookUps else {
      return try await exclusively {
        try Store.failing(failed) {
          try accessing {
            try database.read { db in try HeldConnection.run(of: self) { try FetchedRow.find(key, type, db) } }
          }
        }
      }
    }
    func find() throws -> FetchedRow?? {
      try lookUps.read(type.selectByKey) { try FetchedRow.find(key, type, $0) }
    }
    // Without former kinds nothing of the app's own runs there.
    if let row = try Store.failing(
      failed, { try type.former.isEmpty ? find() : HeldConnection.run(of: self, find) })
    {
      return row
    }
    return try await read { db in try FetchedRow.find(key, type, db) }
  }

  /// `nil` if its statements took longer, or there is no connection.
  @inline(never) @concurrent private func lookUpNow<Result: Sendable>(
    within duration: Duration, _ isOneStatement: Bool, _ body: @Sendable @escaping (Database) throws -> Result
  ) async throws -> Result? {
    await turns.take()
    try Task.checkCancellation()
    return try Store.failing("the database could not be read") {
      try lookUps?.read { db in
        try HeldConnection.run(of: self) { () -> Result? in
          if isOneStatement { return try db.within(duration, body) }
          return try db.atOneMoment { db in try db.within(duration, body) }
        }
      } ?? nil
    }
  }

  /// Runs long work off Swift's pool; `body` calls `checkCancelled` now and then.
  @inline(never) package static func atLength<Result: Sendable>(
    _ body: @Sendable @escaping (_ checkCancelled: @escaping () throws -> Void) throws -> Result
  ) async throws -> Result {
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            with: Swift.Result { try body { if isCancelled.withLock({ $0 }) { throw CancellationError() } } })
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  /// For a caller that cannot wait, and to whom nothing can be thrown: on its own thread. In memory it sees what is not
  /// committed yet.
  func readOnCaller<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try Store.failing("the database could not be read") {
      try accessing {
        // There is one connection, and the caller may be the body of a transaction that blocks, within an access to it.
        if let memory = database as? DatabaseQueue {
          return try memory.unsafeReentrantRead { db in try HeldConnection.run(of: self) { try body(db) } }
        }
        return try database.read { db in try HeldConnection.run(of: self) { try body(db) } }
      }
    }
  }

  /// Begins a transaction on the writer's connection. The caller has passed the gate.
  ///
  /// - Parameter body: is the first to use it, and may end it. If it throws, none is open.
  @inline(never) func begin<Result: Sendable>(
    _ failed: String, _ body: @Sendable @escaping (Database) throws -> Result
  ) async throws -> Result {
    // All of it, so that no connection is closed, or stays, in a transaction that nobody ends.
    try await accessing {
      let result = try await accessNow(failed) { [self] db in try begins(db, within: 0) ? db.begun(body) : nil }
      if let result { return result }
      try await beginInTurn()
      return try await accessNow(failed) { db in try db.begun(body) }
    }
  }

  /// `false` if another process is writing, all that time.
  static func begins(_ db: Database, within seconds: TimeInterval) throws -> Bool {
    return try waiting(seconds, db.sqliteConnection) {
      do {
        try db.beginWriting()
        return true
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
        return false
      }
    }
  }

  /// Begins a transaction as above, then checks that the file is in its place, and makes room in the log.
  func begins(_ db: Database, within seconds: TimeInterval) throws -> Bool {
    guard try Store.begins(db, within: seconds) else { return false }
    try prepare(db)
    return true
  }

  /// What is written to the log of a file in whose place another one is, the next opening would take for that one's: not even
  /// room is made there.
  private func prepare(_ db: Database) throws {
    try db.begun { _ in try checkIsInPlace() }
    log?.makeRoom(db)
  }

  /// Runs statements that wait for another process so long, on a connection that waits for `busySeconds` otherwise.
  static func waiting<Result>(_ seconds: Double, _ connection: OpaquePointer?, _ body: () throws -> Result) rethrows -> Result {
    sqlite3_busy_timeout(connection, Int32(seconds * 1_000))
    defer { sqlite3_busy_timeout(connection, Int32(busySeconds * 1_000)) }
    return try body()
  }

  /// The wait for another process is not spent on a thread that the program's tasks share: the one that is waited for may be
  /// one of them.
  @inline(never) private func beginInTurn() async throws {
    try await Store.failing("the database could not be written") {
      try await database.writeWithoutTransaction { [self] db in
        try db.beginWriting()
        try prepare(db)
      }
    }
  }

  /// The writer's connection, with no transaction begun or ended. The caller is in.
  @inline(never) @concurrent func accessNow<Result: Sendable>(
    _ doing: String, _ body: @Sendable @escaping (Database) throws -> Result
  ) async throws -> Result {
    await turns.take()
    return try Store.failing(doing) {
      try database.writeWithoutTransaction { db in try HeldConnection.run(of: self) { try body(db) } }
    }
  }

  // MARK: Errors

  static func failing<Result>(_ doing: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw failure(error, doing)
    }
  }

  private static func failure(_ error: any Error, _ doing: String) -> any Error {
    // A statement of a task that is cancelled ends with an error of SQLite's.
    let isInterrupted = (error as? DatabaseError)?.resultCode == .SQLITE_INTERRUPT && Task.isCancelled
    if error is CancellationError || isInterrupted { return CancellationError() }
    if let tooDeep = MagicDataError(tooDeep: error) { return tooDeep }
    let failure = MagicDataError(error, doing)
    guard (error as? JournalError)?.code == .damaged else { return failure }
    return MagicDataError(
      failure.code, "\(failure.message); magic-replay verify says what is damaged, and can settle rows", cause: failure.cause)
  }

  private nonisolated(nonsending) static func failing<Result>(
    _ doing: String, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch {
      throw failure(error, doing)
    }
  }
}

extension MagicDataError {
  /// SQLite's own limits, which depend on how it was built.
  fileprivate init?(tooDeep error: any Error) {
    guard let error = error as? DatabaseError, error.resultCode == .SQLITE_ERROR, let message = error.message,
      message.hasPrefix("parser stack overflow") || message.hasPrefix("Expression tree is too large")
    else { return nil }
    self = .tooDeep(cause: error)
  }
}
