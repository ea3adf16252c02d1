package import GRDB
package import MagicJournal

/// What is known of who else has the data set (K-6, K-8).
package struct MemberReplica: Sendable, Equatable {
  package let replica: ReplicaID
  /// What it has folded, and when it said so, in milliseconds since 1970.
  package var acknowledged: Acknowledgement?
  /// When somebody expired it.
  package var expired: Int64?

  package struct Acknowledgement: Sendable, Equatable {
    package let time: Int64
    package let frontier: NamedFrontier
    /// What it folds to (K-21), if it has looked.
    package let digest: Identifier?

    package init(time: Int64, frontier: NamedFrontier, digest: Identifier? = nil) {
      (self.time, self.frontier, self.digest) = (time, frontier, digest)
    }
  }

  package init(_ replica: ReplicaID) {
    self.replica = replica
  }

  /// Whether it has been silent since somebody expired it.
  package var isExpired: Bool { expired.map { $0 >= acknowledged?.time ?? $0 } ?? false }

  /// All that the database knows of, in the order of their ids.
  package static func all(_ db: Database) throws -> [MemberReplica] {
    let digests = try digests(db)
    var select = try SQL(db, Statements.selectMembers)
    var members: [MemberReplica] = []
    while try select.step() {
      var member = MemberReplica(try select.identifier(0))
      if !select.isNull(1) {
        let bytes = select.bytes(2)
        var reader = ByteReader(bytes)
        do {
          let digest = digests[member.replica].flatMap { $0.time == select.integer(1) ? $0.digest : nil }
          member.acknowledged = Acknowledgement(
            time: select.integer(1), frontier: try NamedFrontier(from: &reader, count: bytes.count / NamedFrontier.endLength),
            digest: digest)
          try reader.expectEnd("an acknowledgement")
        } catch {
          throw MagicDataError(.notADatabase, "the database is damaged: an acknowledgement cannot be read", cause: error)
        }
      }
      if !select.isNull(3) { member.expired = select.integer(3) }
      members.append(member)
    }
    return members
  }

  /// With the time of the acknowledgement that each belongs to.
  private static func digests(_ db: Database) throws -> [ReplicaID: (time: Int64, digest: Identifier)] {
    guard try db.has(.digests) else { return [:] }
    var select = try SQL(db, Statements.selectDigests)
    var digests: [ReplicaID: (time: Int64, digest: Identifier)] = [:]
    while try select.step() { digests[try select.identifier(0)] = (select.integer(1), try select.identifier(2)) }
    return digests
  }

  /// Expires an id under which nobody writes, so that nobody waits for its acknowledgement (K-8).
  package static func expire(_ replica: ReplicaID, _ db: Database) throws {
    var member = MemberReplica(replica)
    member.expired = 0
    try member.store(db)
  }

  /// Forgets what was said to be held under the own id, which is left, and has moved (J-31). Whoever goes on under it says what
  /// he has.
  static func takeBack(_ replica: ReplicaID, _ db: Database) throws {
    guard var member = try all(db).first(where: { $0.replica == replica }), let said = member.acknowledged else { return }
    let (journal, last) = (JournalIndex(db), try JournalIndex(db).frontier()[replica])
    guard said.frontier.frontier[replica] > last else { return }
    var frontier = said.frontier
    frontier[replica] = try journal.name(at: last, of: replica).map { NamedFrontier.End(sequence: last, name: $0) }
    member.acknowledged = Acknowledgement(time: min(said.time + 1, Stamp.latest.milliseconds), frontier: frontier)
    try member.store(db)
  }

  package func store(_ db: Database) throws {
    var insert = try SQL(db, Statements.insertMember)
    try insert.bind(replica)
    if let acknowledged {
      try insert.bind(acknowledged.time)
      try insert.bind(acknowledged.frontier.bytes)
    } else {
      try insert.bindNull()
      try insert.bindNull()
    }
    if let expired { try insert.bind(expired) } else { try insert.bindNull() }
    try insert.run()
    if let acknowledged, let digest = acknowledged.digest { try store(digest, of: acknowledged, db) }
  }

  private func store(_ digest: Identifier, of acknowledged: Acknowledgement, _ db: Database) throws {
    try db.make(.digests)
    var insert = try SQL(db, Statements.insertDigest)
    try insert.bind(replica)
    try insert.bind(acknowledged.time)
    try insert.bind(digest)
    try insert.run()
  }
}
