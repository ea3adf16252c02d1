internal import GRDB
package import MagicJournal

/// The id that a database has left, and the one under which it goes on.
package struct ReplicaChange: Sendable, Equatable {
  package let former, fresh: ReplicaID
}

/// A replica id is one file's alone, and no address is given twice (L-12, H-7, H-8).
extension Store {
  /// What an opening knows of the file's own id.
  final class Identity: Sendable {
    private struct State {
      /// Whether this opening has put a token of its own into the file: nobody can have put another file in its place since.
      var isSure = false
      var change: ReplicaChange?
      /// What is to name a twin's file.
      var store: Identifier?
    }

    /// `nil` for a database that goes away with its opening.
    private let location: DatabaseLocation?
    private let surroundings: Surroundings
    private let state = Locked(State())

    init(of location: DatabaseLocation?, _ surroundings: Surroundings) {
      self.location = location
      self.surroundings = surroundings
    }

    func takeChange() -> ReplicaChange? {
      state.withLock { state in
        defer { state.change = nil }
        return state.change
      }
    }

    /// Whether the file is a copy, or was put back from a backup, and has an id that may be in use elsewhere.
    func isTwin(_ db: Database) throws -> Bool {
      guard let location, !state.withLock(\.isSure) else { return false }
      return try !Identity.isOwn(DatabaseState.token(db), location, ReplicaMark.beside(location))
    }

    /// What names the file to the objects that are fetched from it: to those of a twin also before it has become a replica of
    /// its own.
    func store(_ db: Database) throws -> Identifier {
      guard try isTwin(db) else { return try DatabaseState(db).store }
      var chance = Chance(surroundings)
      let next = Identifier.random(using: &chance)
      return state.withLock { state in
        let known = state.store ?? next
        state.store = known
        return known
      }
    }

    private static func isOwn(_ token: Identifier, _ location: DatabaseLocation, _ mark: ReplicaMark?) -> Bool {
      mark?.isOf(location, token) ?? false || FileIdentity(of: location.file)?.token == token
    }

    /// The database was made just now.
    func markNew(_ db: Database) throws {
      guard let location else { return }
      ReplicaMark([try DatabaseState.token(db)], of: location)?.write(beside: location)
    }

    /// Within a transaction: a twin becomes a replica of its own, and the file gets another token.
    ///
    /// - Returns: whether nothing had to be written for it.
    @discardableResult
    func assure(_ db: Database) throws -> Bool {
      guard let location, !state.withLock(\.isSure) else { return true }
      let (token, before) = (try DatabaseState.token(db), ReplicaMark.beside(location))
      let isTwin = !Identity.isOwn(token, location, before)
      let change = isTwin ? try DatabaseState.becomeReplica(surroundings, store: state.withLock(\.store), db) : nil
      var chance = Chance(surroundings)
      let next = Identifier.random(using: &chance)
      // Until this is committed, the old one is in the file: also if it never is. A twin's is not its own, and it stays one
      // until then.
      let marked = isTwin ? [next] : [token, next]
      let isMarked = ReplicaMark(marked, of: location)?.write(beside: location) ?? false
      // Where no mark can be written the one that is there stays right, and a twin is known by its file alone from here on.
      guard isMarked || isTwin else {
        state.withLock { $0.isSure = true }
        return true
      }
      let written = isMarked ? next : FileIdentity(of: location.file)?.token ?? next
      try DatabaseState.setToken(written, db)
      db.afterNextTransaction { [state] db in
        // As in `keep`.
        guard (try? DatabaseState.token(db)) == written else { return }
        // Unless somebody else has begun to change it again.
        let tokens = ReplicaMark.beside(location)?.tokens
        if isMarked, tokens == nil || tokens == marked || tokens == [token] {
          ReplicaMark([next], of: location)?.write(beside: location)
        }
        state.withLock { $0.isSure = true }
      }
      if let change { keep(change, db) }
      return false
    }

    /// Gives up the id from a transaction on, of which somebody else has another (L-11).
    func leave(from sequence: UInt64, withFloor: Bool, _ db: Database) throws {
      keep(try DatabaseState.leaveReplica(from: sequence, withFloor: withFloor, surroundings, db), db)
    }

    /// Closes ids, of which one may be the own one (J-33).
    func close(_ closings: [ReplicaID: UInt64], _ db: Database) throws {
      if let change = try DatabaseState.close(closings, surroundings, db) { keep(change, db) }
    }

    /// For who asks what became of the id. GRDB tells of the next transaction that it sees end, which is another one where a
    /// COMMIT failed or SQLite has rolled back by itself (H-34): what was committed the database alone knows.
    private func keep(_ change: ReplicaChange, _ db: Database) {
      db.afterNextTransaction { [state] db in
        guard (try? DatabaseState(db).replica) == change.fresh else { return }
        state.withLock { state in
          // Of one that nobody was told of nobody asks.
          state.change = ReplicaChange(former: state.change?.former ?? change.former, fresh: change.fresh)
        }
      }
    }
  }

  /// A twin that could not become a replica of its own when it was opened does so before it takes part in an exchange.
  package func assureReplica() async throws {
    guard try await read({ [identity] db in try identity.isTwin(db) }) else { return }
    try await write { [identity] db in _ = try identity.assure(db) }
  }

  /// Within a transaction: gives up the own id from a transaction on, of which somebody else has another (L-11).
  ///
  /// - Parameter withFloor: whether others may have written what the floor stands for otherwise, too.
  package func leaveReplica(from sequence: UInt64, withFloor: Bool, _ db: Connection) throws {
    try identity.leave(from: sequence, withFloor: withFloor, db)
  }

  /// Within a transaction: holds nothing of ids beyond a sequence of each any more, since two databases have written under them
  /// (J-33).
  package func close(_ closings: [ReplicaID: UInt64], _ db: Connection) throws {
    try identity.close(closings, db)
  }

  /// Within a transaction: what is held of another replica beyond a sequence goes on under an id of its own (J-31), since it
  /// may not be what others have there.
  package func moveAway(_ replica: ReplicaID, after last: UInt64, _ db: Connection) throws {
    _ = try DatabaseState.moveAway(replica, from: last + 1, db)
  }

  /// The id that this opening took in place of one that is in use elsewhere; told once.
  package func takeReplicaChange() -> ReplicaChange? { identity.takeChange() }

  /// What is known of the file's id when it is opened. If somebody else is writing to a twin, the first write has to do it.
  static func assure(_ identity: Identity, _ file: DatabaseFile?, _ database: any DatabaseWriter) throws {
    guard try database.read(identity.isTwin) else { return }
    try? database.writeWithoutTransaction { db in
      guard try begins(db, within: 0) else { return }
      try db.committed { db in
        // Else the mark beside it is another file's.
        try file?.checkIsInPlace()
        try identity.assure(db)
      }
    }
  }
}
