internal import MagicData
internal import MagicJournal

/// What is known of members, whatever somebody says: of so many ids, and so much of what they have acknowledged (K-8).
///
/// One of the limits alone is none: an acknowledgement may name as many replicas as a frame or a file has room for, whether
/// they are there or not.
struct KnownMembers: Sendable {
  private(set) var all: [ReplicaID: MemberReplica] = [:]
  private let mostEnds: Int
  /// How many ends the acknowledgements have together, and those of who is expired.
  private var (ends, expiredEnds) = (0, 0)

  /// Who is not among so many is waited for by nobody, and gets a checkpoint (K-8).
  static let most = 10_000
  /// 36 MB in a database: two hundred members that hold something of 5,000 replicas each.
  static let mostEnds = 1_000_000

  init(_ members: [MemberReplica] = [], endsAtMost most: Int = KnownMembers.mostEnds) {
    mostEnds = most
    for member in members { put(member) }
  }

  /// Takes what is later than what is known (K-7). What there is no room for is as if nobody had said it: an acknowledgement
  /// counts as a whole or not at all, since less of one than its writer holds would allow for a purge too early (K-23).
  ///
  /// - Parameter isOwn: whether it is of the database itself, or said by who has it, for which there always is room.
  /// - Returns: of whom something else is known than before.
  @discardableResult
  mutating func learn(_ said: MemberReplica, isOwn: Bool = false) -> Set<ReplicaID> {
    guard all[said.replica] != nil || all.count < KnownMembers.most || isOwn else { return [] }
    let before = all[said.replica] ?? MemberReplica(said.replica)
    var known = before
    guard known.learn(said) else { return [] }
    var changed: Set<ReplicaID> = []
    if !isOwn, !hasRoom(for: known) {
      changed = emptyExpired()
      if !hasRoom(for: known) {
        known.acknowledged = all[said.replica]?.acknowledged
        guard known != before else { return changed }
      }
    }
    put(known)
    return changed.union([said.replica])
  }

  /// Whether an acknowledgement of so many ends is heard, of who is not expired: what the expired have acknowledged gives way.
  func hasRoom(for count: Int, of replica: ReplicaID) -> Bool {
    let known = all[replica]
    guard known != nil || all.count < KnownMembers.most else { return false }
    let before = known?.endCount ?? 0
    return count <= before || ends - expiredEnds - before + count <= mostEnds
  }

  /// Whether a member's acknowledgement has room; one that does not grow always has.
  private func hasRoom(for member: MemberReplica) -> Bool {
    let before = all[member.replica]?.endCount ?? 0
    return member.endCount <= before || ends - before + member.endCount <= mostEnds
  }

  private mutating func put(_ member: MemberReplica) {
    let before = all.updateValue(member, forKey: member.replica)
    ends += member.endCount - (before?.endCount ?? 0)
    expiredEnds += member.expiredEndCount - (before?.expiredEndCount ?? 0)
  }

  /// For those who are expired nobody waits, so what they held does not matter; when they said so stays.
  private mutating func emptyExpired() -> Set<ReplicaID> {
    guard expiredEnds > 0 else { return [] }
    var emptied: Set<ReplicaID> = []
    for var member in Array(all.values) where member.expiredEndCount > 0 {
      guard let said = member.acknowledged else { continue }
      member.acknowledged = MemberReplica.Acknowledgement(time: said.time, frontier: NamedFrontier())
      put(member)
      emptied.insert(member.replica)
    }
    return emptied
  }
}

extension MemberReplica {
  fileprivate var endCount: Int { acknowledged?.frontier.count ?? 0 }
  fileprivate var expiredEndCount: Int { isExpired ? endCount : 0 }
}
