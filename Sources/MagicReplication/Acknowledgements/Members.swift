internal import MagicData
internal import MagicJournal

/// Who has the data set, as far as a database knows, and what they have acknowledged (K-6 to K-9).
struct Members {
  let own: ReplicaID
  private var remembered: KnownMembers
  /// What the database does not have yet.
  private(set) var news: Set<ReplicaID> = []
  /// The closings of ids under which two databases have written (J-33).
  private(set) var closings: [ReplicaID: UInt64]
  private let floor: Frontier
  /// Closings that the database does not have yet.
  private(set) var newClosings: [ReplicaID: UInt64] = [:]
  /// Up to which time stamps are accepted (C-5).
  private(set) var acceptedTime: Int64
  private let knownAcceptedTime: Int64
  /// What people call replicas (K-25).
  private(set) var names: ReplicaNames
  /// Who is called otherwise than the database has it.
  private var newNames: Set<ReplicaID> = []

  init(_ db: Connection) throws {
    own = try DatabaseState(db).replica
    closings = try Branches(db).closings
    acceptedTime = try AcceptedTime.read(db)
    knownAcceptedTime = acceptedTime
    names = ReplicaNames(try ReplicaName.all(db))
    floor = try JournalIndex(db).floor().frontier
    remembered = KnownMembers(try MemberReplica.all(db))
  }

  /// So many ids are remembered, whatever somebody says, and so many of them as closed (K-8).
  static let most = KnownMembers.most

  var all: [ReplicaID: MemberReplica] { remembered.all }

  /// Takes what is later than what is known (K-7).
  mutating func learn(_ members: some Sequence<MemberReplica>) {
    // Where there is no room for all, it must not be chance who has it.
    for member in members.sorted(by: { $0.replica < $1.replica }) {
      news.formUnion(remembered.learn(member, isOwn: member.replica == own))
    }
  }

  /// Takes all that a file says. Of two closings the lower one counts, but none counts below the floor.
  ///
  /// - Parameter closing: whether to take its closings.
  mutating func learn(_ file: AckFile, closing: Bool = true) {
    learn(file.members.values)
    acceptedTime = max(acceptedTime, file.acceptedTime)
    newNames.formUnion(names.learn(file.names))
    guard closing else { return }
    for (replica, last) in file.closings.sorted(by: { $0.key < $1.key })
    where closings[replica] != nil || closings.count < Members.most {
      let last = max(last, floor[replica])
      if last < closings[replica] ?? .max { (closings[replica], newClosings[replica]) = (last, last) }
    }
  }

  /// The own acknowledgement is later than all that is known of oneself.
  ///
  /// - Parameter digest: what the database folds to at that frontier (K-21), if it has looked just now. What was said of the
  ///   same frontier before stays.
  mutating func acknowledge(_ frontier: NamedFrontier, digest: Identifier? = nil, at now: Int64) {
    var member = all[own] ?? MemberReplica(own)
    let said = member.acknowledged.flatMap { $0.frontier == frontier ? $0 : nil }
    let digest = digest ?? said?.digest
    if let said, said.digest == digest, now - said.time < Members.day, !member.isExpired { return }
    let last = max(member.acknowledged?.time ?? -1, member.expired ?? -1)
    // Whatever others say of this replica, its own file is to be read.
    member.acknowledged = .init(time: min(max(now, last + 1), AckFile.times.upperBound), frontier: frontier, digest: digest)
    learn([member])
  }

  /// Whether it is time to look what a frontier folds to (K-21).
  func owesDigest(of frontier: NamedFrontier, at now: Int64, _ db: Connection) throws -> Bool {
    guard !frontier.isEmpty else { return false }
    if try DigestSchedule.isDue(at: now, db) { return true }
    return digest(of: frontier) == nil
      && all.values.contains { !$0.isExpired && $0.acknowledged?.frontier == frontier && $0.acknowledged?.digest != nil }
  }

  /// What the database has said of a frontier.
  func digest(of frontier: NamedFrontier) -> Identifier? {
    all[own]?.acknowledged.flatMap { $0.frontier == frontier ? $0.digest : nil }
  }

  /// Who folds a frontier to something else than this database (K-22), as far as both have said.
  func differing(at frontier: NamedFrontier) -> [ReplicaID] {
    guard let digest = digest(of: frontier) else { return [] }
    return all.values.filter { member in
      guard !member.isExpired, let said = member.acknowledged, let others = said.digest else { return false }
      return said.frontier == frontier && others != digest
    }.map(\.replica).sorted()
  }

  /// History that is given up tells nobody any more which of two is right (K-18).
  func checkAgreement() throws {
    guard let said = all[own]?.acknowledged else { return }
    let differing = differing(at: said.frontier)
    guard differing.isEmpty else { throw MagicDataError.differing(from: differing.map(\.description)) }
  }

  /// One that is not remembered is waited for as long as something that it wrote is held: it is remembered from here on.
  mutating func expire(_ replica: ReplicaID, at now: Int64) {
    var member = all[replica] ?? MemberReplica(replica)
    member.expired = max(now, member.acknowledged?.time ?? now)
    news.formUnion(remembered.learn(member, isOwn: true))
  }

  /// Gives a replica a name that is later than the one that is known (K-25), if it is another.
  mutating func name(_ replica: ReplicaID, _ text: String, at now: Int64) throws {
    let known = names.all[replica]
    if let known, known.text.utf8.elementsEqual(text.utf8) { return }
    let time = min(max(now, (known?.time ?? -1) + 1), AckFile.times.upperBound)
    guard let name = ReplicaName(text, time: time) else { throw MagicDataError(.value, ReplicaName.rule) }
    guard names.learn([replica: name]) == [replica] else {
      throw known == nil
        ? MagicDataError(.tooLarge, "\(ReplicaNames.most) replicas have names, and no more are kept")
        : MagicDataError(.failed, "replica \(replica) was named by a clock at the end of the year 9999, and no name is later")
    }
    newNames.insert(replica)
  }

  /// In milliseconds: how old what it says of itself may be.
  private static let day: Int64 = 86_400_000

  var hasNews: Bool {
    !news.isEmpty || !newClosings.isEmpty || acceptedTime > knownAcceptedTime || !newNames.isEmpty
  }

  mutating func store(_ db: Connection) throws {
    for replica in news.sorted() { try all[replica]?.store(db) }
    for replica in newNames.sorted() { try names.all[replica]?.store(of: replica, db) }
    (news, newNames) = ([], [])
    try AcceptedTime.raise(to: acceptedTime, db)
  }

  /// For each replica the last sequence that a member has acknowledged, as far as it is everybody's: somebody holds it, or held
  /// it.
  var known: Frontier {
    var known = Frontier()
    for said in all.values where !said.isExpired {
      for (replica, last) in said.ends(within: closings) { known[replica] = max(known[replica], last) }
    }
    return known
  }

  // MARK: The floor

  /// What keeps the floor from rising.
  enum FloorBlocker: Equatable {
    /// It has not said what it has.
    case silent(ReplicaID)
    /// It has another transaction at an address.
    case forked(ReplicaID)
  }

  /// Members without the database itself (K-8), and without ids that are closed, under which nobody writes any more, in the
  /// order of their ids.
  func others(_ held: Frontier) -> [MemberReplica] {
    Set(held.replicas + all.values.filter { $0.acknowledged != nil }.map(\.replica)).subtracting([own]).sorted()
      .map { all[$0] ?? MemberReplica($0) }.filter { !$0.isExpired && closings[$0.replica] == nil }
  }

  /// How far the floor may rise (K-5), and how many of the own transactions stay above it since no exchange has compared them.
  func floor(_ journal: JournalReader) throws -> (floor: Frontier, unsent: UInt64, hindrances: [FloorBlocker]) {
    let (held, floor) = (try journal.frontier(), try journal.floor().frontier)
    var (raised, hindrances, unsent): (Frontier, [FloorBlocker], UInt64) = (held, [], 0)
    /// Where a member has one replica's journal, which must be the same journal.
    func end(of replica: ReplicaID, _ said: NamedFrontier, _ member: ReplicaID) throws -> UInt64 {
      let end = said[replica]?.sequence ?? 0
      // Somebody holds more of the own id than the database: a copy of it is in use (J-31).
      let isBeyond = replica == own && end > held[own]
      let isOther =
        try end <= held[replica] && end >= floor[replica] && end > 0
        && journal.name(at: end, of: replica) != said[replica]?.name
      if isBeyond || isOther { hindrances.append(.forked(member)) }
      return end
    }
    let others = others(held)
    for member in others {
      guard let said = member.acknowledged?.frontier else {
        hindrances.append(.silent(member.replica))
        continue
      }
      for replica in held.replicas { raised[replica] = min(raised[replica], try end(of: replica, said, member.replica)) }
    }
    // Where nobody else shows that one alone uses the own id, exchanges do: what it wrote since may stand beside
    // what it wrote before it was put back. Who never said what he has has sent nothing that could.
    if let said = all[own]?.acknowledged?.frontier {
      let said = try end(of: own, said, own)
      if others.isEmpty {
        raised[own] = min(raised[own], said)
        unsent = held[own] - max(raised[own], floor[own])
      }
    }
    guard hindrances.isEmpty else { return (floor, unsent, hindrances) }
    raised.raise(to: floor)
    return (raised, unsent, [])
  }

  /// Whether there is no room for what a replica may have acknowledged of what is held (K-8).
  func isBeyondMemory(_ replica: ReplicaID, _ held: Frontier) -> Bool {
    !remembered.hasRoom(for: held.count, of: replica)
  }

  /// Whether there is no room for what some replica may have acknowledged that keeps the floor down.
  func isBeyondMemory(_ held: Frontier) -> Bool {
    let replicas = held.replicas
    return others(held).contains { member in
      let said = member.acknowledged?.frontier
      return isBeyondMemory(member.replica, held) && replicas.contains { said?[$0]?.sequence ?? 0 < held[$0] }
    }
  }

  /// How many transactions of what is held above the floor a member has not acknowledged, of those that have said what they
  /// have.
  func behind(_ held: Frontier) -> [ReplicaID: UInt64] {
    var behind: [ReplicaID: UInt64] = [:]
    let ends = held.replicas.map { (replica: $0, floor: floor[$0], end: held[$0]) }
    for member in others(held) {
      guard let said = member.acknowledged?.frontier else { continue }
      let lacking = ends.map { $0.end - min(max(said[$0.replica]?.sequence ?? 0, $0.floor), $0.end) }.clampedSum
      if lacking > 0 { behind[member.replica] = lacking }
    }
    return behind
  }

  /// Whether nobody who is a member can have written to what lies at or below a floor without knowing all of it, but what is
  /// held here (K-23).
  func mayPurge(below floor: NamedFrontier, _ journal: JournalReader) throws -> Bool {
    let held = try journal.frontier()
    guard haveAll(floor, held), try self.floor(journal).hindrances.isEmpty else { return false }
    return others(held).allSatisfy { member in
      guard let said = member.acknowledged?.frontier else { return false }
      return said.replicas.allSatisfy { said[$0]?.sequence ?? 0 <= held[$0] }
    }
  }

  /// Whether every other member has acknowledged a floor (K-18).
  func haveAll(_ floor: NamedFrontier, _ held: Frontier) -> Bool {
    others(held).allSatisfy { member in
      guard let said = member.acknowledged?.frontier else { return false }
      return floor.replicas.allSatisfy { replica in
        guard let end = said[replica], let needed = floor[replica] else { return false }
        return end == needed || end.sequence > needed.sequence
      }
    }
  }
}

extension MemberReplica {
  /// Where it holds each replica's journal, as far as that is everybody's.
  func ends(within closings: [ReplicaID: UInt64]) -> [(replica: ReplicaID, last: UInt64)] {
    guard let frontier = acknowledged?.frontier.frontier else { return [] }
    return frontier.replicas.map { ($0, min(frontier[$0], closings[$0] ?? .max)) }
  }

  /// Takes what is later than what is known (K-7). `false` if nothing is.
  mutating func learn(_ said: MemberReplica) -> Bool {
    let before = self
    if let said = said.acknowledged, let known = acknowledged {
      // Who carried it here may have known of no digests.
      let hasMore = said.time == known.time && said.digest != nil && known.digest == nil
      if said.time > known.time || hasMore { acknowledged = said }
    } else {
      acknowledged = acknowledged ?? said.acknowledged
    }
    if let expired = said.expired { self.expired = max(self.expired ?? expired, expired) }
    return self != before
  }
}
