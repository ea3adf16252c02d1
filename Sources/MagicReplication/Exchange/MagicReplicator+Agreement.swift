internal import MagicData
internal import MagicJournal

/// Who holds the same folds it to the same (L-23).
extension MagicReplicator {
  /// Looks what the database folds to, if it is time (K-21), and says it.
  ///
  /// - Parameter report: of an exchange that is over.
  /// - Returns: who holds the same and folds it to something else (K-22): replicas, or the remote; `nil` if it is not known
  ///   what the database folds to.
  /// - Throws: `MagicDataError` with `notADatabase` if it cannot be read; the next look is a day later.
  func differing(_ remote: any OpenRemote, after report: SyncReport) async throws -> [String]? {
    // What may come to nobody says nothing.
    if let folder = remote as? FolderRemote, folder.isForTheTime { return nil }
    let (pushed, now) = (report.delivery.pushed, max(0, magic.store.surroundings.milliseconds()))
    @Sendable func didLook(_ hasDiffered: Bool) async throws {
      try await magic.store.write { db in try DigestSchedule.looked(at: now, hasDiffered: hasDiffered, db) }
    }
    var (members, looked): (Members, Identifier?)
    do {
      (members, looked) = try await magic.store.read { db in
        let members = try Members(db)
        // What was written since is looked at after the next exchange.
        return (members, try members.owesDigest(of: pushed, at: now, db) ? JournalReader(db).digest(at: pushed.frontier) : nil)
      }
    } catch let error as MagicDataError where error.code == .notADatabase {
      try await didLook(true)
      throw error
    }
    var theirs: String?
    if let looked {
      try await magic.storeMembers { members, now, db in
        try members.acknowledge(pushed, digest: looked, at: now, heldIn: db)
      }
      if try await !remote.acknowledge(pushed, for: magic) { theirs = try await remote.digest(at: pushed.frontier) }
      members = try await magic.store.read { db in try Members(db) }
    }
    guard members.digest(of: pushed) != nil else { return nil }
    var differing = members.differing(at: pushed).map(\.description)
    if let looked {
      if let theirs, theirs != looked.description { differing.append(remote.text) }
      try await didLook(!differing.isEmpty)
    }
    return differing
  }
}

extension MagicDataError {
  static func differing(from others: [String]) -> MagicDataError {
    MagicDataError(
      .failed,
      """
      the database and \(others.joined(separator: ", ")) hold the same transactions and differ nevertheless: one of them is damaged, and nothing \
      was changed on either side. Run magic-sync verify on both, compare them with magic-replay diff, clone the one that is whole in place of the \
      other, and have the other's id expired (magic-sync peers --expire)
      """)
  }
}
