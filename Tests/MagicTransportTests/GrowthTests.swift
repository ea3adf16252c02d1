import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// What was given up is exchanged as a checkpoint, whatever the remote is (K-15 to K-18, W-17, W-18).
@Suite(.timeLimit(.minutes(15))) struct GrowthTests {
  /// Two replicas, and a peer, of which all have acknowledged all.
  private func inStep(_ place: Place) async throws -> (Replica, Replica) {
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    for number in 0..<30 {
      place.world.advance(5)
      try await a.magic.update(contentsOf: (0..<3).map { Note("\($0)", "title \(number)") })
    }
    try await a.replicator.push()
    try await b.replicator.sync()
    try await b.magic.update(Note("b", "of b"))
    for replica in [b, a, b, a] { try await replica.replicator.sync() }
    return (a, b)
  }

  /// Of the remote, where it is.
  private func compact(_ place: Place, with replica: Replica) async throws -> CompactionReport {
    guard let served = place.served else {
      return try await MagicReplicator(replica.magic, remote: FolderRemote(place.files)).compact().database
    }
    return try await served.compact()
  }

  @Test(arguments: RemoteKind.allCases) func aNewReplicaStartsFromTheState(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = try await inStep(place)
    let report = try await compact(place, with: a)
    #expect(report.waitsFor == [])
    #expect((report.entries, report.keptEntries) == (91, 7))
    if kind.hasFiles {
      #expect(try FileManager.default.contentsOfDirectory(atPath: place.files.path + "/segments").isEmpty)
    }
    let c = try place.replica("c")
    let pulled = try await c.replicator.pull()
    #expect((pulled.checkpoints, pulled.changes, pulled.isComplete) == (1, 7, true))
    try await expectEqual([a.magic, b.magic, c.magic])
    #expect(try await DatabaseCheck(c.magic).faults == [])
    // All go on, and nobody sends what the checkpoint stands for.
    for replica in [a, b, c] {
      place.world.advance(5)
      #expect(try await replica.replicator.sync().push.checkpoints == 0)
      try await replica.magic.update(Note("1", "later"))
    }
    for replica in [a, b, c, a, b, c] { try await replica.replicator.sync() }
    try await expectEqual([a.magic, b.magic, c.magic])
    try await place.stop()
  }

  /// K-17, H-9.
  @Test(arguments: RemoteKind.allCases) func aRemoteThatWasWipedIsFilledByWhoHasNoHistory(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = try await inStep(place)
    #expect(try await a.magic.compact().keptEntries == 7)
    try await a.magic.update(Note("after", "after"))
    if kind == .peer {
      try await place.stop()
      for name in try FileManager.default.contentsOfDirectory(atPath: place.folder.url.path) where name.hasPrefix("served") {
        try FileManager.default.removeItem(at: place.folder[name])
      }
      try await place.start()
    } else {
      try FileManager.default.removeItem(at: place.files)
    }
    let (again, late) = (Replica(a.magic, try place.remote()), try place.replica("late"))
    let pushed = try await again.replicator.push()
    #expect((pushed.checkpoints, pushed.transactions) == (1, 1))
    try await late.replicator.pull()
    try await expectEqual([a.magic, late.magic] + [place.served].compactMap { $0 })
    // Who has the history finds nothing lacking.
    let full = Replica(b.magic, try place.remote())
    #expect(try await full.replicator.sync().push.checkpoints == 0)
    try await expectEqual([a.magic, b.magic, late.magic])
    try await place.stop()
  }

  /// F-17, H-7: below the floor no names tell where a copy went its own way.
  @Test(arguments: RemoteKind.allCases) func aCopyFromBelowTheFloorGoesOnAsAReplicaOfItsOwn(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, b) = try await inStep(place)
    try await a.magic.close()
    try copyUnnoticed(place.folder["a"], to: place.folder["copy"])
    let (one, two) = (try place.replica("a"), try place.replica("copy"))
    place.world.advance(5)
    for number in 0..<3 { try await one.magic.update(Note("1", "one \(number)")) }
    for _ in 0..<2 { for replica in [one, b] { try await replica.replicator.sync() } }
    _ = try await compact(place, with: one)
    place.world.advance(5)
    for number in 0..<3 { try await two.magic.update(Note("2", "two \(number)")) }
    for replica in [two, one, b, two] { try await replica.replicator.sync() }
    try await expectEqual([one.magic, b.magic, two.magic] + [place.served].compactMap { $0 })
    #expect(try await one.magic.object(of: Note.self, primary: "2").title == "two 2")
    #expect(try await two.magic.object(of: Note.self, primary: "1").title == "one 2")
    #expect(try await two.magic.statistics().replica != one.magic.statistics().replica)
    #expect(try await DatabaseCheck(two.magic).faults == [])
    try await place.stop()
  }

  /// F-20: another compaction may take a checkpoint away before it was sent, and what was looked at is sent then; who asks next
  /// is told of what is there.
  @Test func aCheckpointThatGoesIsSentAllTheSame() async throws {
    let place = try await Place(.folder)
    let (a, _) = try await inStep(place)
    _ = try await compact(place, with: a)
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    let served = ServedFolder(FolderRemote(place.files))
    let checkpoint = try #require(try await served.checkpoint(dataSet, after: Frontier()))
    try FileManager.default.removeItem(at: checkpoint.file.url)
    #expect(checkpoint.file.length > 0)
    #expect(try checkpoint.file.bytes(at: 0, checkpoint.file.length).count == checkpoint.file.length)
    #expect(try await served.checkpoint(dataSet, after: Frontier()) == nil)
    try await place.stop()
  }

  /// H-32: however many clients take a peer's checkpoint, it is one file, which goes with the last of them.
  @Test func clientsOfAPeerTakeOneFile() async throws {
    let place = try await Place(.peer)
    _ = try await compact(place, with: inStep(place).0)
    let served = ServedDatabase(try #require(place.served))
    let dataSet = try #require(try await served.dataSet())
    func take() async throws -> URL {
      try await withThrowingTaskGroup(of: ServedCheckpoint?.self) { group in
        for _ in 0..<8 { group.addTask { try await served.checkpoint(dataSet, after: Frontier()) } }
        var taken: [ServedCheckpoint] = []
        for try await checkpoint in group { taken.append(try #require(checkpoint)) }
        #expect(taken.count == 8)
        #expect(Set(taken.map(\.file.url)).count == 1)
        return taken[0].file.url
      }
    }
    let file = try await take()
    // Threads that have handed it on may hold it for a moment.
    while FileManager.default.fileExists(atPath: file.path) { try await Task.sleep(for: .milliseconds(5)) }
    #expect(try await take() != file)
    #expect(try await served.checkpoint(dataSet, after: served.frontier()) == nil)
    try await place.stop()
  }

  /// H-39: a client of before that is told so, and not sent what it would not understand.
  @Test func whoTakesNoCheckpointsIsTold() async throws {
    let place = try await Place(.hub)
    _ = try await compact(place, with: inStep(place).0)
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello() + RawSocket.frame(3, [0]) + RawSocket.frame(4, [0]))
    var last: (kind: UInt8, body: [UInt8])?
    while let frame = await socket.frame() { last = frame }
    let refusal = try #require(last)
    #expect((refusal.kind, refusal.body.first) == (0xff, 2))
    #expect(String(decoding: refusal.body, as: UTF8.self).contains("newer version"))
    try await place.stop()
  }

  /// H-32: noise for a checkpoint is refused, and leaves nothing.
  @Test(arguments: [RemoteKind.hub, .peer]) func whatIsNoCheckpointIsRefused(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let (a, _) = try await inStep(place)
    let before = try await place.served?.digest()
    let port = try #require(place.server).port
    for (length, bytes) in [
      (UInt64(100), [UInt8](repeating: 7, count: 100)), (1 << 61, [1, 2, 3]), (0, []), (5, [0, 0, 0, 0, 0]),
    ] {
      let socket = try RawSocket(port: port)
      socket.send(
        RawSocket.hello() + RawSocket.frame(0x0f, withUnsafeBytes(of: length.bigEndian, Array.init))
          + (bytes.isEmpty ? RawSocket.frame(7, []) : RawSocket.frame(6, bytes)))
      if length > 1_000 { continue }
      var kinds: [UInt8] = []
      while let frame = await socket.frame() { kinds.append(frame.kind) }
      #expect(kinds.last == 0xff, "\(length)")
    }
    if kind.hasFiles {
      let checkpoints = place.files.path + "/checkpoints"
      let left = (try? FileManager.default.contentsOfDirectory(atPath: checkpoints)) ?? []
      #expect(left.filter { $0.hasSuffix(".checkpoint") }.isEmpty)
    }
    #expect(try await place.served?.digest() == before)
    try await a.magic.update(Note("after", "after"))
    #expect(try await a.replicator.sync().push.transactions == 1)
    try await place.stop()
  }

  /// W-17, H-42: a checkpoint stands for all replicas of its floor, and nobody speaks for those of another token.
  @Test func aCheckpointThatStandsForAnotherTokensReplicaIsRefused() async throws {
    let folder = try TemporaryFolder()
    func secret(_ name: String, _ text: String) throws -> URL {
      try Data(text.utf8).write(to: folder[name])
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder[name].path)
      return folder[name]
    }
    var options = RunningServer.quiet
    options.tokens = try secret("tokens", "one a readwrite\ntwo b readwrite\n")
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: options))
    func replica(_ name: String, _ token: String) async throws -> Replica {
      var options = SocketRemote.Options()
      options.token = try secret("token-\(token)", token)
      return Replica(try await MagicData(path: folder[name]), try SocketRemote(server.address, options: options))
    }
    let (a, b) = (try await replica("a", "one"), try await replica("b", "two"))
    try await a.magic.update(Note("1", (0..<6_000).map { _ in UUID().uuidString }.joined()))
    try await a.replicator.push()
    try await b.replicator.sync()
    try await b.magic.update(Note("2", "of b"))
    for replica in [b, a, b, a] { try await replica.replicator.sync() }
    #expect(try await a.magic.compact().entries == 2)
    for name in ["segments", "acks"] { try FileManager.default.removeItem(at: folder["hub/\(name)"]) }
    // Nor is it sent twice (W-4): a second connection has no room for it.
    let proxy = try Proxy(to: server.port) { Proxy.Fate(cut: $0 == 0 ? nil : 50_000) }
    var connection = SocketRemote.Options()
    connection.token = folder["token-one"]
    let through = Replica(a.magic, try SocketRemote("tcp://127.0.0.1:\(proxy.port)", options: connection))
    await expectCode(.unauthorized, naming: "another token") { try await through.replicator.push() }
    #expect(((try? FileManager.default.contentsOfDirectory(atPath: folder["hub/checkpoints"].path)) ?? []).isEmpty)
    try await server.stop()
  }
}
