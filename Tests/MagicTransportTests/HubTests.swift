import Foundation
import MagicData
import MagicJournal
import MagicReplication
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

  /// W-9: what came whole before the client broke off counts, though nothing was settled. W-8: the rest is sent by the next push.
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

  /// W-5, W-13: a hub without a data set takes that of who comes first, and tells it to who comes second. Without one it answers nothing else, and with one
  /// it takes no other's segments.
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
}
