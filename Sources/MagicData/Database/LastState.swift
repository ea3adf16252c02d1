internal import GRDB

/// What a transaction of this opening left, for the next one, which finds the same if nobody has written in between: neither another process nor, in this one, a merge, a migration or a
/// transaction that did not leave it here.
final class LastState: Sendable {
  private let kept = Locked<(count: UInt32, state: DatabaseState)?>(nil)

  /// As the first thing in a transaction that writes.
  func read(_ db: Database) throws -> DatabaseState {
    guard let kept = kept.withLock({ $0 }), kept.count == db.changeCount else { return try DatabaseState(db) }
    assert((try? DatabaseState(db)) == kept.state, "a transaction left another state than it said")
    return kept.state
  }

  /// Right after the commit, on the connection that made it.
  func keep(_ state: DatabaseState?, _ db: Database) {
    let count = db.changeCount
    kept.withLock { kept in kept = if let state, let count { (count, state) } else { nil } }
  }
}
