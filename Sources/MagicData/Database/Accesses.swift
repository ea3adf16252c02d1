internal import Foundation
internal import GRDB

/// Who uses the connections of a database. It is closed when nobody does, and whoever comes then gets an error: neither GRDB nor SQLite look everywhere whether a connection is
/// still open, and GRDB's pool, while it closes, holds up the threads of those who ask it for one.
// @unchecked: `state` is touched only while `changed` is locked.
final class Accesses: @unchecked Sendable {
  private struct State {
    var count = 0
    /// How many wait for it to be 0, or have seen that.
    var enders = 0
  }

  private let changed = NSCondition()
  private var state = State()

  /// One access, on the caller's thread.
  func during<Result>(_ body: () throws -> Result) throws -> Result {
    try enter()
    defer { leave() }
    return try body()
  }

  /// One access, for as long as its caller may have a connection.
  nonisolated(nonsending) func during<Result>(_ body: nonisolated(nonsending) () async throws -> Result) async throws -> Result
  {
    try enter()
    defer { leave() }
    return try await body()
  }

  /// Lets nobody in any more, and waits for those who are.
  ///
  /// - Returns: `false` if that took longer: then all goes on as before.
  func end(within seconds: TimeInterval? = nil) -> Bool {
    changed.withLock {
      let limit = seconds.map { Date(timeIntervalSinceNow: $0) }
      state.enders += 1
      while state.count > 0 {
        guard let limit else {
          changed.wait()
          continue
        }
        guard changed.wait(until: limit) else {
          state.enders -= 1
          return false
        }
      }
      return true
    }
  }

  /// What could not be closed is used on.
  func goOn() { changed.withLock { state.enders -= 1 } }

  private func enter() throws {
    try changed.withLock {
      guard state.enders == 0 else { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the database is closed") }
      state.count += 1
    }
  }

  private func leave() {
    changed.withLock {
      state.count -= 1
      if state.enders > 0 { changed.broadcast() }
    }
  }
}
