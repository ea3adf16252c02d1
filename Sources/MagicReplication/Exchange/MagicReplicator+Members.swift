internal import MagicData
internal import MagicJournal

extension MagicReplicator {
  /// Takes what others say into the database (K-7). Costs a look at the files if there is nothing new.
  func learnMembers() async throws {
    try await storeMembers { _, _ in }
  }

  /// Says in the remote what was pushed, or that somebody was expired.
  func acknowledge(_ pushed: NamedFrontier) async throws {
    try await storeMembers { members, now in members.acknowledge(pushed, at: now) }
    try await writeAcknowledgement()
  }

  private func storeMembers(
    _ change: @Sendable @escaping (inout Members, Int64) throws -> Void
  ) async throws {
    let (remote, now) = (remote, magic.store.surroundings.milliseconds())
    let changed: @Sendable (Connection) throws -> Members = { db in
      var members = try Members(db)
      for file in try remote.acknowledged(DatabaseState(db).dataSet).values { members.learn(file.members.values) }
      try change(&members, max(0, now))
      return members
    }
    guard try await magic.store.read({ db in try !changed(db).news.isEmpty }) else { return }
    try await magic.store.write { db in
      var members = try changed(db)
      try members.store(db)
    }
  }

  private func writeAcknowledgement() async throws {
    let (remote, store) = (remote, magic.store)
    try await store.read { db in
      let (members, dataSet) = (try Members(db), try DatabaseState(db).dataSet)
      let file = AckFile(replica: members.own, members: members.all)
      let there = try remote.acknowledged(dataSet)[members.own]
      guard there != file else { return }
      // What it says was stored is on the disk (L-13).
      try store.syncToDisk(db)
      try remote.write(file, dataSet)
    }
  }

  /// Says that a replica which has been silent is not to be waited for (K-9). It is waited for again when it says what it has.
  ///
  /// - Parameter replica: the first digits of its id, at least four; no other known replica's id may begin so.
  /// - Returns: its id.
  /// - Throws: `MagicDataError` with `notFound` if no replica is known by these digits, or several are; `notAllowed` for this database's own.
  @discardableResult
  public func expire(_ replica: String) async throws -> String {
    _ = try await agreed(remote.dataSet())
    try await learnMembers()
    let own = try await state().replica
    let known = try await magic.store.read { db in
      Set(try JournalReader(db).frontier().replicas + Members(db).all.keys).filter {
        $0.description.hasPrefix(replica.lowercased())
      }
    }
    guard replica.count >= 4, known.count == 1, let found = known.first else {
      throw MagicDataError(
        .notFound,
        known.count > 1
          ? "several replicas are known whose ids begin with \(replica); name more digits" : "no replica is known by \(replica)"
      )
    }
    guard found != own else {
      throw MagicDataError(.notAllowed, "\(found) is this database's own id; expire it from another replica")
    }
    try await storeMembers { members, now in members.expire(found, at: now) }
    try await writeAcknowledgement()
    return found.description
  }
}
