import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// H-32, K-8: what is remembered of members, and said of them, is bounded, whatever somebody says.
@Suite struct KnownMembersTests {
  let folder: TemporaryFolder
  private let ids = (0...9).map { ReplicaID(7, UInt64($0)) }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Of so many replicas, whether they are there or not.
  private func frontier(_ count: Int) -> NamedFrontier {
    var frontier = NamedFrontier()
    for number in 1...count {
      frontier[ReplicaID(9, UInt64(number))] = .init(sequence: 1, name: TransactionName(stamp: Stamp(9 << 16), tag: 1))
    }
    return frontier
  }

  private func member(_ number: Int, at time: Int64, _ frontier: NamedFrontier) -> MemberReplica {
    var member = MemberReplica(ids[number])
    member.acknowledged = .init(time: time, frontier: frontier)
    return member
  }

  @Test func endsAreRememberedUpToSoMany() {
    let (large, small) = (frontier(KnownMembers.mostEnds / 4), frontier(3))
    var larger = large
    larger[ids[0]] = .init(sequence: 1, name: TransactionName(stamp: Stamp(9 << 16), tag: 1))
    var known = KnownMembers((1...4).map { member($0, at: 1, large) })
    func learn(_ said: MemberReplica, isOwn: Bool = false) -> [ReplicaID] { known.learn(said, isOwn: isOwn).sorted() }
    // As a whole or not at all (K-23).
    #expect(learn(member(5, at: 1, small)) == [])
    #expect(known.all[ids[5]] == nil)
    #expect(learn(member(3, at: 2, larger)) == [])
    #expect(known.all[ids[3]]?.acknowledged?.time == 1)
    // What takes no more room is heard, and so is oneself.
    #expect(learn(member(4, at: 2, large)) == [ids[4]])
    #expect(learn(member(6, at: 1, small), isOwn: true) == [ids[6]])
    // For who is expired nobody waits.
    var expired = MemberReplica(ids[2])
    expired.expired = 1
    #expect(learn(expired) == [ids[2]])
    #expect(learn(member(5, at: 1, small)) == [ids[2], ids[5]])
    #expect(known.all[ids[2]]?.acknowledged == .init(time: 1, frontier: NamedFrontier()))
    #expect(known.all[ids[2]]?.isExpired == true)
    // That was said before.
    #expect(learn(member(2, at: 1, large)) == [])
    #expect(learn(member(3, at: 2, larger)) == [ids[3]])
  }

  /// F-10: who looks once at a folder has its files, and no other limit: what some of them name hides nothing of the others.
  @Test func whoLooksOnceHearsOfAllEnds() {
    let members = (1...2).map { member($0, at: 1, frontier(5)) }
    var (some, all) = (KnownMembers(members, endsAtMost: 10), KnownMembers(members, endsAtMost: .max))
    some.learn(member(3, at: 1, frontier(1)))
    all.learn(member(3, at: 1, frontier(1)))
    #expect(some.all[ids[3]] == nil && all.all[ids[3]] != nil)
  }

  /// Where an acknowledgement finds no room, that is told, and not that nobody has acknowledged anything.
  @Test func whoFindsNoRoomIsKnown() {
    var known = KnownMembers([member(1, at: 1, frontier(5)), member(2, at: 1, frontier(3))], endsAtMost: 10)
    #expect(known.hasRoom(for: 2, of: ids[3]))
    #expect(!known.hasRoom(for: 3, of: ids[3]))
    #expect(known.hasRoom(for: 5, of: ids[1]) && known.hasRoom(for: 7, of: ids[1]))
    #expect(!known.hasRoom(for: 8, of: ids[1]))
    var expired = MemberReplica(ids[1])
    expired.expired = 1
    known.learn(expired)
    #expect(known.hasRoom(for: 7, of: ids[3]))
    #expect(!known.hasRoom(for: 8, of: ids[3]))
  }

  /// Whose id is not among those that are remembered is waited for in vain, until he is expired, which always finds room.
  @Test func compactionSaysThatMoreIsSaidThanRemembered() async throws {
    let world = World()
    let (a, b) = (try Replica(folder["a"], folder["remote"], world), try Replica(folder["b"], folder["remote"], world))
    try await a.magic.update(Note("a", "of a"))
    try await b.magic.update(Note("b", "of b"))
    try await b.replicator.push()
    let other = try await b.magic.statistics().replica
    try await a.magic.store.write { db in
      for number in 1...KnownMembers.most {
        var member = MemberReplica(ReplicaID(7, UInt64(number)))
        member.expired = 1
        try member.store(db)
      }
    }
    try await settle([a, b])
    let full = try await a.magic.compact()
    #expect(full.waitsFor == [other])
    #expect(full.isBeyondMemory)
    #expect(full.entries == 0)
    let peers = try await a.magic.replicas()
    #expect(peers.filter(\.isBeyondMemory).map(\.replica) == [other])
    world.advance(1_000)
    #expect(try await a.replicator.expire(other) == other)
    let freed = try await a.magic.compact()
    #expect(freed.waitsFor == [] && !freed.isBeyondMemory)
    #expect(freed.entries > 0)
    // And is heard from then on.
    world.advance(1_000)
    try await b.magic.update(Note("c", "of b"))
    try await settle([a, b])
    let heard = try await a.magic.compact()
    #expect(heard.waitsFor == [] && !heard.isBeyondMemory)
    #expect(try await a.magic.replicas().contains { $0.replica == other && !$0.isExpired })
  }

  /// F-10, H-32: somebody may say that he has put there what nobody has, of any number of replicas.
  @Test func whatIsSaidToBeMissingIsToldUpToSoMany() async throws {
    let world = World()
    let (a, b) = (try Replica(folder["a"], folder["remote"], world), try Replica(folder["b"], folder["remote"], world))
    try await a.magic.update(Note("a", "of a"))
    try await a.replicator.push()
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    let said = AckFile(replica: ids[0], members: [ids[0]: member(0, at: 1, frontier(PullReport.mostGaps + 200))])
    try said.bytes(dataSet).write(to: folder["remote/acks/\(AckFile.name(of: ids[0]))"])
    let report = try await b.replicator.pull()
    #expect(report.transactions == 1)
    #expect(report.gaps.count == PullReport.mostGaps)
    #expect(!report.isComplete)
  }

  @Test func closingsAreRememberedUpToSoMany() async throws {
    let a = try Replica(folder["a"], folder["remote"], World())
    let closings = try await a.magic.store.read { db in
      var members = try Members(db)
      for half in 1...2 {
        let ids = (1...6_000).map { ReplicaID(UInt64(half), UInt64($0)) }
        let closings = Dictionary(uniqueKeysWithValues: ids.map { ($0, UInt64(5)) })
        members.learn(AckFile(replica: ids[0], members: [:], closings: closings))
      }
      members.learn(AckFile(replica: ReplicaID(3, 3), members: [:], closings: [ReplicaID(1, 1): 4, ReplicaID(3, 3): 1]))
      return members.newClosings
    }
    #expect(closings.count == Members.most)
    #expect(closings[ReplicaID(1, 1)] == 4)
    #expect(closings[ReplicaID(3, 3)] == nil)
  }

  /// W-18: no more is made than is sent.
  @Test func newsAreSaidUpToSoManyBytes() throws {
    let (dataSet, limit) = (Identifier(0, 1), 250_000)
    // One has no room, and those after it do.
    let members = (0...9).map { member($0, at: 1, frontier($0 == 1 ? 4_000 : 1_000)) }
    let said = try AckFile(replica: Identifier(0, 2), members: [:]).news(
      among: members, closings: [:], acceptedTime: 0, dataSet, atMost: limit)
    #expect(said.compactMap { AckFile($0, dataSet)?.replica } == [ids[0], ids[2], ids[3]])
    #expect(said.reduce(0) { $0 + $1.count } <= limit)
  }
}
