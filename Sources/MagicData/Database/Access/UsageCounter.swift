internal import Foundation

/// Counts the uses of a database's connections. Closing waits until there are none, and a later use gets an error: neither
/// GRDB nor SQLite always check that a connection is open, and GRDB's pool blocks whoever asks for one while it closes.
// @unchecked: `state` is touched only while `changed` is locked.
final class UsageCounter: @unchecked Sendable {
  private struct State {
    var count = 0
    /// How many calls of `end` keep new uses out.
    var enders = 0
  }

  static let closed = MagicDataError(.failed, "the database is closed")

  private let changed = NSCondition()
  private var state = State()

  /// - Parameter isPart: whether it is within another access, which is waited for.
  func enter(isPart: @autoclosure () -> Bool) throws {
    try changed.withLock {
      guard state.enders == 0 || isPart() else {
        throw UsageCounter.closed
      }
      state.count += 1
    }
  }

  func leave() {
    changed.withLock {
      state.count -= 1
      if state.count == 0 { changed.broadcast() }
    }
  }

  /// Lets nobody in any more, and waits for those who are.
  func end() {
    changed.withLock {
      state.enders += 1
      while state.count > 0 { changed.wait() }
    }
  }

  /// Waits for a moment in which nobody is in, and lets nobody in from then on.
  ///
  /// - Parameter ended: is called in that moment.
  /// - Returns: `false` if there was none for so long.
  func end(within seconds: TimeInterval, _ ended: () -> Void) -> Bool {
    changed.withLock {
      let limit = Date(timeIntervalSinceNow: seconds)
      while state.count > 0 { guard changed.wait(until: limit) else { return false } }
      ended()
      state.enders += 1
      return true
    }
  }

  /// Takes `end` back, for a database that could not be closed.
  func goOn() { changed.withLock { state.enders -= 1 } }
}

extension Store {
  /// One access, on the caller's thread, which has no other connection of the database than a transaction's.
  func accessing<Result>(_ body: () throws -> Result) throws -> Result {
    try HeldConnection.checkNone(of: self)
    try accesses.enter(isPart: isInItsTransaction)
    defer { accesses.leave() }
    return try body()
  }

  /// One access, for as long as its caller may have a connection.
  nonisolated(nonsending) func accessing<Result>(_ body: nonisolated(nonsending) () async throws -> Result) async throws
    -> Result
  {
    try accesses.enter(isPart: isInItsTransaction)
    defer { accesses.leave() }
    return try await body()
  }

  /// For who waits until nobody is in.
  func checkOutsideItsTransaction() throws {
    try HeldConnection.checkNone(of: self)
    guard !isInItsTransaction else {
      throw MagicDataError(
        .transaction, "within a transaction the database cannot be closed; it would wait for the transaction to end")
    }
  }

  /// Whether this is the body of a transaction, which is an access.
  private var isInItsTransaction: Bool { RunningTransaction.isOf(self) }
}
