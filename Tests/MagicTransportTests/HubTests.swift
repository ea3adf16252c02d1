import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// A hub, frame by frame, where the recorded sessions do not come.
@Suite(.timeLimit(.minutes(15))) struct HubTests {
  /// What a replica would push: its id, its data set, and each of its segments as the frame that names it and its bytes.
  private struct Delivery {
    let id: [UInt8]
    let dataSet: [UInt8]
    var segments: [(head: [UInt8], body: [UInt8])] = []

    /// Of two transactions, in a segment each.
    init(_ replica: Replica, in folder: TemporaryFolder) async throws {
      let side = MagicReplicator(replica.magic, remote: FolderRemote(folder["side"]))
      for title in ["one", "two"] {
        try await replica.magic.update(Note(title, title))
        try await side.push()
      }
      let place = folder["side/segments"]
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() {
        let bytes = [UInt8](try Data(contentsOf: place.appendingPathComponent(name)))
        let hash = try #require([UInt8](hexadecimal: String(name.split(separator: ".")[3])))
        segments.append((RawSocket.frame(5, hash + bytes[..<124]), Array(bytes[124...])))
      }
      let header = segments[0].head.dropFirst(5 + 16)
      (dataSet, id) = (Array(header.dropFirst(12).prefix(16)), Array(header.dropFirst(28).prefix(16)))
    }
  }

  /// A session that was greeted.
  private func session(_ place: Place, as id: [UInt8]) async throws -> RawSocket {
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello(id: id))
    let welcome = try #require(await socket.frame())
    #expect(welcome.kind == 0x81)
    return socket
  }

  /// The last sequence of the one replica of which a hub holds something, as it says to `HELD`.
  private func standing(_ socket: RawSocket) async throws -> Int {
    socket.send(RawSocket.frame(3, [0]))
    let standing = try #require(await socket.frame())
    #expect(standing.kind == 0x83)
    guard standing.body[12] == 1 else { return 0 }
    return RawSocket.number(standing.body[29..<37])
  }

  /// F-10: who has what a hub lost lacks nothing, and fills the hole.
  @Test func aHoleIsNoneForWhoHasWhatIsMissing() async throws {
    let place = try await Place(.hub)
    let (a, b) = (try place.replica("a"), try place.replica("b"))
    for title in ["one", "two", "three"] {
      try await a.magic.update(Note(title, title))
      try await a.replicator.push()
    }
    let segments = place.files.appendingPathComponent("segments")
    let second = try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted()[1]
    try FileManager.default.removeItem(at: segments.appendingPathComponent(second))
    #expect(try await b.replicator.pull().gaps.map(\.sequences) == [2...2])
    #expect(try await a.replicator.pull().isComplete)
    #expect(try await a.replicator.sync().push.segments == 1)
    #expect(try await b.replicator.pull().isComplete)
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  /// W-9: what came whole before the client broke off counts, though nothing was settled. W-8: the rest is sent by the next
  /// push.
  @Test func whatCameWholeCountsBeforeItIsSettled() async throws {
    let place = try await Place(.hub)
    let a = try place.replica("a")
    let delivery = try await Delivery(a, in: place.folder)
    do {
      let socket = try await session(place, as: delivery.id)
      socket.send(RawSocket.frame(2, delivery.dataSet))
      #expect(await socket.frame()?.kind == 0x82)
      #expect(try await standing(socket) == 0)
      socket.send(delivery.segments[0].head)
      socket.send(RawSocket.frame(6, delivery.segments[0].body))
      #expect(try await standing(socket) == 1)
      // Of the second a part.
      socket.send(delivery.segments[1].head)
      socket.send(RawSocket.frame(6, Array(delivery.segments[1].body.dropLast(3))))
    }
    let again = try await session(place, as: delivery.id)
    #expect(try await standing(again) == 1)
    let files = try FileManager.default.contentsOfDirectory(atPath: place.files.appendingPathComponent("segments").path)
    #expect(files.filter { $0.hasSuffix(".segment") }.count == 1, "\(files)")
    #expect(try await a.replicator.push().transactions == 1)
    let b = try place.replica("b")
    #expect(try await b.replicator.pull().isComplete)
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  /// W-14: two that have the same content send it one after the other, and the second only what is not there then.
  @Test(arguments: [false, true]) func whoSendsWhatIsOnItsWayWaits(comes: Bool) async throws {
    let place = try await Place(.hub)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    try await a.magic.update(Photo("1", "once upon a time"))
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: place.folder["a/files"].path).first { $0.hasSuffix(".txt") })
    let digits = AssetContent.digits(of: name)
    let assets = place.files.appendingPathComponent("assets")
    let part = assets.appendingPathComponent(".\(digits).part")
    try FileManager.default.createDirectory(
      at: assets.appendingPathComponent(String(digits.prefix(2))), withIntermediateDirectories: true)
    let descriptor = open(part.path, O_RDWR | O_CREAT, 0o600)
    #expect(flock(descriptor, LOCK_EX) == 0)
    async let push = a.replicator.push()
    try await Task.sleep(for: .milliseconds(500))
    if comes {
      try Data("once upon a time".utf8).write(to: part)
      #expect(rename(part.path, FolderRemote(place.files).content(digits).path) == 0)
    }
    close(descriptor)
    let report = try await push
    #expect(report.assetBytes == (comes ? 0 : 16))
    let b = try place.replica("b")
    #expect(try await b.replicator.pull().isComplete)
    #expect(try await b.magic.object(of: Photo.self, primary: "1").content?.load() == "once upon a time")
    #expect(try FileManager.default.contentsOfDirectory(atPath: assets.path).filter { $0.hasSuffix(".part") } == [])
    try await place.stop()
  }

  /// L-13: what is written to a file that nobody finds is not acknowledged, and the server says what happened.
  @Test func aServerWhoseDatabaseWasReplacedTakesNothing() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let file = place.folder["served/default.sqlite3"]
    try FileManager.default.moveItem(at: file, to: place.folder["served/elsewhere"])
    try Data(contentsOf: place.folder["served/elsewhere"]).write(to: file)
    try await a.magic.update(Note("2", "two"))
    await #expect { _ = try await a.replicator.push() } throws: { error in
      [.failed, .unreachable].contains((error as? MagicDataError)?.code)
    }
    let server = try #require(place.server)
    await #expect { try await server.finished() } throws: { error in (error as? MagicDataError)?.code == .notFound }
  }

  /// Nobody waits for a server that can answer nothing.
  @Test func aServerWhoseDatabaseWasClosedEnds() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    try await place.served?.close()
    try await place.server?.finished()
    await #expect { try await a.replicator.push() } throws: { ($0 as? MagicDataError)?.code == .unreachable }
  }

  /// J-15: what a served database has no room for ends nobody's push, and keeps back nobody else.
  @Test func whatThereIsNoRoomForEndsNoPush() async throws {
    let folder = try TemporaryFolder()
    var databases: [MagicData] = []
    for number in 0..<2 {
      let magic = try await MagicData(path: folder["\(number)"])
      try WideExport(Array(repeating: 600, count: 7), number: number, object: "1").data.write(to: folder["\(number).jsonl"])
      _ = try await magic.rebuild(from: [.export(folder["\(number).jsonl"])], RebuildPlan())
      databases.append(magic)
    }
    let server = try await RunningServer(MagicServer(databases[0], at: ["tcp://127.0.0.1:0"], options: RunningServer.quiet))
    let remote = try SocketRemote(server.address)
    try await MagicReplicator(databases[1], remote: remote).push()
    let c = try await MagicData(path: folder["c"])
    try await c.update(Note("1", "one"))
    let (pull, push) = try await MagicReplicator(c, remote: remote).sync()
    #expect((pull.transactions, push.transactions) == (1, 1))
    #expect(try await databases[0].object(of: Note.self, primary: "1").title == "one")
    #expect(try await DatabaseCheck(databases[0]).faults == [])
    try await server.stop()
  }

  /// W-5, W-13: a hub without a data set takes that of who comes first, and tells it to who comes second. Without one it
  /// answers nothing else, and with one it takes no other's segments.
  @Test func whoComesFirstGivesTheDataSet() async throws {
    let place = try await Place(.hub)
    let early = try await session(place, as: [UInt8](repeating: 7, count: 16))
    early.send(RawSocket.frame(3, [0]))
    let refused = try #require(await early.frame())
    #expect((refused.kind, refused.body.first) == (0xff, 11))

    let delivery = try await Delivery(try place.replica("a"), in: place.folder)
    let first = try await session(place, as: [UInt8](repeating: 8, count: 16))
    let second = try await session(place, as: delivery.id)
    let dataSet = [UInt8](repeating: 1, count: 16)
    for (socket, mine) in [(first, dataSet), (second, delivery.dataSet)] {
      socket.send(RawSocket.frame(2, mine))
      let made = try #require(await socket.frame())
      #expect(made.kind == 0x82)
      #expect(made.body == dataSet)
    }
    second.send(delivery.segments[0].head)
    second.send(RawSocket.frame(6, delivery.segments[0].body))
    let answer = try #require(await second.frame())
    #expect((answer.kind, answer.body.first) == (0xff, 5))
    #expect(try await standing(first) == 0)
    try await place.stop()
  }

  /// W-5: what a client has compared is the data set that it was told. Another one in its place ends the session, and who comes
  /// again refuses it.
  @Test func aSessionEndsWithItsDataSet() async throws {
    let place = try await Place(.hub)
    let (a, other) = (try place.replica("a"), try place.magic("other"))
    try await a.magic.update(Note("1", "ours"))
    try await other.update(Note("2", "theirs"))
    try await MagicReplicator(other, remote: FolderRemote(place.folder["elsewhere"])).push()
    let events = a.replicator.events
    let following = Task { try await a.replicator.run(every: .milliseconds(20)) }
    for await event in events {
      if case .inStep = event { break }
    }
    let socket = try await session(place, as: [UInt8](repeating: 7, count: 16))
    #expect(try await standing(socket) == 1)
    let before = try await Dump(a.magic)
    try FileManager.default.moveItem(at: place.files, to: place.folder["aside"])
    try FileManager.default.moveItem(at: place.folder["elsewhere"], to: place.files)
    socket.send(RawSocket.frame(3, [0]))
    let refused = try #require(await socket.frame())
    #expect((refused.kind, refused.body.first) == (0xff, 9))
    await expectCode(.incompatible, naming: "holds another data set") { try await following.value }
    #expect(try await Dump(a.magic) == before)
    try await place.stop()
  }
}
