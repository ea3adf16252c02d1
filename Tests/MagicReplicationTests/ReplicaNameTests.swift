import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// K-25: what people call replicas goes wherever acknowledgements go, and nothing else depends on it.
@Suite struct ReplicaNameTests {
  let folder: TemporaryFolder
  private let world = World()
  private let ids = (0...9).map { ReplicaID(7, UInt64($0)) }
  private let dataSet = Identifier(0, 1)

  init() throws {
    folder = try TemporaryFolder()
  }

  private func name(_ text: String, at time: Int64 = 1) throws -> ReplicaName {
    try #require(ReplicaName(text, time: time))
  }

  private func replica(_ name: String, skew: Int64 = 0) throws -> Replica {
    try Replica(folder[name], folder["remote"], world, skew: skew)
  }

  /// Two that have heard of each other.
  private func two(skew: Int64 = 0) async throws -> (a: Replica, b: Replica) {
    let (a, b) = (try replica("a"), try replica("b", skew: skew))
    try await a.magic.update(Note("1", "of a"))
    try await a.replicator.push()
    try await b.replicator.sync()
    try await b.magic.update(Note("2", "of b"))
    try await settle([b, a])
    return (a, b)
  }

  private func acknowledgements() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder["remote/acks"].path) {
      files[name] = try Data(contentsOf: folder["remote/acks/\(name)"])
    }
    return files
  }

  // MARK: Files

  @Test func aFileSaysNamesAsTheyAre() throws {
    var member = MemberReplica(ids[0])
    member.acknowledged = .init(time: 5, frontier: NamedFrontier())
    let file = AckFile(
      replica: ids[0], members: [ids[0]: member], closings: [ids[1]: 3],
      names: [ids[0]: try name("a \"b\"/\\ \u{1f600} e\u{301}", at: 5), ids[1]: try name("b", at: 6)])
    let bytes = try file.bytes(dataSet)
    let said = try #require(AckFile(bytes, of: ids[0], dataSet))
    #expect(said == file)
    // As a former version has it.
    let former = try AckFile(replica: ids[0], members: [ids[0]: member]).bytes(dataSet)
    #expect(!String(decoding: former, as: UTF8.self).contains("names"))
    let without = try #require(AckFile(former, of: ids[0], dataSet))
    #expect(without.names.isEmpty)
  }

  /// K-6, K-7: a label that is none makes no file none.
  @Test func whatIsNoNameHidesNothingElse() throws {
    let file = AckFile(
      replica: ids[0], members: [:], closings: [ids[1]: 3], names: [ids[0]: try name("a", at: 5), ids[1]: try name("b", at: 6)])
    let text = String(decoding: try file.bytes(dataSet), as: UTF8.self)
    let (good, rest) = (#"{"name":"b","time":6}"#, [ids[0]: try name("a", at: 5)])
    try #require(text.contains(good))
    for bad in [
      #"{"name":" b","time":6}"#, #"{"name":"","time":6}"#, #"{"name":"\ud800","time":6}"#, #"{"name":"b\u0007","time":6}"#,
      #"{"name":"b","time":-1}"#, #"{"name":"b","time":253402300800000}"#, #"{"name":"b","time":1e300}"#, #"{"name":"b"}"#,
      #"{"name":"\#(String(repeating: "x", count: 65))","time":6}"#, "null", "[]", "7", "{}",
    ] {
      let bytes = Data(text.replacingOccurrences(of: good, with: bad).utf8)
      let said = try #require(AckFile(bytes, of: ids[0], dataSet), "\(bad)")
      #expect(said.closings == file.closings && said.names == rest, "\(bad)")
    }
  }

  /// H-32: where there is too little room names are the first thing that is left out, and of more than 10,000 the lowest ids
  /// are read.
  @Test func namesGiveWayToAllElse() throws {
    var member = MemberReplica(ids[0])
    member.acknowledged = .init(time: 5, frontier: NamedFrontier())
    var file = AckFile(replica: ids[0], members: [ids[0]: member], closings: [ids[1]: 3])
    let plain = try file.bytes(dataSet).count
    for number in 1...1_000 { file.names[ReplicaID(9, UInt64(number))] = try name("name \(number)") }
    let all = try file.bytes(dataSet).count
    for (limit, most, least) in [(all, 1_000, 1_000), (all - 1, 999, 400), ((plain + all) / 2, 500, 200), (plain, 0, 0)] {
      let bytes = try file.bytes(dataSet, atMost: limit)
      let said = try #require(AckFile(bytes, of: ids[0], dataSet))
      #expect(bytes.count <= limit && said.members == file.members && said.closings == file.closings)
      #expect(said.names.count >= least && said.names.count <= most, "\(limit): \(said.names.count)")
      #expect(said.names.keys.sorted() == Array(file.names.keys.sorted().prefix(said.names.count)))
    }
    for number in 1_001...10_001 { file.names[ReplicaID(9, UInt64(number))] = try name("name") }
    let text = String(decoding: try file.bytes(dataSet), as: UTF8.self)
    let more = text.replacingOccurrences(
      of: #""names":{"#, with: #""names":{"\#(ReplicaID(8, 1))":{"name":"lowest","time":1},"#)
    for (said, last) in [(text, 10_000), (more, 9_999)] {
      let many = try #require(AckFile(Data(said.utf8), of: ids[0], dataSet))
      #expect(many.names.count == 10_000)
      #expect(many.names.keys.max() == ReplicaID(9, UInt64(last)))
    }
  }

  /// W-18: who says what he has is told what is later, last of all.
  @Test func newsHaveLaterNames() throws {
    let later = [ids[2]: try name("new", at: 6), ids[3]: try name("more", at: 1)]
    let there = later.merging([ids[1]: try name("same", at: 5)]) { $1 }
    let file = AckFile(replica: ids[0], members: [:], names: [ids[1]: try name("same", at: 5), ids[2]: try name("old", at: 5)])
    func news(atMost limit: Int) throws -> [AckFile] {
      var member = MemberReplica(ids[4])
      member.expired = 1
      return try file.news(
        among: [member], closings: [:], acceptedTime: 0, names: there, dataSet, atMost: limit
      ).compactMap { AckFile($0, dataSet) }
    }
    let said = try news(atMost: 10_000)
    #expect(said.map(\.replica) == [ids[4], ids[0]])
    #expect(said.last?.names == later)
    #expect(try news(atMost: 250).map(\.replica) == [ids[4]])
  }

  /// The same in whatever order they are heard, by bytes (L-3).
  @Test func ofTwoNamesTheLaterCountsAndOfOneTimeTheHigher() throws {
    let said = try [name("z", at: 1), name("\u{e9}", at: 2), name("e\u{301}", at: 2), name("b", at: 2)]
    for order in [said, said.reversed()] {
      var names = ReplicaNames()
      for name in order { names.learn([ids[0]: name]) }
      let text = try #require(names.all[ids[0]]?.text)
      #expect(Array(text.utf8) == [0xC3, 0xA9])
      #expect(names.learn([ids[0]: said[0]]) == [])
    }
  }

  // MARK: Replicas

  /// K-7: a name is news, also where nothing else is to be sent, and once.
  @Test func aNameIsHeardWhereverAcknowledgementsAre() async throws {
    let (a, b) = try await two()
    let id = try await a.magic.setReplicaName("laptop")
    #expect(try await a.magic.statistics().replica == id)
    #expect(try await a.replicator.push().segments == 0)
    let written = try acknowledgements()
    try await b.replicator.pull()
    #expect(try await b.magic.replicaNames() == [id: "laptop"])
    let peers = try await b.replicator.status().peers + b.magic.replicas()
    #expect(peers.filter { $0.name != nil }.map(\.replica) == [id, id])
    try await a.magic.setReplicaName("laptop")
    try await a.replicator.push()
    #expect(try acknowledgements() == written)
    // By the second the third hears of the first.
    try await Replica(b.magic, folder["other"]).replicator.push()
    let c = try Replica(folder["c"], folder["other"], world)
    try await c.replicator.pull()
    #expect(try await c.magic.replicaNames() == [id: "laptop"])
    try await expectEqual([a, b])
  }

  /// Who gives a name gives a later one than he has heard of, whatever his clock says.
  @Test func theLatestNameCounts() async throws {
    let (a, b) = try await two(skew: -60_000)
    let id = try await a.magic.setReplicaName("one")
    try await a.replicator.push()
    try await b.replicator.pull()
    #expect(try await b.magic.setReplicaName("two", of: String(id.prefix(8)).uppercased()) == id)
    try await b.replicator.push()
    try await a.replicator.pull()
    #expect(try await a.magic.replicaNames() == [id: "two"])
    #expect(try await b.magic.setReplicaName("three", of: "two") == id)
    try await b.replicator.push()
    try await a.replicator.pull()
    #expect(try await a.magic.replicaNames() == [id: "three"])
  }

  /// H-7, H-8, H-16: a copy is a replica of its own, which nobody has named; what was heard stays.
  @Test func aNameStaysWithItsId() async throws {
    let (a, b) = try await two()
    let (id, other) = (try await a.magic.setReplicaName("laptop"), try await b.magic.setReplicaName("phone"))
    try await a.magic.update(Note("1", "again"))
    for replica in [a, b, a, b] { try await replica.replicator.sync() }
    let names = [id: "laptop", other: "phone"]
    #expect(try await a.magic.compact().entries > 0)
    #expect(try await a.magic.replicaNames() == names)
    try await a.magic.backup(to: folder["copy"])
    let copy = try replica("copy")
    #expect(try await copy.magic.replicaNames() == names)
    let fresh = try await copy.magic.setReplicaName("copy")
    #expect(fresh != id)
    #expect(try await copy.magic.statistics().replica == fresh)
    try await copy.replicator.sync()
    try await a.replicator.sync()
    #expect(try await a.magic.replicaNames() == [id: "laptop", other: "phone", fresh: "copy"])
  }

  /// A label never means another one's id.
  @Test func aReplicaIsMeantByItsNameIfNobodyElseIs() async throws {
    let (a, b) = try await two()
    let own = try await a.magic.statistics().replica
    let other = try await a.magic.setReplicaName("phone", of: b.magic.statistics().replica)
    func expectCode(_ code: MagicDataError.Code, _ body: () async throws -> String) async {
      await #expect {
        try await body()
      } throws: {
        ($0 as? MagicDataError)?.code == code
      }
    }
    for text in ["", " a", "a\n", "a\u{202e}b", String(repeating: "x", count: 65)] {
      await expectCode(.value) { try await a.magic.setReplicaName(text) }
    }
    for text in ["", "nobody", String(own.prefix(3)), "0123456789"] {
      await expectCode(.notFound) { try await a.magic.setReplicaName("x", of: text) }
      await expectCode(.notFound) { try await a.replicator.expire(text) }
    }
    #expect(try await a.replicator.expire("phone") == other)
    try await a.magic.setReplicaName("phone")
    await expectCode(.notFound) { try await a.magic.expire("phone") }
    // What begins an id, and is a name.
    try await a.magic.setReplicaName(String(own.prefix(6)), of: other)
    await expectCode(.notFound) { try await a.magic.expire(String(own.prefix(6))) }
    // All of an id is that one's.
    try await a.magic.setReplicaName(own, of: other)
    await expectCode(.notAllowed) { try await a.magic.expire(own) }
    // Also of an id that nobody here has heard of.
    let unknown = String(repeating: "0", count: 31) + "7"
    try await a.magic.setReplicaName(unknown, of: other)
    await expectCode(.notFound) { try await a.magic.expire(unknown) }
    await expectCode(.notFound) { try await a.magic.setReplicaName("x", of: unknown) }
  }

  /// H-32: 10,000 names are kept, and who cannot give one more is told.
  @Test func soManyNamesAreKept() async throws {
    let a = try replica("a")
    try await a.magic.store.write { db in
      for number in 1...ReplicaNames.most { try ReplicaName("x", time: 1)?.store(of: ReplicaID(9, UInt64(number)), db) }
    }
    await #expect {
      try await a.magic.setReplicaName("laptop")
    } throws: {
      ($0 as? MagicDataError)?.code == .tooLarge
    }
    let said = AckFile(
      replica: ReplicaID(9, 1), members: [:],
      names: [ReplicaID(9, 1): try name("y", at: 2), ReplicaID(8, 1): try name("z", at: 2)])
    let names = try await a.magic.store.read { db in
      var members = try Members(db)
      members.learn(said)
      return members.names.all
    }
    #expect(names.count == ReplicaNames.most)
    #expect(names[ReplicaID(9, 1)]?.text == "y" && names[ReplicaID(8, 1)] == nil)
  }
}
