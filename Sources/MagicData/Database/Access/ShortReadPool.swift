internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// Connections for short reads: GRDB's pool takes longer to hand out a connection than a look-up takes.
// @unchecked: `state` is touched only while `changed` is locked.
final class ShortReadPool: @unchecked Sendable {
  private struct State {
    var idle: [Reader] = []
    var used = 0
    var isEnded = false
  }

  /// A connection that one thread has at a time.
  private final class Reader {
    let queue: DatabaseQueue
    /// For statements that are kept here, with which no other than SQLite's own calls are made: these do not ask in which queue
    /// they are.
    let db: Connection
    // Of the thread that has it.
    @exclusivity(unchecked) private var kept: [(sql: String, statement: Statement)] = []

    /// What an app looks up again and again is of few types.
    private static let most = 8

    init(_ queue: DatabaseQueue) {
      self.queue = queue
      db = queue.unsafeRead { $0 }
    }

    /// Whether no transaction was left open.
    var isSound: Bool { sqlite3_get_autocommit(db.sqliteConnection) != 0 }

    func statement(_ sql: String) throws -> Statement {
      if let known = kept.first(where: { $0.sql == sql }) { return known.statement }
      let statement = try queue.unsafeRead { try $0.cachedStatement(sql: sql) }
      if kept.count == Reader.most { kept.removeFirst() }
      kept.append((sql, statement))
      return statement
    }

    func close() throws {
      // SQLite closes no connection that has statements.
      kept = []
      try queue.close()
    }
  }

  private let open: @Sendable () throws -> DatabaseQueue
  private let changed = NSCondition()
  // As in `Locked`.
  @exclusivity(unchecked) private var state = State()

  /// More than Swift's pool has threads, but on the largest of machines.
  private static let most = 64

  init(_ open: @escaping @Sendable () throws -> DatabaseQueue) {
    self.open = open
  }

  /// Reads on one of them; `nil` if none can be had, or the database is busy, which GRDB's pool waits for.
  func read<Result>(_ body: (Connection) throws -> Result) throws -> Result? {
    try reading { reader in try reader.queue.unsafeRead(body) }
  }

  /// Runs one statement, without the way through GRDB's queue, which is a sixth of what a look-up takes.
  func read<Result>(_ sql: String, _ body: (consuming SQL) throws -> Result) throws -> Result? {
    try reading { reader in try body(SQL(reader.db, reader.statement(sql))) }
  }

  private func reading<Result>(_ body: (Reader) throws -> Result) throws -> Result? {
    guard let reader = take() else { return nil }
    defer { giveBack(reader.isSound ? reader : nil) }
    do {
      return try body(reader)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      return nil
    }
  }

  /// Waits for those who read, and closes all.
  func end() throws {
    let idle = changed.withLock {
      state.isEnded = true
      while state.used > 0 { changed.wait() }
      defer { state.idle = [] }
      return state.idle
    }
    for reader in idle { try reader.close() }
  }

  private func take() -> Reader? {
    let (isFree, idle) = changed.withLock { () -> (Bool, Reader?) in
      guard !state.isEnded, state.used < ShortReadPool.most else { return (false, nil) }
      state.used += 1
      return (true, state.idle.popLast())
    }
    guard isFree else { return nil }
    // What is the matter with the file, GRDB's pool finds out and says.
    if let reader = idle ?? (try? Reader(open())) { return reader }
    giveBack(nil)
    return nil
  }

  private func giveBack(_ reader: Reader?) {
    changed.withLock {
      state.used -= 1
      if let reader { state.idle.append(reader) }
      // Only `end` waits.
      if state.isEnded { changed.broadcast() }
    }
  }
}
