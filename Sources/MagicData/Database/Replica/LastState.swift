package import GRDB

/// What a transaction of this opening left, for the next one, which finds the same if nobody has written in between: neither
/// another process nor, in this one, a merge, a migration or a transaction that did not leave it here.
package final class LastState: Sendable {
  private let kept = Locked<(version: UInt32, state: DatabaseState)?>(nil)

  /// As the first thing after `BEGIN IMMEDIATE`: a transaction that has only been announced does not know yet what others have
  /// committed.
  func read(_ db: Database) throws -> DatabaseState {
    guard let state = kept(db) else { return try DatabaseState(db) }
    #if DEBUG
      let found = try DatabaseState(db)
      precondition(found == state, "a transaction left another state than it said")
    #endif
    return state
  }

  /// At the same moment: what was kept, if it is what there is.
  package func kept(_ db: Database) -> DatabaseState? {
    guard let kept = kept.withLock({ $0 }), kept.version == db.dataVersion else { return nil }
    return kept.state
  }

  /// Right after the commit, on the connection that made it.
  ///
  /// - Parameters:
  ///   - state: `nil` if it is not known.
  ///   - version: SQLite's, when the transaction had begun. It is one higher after the commit, unless something has read on
  ///     this connection since, and may have found what others have committed after it.
  func keep(_ state: DatabaseState?, begunAt version: UInt32?, _ db: Database) {
    let now = db.dataVersion
    kept.withLock { kept in
      kept = if let state, let now, let version, now == version &+ 1 { (now, state) } else { nil }
    }
  }
}
