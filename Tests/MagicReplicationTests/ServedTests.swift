import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// What arrives in a hub's folder.
@Suite struct ServedTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  /// F-2, F-6: what counts stays the file that it is, and only what does not is replaced.
  @Test func aHubReplacesOnlyWhatDoesNotCount() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let segments = folder["remote/segments"]
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: segments.path).first)
    let file = segments.appendingPathComponent(name)
    let good = [UInt8](try Data(contentsOf: file))
    func arrive() throws {
      let segment = try ArrivingSegment(
        Array(good[..<SegmentHeader.length]), name: try #require(SegmentFileName(name)).name,
        in: FolderRemote(folder["remote"]), isDurable: true)
      try good[SegmentHeader.length...].withUnsafeBytes { try segment.append($0) }
      try segment.finish()
    }
    let before = OpenFile.State(of: file)
    try arrive()
    #expect(OpenFile.State(of: file) == before)
    var damaged = good
    damaged[good.count - 1] ^= 1
    try Data(damaged).write(to: file)
    try arrive()
    #expect([UInt8](try Data(contentsOf: file)) == good)
    #expect(try FileManager.default.contentsOfDirectory(atPath: segments.path) == [name])
  }

  /// H-32, W-6: for one answer a hub reads so much of its files for names; what that leaves out is compared with the next one.
  @Test func aHubReadsSoMuchForOneAnswer() async throws {
    let title = String(repeating: "long", count: 3 << 20)
    var runs: [HeldRun] = []
    var dataSet: DataSetID?
    for name in ["a", "b", "c"] {
      let replica = try Replica(folder[name], folder["remote"], world)
      // The first of two transactions in one file has its name within it.
      try await replica.magic.update(Note("1", "short"))
      try await replica.magic.update(Note("2", title))
      try await replica.replicator.push()
      let (state, first) = try await replica.magic.store.read { db in
        let state = try DatabaseState(db)
        return (state, try JournalIndex(db).name(at: 1, of: state.replica))
      }
      dataSet = state.dataSet
      runs.append(HeldRun(replica: state.replica, last: 1, name: try #require(first)))
    }
    runs[2] = HeldRun(replica: runs[2].replica, last: 1, name: runs[1].name)
    let (asked, there) = (runs, try #require(dataSet))
    let served = ServedFolder(FolderRemote(folder["remote"]))
    let standing = try await served.standing(there, comparedWith: asked, of: ReplicaID(9, 9))
    #expect(standing.parts.map(\.held.last) == [2, 2, 2])
    await #expect {
      try await served.standing(there, comparedWith: asked, of: ReplicaID(9, 9))
    } throws: {
      ($0 as? MagicDataError)?.code == .fork
    }
  }

  /// W-6: what several clients bring at once is counted where it is merged.
  @Test func whatIsMergedIsOfSoManyReplicas() async throws {
    var dataSet: DataSetID?
    var replicas: [Replica] = []
    for name in ["a", "b", "c"] {
      let replica = try Replica(folder[name], folder["remote"], world)
      try await replica.magic.update(Note(name, name))
      try await replica.replicator.push()
      dataSet = try await replica.magic.store.read { db in try DatabaseState(db).dataSet }
      replicas.append(replica)
    }
    let (there, remote) = (try #require(dataSet), FolderRemote(folder["remote"]))
    let served = try Replica(folder["served"], folder["remote"], world)
    func merge(atMost most: Int) async throws -> PullReport {
      try await served.replicator.merge(
        IncomingSegments(remote, held: Frontier(), replicasAtMost: most), of: there, contents: remote)
    }
    await #expect {
      try await merge(atMost: 2)
    } throws: {
      let error = $0 as? MagicDataError
      return error?.code == .tooLarge && error?.cause is TooManyReplicas
    }
    #expect(try await served.magic.statistics().transactions == 0)
    #expect(try await merge(atMost: 3).transactions == 3)
    // Where there are more already, those go on.
    try await replicas[0].magic.update(Note("a", "later"))
    try await replicas[0].replicator.push()
    #expect(try await merge(atMost: 2).transactions == 1)
    // What is closed goes on under another id.
    let first = try #require(ReplicaID(try await replicas[0].magic.statistics().replica))
    var other = MemberReplica(ReplicaID(8, 8))
    other.expired = 1
    let closing = AckFile(replica: ReplicaID(9, 9), members: [other.replica: other], closings: [first: 1])
    await #expect {
      try await served.magic.storeMembers(replicasAtMost: 3) { members, _, _ in members.learn(closing) }
    } throws: {
      ($0 as? MagicDataError)?.cause is TooManyReplicas
    }
    // What else is said is kept all the same.
    _ = try await ServedDatabase(served.magic, replicasAtMost: 3).acknowledged(
      there, closing.bytes(there), by: closing.replica, atMost: 1 << 20)
    let (known, closed) = try await served.magic.store.read { db in
      let members = try Members(db)
      return (Set(members.all.keys), members.closings)
    }
    #expect(known.contains(ReplicaID(8, 8)) && closed.isEmpty)
    try await served.magic.storeMembers(replicasAtMost: 4) { members, _, _ in members.learn(closing) }
    #expect(try await served.frontier().replicas.count == 4)
  }

  /// F-16: a content in doubt is read once, however many ask for it, and again when another is in its place.
  @Test func aContentInDoubtIsReadOnce() async throws {
    let remote = FolderRemote(folder["remote"])
    let digits = SHA256.hash(Array("right".utf8)).hexadecimal
    let file = remote.content(digits)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("wrong".utf8).write(to: file)
    let served = ServedFolder(remote)
    await served.doubt(content: digits)
    // Until its times tell it from what may be written after it.
    try await Task.sleep(for: .seconds(4))
    #expect(try await served.contents([digits]).isEmpty)
    #expect(served.state.withLock { $0.damagedContents[digits] } == OpenFile.State(of: file))
    try Data("right".utf8).write(to: file)
    // What was read is known as the file that it was: this one would be found whole.
    let state = OpenFile.State(of: file)
    served.state.withLock { $0.damagedContents[digits] = state }
    #expect(try await served.contents([digits]).isEmpty)
    served.state.withLock { $0.damagedContents = [:] }
    #expect(try await served.contents([digits]) == [digits: file])
    #expect(served.state.withLock { $0.damagedContents.isEmpty })
    #expect(try remote.doubted().isEmpty)
    // Of two who ask at once the second goes by what the first has found.
    await served.doubt(content: digits)
    try await served.checking.enter()
    let asking = Task { try await served.contents([digits]) }
    try await Task.sleep(for: .seconds(2))
    remote.settleDoubt(digits)
    try Data("wrong".utf8).write(to: file)
    served.checking.leave()
    #expect(try await asking.value == [digits: file])
    // Who has gone meanwhile has nothing read.
    await served.doubt(content: digits)
    await #expect(throws: CancellationError.self) {
      try await served.contents([digits], isThere: { throw CancellationError() })
    }
  }

  /// W-14: who asks for many contents and goes has only a part of them looked for.
  @Test func whoHasGoneHasNoMoreContentsLookedFor() async throws {
    let remote = FolderRemote(folder["remote"])
    let digits = (0..<1_200).map { SHA256.hash(Array("\($0)".utf8)).hexadecimal }
    let there = stride(from: 0, to: digits.count, by: 100).map { digits[$0] }
    for digits in there {
      let file = remote.content(digits)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("content".utf8).write(to: file)
    }
    let served = ServedFolder(remote)
    #expect(try await Set(served.contents(Set(digits)).keys) == Set(there))
    let asked = Locked(0)
    await #expect(throws: CancellationError.self) {
      try await served.contents(
        Set(digits),
        isThere: {
          let count = asked.withLock { count in
            count += 1
            return count
          }
          if count == 2 { throw CancellationError() }
        })
    }
    #expect(asked.withLock { $0 } == 2)
  }

  /// H-32, W-7: however many take a large segment of a peer, and however slowly, it is one file, of which nothing is left
  /// behind; a small one is each client's own.
  @Test func aLargeSegmentIsOneFileForAllWhoTakeIt() async throws {
    let replica = try Replica(folder["a"], folder["remote"], world)
    try await replica.magic.update(Note("1", (0..<20_000).map { _ in UUID().uuidString }.joined()))
    try await replica.magic.update(Note("2", "small"))
    let (dataSet, own, anew) = try await replica.magic.store.read { db in
      let state = try DatabaseState(db)
      let cutter = SegmentCutter(dataSet: state.dataSet, writer: state.replica, journal: try JournalReader(db))
      return (state.dataSet, state.replica, try cutter.cutNow(state.replica, 1...2))
    }
    let served = ServedDatabase(replica.magic)
    func taken(after frontier: Frontier) async throws -> [ServedSegment] {
      let all = Locked<[ServedSegment]>([])
      _ = try await served.segments(dataSet, after: frontier) { segment in all.withLock { $0.append(segment) } }
      return all.withLock { $0 }
    }
    func file(of segments: [ServedSegment]) -> OpenFile? {
      guard segments.count == 1, case .file(let file) = segments[0].body else { return nil }
      return file
    }
    let (first, second) = (try await taken(after: Frontier()), try await taken(after: Frontier()))
    let one = try #require(file(of: first))
    #expect(file(of: second) === one)
    let bytes = try one.bytes(at: 0, one.length)
    #expect(bytes == anew?.bytes)
    #expect(first[0].name == anew?.name && first[0].header == Array(bytes[..<SegmentHeader.length]))
    #expect(!FileManager.default.fileExists(atPath: one.url.deletingLastPathComponent().path))
    var frontier = Frontier()
    frontier[own] = 1
    let small = try await taken(after: frontier)
    #expect(small.count == 1 && file(of: small) == nil)
    // Who has gone while others were served has nothing made.
    await #expect(throws: CancellationError.self) {
      try await served.segments(dataSet, after: Frontier(), isThere: { throw CancellationError() }, { _ in })
    }
  }

  /// W-14, H-38: contents of a session that ended before it settled get their names with the next one, whoever's it is. Those
  /// that cannot be read are in nobody's way.
  @Test func contentsThatWereLeftGetTheirNames() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    let served = try Replica(folder["served"], folder["remote"], world)
    try await a.magic.update(contentsOf: [Photo("1", "one"), Photo("2", "two")])
    try await a.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/assets"])
    #expect(try await served.replicator.pull().missingAssets == 2)
    let incoming = served.magic.store.assets.incoming
    var files: [URL] = []
    for id in ["1", "2"] {
      let path = try #require(try await a.magic.object(of: Photo.self, primary: id).content?.path)
      let digits = AssetContent.digits(of: URL(fileURLWithPath: path).lastPathComponent)
      let content = try ArrivingContent(digits, in: incoming)
      try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { try content.append($0) }
      try content.finish()
      files.append(incoming.content(digits))
    }
    try Data("damaged".utf8).write(to: files[1])
    let dataSet = try await served.magic.store.read { db in try DatabaseState(db).dataSet }
    try await ServedDatabase(served.magic).inbox(dataSet).settle([])
    #expect(try await served.magic.object(of: Photo.self, primary: "1").content?.value == "one")
    #expect(files.map { ChunkReader.length(of: $0) } == [nil, 7])
  }

  /// H-38: what is another content than its name says goes; what could only not be read stays for another try.
  @Test func aContentThatCannotBeReadStays() throws {
    let digits = String(repeating: "0a", count: 32)
    let part = folder["hub/assets/.\(digits).part"]
    let content = try ArrivingContent(digits, in: FolderRemote(folder["hub"]))
    try [UInt8](repeating: 7, count: 10).withUnsafeBytes { try content.append($0) }
    // Who is root may read everything.
    if geteuid() != 0 {
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: part.path)
      #expect { try content.finish() } throws: { ($0 as? MagicDataError)?.code == .notAllowed }
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: part.path)
    }
    #expect(FileManager.default.fileExists(atPath: part.path))
    #expect { try content.finish() } throws: { ($0 as? MagicDataError)?.code == .damaged }
    #expect(!FileManager.default.fileExists(atPath: part.path))
  }
}
