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
