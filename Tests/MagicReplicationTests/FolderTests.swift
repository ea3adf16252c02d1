import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

@Suite struct FolderTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  private var segments: URL { folder["remote/segments"] }

  private func files() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted().map { segments.appendingPathComponent($0) }
  }

  /// So many segments of one transaction each.
  private func push(_ count: Int) async throws {
    for number in 0..<count {
      world.advance(5)
      try await a.magic.update(Note("n\(number)", "title \(number)"))
      try await a.replicator.push()
    }
  }

  /// A pull that must fail with `code` and change nothing.
  private func expectRefused(_ code: MagicDataError.Code, _ replica: Replica, naming text: String = "") async throws {
    let before = try await (Dump(replica.magic), replica.frontier())
    await #expect { try await replica.replicator.pull() } throws: { error in
      (error as? MagicDataError)?.code == code && (text.isEmpty || "\(error)".contains(text))
    }
    #expect(try await Dump(replica.magic) == before.0)
    #expect(try await replica.frontier() == before.1)
  }

  /// F-5, F-6.
  @Test func aFileThatDoesNotCountIsReplaced() async throws {
    try await push(2)
    let file = try files()[1]
    let good = try Data(contentsOf: file)
    try good.dropLast(5).write(to: file)
    try await a.replicator.push()
    #expect(try Data(contentsOf: file) == good)
  }

  /// F-9: the next best is taken.
  @Test func aDamagedSegmentThatAnotherCoversDoesNoHarm() async throws {
    try await push(2)
    try await b.replicator.pull()
    let parts = try files().map { ($0, try Data(contentsOf: $0)) }
    for file in try files() { try FileManager.default.removeItem(at: file) }
    try await b.replicator.push()
    let whole = try #require(try files().first)
    // The one that reaches farthest is damaged where its header does not show it.
    for (file, bytes) in parts { try bytes.write(to: file) }
    var bytes = try Data(contentsOf: whole)
    bytes[bytes.count - 5] ^= 1
    try bytes.write(to: whole)
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.replicator.pull()
    try await expectEqual([a, c])
  }

  /// H-39, S-2: a file of a newer version is neither read nor replaced.
  @Test func aSegmentOfAnotherFormatIsLeftAlone() async throws {
    try await push(1)
    let file = try #require(try files().first)
    try await a.magic.update(Note("second", "of a"))
    try await a.replicator.push()
    var bytes = try Data(contentsOf: file)
    bytes[9] = 2
    // As its writer would have it.
    let checksum = Zlib.checksum([UInt8](bytes[..<120])[...])
    bytes.replaceSubrange(120..<124, with: withUnsafeBytes(of: checksum.bigEndian) { Data($0) })
    try bytes.write(to: file)
    let report = try await b.replicator.pull()
    #expect(report.transactions == 0)
    #expect(report.gaps.count == 1)
    #expect(report.unread.map(\.code) == [.incompatible])
    #expect(report.unread.first?.message.contains("format 2") == true)
    // All else is sent.
    try await b.magic.update(Note("b", "of b"))
    try await b.replicator.push()
    try await a.replicator.pull()
    try await a.magic.update(Note("new", "of a"))
    let id = file.lastPathComponent.prefix(32)
    try FileManager.default.removeItem(at: try #require(try files().first { !$0.lastPathComponent.hasPrefix(id) }))
    await #expect { try await a.replicator.push() } throws: { error in
      (error as? MagicDataError)?.code == .incompatible && "\(error)".contains("no contents of assets")
    }
    #expect(try Data(contentsOf: file) == bytes)
    #expect(try files().count == 4)
    try FileManager.default.removeItem(at: file)
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  /// H-31, S-2: what nothing but its format was changed of is as damaged as any other file, and is written anew.
  @Test(arguments: [8, 9]) func aFormatThatWasChangedIsDamage(place: Int) async throws {
    try await push(1)
    let file = try #require(try files().first)
    let whole = try Data(contentsOf: file)
    var bytes = whole
    bytes[place] ^= 3
    try bytes.write(to: file)
    #expect(try await b.replicator.pull().unread.map(\.code) == [.damaged])
    try await a.replicator.push()
    #expect(try Data(contentsOf: file) == whole)
    try await settle([a, b])
    try await a.replicator.compact()
    let checkpoint = try #require(try FileManager.default.contentsOfDirectory(atPath: folder["remote/checkpoints"].path).first)
    let place = (file: folder["remote/checkpoints/\(checkpoint)"], byte: place)
    bytes = try Data(contentsOf: place.file)
    bytes[place.byte] ^= 3
    try bytes.write(to: place.file)
    let c = try Replica(folder["c"], folder["remote"], world)
    #expect(try await c.replicator.pull().unread.map(\.code) == [.damaged])
    try await a.replicator.push()
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  /// H-39, F-1: the same for a remote.
  @Test func aRemoteOfAnotherFormatIsLeftAlone() async throws {
    try await push(1)
    try Data("{\"format\":2,\"dataSets\":[]}".utf8).write(to: folder["remote/magicdata.json"])
    try await expectRefused(.incompatible, b, naming: "format 2")
    try Data("{}".utf8).write(to: folder["remote/magicdata.json"])
    try await expectRefused(.damaged, b, naming: "magicdata.json")
  }

  /// H-31, F-3.
  @Test func namesThatAreNotOursAreIgnored() async throws {
    try await push(1)
    let file = try #require(try files().first)
    let name = file.deletingPathExtension().lastPathComponent
    let whole = try Data(contentsOf: file)
    for stray in [
      "\(name) (conflicted copy).segment", "\(name).sync-conflict-20260101.segment", ".\(name).segment.icloud",
      "\(name).segment.tmp",
      ".5e9a.tmp", "Thumbs.db", name.uppercased() + ".segment", "..segment", name.replacing(".", with: "..") + ".segment",
    ] {
      // Not even what would be sound under its own name.
      try (stray.hasPrefix(name) ? whole : Data("stray".utf8)).write(to: segments.appendingPathComponent(stray))
    }
    try Data("stray".utf8).write(to: folder["remote/magicdata (1).json"])
    let (pull, push) = try await b.replicator.sync()
    #expect(pull.isComplete && pull.segments == 1 && push.segments == 0, "\(pull), \(push)")
    try await expectEqual([a, b])
  }

  /// H-31, F-3: what a service has not downloaded is said, also where nothing else shows that it is lacking.
  @Test func aPlaceholderIsSaid() async throws {
    try await push(2)
    let files = try files()
    let last = try #require(files.last)
    let placeholder = segments.appendingPathComponent(".\(last.lastPathComponent).icloud")
    let aside = folder["aside"]
    try FileManager.default.moveItem(at: last, to: aside)
    try Data().write(to: placeholder)
    let pull = try await b.replicator.pull()
    #expect(pull.transactions == 1 && !pull.isComplete)
    #expect(pull.unread.map(\.code) == [.busy] && pull.unread[0].message.contains("not downloaded yet"), "\(pull)")
    #expect(try await !b.replicator.status().isInStep)
    try FileManager.default.removeItem(at: placeholder)
    try FileManager.default.moveItem(at: aside, to: last)
    #expect(try await b.replicator.pull().isComplete)
    try await expectEqual([a, b])
  }

  /// H-28, F-5, M-8: what is missing makes a gap that waits.
  @Test func aMissingSegmentMakesAGapThatWaits() async throws {
    try await push(3)
    let file = try files()[1]
    let bytes = try Data(contentsOf: file)
    try FileManager.default.removeItem(at: file)
    let report = try await b.replicator.pull()
    #expect(report.transactions == 1)
    #expect(report.gaps.map(\.sequences) == [2...2])
    #expect(try await b.replicator.pull().gaps == report.gaps)
    try bytes.write(to: file)
    #expect(try await b.replicator.pull().transactions == 2)
    try await expectEqual([a, b])
  }

  /// L-23, M-8: whatever the order in which segments arrive, and however often.
  @Test(arguments: seeds(8)) func segmentsMayArriveInAnyOrder(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let replicas = [a, b]
    try await settle(replicas)
    for number in 0..<14 {
      world.advance(Int64(chance.below(3)))
      let replica = chance.pick(replicas)
      let note = try await replica.notes().values.sorted { $0.id < $1.id }.randomElement(using: &chance)
      switch chance.below(4) {
      case 0:
        if let note { try await replica.magic.remove(note) }
      case 1:
        if let note {
          note.stars = number
          try await replica.magic.update(note)
        }
      default: try await replica.magic.update(Note("n\(chance.below(4))", "title \(number)"))
      }
      try await replica.replicator.push()
      if chance.below(3) == 0 { try await replica.replicator.pull() }
    }
    try await settle(replicas)
    try await expectEqual(replicas, "MAGIC_SEED=\(seed)")
    for reader in 0..<3 {
      let inbox = "inbox\(reader)"
      try FileManager.default.createDirectory(at: folder["\(inbox)/segments"], withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: folder["remote/magicdata.json"], to: folder["\(inbox)/magicdata.json"])
      let late = try Replica(folder["late\(reader)"], folder[inbox], world)
      for file in try files().shuffled(using: &chance) {
        try FileManager.default.copyItem(at: file, to: folder["\(inbox)/segments/\(file.lastPathComponent)"])
        for _ in 0...chance.below(2) { try await late.replicator.pull() }
        #expect(try await late.naiveDump() == Dump(late.magic), "MAGIC_SEED=\(seed)")
      }
      try await expectEqual([a, late], "MAGIC_SEED=\(seed)")
    }
  }

  /// L-14, M-8: two who send the same run in different cuts.
  @Test func overlappingSegmentsAreNoFork() async throws {
    try await push(4)
    try await b.replicator.pull()
    for file in try files() where try SegmentHeader([UInt8](Data(contentsOf: file))).first != 2 {
      try FileManager.default.removeItem(at: file)
    }
    // What b cuts anew, 1 to 4, comes to lie beside the 2 that stands.
    let other = FolderRemote(folder["other"])
    try await MagicReplicator(b.magic, remote: other).push()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder["other/segments"].path) {
      try FileManager.default.copyItem(at: folder["other/segments/\(name)"], to: segments.appendingPathComponent(name))
    }
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.replicator.pull()
    try await expectEqual([a, b, c])
  }

  /// H-36: through a chain of folders, under its own name all the way.
  @Test func whatCameFromOthersIsForwarded() async throws {
    let far = try Replica(folder["far"], folder["hub2"], world)
    try await a.magic.update(Note("a", "from a"))
    try await far.magic.update(Event("from far"))
    let between = MagicReplicator(b.magic, remote: FolderRemote(folder["hub2"]))
    for _ in 0..<2 {
      try await a.replicator.sync()
      try await b.replicator.sync()
      try await between.sync()
      try await far.replicator.sync()
      try await between.sync()
      try await b.replicator.sync()
    }
    try await a.replicator.sync()
    try await expectEqual([a, b, far])
    #expect(try await far.notes()["a"]?.title == "from a")
    #expect(try await far.replicator.sync() == (PullReport(), PushReport()))
  }

  /// H-9, F-5: a folder that was emptied or set back is one that lacks something.
  @Test func aWipedFolderHealsByItself() async throws {
    try await push(3)
    try await b.replicator.pull()
    try FileManager.default.removeItem(at: folder["remote"])
    try await b.replicator.push()
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.replicator.pull()
    try await expectEqual([a, b, c])
    #expect(try await a.replicator.push() == PushReport())
  }

  /// H-2, C-5: one clock that runs ahead does not drag the others along.
  @Test func whatAClockFarAheadWroteWaits() async throws {
    try await settle([a, b])
    let hours: Int64 = 3_600_000
    let ahead = try Replica(folder["ahead"], folder["remote"], world, skew: 48 * hours)
    try await ahead.replicator.sync()
    try await ahead.magic.update(Note("n", "from the future"))
    try await ahead.replicator.push()
    try await a.magic.update(Note("m", "from the present"))
    try await a.replicator.push()
    let report = try await b.replicator.pull()
    #expect(report.transactions == 1)
    #expect(report.heldBack.map { $0.aheadMilliseconds / hours } == [48])
    #expect(try await b.notes().keys.sorted() == ["m"])
    // b's own stamps stay in the present, and it can go on.
    try await b.magic.update(Note("o", "from b"))
    #expect(try await b.replicator.sync().pull.heldBack.count == 1)
    world.advance(48 * hours)
    try await settle([a, b, ahead])
    try await expectEqual([a, b, ahead])
    #expect(try await b.notes()["n"]?.title == "from the future")
  }

  /// H-2, C-5: stamps never go back, so whose clock was ahead writes ahead ever after. Whoever accepts it has all of it, and
  /// goes on from there.
  @Test func aReplicaWhoseClockWasAheadCanBeAccepted() async throws {
    try await settle([a, b])
    let years: Int64 = 10 * 365 * 86_400_000
    var ahead = try Replica(folder["ahead"], folder["remote"], world, skew: years)
    try await ahead.replicator.sync()
    try await ahead.magic.update(Note("n", "from the future"))
    try await ahead.replicator.push()
    try await ahead.magic.close()
    ahead = try Replica(folder["ahead"], folder["remote"], world)
    try await ahead.magic.update(Note("later", "when the clock was right again"))
    try await ahead.replicator.sync()
    let waiting = try await b.replicator.sync().pull.heldBack
    #expect(waiting.count == 1)
    #expect(try await b.notes().isEmpty)
    // Somebody else's id changes nothing.
    #expect(try await b.replicator.pull(accepting: [String(repeating: "0", count: 32)]).heldBack == waiting)
    let accepted = try await b.replicator.sync(accepting: [String(try #require(waiting.first).replica.prefix(8))])
    #expect(accepted.pull.heldBack.isEmpty)
    #expect(try await b.notes().keys.sorted() == ["later", "n"])
    #expect(try await b.replicator.pull().heldBack.isEmpty)
    // What it writes from here on is ahead as well; but the others have heard of it (L-22).
    try await b.magic.update(Note("m", "from b"))
    try await b.replicator.push()
    let told = try await a.replicator.pull()
    #expect(told.heldBack.isEmpty && told.transactions == 3)
    // What is farther ahead than that waits again.
    let farther = try Replica(folder["farther"], folder["remote"], world, skew: 2 * years)
    try await farther.replicator.sync()
    try await farther.magic.update(Note("o", "from farther"))
    try await farther.replicator.push()
    for replica in [a, b] { #expect(try await replica.replicator.sync().pull.heldBack.count == 1) }
    let second = try await a.replicator.pull().heldBack.map(\.replica)
    try await a.replicator.sync(accepting: Set(second))
    try await settle([a, b, ahead, farther])
    try await expectEqual([a, b, ahead, farther])
  }

  /// F-8: or the acknowledgements, or contents of assets.
  @Test(arguments: ["acks", "assets"]) func aRemoteOfWhichLittleHasComeIsNoNewOne(part: String) async throws {
    try await a.magic.update(Note("n", "x"))
    try await a.replicator.push()
    let content = folder["remote/assets/ab/ab"]
    try FileManager.default.createDirectory(at: content.deletingLastPathComponent(), withIntermediateDirectories: true)
    let digits = String(repeating: "ab", count: 32)
    try Data("x".utf8).write(to: content.deletingLastPathComponent().appendingPathComponent(digits))
    try FileManager.default.moveItem(at: folder["remote"], to: folder["whole"])
    try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    try FileManager.default.copyItem(at: folder["whole/\(part)"], to: folder["remote/\(part)"])
    try await b.magic.update(Note("m", "y"))
    await #expect { try await b.replicator.sync() } throws: { ($0 as? MagicDataError)?.code == .busy }
    #expect(try !folder.contents().keys.contains("remote/magicdata.json"))
    // Its own data set may fill it again.
    if part == "acks" {
      try await a.replicator.push()
      #expect(try folder.contents().keys.contains("remote/magicdata.json"))
    }
  }

  /// K-6: a file that is too large would be read by nobody.
  @Test func acknowledgementsOfManyStayReadable() throws {
    let (dataSet, ids) = (Identifier(0, 1), (1...40).map { Identifier(0, $0) })
    var frontier = NamedFrontier()
    for id in ids { frontier[id] = .init(sequence: 1, name: TransactionName(stamp: Stamp(9 << 16), tag: 1)) }
    var members: [ReplicaID: MemberReplica] = [:]
    for (number, id) in ids.enumerated() {
      members[id] = MemberReplica(id)
      members[id]?.acknowledged = .init(time: Int64(1_000 - number), frontier: frontier, digest: nil)
    }
    members[ids[7]]?.expired = 5
    let file = AckFile(replica: ids[39], members: members, closings: [ids[3]: 2])
    let all = try file.bytes(dataSet)
    for limit in stride(from: 10_000, through: all.count, by: 9_999) {
      let bytes = try file.bytes(dataSet, atMost: limit)
      let said = try #require(AckFile(bytes, of: ids[39], dataSet))
      #expect(bytes.count <= limit && bytes.count > limit - limit / 8 - all.count / 40)
      #expect(said.members[ids[39]]?.acknowledged != nil && said.members[ids[7]]?.expired == 5 && said.closings == [ids[3]: 2])
      // Of the others the latest.
      let others = ids.dropLast().map { said.members[$0]?.acknowledged != nil }
      #expect(others == others.sorted { $0 && !$1 })
    }
    #expect(try file.bytes(dataSet, atMost: all.count) == all)
    // At the least one's own.
    let own = try AckFile(replica: ids[39], members: members.filter { $0.key == ids[39] }).bytes(dataSet)
    #expect(try file.bytes(dataSet, atMost: own.count) == own)
  }

  /// H-31, F-8: a service may bring the segments first.
  @Test func aRemoteThatHasNotWhollyComeIsNoNewOne() async throws {
    try await a.magic.update(Note("n", "x"))
    try await a.replicator.push()
    let (marker, aside) = (folder["remote/magicdata.json"], folder["aside"])
    try FileManager.default.moveItem(at: marker, to: aside)
    try await b.magic.update(Note("m", "y"))
    let before = try folder.contents().filter { $0.key.hasPrefix("remote/") }
    func expectBusy() async throws {
      for exchange in [{ _ = try await b.replicator.sync() }, { _ = try await b.replicator.pull() }] {
        await #expect { try await exchange() } throws: { ($0 as? MagicDataError)?.code == .busy }
      }
      #expect(try folder.contents().filter { $0.key.hasPrefix("remote/") && !$0.key.hasSuffix(".icloud") } == before)
    }
    try await expectBusy()
    // Nor is one of which nothing is there but what a service puts in its place.
    try FileManager.default.moveItem(at: folder["remote/segments"], to: folder["segments"])
    try Data().write(to: folder["remote/.magicdata.json.icloud"])
    await #expect { try await b.replicator.sync() } throws: { ($0 as? MagicDataError)?.code == .busy }
    try FileManager.default.removeItem(at: folder["remote/.magicdata.json.icloud"])
    try FileManager.default.moveItem(at: folder["segments"], to: folder["remote/segments"])
    try FileManager.default.moveItem(at: aside, to: marker)
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  /// Two replicas' segments in one folder, which need more fields together than a database may have; or two branches' under one
  /// id.
  private func fillWide(_ counts: [Int], replica: Int? = nil) async throws {
    for (number, name) in ["one", "two"].enumerated() {
      try WideExport(counts, number: number, object: name, replica: replica).data.write(to: folder["\(name).jsonl"])
      let magic = try await MagicData(path: folder[name])
      _ = try await magic.rebuild(from: [.export(folder["\(name).jsonl"])], RebuildPlan())
      try await MagicReplicator(magic, remote: FolderRemote(folder["remote-\(name)"])).push()
      try await magic.close()
    }
    // As a service would bring them together.
    let segments = folder["remote-two/segments"]
    for name in try FileManager.default.contentsOfDirectory(atPath: segments.path) {
      try FileManager.default.copyItem(at: segments.appendingPathComponent(name), to: folder["remote-one/segments/" + name])
    }
  }

  /// H-21, J-15: more fields than one type, or all types together, can have keep back who wrote them, and nobody else.
  @Test(arguments: [[600], Array(repeating: 600, count: 7)])
  func whatIsMoreThanADatabaseMayHaveKeepsNothingElseBack(counts: [Int]) async throws {
    try await fillWide(counts)
    let c = try Replica(folder["c"], folder["remote-one"], world)
    try await c.magic.update(Note("n", "mine"))
    let (pull, push) = try await c.replicator.sync()
    #expect((pull.transactions, push.transactions) == (1, 1))
    #expect(pull.unread.map(\.code) == [.tooLarge], "\(pull)")
    #expect(try await DatabaseCheck(c.magic).faults == [])
  }

  /// H-21, J-15: nor out of a database that is made of the journals alone, in whatever order they are merged.
  @Test(arguments: [nil, 1, 2, 3] as [UInt64?])
  func whatIsMoreThanADatabaseMayHaveKeepsNothingElseOutOfOneThatIsRebuilt(seed: UInt64?) async throws {
    try WideExport([600], number: 0, object: "one").data.write(to: folder["one.jsonl"])
    // Of what its replica wrote later nothing is taken either.
    let (two, replica) = (WideExport([600], number: 1, object: "two"), String(repeating: "3", count: 32))
    let later =
      #"{"transaction":{"replica":"\#(replica)","sequence":2,"stamp":"196608","tag":2,"root":"\#(replica)","entries":[{"type":"T","op":"update","object":"two","fields":{"f600":2}}]}}"#
    let text = String(decoding: two.data, as: UTF8.self).replacingOccurrences(
      of: #"{"end":{"transactions":1}}"#, with: later + "\n" + #"{"end":{"transactions":2}}"#)
    try Data(text.utf8).write(to: folder["two.jsonl"])
    let magic = try await MagicData(path: folder["c"])
    var plan = RebuildPlan()
    plan.seed = seed
    let report = try await magic.rebuild(from: [.export(folder["one.jsonl"]), .export(folder["two.jsonl"])], plan)
    #expect(report.transactions == 1 && report.read.unread.map(\.code) == [.tooLarge], "\(report)")
    let check = try await DatabaseCheck(magic)
    #expect(check.objects == 1 && check.faults == [], "\(check)")
  }

  /// H-21, J-15, J-33: nor does a branch of a closed id that there is no room for.
  @Test func aBranchThatThereIsNoRoomForKeepsNothingElseBack() async throws {
    try await fillWide([600], replica: 0)
    let c = try Replica(folder["c"], folder["remote-one"], world)
    try await c.magic.update(Note("n", "mine"))
    // The other branch has an id of its own from now on, and goes there.
    let (pull, push) = try await c.replicator.sync()
    #expect((pull.transactions, push.transactions) == (1, 2))
    #expect(pull.unread.map(\.code) == [.tooLarge], "\(pull)")
    let again = try await c.replicator.sync()
    #expect((again.pull.transactions, again.push.transactions) == (0, 0))
    #expect(again.pull.unread.map(\.code) == [.tooLarge], "\(again.pull)")
    #expect(try await DatabaseCheck(c.magic).faults == [])
  }

  /// K-8: so many ids are remembered, and of these what is said later; the own one is among them, whoever came first.
  @Test func idsAreRememberedUpToSoMany() async throws {
    let members = (0...Members.most).map { number in
      var member = MemberReplica(ReplicaID(7, UInt64(number)))
      member.acknowledged = .init(time: 1, frontier: NamedFrontier())
      return member
    }
    let (own, known) = try await a.magic.store.write { db in
      var all = try Members(db)
      all.learn(members)
      #expect(all.all.count == Members.most)
      var later = members[0]
      later.acknowledged = .init(time: 2, frontier: NamedFrontier())
      all.learn([later])
      all.acknowledge(NamedFrontier(), at: 3)
      #expect(all.all[members[Members.most].replica] == nil)
      // Who has the database says this.
      all.expire(members[Members.most].replica, at: 4)
      try all.store(db)
      return (all.own, try Members(db).all)
    }
    #expect(known.count == Members.most + 2)
    #expect(known[members[0].replica]?.acknowledged?.time == 2)
    #expect(known[own]?.acknowledged?.time == 3)
    #expect(known[members[Members.most].replica]?.isExpired == true)
  }

  /// F-1, F-8.
  @Test func placesThatCannotBeRemotesAreRefused() async throws {
    try await a.magic.update(Note("n", "x"))
    try FileManager.default.createDirectory(at: folder["full"], withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: folder["full/letter"])
    try Data("mine".utf8).write(to: folder["file"])
    try FileManager.default.createDirectory(at: folder["empty"], withIntermediateDirectories: false)
    func replicator(_ name: String) -> MagicReplicator { MagicReplicator(a.magic, remote: FolderRemote(folder[name])) }
    let before = try folder.contents().filter { !$0.key.hasPrefix("a/") }
    for name in ["no/remote", "full", "file", "a"] {
      await #expect(throws: MagicDataError.self) { try await replicator(name).push() }
    }
    for name in ["no", "no/remote", "full", "file", "empty", "a"] {
      await #expect { try await replicator(name).pull() } throws: { ($0 as? MagicDataError)?.code == .notFound }
    }
    #expect(try folder.contents().filter { !$0.key.hasPrefix("a/") } == before)
    #expect(try await replicator("empty").push().transactions == 1)
  }

  /// H-30, F-8: two who make one remote at once.
  @Test func whoMakesARemoteSecondTakesWhatStands() async throws {
    try await a.magic.update(Note("a", "a"))
    try await b.magic.update(Note("b", "b"))
    let (one, two) = (a.replicator, b.replicator)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await one.sync() }
      group.addTask { try await two.sync() }
      try await group.waitForAll()
    }
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.notes().count == 2)
  }

  /// H-41, F-5, F-11.
  @Test func segmentsOfAnotherDataSetDoNotCount() async throws {
    try await push(1)
    let other = try Replica(folder["other"], folder["elsewhere"], world)
    try await other.magic.update(Note("x", "theirs"))
    try await other.replicator.push()
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder["elsewhere/segments"].path).first)
    try FileManager.default.copyItem(at: folder["elsewhere/segments/\(name)"], to: segments.appendingPathComponent(name))
    let report = try await b.replicator.pull()
    #expect(report.transactions == 1)
    #expect(report.unread.map(\.code) == [.incompatible])
    #expect(report.unread.first?.path.hasSuffix(name) == true)
    #expect(try await b.notes().keys.sorted() == ["n0"])
  }

  @Test func largeJournalsAreCutIntoSegments() async throws {
    for number: UInt8 in 0..<6 {
      let picture = Picture()
      picture.data = Data(repeating: number, count: Limits.segmentCut / 2)
      try await a.magic.update(picture)
    }
    #expect(try await a.replicator.push().segments == 3)
    #expect(try await b.replicator.pull().segments == 3)
    // Not by their digests: hashing megabytes takes a debug build half a minute.
    let dump = try await Dump(a.magic)
    #expect(try await Dump(b.magic) == dump)
  }

  /// J-1, L-26: an id for each replica, and one for all of their data.
  @Test func replicasOfADataSetShareItsID() async throws {
    try await push(1)
    try await b.replicator.pull()
    var (dataSets, replicas): ([String], [String]) = ([], [])
    for replica in [a, b] {
      let state = try await replica.magic.store.read { db in try DatabaseState(db) }
      dataSets.append(state.dataSet.description)
      replicas.append(state.replica.description)
    }
    #expect(Set(dataSets).count == 1)
    #expect(Set(replicas).count == 2)
    for id in dataSets + replicas { #expect(id.wholeMatch(of: #/[0-9a-f]{32}/#) != nil, "\(id)") }
  }

  /// H-28: what a later reading of a followed folder lacked stays said until it was told, whatever was lacking before.
  @Test func whatEachReadingLackedStaysSaid() {
    let (one, two) = (ReplicaID(1, 1), ReplicaID(2, 2))
    var (first, second, told) = (MagicReadReport(), MagicReadReport(), ReadProgress())
    first.add(PullReport.Gap(replica: one.description, sequences: 1...2))
    second.add(PullReport.Gap(replica: two.description, sequences: 1...3))
    let both = first.followed(by: second, told: told)
    #expect(both.gaps == first.gaps + second.gaps)
    told.add(2, TransactionName(stamp: Stamp(1), tag: 1), of: one)
    let left = both.followed(by: MagicReadReport(), told: told)
    #expect(left.gaps == second.gaps)
    told.add(3, TransactionName(stamp: Stamp(2), tag: 1), of: two)
    #expect(left.followed(by: MagicReadReport(), told: told).isComplete)
  }

  /// J-14: the schema travels: a database without models merges, forwards, and can be opened by an app afterwards.
  @Test func noModelsAreNeeded() async throws {
    try await push(2)
    let report = try await b.replicator.pull()
    #expect(report.changes == 2)
    #expect(try await Dump(b.magic).objects.count == 2)
    #expect(try await b.notes()["n1"]?.title == "title 1")
  }
}
