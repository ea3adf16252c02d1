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

  static func setToken(_ token: Identifier, _ db: Database) throws {
    var update = try SQL(db, Statements.updateToken)
    try update.bind(token)
    try update.run()
  }

  /// Makes a copy a database of its own: nothing that it writes, and no object that is fetched from it, is taken for the
  /// original's (H-7, H-8, L-12).
  ///
  /// - Parameter store: what names the file from here on, if that is known.
  @discardableResult
  static func becomeReplica(_ surroundings: Surroundings, store: Identifier? = nil, _ db: Database) throws -> ReplicaChange {
    let change = try takeFreshID(surroundings, db)
    var chance = Chance(surroundings)
    var update = try SQL(db, Statements.setStore)
    try update.bind(store ?? Identifier.random(using: &chance))
    try update.run()
    return change
  }

  /// Goes on under another id. The file is the one that it was, and so are the objects that were fetched from it.
  private static func takeFreshID(_ surroundings: Surroundings, _ db: Database) throws -> ReplicaChange {
    var chance = Chance(surroundings)
    let state = try DatabaseState(db)
    try state.keepClock(db)
    try UnsentAssets.leave(state.replica, at: JournalIndex(db).frontier()[state.replica], db)
    let fresh = ReplicaID.random(using: &chance)
    let row = try JournalWriter.row(of: fresh, db)
    var update = try SQL(db, Statements.setReplica)
    try update.bind(row)
    try update.run()
    return ReplicaChange(former: state.replica, fresh: fresh)
  }

  /// What the database itself wrote moves its clock by being there (C-3), until its rows go, or are no longer its own.
  func keepClock(_ db: Database) throws { try JournalWriter(self).moveClock(to: lastStamp, db) }

  /// Goes on under a fresh id, since somebody else has written the transactions of the own one from `sequence` on otherwise.
  /// What is held of them gets an id that follows from the name of the first, and so is the same wherever that is done, and
  /// sequences from 1 on (J-31).
  ///
  /// - Parameters:
  ///   - sequence: of those above the floor; of what lies below it nothing is moved.
  ///   - withFloor: whether others may have written what the floor stands for otherwise, too: then that goes on under another
  ///     id as well (K-20).
  static func leaveReplica(
    from sequence: UInt64, withFloor: Bool, _ surroundings: Surroundings, _ db: Database
  ) throws -> ReplicaChange {
    let state = try DatabaseState(db)
    try state.keepClock(db)
    let floor = try JournalIndex(db).floor(of: state.replica)
    if withFloor, let floor {
      try leaveTail(of: state.replica, from: floor.sequence + 1, db)
      var drop = try SQL(db, Statements.dropFloor)
      try drop.bind(JournalWriter.row(of: state.replica, db))
      try drop.run()
      try standBeside(floor, of: state.replica, db)
    } else {
      try leaveTail(of: state.replica, from: max(sequence, (floor?.sequence ?? 0) + 1), db)
    }
    try MemberReplica.takeBack(state.replica, db)
    return try takeFreshID(surroundings, db)
  }

  /// What the database wrote goes on under another id, and its contents may not be sent yet.
  @discardableResult
  private static func leaveTail(of own: ReplicaID, from sequence: UInt64, _ db: Database) throws -> ReplicaID? {
    guard let branch = try moveAway(own, from: sequence, db) else { return nil }
    try UnsentAssets.leave(branch, at: JournalIndex(db).frontier()[branch], db)
    return branch
  }

  /// Holds nothing of ids beyond a sequence of each any more, since two databases have written under them (J-33).
  ///
  /// - Returns: what the database goes on as, if one was the own one.
  static func close(_ closings: [ReplicaID: UInt64], _ surroundings: Surroundings, _ db: Database) throws -> ReplicaChange? {
    var (branches, change) = (try Branches(db), ReplicaChange?.none)
    for (replica, last) in closings.sorted(by: { $0.key < $1.key }) {
      change = try close(replica, at: last, &branches, surroundings, db) ?? change
    }
    return change
  }

  private static func close(
    _ replica: ReplicaID, at last: UInt64, _ branches: inout Branches, _ surroundings: Surroundings, _ db: Database
  ) throws -> ReplicaChange? {
    let floor = try JournalIndex(db).floor(of: replica)
    let last = max(last, floor?.sequence ?? 0)
    let isNew = branches.closings[replica].map { last < $0 } ?? true
    let state = try DatabaseState(db)
    let isOwn = state.replica == replica
    if isOwn { try state.keepClock(db) }
    let branch = try isOwn ? leaveTail(of: replica, from: last + 1, db) : moveAway(replica, from: last + 1, db)
    if isNew { try branches.add(replica, from: last + 1, db) }
    if let floor, floor.sequence == last { try standBeside(floor, of: replica, db) }
    if let branch { try branches.add(replica, from: last + 1, heldAs: branch, db) }
    guard isOwn else { return nil }
    try MemberReplica.takeBack(replica, db)
    return try takeFreshID(surroundings, db)
  }

  /// Nobody can tell whether others hold the same below a floor: who lacks this end takes what is kept (K-20).
  private static func standBeside(_ floor: NamedFrontier.End, of replica: ReplicaID, _ db: Database) throws {
    let beside = NamedFrontier.End(sequence: 1, name: floor.name)
    var id = replica.branch(at: floor.name)
    while try JournalIndex.lastSequence(JournalWriter.row(of: id, db), db) > 0 {
      guard try JournalIndex(db).floor(of: id) != beside else { return }
      // Something else is held there.
      id = id.branch(at: floor.name)
    }
    var end = NamedFrontier()
    end[id] = beside
    try JournalCompaction(db, to: end).raise()
    try MemberReplica.expire(id, db)
  }

  /// Moves what is held of a replica from a sequence on to an id of its own.
  ///
  /// - Returns: that id, if anything was moved.
  static func moveAway(
    _ replica: ReplicaID, from sequence: UInt64, _ db: Database
  ) throws -> ReplicaID? {
    // One of which nothing was ever held gets no row by that.
    guard let row = try JournalIndex(db).row(of: replica), try sequence <= JournalIndex.lastSequence(row, db)
    else { return nil }
    guard let name = try JournalIndex(db).name(at: sequence, of: replica) else {
      throw MagicDataError(.notADatabase, "the database is damaged: the journal lacks rows")
    }
    let branch = replica.branch(at: name)
    let held = try JournalIndex.lastSequence(JournalWriter.row(of: branch, db), db)
    try MemberReplica.expire(branch, db)
    guard held > 0 else {
      try move(row, from: sequence, to: branch, from: 1, db)
      return branch
    }
    // It has come already, from who wrote it.
    let count = try JournalIndex.lastSequence(row, db) - sequence + 1
    let common = min(held, count)
    var double = branch.branch(at: name)
    while try JournalIndex.lastSequence(JournalWriter.row(of: double, db), db) > 0 { double = double.branch(at: name) }
    let isSame = try (0..<common).allSatisfy { offset in
      let other = try JournalIndex(db).name(at: offset + 1, of: branch)
      return try other == nil || other == JournalIndex(db).name(at: sequence + offset, of: replica)
    }
    try move(row, from: sequence, to: double, from: 1, db)
    guard isSame else {
      // Of the same beginning and another end: the two differ under the id, too, which shows when they meet.
      try MemberReplica.expire(double, db)
      return double
    }
    do {
      try db.whole { db in
        let doubles = try JournalWriter.row(of: double, db)
        if common < count { try move(doubles, from: common + 1, to: branch, from: held + 1, db) }
        try JournalCompaction.drop(doubles, db)
      }
      return branch
    } catch let error as MagicDataError where error.code == .failed {
      // Below a floor there are no names to tell it beforehand.
      try MemberReplica.expire(double, db)
      return double
    }
  }

  private static func move(
    _ row: Int64, from sequence: UInt64, to id: ReplicaID, from first: UInt64, _ db: Database
  ) throws {
    let target = try JournalWriter.row(of: id, db)
    for statement in [Statements.splitRun, Statements.moveRuns] {
      var move = try SQL(db, statement)
      try move.bind(target)
      try move.bind(row)
      try move.bind(Int64(clamping: sequence))
      try move.bind(Int64(clamping: first))
      try move.run()
    }
  }
}
