internal import Foundation
internal import GRDB

/// Connections for what takes little: the pool takes longer to hand out one of its own than a look-up takes.
// @unchecked: `state` is touched only while `changed` is locked.
final class LookUps: @unchecked Sendable {
  private struct State {
    var idle: [DatabaseQueue] = []
    var used = 0
    var isEnded = false
  }

  private let open: @Sendable () throws -> DatabaseQueue
  private let changed = NSCondition()
  private var state = State()

  /// More than Swift's pool has threads, but on the largest of machines.
  private static let most = 64

  init(_ open: @escaping @Sendable () throws -> DatabaseQueue) {
    self.open = open
  }

  /// Reads on one of them; `nil` if none can be had, or the database is busy, which GRDB's pool waits for.
  func read<Result>(_ body: (Connection) throws -> Result) throws -> Result? {
    guard let connection = take() else { return nil }
    var isSound = false
    defer { giveBack(isSound ? connection : nil) }
    do {
      return try connection.unsafeRead { db in
        defer { isSound = !db.isInsideTransaction }
        return try body(db)
      }
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
    for connection in idle { try connection.close() }
  }

  private func take() -> DatabaseQueue? {
    let (isFree, idle) = changed.withLock { () -> (Bool, DatabaseQueue?) in
      guard !state.isEnded, state.used < LookUps.most else { return (false, nil) }
      state.used += 1
      return (true, state.idle.popLast())
    }
    guard isFree else { return nil }
    // What is the matter with the file, GRDB's pool finds out and says.
    if let connection = idle ?? (try? open()) { return connection }
    giveBack(nil)
    return nil
  }

  private func giveBack(_ connection: DatabaseQueue?) {
    changed.withLock {
      state.used -= 1
      if let connection { state.idle.append(connection) }
      // Nobody waits before.
      if state.isEnded { changed.broadcast() }
    }
  }
}
