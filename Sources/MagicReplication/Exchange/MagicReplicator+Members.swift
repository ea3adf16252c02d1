package import Foundation
package import MagicData
package import MagicJournal

extension FolderRemote {
  /// Says what was pushed.
  func sayPushed(_ pushed: NamedFrontier, _ magic: MagicData, _ dataSet: DataSetID) async throws {
    // A closing that is heard of now would be said before what it moves was sent: the next pull hears of it.
    try await magic.storeMembers(from: acknowledged(dataSet), closing: false) { [isForTheTime] members, now, db in
      // To say it in what may come to nobody shows nothing of what others have (K-5).
      if !isForTheTime { try members.acknowledge(pushed, at: now, heldIn: db) }
    }
    try await writeAcknowledgement(of: magic, pushed: pushed)
  }

  package func acknowledge(_ pushed: NamedFrontier, for magic: MagicData) async throws -> Bool {
    do {
      try await sayPushed(pushed, magic, dataSet())
      return true
    } catch let error as MagicDataError where error.code == .notAllowed {
      return false
    }
  }

  /// - Parameter pushed: what was pushed here just now. Without that nothing is said to be here, and no closing, that was not
  ///   said before: it may be elsewhere.
  fileprivate func writeAcknowledgement(of magic: MagicData, pushed: NamedFrontier? = nil) async throws {
    let store = magic.store
    let now = max(0, store.surroundings.milliseconds())
    try await store.read { db in
      var members = try Members(db)
      if let pushed {
        guard try JournalIndex(db).holds(pushed) else { return }
        // Another process may have pushed more to another remote meanwhile.
        members.acknowledge(pushed, at: now)
      }
      var file = AckFile(members)
      let dataSet = try DatabaseState(db).dataSet
      let there = acknowledged(dataSet, by: file.replica)
      if pushed == nil {
        file.closings = there?.closings ?? [:]
        file.members[file.replica]?.acknowledged = there?.members[file.replica]?.acknowledged
      }
      guard there != file else { return }
      // What it says was stored is on the disk (L-13).
      try store.syncToDisk(db)
      try write(file, dataSet)
    }
  }
}

extension MagicData {
  /// Says what was pushed, as one who has no folder for it, and takes what others say in answer.
  ///
  /// - Parameters:
  ///   - limit: of the bytes of what is said.
  ///   - exchange: gives what is said here to somebody, and returns what is said there.
  package func acknowledge(
    _ dataSet: DataSetID, _ pushed: NamedFrontier, atMost limit: Int, _ exchange: (Data) async throws -> [Data]
  ) async throws {
    try await storeMembers { members, now, db in try members.acknowledge(pushed, at: now, heldIn: db) }
    let said = try await store.read { db in
      // What it says was stored is on the disk (L-13).
      try self.store.syncToDisk(db)
      return try AckFile(Members(db)).bytes(dataSet, atMost: limit)
    }
    let answers = try await exchange(said).compactMap { AckFile($0, dataSet) }
    try await storeMembers { members, _, _ in
      for file in answers { members.learn(file) }
    }
  }

  /// Says up to which time stamps are accepted (C-5), and nothing else; `nil` if that is not beyond what is known where it is
  /// to be said.
  package func sayAccepted(beyond known: Int64, _ dataSet: DataSetID) async throws -> (said: Data, time: Int64)? {
    let (replica, time) = try await store.readBriefly { db in (try DatabaseState(db).replica, try AcceptedTime.read(db)) }
    guard time > known else { return nil }
    return (try AckFile(replica: replica, members: [:], acceptedTime: time).bytes(dataSet), time)
  }

  /// Takes what others say into the database (K-7).
  func learnMembers(_ said: FolderAcknowledgements) async throws {
    // What came over a socket was put into a folder that has none.
    if !said.files.isEmpty { try await storeMembers(from: said) { _, _, _ in } }
  }

  /// Keeps what is said in a folder of the database's data set, and `change` says, of members.
  ///
  /// - Parameter most: of how many replicas something may be held once what is closed was moved to other ids, if it is not of
  ///   more already.
  func storeMembers(
    from said: FolderAcknowledgements? = nil, closing: Bool = true, replicasAtMost most: Int? = nil,
    _ change: @Sendable @escaping (inout Members, Int64, Connection) throws -> Void
  ) async throws {
    let now = store.surroundings.milliseconds()
    let changed: @Sendable (Connection) throws -> Members = { db in
      var members = try Members(db)
      if let said, try DatabaseState(db).dataSet == said.dataSet {
        for file in said.inOrder { members.learn(file, closing: closing) }
      }
      try change(&members, max(0, now), db)
      return members
    }
    guard try await store.read({ db in try changed(db).hasNews }) else { return }
    try await store.write { [store] db in
      var members = try changed(db)
      try members.store(db)
      guard !members.newClosings.isEmpty else { return }
      try db.keepingReplicas(atMost: most) { try store.close(members.newClosings, db) }
    }
  }
}

extension Members {
  /// Says what was exchanged, if all of it is held as it was. What another process has moved to another id meanwhile (J-31) is
  /// held under the old one no more: then the next push says what there is, under the id that it is said of.
  mutating func acknowledge(
    _ exchanged: NamedFrontier, digest: Identifier? = nil, at now: Int64, heldIn db: Connection
  ) throws {
    if try JournalIndex(db).holds(exchanged) { acknowledge(exchanged, digest: digest, at: now) }
  }

  /// Those that the database knows, and would know if it took what is said in a folder; of what that closes nothing is moved.
  init(_ db: Connection, hearing said: FolderAcknowledgements?) throws {
    self = try Members(db)
    if let said, try DatabaseState(db).dataSet == said.dataSet {
      for file in said.inOrder { learn(file, closing: false) }
    }
  }
}

extension MagicReplicator {
  /// Says that a replica which has been silent is not to be waited for (K-9). It is waited for again when it says what it has.
  ///
  /// In a folder it is told to all; otherwise it is known to this database, and tells others with its next push to a folder.
  ///
  /// - Parameter replica: the first digits of its id, at least four, or its name; no other replica that the database knows may
  ///   be meant so, nor, where it knows none, another whose id the remote shows.
  /// - Returns: its id.
  /// - Throws: `MagicDataError` with `notFound` if no replica is known by these digits or that name, to the database or the
  ///   remote, or several are; `notAllowed` for this database's own.
  @discardableResult
  public func expire(_ replica: String) async throws -> String {
    let folder = remote as? FolderRemote
    let dataSet = try folder?.dataSet()
    if let dataSet { _ = try await agreed(dataSet) }
    let said = try dataSet.flatMap { try folder?.acknowledged($0) }
    let state = try await state()
    let found = try await magic.expire(replica, hearing: said) {
      // The remote may hold what the database has not heard of yet, if they are of one data set by now.
      state.isSettled ? try await status().peers.compactMap { ReplicaID($0.replica) } : []
    }
    try await folder?.writeAcknowledgement(of: magic)
    return found
  }
}

extension MagicData {
  /// Expires a replica that the database knows by itself, as one that is served does.
  package func expire(_ replica: String) async throws -> String { try await expire(replica, hearing: nil) { [] } }

  /// - Parameter others: who else may be meant, if the database knows none so.
  fileprivate func expire(
    _ replica: String, hearing said: FolderAcknowledgements?, _ others: () async throws -> [ReplicaID]
  ) async throws -> String {
    let found = try await self.replica(meantBy: replica, hearing: said, others)
    let own = try await store.readBriefly { db in try DatabaseState(db).replica }
    guard found != own else {
      throw MagicDataError(.notAllowed, "\(found) is this database's own id; expire it from another replica")
    }
    // No exchange: what somebody has closed moves nothing yet.
    try await storeMembers(from: said, closing: false) { members, now, _ in members.expire(found, at: now) }
    return found.description
  }
}
