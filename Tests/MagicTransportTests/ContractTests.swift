import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// What every remote does, whatever it is.
@Suite(.timeLimit(.minutes(15))) struct ContractTests {
  @Test(arguments: RemoteKind.allCases) func whatIsPushedIsPulled(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(contentsOf: (0..<50).map { Note("\($0)", "note \($0)") })
    let pushed = try await a.replicator.push()
    #expect((pushed.transactions, pushed.changes, pushed.segments) == (1, 50, 1))
    let pulled = try await b.replicator.pull()
    #expect((pulled.transactions, pulled.changes, pulled.isComplete) == (1, 50, true))
    try await expectEqual([a.magic, b.magic])
    // Nothing moves twice.
    #expect(try await a.replicator.push().segments == 0)
    #expect(try await b.replicator.pull().segments == 0)
    try await place.stop()
  }

  /// K-25: names of replicas go with what they acknowledge, in both directions.
  @Test(arguments: RemoteKind.allCases) func namesOfReplicasAreHeard(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Note("1", "one"))
    let first = try await a.magic.setReplicaName("laptop")
    try await a.replicator.push()
    try await b.replicator.sync()
    #expect(try await b.magic.replicaNames() == [first: "laptop"])
    let second = try await b.magic.setReplicaName("phone")
    try await b.replicator.push()
    try await a.replicator.sync()
    for magic in [a.magic, b.magic, place.served].compactMap({ $0 }) {
      #expect(try await magic.replicaNames() == [first: "laptop", second: "phone"])
    }
    try await place.stop()
  }

  /// H-36: what came from others goes on under its own names, and everybody comes to rest.
  @Test(arguments: RemoteKind.allCases, seeds(2)) func replicasThatSyncInTurnAreEqual(kind: RemoteKind, seed: UInt64)
    async throws
  {
    let place = try await Place(kind)
    var chance = Seeded(seed)
    let replicas = try ["a", "b", "c"].map { try place.replica($0) }
    for _ in 0..<20 {
      place.world.advance(7)
      let replica = chance.pick(replicas)
      switch chance.below(4) {
      case 0: try await replica.replicator.sync()
      case 1:
        if let note = try await replica.magic.object(of: Note.self).first { try await replica.magic.remove(note) }
      default: try await replica.magic.update(Note("\(chance.below(6))", "title \(chance.below(100))"))
      }
    }
    for _ in 0..<3 { for replica in replicas { try await replica.replicator.sync() } }
    for replica in replicas {
      let (pull, push) = try await replica.replicator.sync()
      #expect((pull.transactions, push.transactions) == (0, 0), "MAGIC_SEED=\(seed)")
    }
    try await expectEqual(replicas.map(\.magic) + [place.served].compactMap { $0 }, "MAGIC_SEED=\(seed)")
    try await place.stop()
  }

  /// S-8: more than one segment, and the schema that each needs.
  @Test(arguments: RemoteKind.allCases) func aLongJournalComesWhole(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    for part in 0..<6 {
      try await a.magic.update(
        contentsOf: (0..<5).map { Note("\(part)-\($0)", String(repeating: "\(part) \($0) ", count: 60_000)) })
    }
    #expect(try await a.replicator.push().segments > 1)
    #expect(try await b.replicator.pull().transactions == 6)
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  /// H-10, L-26, W-5.
  @Test(arguments: RemoteKind.allCases) func anotherDataSetIsRefused(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, other) = (try place.replica("a"), try place.replica("other"))
    try await a.magic.update(Note("1", "ours"))
    try await a.replicator.push()
    try await other.magic.update(Note("2", "theirs"))
    try await MagicReplicator(other.magic, remote: FolderRemote(place.folder["elsewhere"])).push()
    let before = try await Dump(other.magic)
    await expectCode(.incompatible, naming: "another data set") { try await other.replicator.sync() }
    #expect(try await Dump(other.magic) == before)
    let b = try place.replica("b")
    try await b.replicator.pull()
    #expect(try await b.titles() == ["ours"])
    try await place.stop()
  }

  /// F-17, H-8: a copy that nothing tells from its original finds it in the remote, and goes on under an id of its own,
  /// whichever of both moves first and how much.
  @Test(arguments: RemoteKind.allCases, [0, 1, 3]) func aCopyGoesOnAsAReplicaOfItsOwn(kind: RemoteKind, writes: Int)
    async throws
  {
    let place = try await Place(kind)
    try await place.makeTwins()
    let (one, two) = (try place.replica("a"), try place.replica("copy"))
    place.world.advance(5)
    for number in 0..<2 { try await one.magic.update(Note("one \(number)", "one \(number)")) }
    for number in 0..<writes { try await two.magic.update(Note("two \(number)", "two \(number)")) }
    try await one.replicator.push()
    if writes == 1 { try await two.replicator.push() }
    try await two.replicator.sync()
    try await one.replicator.sync()
    let late = try place.replica("late")
    try await late.replicator.pull()
    try await expectEqual([one.magic, two.magic, late.magic] + [place.served].compactMap { $0 })
    #expect(try await late.titles().count == 3 + writes)
    #expect(try await two.magic.statistics().replica != one.magic.statistics().replica)
    try await place.stop()
  }

  /// L-11: who holds the one branch and meets the other closes the id, and holds both; so does everybody in the end.
  @Test(arguments: RemoteKind.allCases, [false, true]) func aBranchThatOthersHoldIsHeldBesideTheOther(
    kind: RemoteKind, isPushed: Bool
  )
    async throws
  {
    let place = try await Place(kind)
    try await place.makeTwins()
    let side = FolderRemote(place.folder["side"])
    let (one, two) = (try place.replica("a"), Replica(try place.magic("copy"), side))
    for number in 0..<3 { try await one.magic.update(Note("one \(number)", "one")) }
    try await one.replicator.push()
    for number in 0..<2 { try await two.magic.update(Note("two \(number)", "two")) }
    try await two.replicator.push()
    let third = try place.replica("third")
    try await MagicReplicator(third.magic, remote: side).pull()
    if isPushed { try await third.replicator.push() }
    try await third.replicator.sync()
    try await two.replicator.sync()
    try await MagicReplicator(third.magic, remote: side).sync()
    for _ in 0..<2 {
      for replica in [one, two, third] { try await replica.replicator.sync() }
    }
    let late = try place.replica("late")
    try await late.replicator.pull()
    let dump = try await Dump(third.magic)
    for magic in [one.magic, two.magic, late.magic] + [place.served].compactMap({ $0 }) {
      #expect(try await Dump(magic) == dump)
      #expect(try await DatabaseCheck(magic).faults == [])
    }
    #expect(try await late.titles().count == 6)
    // It is over.
    let (pull, push) = try await third.replicator.sync()
    #expect((pull.transactions, pull.segments, push.transactions) == (0, 0, 0))
    try await place.stop()
  }

  /// K-20: both branches have given up the history that would show where they part.
  @Test(arguments: RemoteKind.allCases) func branchesMeetThatWereCompacted(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    try await place.makeTwins()
    let side = FolderRemote(place.folder["side"])
    let (one, two) = (try place.replica("a"), Replica(try place.magic("copy"), side))
    let (three, four) = (try place.replica("three"), Replica(try place.magic("four"), side))
    for number in 0..<3 {
      try await one.magic.update(Note("one \(number)", "one"))
      try await two.magic.update(Note("two \(number)", "two"))
    }
    for replica in [one, three, one, three, two, four, two, four] { try await replica.replicator.sync() }
    for replica in [one, two] { #expect(try await replica.magic.compact().keptEntries > 0) }
    for replica in [three, four] { #expect(try await replica.magic.compact().keptEntries > 0) }
    if let served = place.served { try await served.compact() }
    let moved = Replica(four.magic, try place.remote())
    for _ in 0..<3 {
      for replica in [moved, four, three, one, two] { try await replica.replicator.sync() }
    }
    let dump = try await Dump(one.magic)
    #expect(try await one.titles().count == 7)
    let late = try place.replica("late")
    try await late.replicator.pull()
    for magic in [two.magic, three.magic, four.magic, late.magic] + [place.served].compactMap({ $0 }) {
      #expect(try await Dump(magic) == dump)
      #expect(try await DatabaseCheck(magic).faults == [])
    }
    let (pull, push) = try await moved.replicator.sync()
    #expect((pull.transactions, push.transactions) == (0, 0))
    try await place.stop()
  }

  /// F-17: what was compacted is sent by a push alone, though the remote stands for as many transactions of the other branch.
  @Test(arguments: RemoteKind.allCases) func aBranchThatWasCompactedIsPushed(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    try await place.makeTwins()
    let (one, two) = (try place.replica("a"), try place.replica("copy"))
    for number in 0..<3 { try await one.magic.update(Note("one \(number)", "one")) }
    for number in 0..<2 { try await two.magic.update(Note("two \(number)", "two")) }
    for replica in [one, two] { #expect(try await replica.magic.compact().keptEntries > 0) }
    try await one.replicator.push()
    try await two.replicator.push()
    try await two.magic.close()
    let late = try place.replica("late")
    try await late.replicator.pull()
    try await one.replicator.sync()
    #expect(try await late.titles().count == 6)
    try await expectEqual([one.magic, late.magic] + [place.served].compactMap { $0 })
    try await place.stop()
  }

  /// W-6, F-7: files of two branches are not taken for one row because their numbers go on from each other.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aHoleHidesNoBranch(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    try await place.makeTwins()
    let (one, two) = (try place.replica("a"), try place.replica("copy"))
    for number in 0..<3 { try await one.magic.update(Note("one \(number)", "one")) }
    for number in 0..<4 { try await two.magic.update(Note("two \(number)", "two")) }
    let segments = place.files.appendingPathComponent("segments")
    let first = try FileManager.default.contentsOfDirectory(atPath: segments.path)
    try await one.replicator.push()
    for name in first { try FileManager.default.removeItem(at: segments.appendingPathComponent(name)) }
    try await two.replicator.push()
    for _ in 0..<3 {
      for replica in [one, two] { try await replica.replicator.sync() }
    }
    let late = try place.replica("late")
    try await late.replicator.pull()
    #expect(try await late.titles().count == 8)
    try await expectEqual([one.magic, two.magic, late.magic])
    try await place.stop()
  }

  @Test(arguments: RemoteKind.allCases) func aRemoteThatHoldsNothingCannotBePulled(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let a = try place.replica("a")
    await expectCode(.notFound) { try await a.replicator.pull() }
    try await place.stop()
  }

  /// H-38.
  @Test(arguments: RemoteKind.allCases) func contentsComeWithTheirRows(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b, c) = (try place.replica("a"), try place.replica("b"), try place.replica("c"))
    let long = String(repeating: "once upon a time ", count: 20_000)
    try await a.magic.update(contentsOf: [Photo("1", "short"), Photo("2", long), Photo("3", "")])
    let pushed = try await a.replicator.push()
    #expect((pushed.assets, pushed.missingAssets, pushed.unread.count) == (3, 0, 0))
    #expect(try await a.replicator.push().assets == 0)
    let pulled = try await b.replicator.pull()
    #expect((pulled.assets, pulled.missingAssets) == (3, 0))
    #expect(try await b.magic.object(of: Photo.self, primary: "2").content?.load() == long)
    #expect(try await b.replicator.pull().assets == 0)
    // Who has the rows and not the contents gets these when somebody brings them.
    try await c.replicator.pull()
    for photo in try await c.magic.object(of: Photo.self) { _ = try photo.content?.load() }
    if let served = place.served {
      #expect(try await served.object(of: Photo.self, primary: "2").content?.load() == long)
    }
    try await place.stop()
  }

  /// One content under two names, of which one was there already.
  @Test(arguments: RemoteKind.allCases) func aContentIsThereUnderEachOfItsNames(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Photo("1", "the same"))
    try await a.replicator.push()
    try await b.replicator.pull()
    let other = Photo("2", "the same")
    other.content = MagicAsset(value: "the same", pathExtension: "text")
    try await a.magic.update(other)
    try await a.replicator.push()
    #expect(try await b.replicator.pull().missingAssets == 0)
    for magic in [b.magic, place.served].compactMap({ $0 }) {
      for photo in try await magic.object(of: Photo.self) { #expect(try photo.content?.load() == "the same") }
    }
    try await place.stop()
  }

  /// H-32: of a content's two files, the one that is whole is sent.
  @Test(arguments: RemoteKind.allCases) func theWholeOneOfTwoFilesIsSent(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    let (one, other) = (Photo("1", "the same"), Photo("2", "the same"))
    one.content = MagicAsset(value: "the same", pathExtension: "jpg")
    other.content = MagicAsset(value: "the same", pathExtension: "png")
    try await a.magic.update(one)
    try await a.magic.update(other)
    try Data("THE SAME".utf8).write(to: URL(fileURLWithPath: try #require(one.content?.path)))
    let pushed = try await a.replicator.push()
    #expect((pushed.assets, pushed.missingAssets, pushed.unread.map(\.code)) == (1, 0, [.damaged]))
    try await b.replicator.pull()
    for photo in try await b.magic.object(of: Photo.self) { #expect(try photo.content?.load() == "the same") }
    try await place.stop()
  }

  /// H-38, F-15: what nobody else has got outlasts a merge that lets go of it, whoever takes it.
  @Test(arguments: RemoteKind.allCases) func aContentThatWasNotSentOutlastsAMerge(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b, c) = (try place.replica("a"), try place.replica("b"), try place.replica("c"))
    func photo(_ replica: Replica) async throws -> Photo { try await replica.magic.object(of: Photo.self, primary: "1") }
    try await a.magic.update(Photo("1", "first"))
    for replica in [a, b, c, a] { try await replica.replicator.sync() }
    let edited = try await photo(b)
    edited.content = MagicAsset(value: "only here", pathExtension: "txt")
    try await b.magic.update(edited)
    place.world.advance(1)
    try await a.magic.remove(photo(a))
    try await a.replicator.sync()
    place.world.advance(1)
    let wanted = try await photo(c)
    wanted.note = "wanted"
    try await c.magic.update(wanted)
    for _ in 0..<2 { for replica in [b, c, a] { try await replica.replicator.sync() } }
    for replica in [a, b, c] { #expect(try await photo(replica).content?.load() == "only here") }
    try await expectEqual([a.magic, b.magic, c.magic])
    if let served = place.served {
      #expect(try await served.object(of: Photo.self, primary: "1").content?.load() == "only here")
    }
    try await place.stop()
  }

  /// H-32, F-16: a content that has rotted is noticed by who asks for it, and written anew by who has it.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aDamagedContentIsMended(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    let text = String(repeating: "once upon a time ", count: 20_000)
    try await a.magic.update(Photo("1", text))
    try await a.replicator.push()
    let assets = place.files.appendingPathComponent("assets")
    let names = try FileManager.default.subpathsOfDirectory(atPath: assets.path).filter { $0.count > 64 }
    let file = assets.appendingPathComponent(try #require(names.first))
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
    #expect(try await b.replicator.pull().missingAssets == 1)
    #expect(try await a.replicator.push().assets == 1)
    #expect(try await b.replicator.pull().assets == 1)
    #expect(try await b.magic.object(of: Photo.self, primary: "1").content?.load() == text)
    #expect(try await a.replicator.push().assets == 0)
    try await place.stop()
  }

  /// F-13: what was cut short is not what somebody has, whoever asks.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aContentThatWasCutShortIsWrittenAnew(kind: RemoteKind)
    async throws
  {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Photo("1", "once upon a time"))
    try await a.replicator.push()
    let assets = place.files.appendingPathComponent("assets")
    let names = try FileManager.default.subpathsOfDirectory(atPath: assets.path).filter { $0.count > 64 }
    try Data("once".utf8).write(to: assets.appendingPathComponent(try #require(names.first)))
    #expect(try await a.replicator.status().outAssets == 1)
    #expect(try await a.replicator.push().assets == 1)
    #expect(try await b.replicator.pull().isComplete)
    #expect(try await b.magic.object(of: Photo.self, primary: "1").content?.load() == "once upon a time")
    try await place.stop()
  }

  /// H-9: a wiped remote lacks something, and no more.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aWipedRemoteIsFilledAgain(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    try await b.replicator.sync()
    try FileManager.default.removeItem(at: place.files)
    try await b.magic.update(Note("2", "two"))
    #expect(try await b.replicator.sync().push.transactions == 2)
    try await a.replicator.sync()
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aDamagedFileIsSentAnew(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    for number in 0..<3 {
      try await a.magic.update(Note("\(number)", "note"))
      try await a.replicator.push()
    }
    let segments = place.files.appendingPathComponent("segments")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted().dropFirst().first)
    var bytes = try Data(contentsOf: segments.appendingPathComponent(name))
    bytes[bytes.count - 6] ^= 1
    try bytes.write(to: segments.appendingPathComponent(name))
    let pulled = try await b.replicator.pull()
    #expect(pulled.transactions == 1)
    #expect(pulled.unread.count == 1)
    try await a.replicator.push()
    #expect(try await b.replicator.pull().isComplete)
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  /// H-39, F-6, W-9: what a newer version has written is not replaced, and keeps nothing else from being sent.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aFileOfAnotherFormatKeepsNothingElseBack(kind: RemoteKind)
    async throws
  {
    let place = try await Place(kind)
    let before = place.folder["before"]
    let b = try place.replica("b")
    for magic in [try place.magic("a"), try place.magic("c"), b.magic] {
      try await magic.update(Note(UUID().uuidString, "note"))
      try await MagicReplicator(magic, remote: FolderRemote(before)).sync()
    }
    let segments = try FileManager.default.contentsOfDirectory(atPath: before.path + "/segments").sorted()
    #expect(segments.count == 3)
    // What is sent first is in the way.
    let newer = before.appendingPathComponent("segments/" + segments[0])
    var bytes = try Data(contentsOf: newer)
    bytes[9] = 2
    let checksum = Zlib.checksum([UInt8](bytes[..<120])[...])
    bytes.replaceSubrange(120..<124, with: withUnsafeBytes(of: checksum.bigEndian) { Data($0) })
    try bytes.write(to: newer)
    for name in ["segments/" + segments[1], "segments/" + segments[2], "acks"] {
      try FileManager.default.removeItem(at: before.appendingPathComponent(name))
    }
    try #require(rename(before.path, place.files.path) == 0)
    await expectCode(.incompatible, naming: "no contents of assets") { try await b.replicator.push() }
    let there = place.files.appendingPathComponent("segments")
    #expect(try FileManager.default.contentsOfDirectory(atPath: there.path).sorted() == segments)
    #expect(try Data(contentsOf: there.appendingPathComponent(segments[0])) == bytes)
    // Nobody says that all of it is there.
    #expect(!FileManager.default.fileExists(atPath: place.files.appendingPathComponent("acks").path))
    try FileManager.default.removeItem(at: there.appendingPathComponent(segments[0]))
    #expect(try await b.replicator.push().transactions == 1)
    let late = try place.replica("late")
    try await late.replicator.pull()
    try await expectEqual([b.magic, late.magic])
    try await place.stop()
  }

  /// H-39, K-17, W-9, W-17: nor does a checkpoint that a newer version has written; what lies above the floor is sent.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func aCheckpointOfAnotherFormatKeepsNothingElseBack(
    kind: RemoteKind
  ) async throws {
    let place = try await Place(kind)
    let before = place.folder["before"]
    let a = try place.replica("a")
    let aside = MagicReplicator(a.magic, remote: FolderRemote(before))
    for number in 0..<2 {
      place.world.advance(5)
      try await a.magic.update(Note("\(number)", "note"))
      try await aside.push()
    }
    try await aside.compact()
    let name = try #require(FileManager.default.contentsOfDirectory(atPath: before.path + "/checkpoints").first)
    let newer = before.appendingPathComponent("checkpoints/" + name)
    var bytes = try Data(contentsOf: newer)
    let end = try CheckpointHeader.length([UInt8](bytes.prefix(CheckpointHeader.fixedLength))) - 4
    bytes[9] = 2
    let checksum = Zlib.checksum([UInt8](bytes[..<end])[...])
    bytes.replaceSubrange(end..<end + 4, with: withUnsafeBytes(of: checksum.bigEndian) { Data($0) })
    try bytes.write(to: newer)
    try FileManager.default.removeItem(at: before.appendingPathComponent("acks"))
    try #require(rename(before.path, place.files.path) == 0)
    place.world.advance(5)
    try await a.magic.update(Note("above", "note"))
    await expectCode(.incompatible, naming: "no contents of assets") { try await a.replicator.push() }
    func names(_ folder: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: place.files.path + folder)
    }
    #expect(try names("/segments").count == 1)
    #expect(try names("/checkpoints") == [name])
    let there = place.files.appendingPathComponent("checkpoints/" + name)
    #expect(try Data(contentsOf: there) == bytes)
    // Nobody says that all of it is there.
    #expect(!FileManager.default.fileExists(atPath: place.files.appendingPathComponent("acks").path))
    try FileManager.default.removeItem(at: there)
    #expect(try await a.replicator.push().checkpoints == 1)
    let late = try place.replica("late")
    try await late.replicator.pull()
    try await expectEqual([a.magic, late.magic])
    try await place.stop()
  }

  /// C-5, W-6: what is said by the path of a hub's folder is heard, though not each comparison looks for it.
  @Test func whatWasAcceptedByPathIsHeardByAHub() async throws {
    let place = try await Place(.folder)
    let ahead = Replica(try place.magic("ahead", skew: 3 * 86_400_000), try place.remote())
    try await ahead.magic.update(Note("1", "in three days"))
    try await ahead.replicator.push()
    let a = try place.replica("a")
    let waiting = try await a.replicator.pull().heldBack
    #expect(waiting.count == 1)
    let dataSet = try FolderRemote(place.files).dataSet()
    let hub = ServedFolder(FolderRemote(place.files))
    #expect(try await hub.acceptedTime(dataSet) == 0)
    try await a.replicator.pull(accepting: Set(waiting.map(\.replica)))
    try await a.magic.update(Note("2", "beside it"))
    try await a.replicator.push()
    let latest = ContinuousClock.now + .seconds(40)
    while try await hub.acceptedTime(dataSet) == 0, .now < latest { try await Task.sleep(for: .milliseconds(50)) }
    #expect(try await hub.acceptedTime(dataSet) > 0)
    try await place.stop()
  }

  /// C-5, L-22, W-6, W-18: what one person has accepted nobody has to accept again, be it before the first pull.
  @Test(arguments: [RemoteKind.folder, .hub, .peer]) func whatWasAcceptedIsHeardBeforeItIsMerged(kind: RemoteKind)
    async throws
  {
    let place = try await Place(kind)
    let side = FolderRemote(place.folder["side"])
    let ahead = Replica(try place.magic("ahead", skew: 3 * 86_400_000), side)
    try await ahead.magic.update(Note("1", "in three days"))
    try await ahead.replicator.push()
    let a = try place.replica("a")
    let waiting = try await MagicReplicator(a.magic, remote: side).pull().heldBack
    #expect(waiting.count == 1)
    try await MagicReplicator(a.magic, remote: side).pull(accepting: Set(waiting.map(\.replica)))
    // From here on it writes ahead itself.
    try await a.magic.update(Note("2", "beside it"))
    let pushed = try await a.replicator.push()
    #expect((pushed.transactions, pushed.unread.count) == (2, 0))
    let late = try place.replica("late")
    let pulled = try await late.replicator.pull()
    #expect((pulled.transactions, pulled.heldBack.count) == (2, 0))
    try await expectEqual([a.magic, late.magic] + [place.served].compactMap { $0 })
    try await place.stop()
  }

  /// H-43, L-24, L-25, W-16, K-21, K-22: sides that hold the same transactions and yet are not equal are told so. Here a value
  /// in a peer's journal was changed by hand.
  @Test func whatHoldsTheSameAndDiffersIsAnAlarm() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let served = try #require(place.served)
    _ = try await served.store.write { db in
      try db.execute(sql: "UPDATE magic_journal SET data = CAST(replace(CAST(data AS TEXT), 'one', 'off') AS BLOB)")
    }
    try await a.magic.update(Note("2", "two"))
    await expectCode(.failed, naming: "hold the same transactions and differ nevertheless") { try await a.replicator.sync() }
    // It is said after everything was exchanged, and is no reason to lose anything.
    #expect(try await served.object(of: Note.self).count == 2)
    #expect(try await a.titles() == ["one", "two"])
    try await place.stop()
  }

  /// H-43, L-25, K-22, W-18: the same between replicas that never meet, by what a folder or a hub keeps of each.
  @Test(arguments: RemoteKind.allCases.filter(\.hasFiles)) func whoDiffersFromAnotherIsToldSo(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.sync()
    try await b.replicator.pull()
    _ = try await b.magic.store.write { db in
      try db.execute(sql: "UPDATE magic_journal SET data = CAST(replace(CAST(data AS TEXT), 'one', 'off') AS BLOB)")
    }
    try await b.magic.update(Note("2", "two"))
    // A has not come to what B says.
    try await b.replicator.sync()
    for (replica, other) in [(a, b), (b, a)] {
      let id = try await other.magic.statistics().replica
      await expectCode(.failed, naming: id) { try await replica.replicator.sync() }
    }
    #expect(try await a.titles() == ["one", "two"])
    try await place.stop()
  }

  /// H-32, W-16: a peer folds its journal once for all who ask for its digest, and anew when something has come.
  @Test func aPeerFoldsOnceForAllWhoAsk() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let magic = try #require(place.served)
    let served = ServedDatabase(magic)
    let frontier = try await served.frontier()
    let digest = try #require(try await served.digest(at: frontier))
    #expect(try await served.digest(at: Frontier()) == nil)
    // Another fold would show it.
    _ = try await magic.store.write { db in
      try db.execute(sql: "UPDATE magic_journal SET data = CAST(replace(CAST(data AS TEXT), 'one', 'off') AS BLOB)")
    }
    #expect(try await magic.digest() != digest)
    try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<8 { group.addTask { try await served.digest(at: frontier) } }
      for try await found in group { #expect(found == digest) }
    }
    try await a.magic.update(Note("2", "two"))
    try await a.replicator.push()
    #expect(try await served.digest(at: served.frontier()) == magic.digest())
    try await place.stop()
  }

  /// K-21: what a served database cannot read any more is no client's error.
  @Test func aPeerThatIsDamagedSaysNoDigest() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let served = try #require(place.served)
    _ = try await served.store.write { db in try db.execute(sql: "UPDATE magic_journal SET data = x'ff' WHERE id = 1") }
    try await a.magic.update(Note("2", "two"))
    try await a.replicator.sync()
    #expect(try await served.object(of: Note.self).count == 2)
    try await place.stop()
  }

  @Test(arguments: RemoteKind.allCases) func statusTellsWhatWaits(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    try await b.magic.update(Note("2", "two"))
    try await b.replicator.push()
    try await a.magic.update(Note("3", "three"))
    let status = try await a.replicator.status()
    #expect((status.out, status.in, status.isInStep) == (1, 1, false))
    try await a.replicator.sync()
    #expect(try await a.replicator.status().isInStep)
    try await place.stop()
  }

  /// Two that watch, each at its own pace: what one writes the other shows, and what is cancelled ends.
  @Test(arguments: RemoteKind.allCases) func whatOneWritesAnotherThatWatchesShows(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    let tasks = [a, b].map { replica in Task { try await replica.replicator.run(every: .milliseconds(20)) } }
    for number in 0..<10 {
      let (writer, reader) = number.isMultiple(of: 2) ? (a, b) : (b, a)
      try await writer.magic.update(Note("n", "title \(number)"))
      for try await notes in reader.magic.observe(of: Note.self) where notes.contains(where: { $0.title == "title \(number)" })
      { break }
    }
    for task in tasks {
      task.cancel()
      try await task.value
    }
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }
}
