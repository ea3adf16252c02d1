import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// H-32, H-42: what a server has to stand (Protocol/wire.md).
@Suite(.timeLimit(.minutes(15))) struct AbuseTests {
  /// Serves on: another client exchanges.
  private func expectServing(_ place: Place, _ comment: Comment? = nil) async throws {
    let replica = try place.replica("after-\(UUID().uuidString)")
    try await replica.magic.update(Note(UUID().uuidString, "after"))
    #expect(try await replica.replicator.sync().push.transactions > 0, comment)
  }

  /// W-2: what is no client is told so and sent away.
  @Test(arguments: [
    Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
    [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
    [0xff, 0xff, 0xff, 0xff, 0x01],
    [0, 0, 0, 1, 0x77, 0],
    RawSocket.frame(3, [0]),
    RawSocket.frame(1, Array("MAGICBUN".utf8) + [UInt8](repeating: 0, count: 40)),
    RawSocket.frame(1, []),
    RawSocket.hello() + [0xff, 0xff, 0xff, 0xff, 0x03],
    RawSocket.hello() + RawSocket.frame(0x77, []),
    RawSocket.hello() + RawSocket.frame(1, []),
  ]) func whatIsNoClientIsSentAway(bytes: [UInt8]) async throws {
    let place = try await Place(.hub)
    let port = try #require(place.server).port
    let socket = try RawSocket(port: port)
    socket.send(bytes)
    var frames: [UInt8] = []
    while let frame = await socket.frame() { frames.append(frame.kind) }
    #expect(frames.last == 0xff)
    try await expectServing(place)
    try await place.stop()
  }

  /// W-13: the error must not be lost to a reset, so what follows is on its way for a moment.
  @Test func whoSendsWhatIsNoFrameHasTimeToHearSo() async throws {
    let place = try await Place(.hub)
    let socket = try RawSocket(port: try #require(place.server).port)
    let start = ContinuousClock.now
    socket.send(RawSocket.hello() + RawSocket.frame(0x77, []))
    #expect(await socket.frame()?.kind == 0x81)
    #expect(await socket.frame()?.kind == 0xff)
    #expect(await socket.frame() == nil)
    #expect(ContinuousClock.now - start > .seconds(1))
    try await place.stop()
  }

  @Test func anotherVersionIsRefusedAndNamesItsOwn() async throws {
    let place = try await Place(.hub)
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello(versions: (2, 9)))
    let frame = try #require(await socket.frame())
    #expect((frame.kind, frame.body.first) == (0xff, 2))
    #expect(String(decoding: frame.body, as: UTF8.self).contains("version 1"))
    try await place.stop()
  }

  /// Noise of every kind, before and after a greeting, and clients that break off anywhere.
  @Test(arguments: seeds(3)) func noiseHarmsNobody(seed: UInt64) async throws {
    let place = try await Place(.peer)
    try await expectServing(place)
    let port = try #require(place.server).port
    var chance = Seeded(seed)
    for _ in 0..<40 {
      let socket = try RawSocket(port: port)
      if chance.below(2) == 0 { socket.send(RawSocket.hello()) }
      for _ in 0..<chance.below(4) {
        let body = (0..<chance.below(200)).map { _ in UInt8(chance.below(256)) }
        let frame = RawSocket.frame(UInt8(chance.below(16)), body)
        guard socket.send(Array(frame.prefix(chance.below(8) == 0 ? chance.below(frame.count) : frame.count))) else { break }
      }
    }
    try await expectServing(place, "MAGIC_SEED=\(seed)")
    try await place.stop()
  }

  /// W-8: a segment that is damaged, cut, or of another writer is not kept, and what came whole before stays.
  @Test func aDamagedSegmentIsNotTaken() async throws {
    let place = try await Place(.hub)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let segments = place.files.appendingPathComponent("segments")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: segments.path).first)
    let bytes = [UInt8](try Data(contentsOf: segments.appendingPathComponent(name)))
    let hash = stride(from: 0, to: 32, by: 2).map { index in
      UInt8(Array(name.split(separator: ".")[3])[index...index + 1].reduce(into: "") { $0.append($1) }, radix: 16) ?? 0
    }
    let port = try #require(place.server).port
    // The writer stands in bytes 28 to 43.
    let writer = bytes[28]
    func push(_ segment: [UInt8], as replica: [UInt8]) async throws -> UInt8? {
      let socket = try RawSocket(port: port)
      var hello = RawSocket.hello()
      hello.replaceSubrange(17..<33, with: replica)
      socket.send(hello)
      #expect(await socket.frame()?.kind == 0x81)
      socket.send(RawSocket.frame(5, hash + segment[..<124]))
      socket.send(RawSocket.frame(6, Array(segment[124...])))
      socket.send(RawSocket.frame(7, []))
      let answer = await socket.frame()
      return answer?.kind == 0xff ? answer?.body.first : answer?.kind
    }
    let own = Array(bytes[28..<44])
    #expect(own[0] == writer)
    #expect(try await push(bytes, as: own) == 0x87)
    #expect(try await push(bytes, as: [UInt8](repeating: 9, count: 16)) == 4)
    var damaged = bytes
    damaged[130] ^= 1
    #expect(try await push(damaged, as: own) == 7)
    var header = bytes
    header[60] ^= 1
    #expect(try await push(header, as: own) == 7)
    #expect(try FileManager.default.contentsOfDirectory(atPath: segments.path) == [name])
    #expect([UInt8](try Data(contentsOf: segments.appendingPathComponent(name))) == bytes)
    try await place.stop()
  }

  /// H-32, W-8: a body that inflates to as much as a limit allows. A hub never inflates it; a peer refuses it; who pulls it
  /// says so.
  @Test(arguments: [RemoteKind.hub, .peer]) func aBombHarmsNobody(kind: RemoteKind) async throws {
    let place = try await Place(kind)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    let body = try Zlib.deflate([UInt8](repeating: 0, count: 1 << 27))
    let writer = Identifier(7, 7)
    var head = ByteWriter()
    SegmentHeader(
      dataSet: dataSet, writer: writer, replica: writer, first: 1, last: 1, previous: .none,
      lastName: TransactionName(stamp: Stamp(1_750_000_000_000 << 16), tag: 1), bodyLength: 1 << 27, storedLength: body.count,
      storedChecksum: Zlib.checksum(body[...])
    ).encode(to: &head)
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello(id: writer.bytes))
    #expect(await socket.frame()?.kind == 0x81)
    socket.send(RawSocket.frame(5, [UInt8](repeating: 5, count: 16) + head.bytes))
    for start in stride(from: 0, to: body.count, by: 65_536) {
      socket.send(RawSocket.frame(6, Array(body[start..<min(start + 65_536, body.count)])))
    }
    socket.send(RawSocket.frame(7, []))
    let answer = try #require(await socket.frame())
    if kind == .hub {
      #expect(answer.kind == 0x87)
      let report = try await place.replica("b").replicator.pull()
      #expect((report.transactions, report.unread.count) == (1, 1))
    } else {
      #expect((answer.kind, answer.body.first) == (0xff, 7))
    }
    try await expectServing(place)
    try await place.stop()
  }

  /// F-10, J-33: headers that contradict each other before bodies that nobody can read show no fork, and keep nobody from the
  /// rest.
  @Test func headersWithoutBodiesShowNoFork() async throws {
    let place = try await Place(.hub)
    let a = try place.replica("a")
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    let (writer, body) = (Identifier(7, 7), try Zlib.deflate([UInt8](repeating: 0, count: 1_000)))
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello(id: writer.bytes))
    #expect(await socket.frame()?.kind == 0x81)
    func name(_ tag: UInt32) -> TransactionName { TransactionName(stamp: Stamp(1_750_000_000_000 << 16), tag: tag) }
    for (sequence, previous, last) in [(1, TransactionName.none, name(1)), (2, name(8), name(9)), (2, name(1), name(2))] {
      var head = ByteWriter()
      SegmentHeader(
        dataSet: dataSet, writer: writer, replica: writer, first: UInt64(sequence), last: UInt64(sequence), previous: previous,
        lastName: last, bodyLength: 1_000, storedLength: body.count, storedChecksum: Zlib.checksum(body[...])
      ).encode(to: &head)
      socket.send(RawSocket.frame(5, [UInt8](repeating: UInt8(last.tag), count: 16) + head.bytes))
      socket.send(RawSocket.frame(6, body))
    }
    socket.send(RawSocket.frame(7, []))
    #expect(await socket.frame()?.kind == 0x87)
    let b = try place.replica("b")
    for _ in 0..<2 {
      try await b.magic.update(Note("2", "two"))
      let report = try await b.replicator.sync()
      #expect(!report.pull.unread.isEmpty)
    }
    try await a.replicator.sync()
    try await expectEqual([a.magic, b.magic])
    try await expectServing(place)
    try await place.stop()
  }

  /// H-32, W-7: many who take a large segment of a peer, and do not read, hold up nobody who comes, and get the same bytes.
  @Test func manyWhoTakeALargeSegmentHoldUpNobody() async throws {
    let place = try await Place(.peer)
    let text = (0..<200_000).map { _ in UUID().uuidString }.joined()
    let served = try #require(place.served)
    try await served.update(Note("1", text))
    let port = try #require(place.server).port
    func greeted(_ number: UInt8) async throws -> RawSocket {
      let socket = try RawSocket(port: port)
      socket.send(RawSocket.hello(replica: number))
      let welcome = try #require(await socket.frame())
      #expect(welcome.kind == 0x81)
      return socket
    }
    let start = ContinuousClock.now
    var pulling: [RawSocket] = []
    for number in 1...12 {
      pulling.append(try await greeted(UInt8(number)))
      pulling[number - 1].send(RawSocket.frame(4, [0]))
    }
    let last = try await greeted(13)
    #expect(ContinuousClock.now - start < .seconds(40))
    func segment(_ socket: RawSocket) async -> [UInt8] {
      var bytes: [UInt8] = []
      while let frame = await socket.frame(), frame.kind != 0x84 {
        // PING may come between any two.
        if frame.kind != 0x8d { bytes += frame.body }
      }
      return bytes
    }
    let first = await segment(pulling[0])
    let header = try SegmentHeader(Array(first.dropFirst(16).prefix(SegmentHeader.length)))
    #expect(header.storedLength > 1 << 20 && first.count == 16 + SegmentHeader.length + header.storedLength)
    for socket in pulling.dropFirst() {
      let isSame = await segment(socket) == first
      #expect(isSame)
    }
    withExtendedLifetime(last) {}
    try await place.stop()
  }

  /// Those who say nothing are let go of before those who want something.
  @Test func manySilentConnectionsKeepNobodyOut() async throws {
    let place = try await Place(.hub)
    let port = try #require(place.server).port
    var silent: [RawSocket] = []
    for _ in 0..<600 { silent.append(try RawSocket(port: port)) }
    for _ in 0..<3 { try await expectServing(place) }
    #expect(await silent[0].readToEnd().isEmpty)
    withExtendedLifetime(silent) {}
    try await place.stop()
  }

  /// W-13: a session that waits is told that the server goes; what is asked is answered.
  @Test func aServerThatStopsTellsWhoWaits() async throws {
    let place = try await Place(.hub)
    try await expectServing(place)
    let socket = try RawSocket(port: try #require(place.server).port)
    socket.send(RawSocket.hello())
    #expect(await socket.frame()?.kind == 0x81)
    try await place.stop()
    let frame = try #require(await socket.frame())
    #expect((frame.kind, frame.body.first) == (0xff, 9))
    #expect(await socket.frame() == nil)
  }
}
