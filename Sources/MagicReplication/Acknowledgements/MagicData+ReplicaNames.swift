public import MagicData
internal import MagicJournal

extension MagicData {
  /// Gives a replica a name, for people: `peers` of magic-sync shows it, and nothing decides by it (Protocol/checkpoint.md,
  /// K-25).
  ///
  /// Others hear of it as they hear what this database has acknowledged, with its next exchange that pushes. Whoever has the
  /// data set may name any replica; the latest name counts everywhere. A database that goes on under a fresh id, as a copy or a
  /// restored backup does, has no name: it stays with the former id.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 Unicode scalars, with no space at its ends, no control characters and none that override the direction
  ///     of text.
  ///   - replica: the first digits of its id, at least four, or the name that it has so far; this database if `nil`.
  /// - Returns: the id of the replica.
  /// - Throws: `MagicDataError` with `value` for what can be no name, `notFound` if no replica is known by these digits or that
  ///   name, or several are, and `tooLarge` if 10,000 others have names.
  @discardableResult
  public func setReplicaName(_ name: String, of replica: String? = nil) async throws -> String {
    guard ReplicaName.isValid(name) else { throw MagicDataError(.value, ReplicaName.rule) }
    // A copy's name is not for the id that it leaves.
    try await store.assureReplica()
    var named = try await store.readBriefly { db in try DatabaseState(db).replica }
    if let replica { named = try await self.replica(meantBy: replica) }
    try await storeMembers { [named] members, now, _ in try members.name(named, name, at: now) }
    return named.description
  }

  /// The names of replicas, by their ids. One that nobody has named is not there.
  public func replicaNames() async throws -> [String: String] {
    try await store.read { db in
      Dictionary(uniqueKeysWithValues: try ReplicaName.all(db).map { ($0.key.description, $0.value.text) })
    }
  }

  /// Whom digits mean that an id begins with, four at least, or a name that only one has. A whole id means itself, whatever
  /// others are called.
  ///
  /// - Parameters:
  ///   - said: what a folder says, beside what the database knows.
  ///   - others: who else may be meant, if none that is known is.
  func replica(
    meantBy text: String, hearing said: FolderAcknowledgements? = nil, _ others: () async throws -> [ReplicaID] = { [] }
  ) async throws -> ReplicaID {
    let digits = text.lowercased()
    let isWhole = ReplicaID(digits) != nil
    @Sendable func begins(_ id: ReplicaID) -> Bool { text.count >= 4 && id.begins(with: digits) }
    var found = try await store.read { db -> Set<ReplicaID> in
      let members = try Members(db, hearing: said)
      let known = Set(try JournalIndex(db).frontier().replicas + members.all.keys + [members.own])
      return known.filter { begins($0) || !isWhole && members.names.all[$0]?.text == text }
    }
    if found.isEmpty, text.count >= 4 { found = Set(try await others().filter(begins)) }
    guard found.count == 1, let only = found.first else {
      throw MagicDataError(
        .notFound,
        found.count > 1
          ? "several replicas are known whose ids begin with \(text), or that are called so; name more digits of an id"
          : "no replica is known by \(text)" + (text.count < 4 ? "; of an id at least four digits are wanted" : "")
      )
    }
    return only
  }
}
