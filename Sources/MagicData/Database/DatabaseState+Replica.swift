internal import GRDB
internal import MagicJournal

extension DatabaseState {
  /// What tells the file from an older one of itself.
  static func token(_ db: Database) throws -> Identifier {
    var select = try SQL(db, Statements.selectToken)
    guard try select.step() else {
      throw MagicDataError(.notADatabase, "the database is damaged: it does not know its own replica")
    }
    return try select.identifier(0)
  }

  static func renewToken(_ surroundings: Surroundings, _ db: Database) throws -> Identifier {
    var chance = Chance(surroundings)
    let token = Identifier.random(using: &chance)
    var update = try SQL(db, Statements.updateToken)
    try update.bind(token)
    try update.run()
    return token
  }

  /// Makes a copy a database of its own: nothing that it writes, and no object that is fetched from it, is taken for the original's (H-7, H-8, L-12).
  @discardableResult
  static func becomeReplica(_ surroundings: Surroundings, _ db: Database) throws -> ReplicaID {
    var chance = Chance(surroundings)
    try DatabaseState(db).keepClock(db)
    let fresh = ReplicaID.random(using: &chance)
    let row = try JournalWriter.row(of: fresh, db)
    var update = try SQL(db, Statements.becomeReplica)
    try update.bind(row)
    try update.bind(Identifier.random(using: &chance))
    try update.run()
    return fresh
  }

  /// What the database itself wrote moves its clock by being there (C-3), until its rows go, or are no longer its own.
  func keepClock(_ db: Database) throws { try JournalWriter(self).moveClock(to: lastStamp, db) }

  /// Goes on under a fresh id, since somebody else has written the transactions of the own one from `sequence` on otherwise. What is held of them gets an id
  /// that follows from the name of the first, and so is the same wherever that is done, and sequences from 1 on (J-31).
  static func leaveReplica(from sequence: UInt64, _ surroundings: Surroundings, _ db: Database) throws -> ReplicaID {
    let state = try DatabaseState(db)
    try state.keepClock(db)
    if sequence <= state.lastSequence {
      guard let name = try JournalIndex(db).name(at: sequence, of: state.replica) else {
        throw MagicDataError(.notADatabase, "the database is damaged: the journal lacks rows")
      }
      let branch = state.replica.branch(at: name)
      try move(state.replicaRow, from: sequence, to: branch, db)
      // Nobody writes under it, so nobody acknowledges under it (K-8).
      var member = MemberReplica(branch)
      member.expired = max(0, surroundings.milliseconds())
      try member.store(db)
    }
    return try becomeReplica(surroundings, db)
  }

  private static func move(_ replica: Int64, from sequence: UInt64, to id: ReplicaID, _ db: Database) throws {
    let row = try JournalWriter.row(of: id, db)
    guard try JournalIndex.lastSequence(row, db) == 0 else {
      throw MagicDataError(
        .fork, "the transactions of a copy have come under an id of their own already (\(id)), in another number")
    }
    var split = try SQL(db, Statements.splitRun)
    try split.bind(row)
    try split.bind(replica)
    try split.bind(Int64(clamping: sequence))
    try split.run()
    var move = try SQL(db, Statements.moveRuns)
    try move.bind(row)
    try move.bind(Int64(clamping: sequence))
    try move.bind(replica)
    try move.run()
  }
}

extension ReplicaID {
  /// The id of a branch of this one, of which this is the first name.
  fileprivate func branch(at name: TransactionName) -> ReplicaID {
    var writer = ByteWriter()
    writer.append(Array("magicdata branch".utf8))
    encode(to: &writer)
    name.encode(to: &writer)
    return ReplicaID(SHA256.hash(writer.bytes).prefix(16)) ?? self
  }
}
