import Foundation
import MagicData
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// Connections that break anywhere, and ones that are slow.
@Suite(.timeLimit(.minutes(15))) struct BreakTests {
  /// W-8: only what was settled counts as sent.
  @Test(arguments: [RemoteKind.hub, .peer], seeds(4)) func whatBreaksAnywhereIsWholeInTheEnd(kind: RemoteKind, seed: UInt64)
    async throws
  {
    let place = try await Place(kind)
    var chance = Seeded(seed)
    let cuts = (0..<400).map { _ in chance.below(3) == 0 ? nil : chance.below(chance.below(2) == 0 ? 600 : 60_000) }
    let pieces = (0..<400).map { _ in chance.below(3) == 0 ? 1 + chance.below(50) : 65_536 }
    let proxy = try Proxy(to: try #require(place.server).port) { number in
      Proxy.Fate(cut: cuts[number % 400], piece: pieces[number % 400])
    }
    let replicas = try ["a", "b"].map { Replica(try place.magic($0), try SocketRemote("tcp://127.0.0.1:\(proxy.port)")) }
    for round in 0..<12 {
      place.world.advance(3)
      let replica = chance.pick(replicas)
      try await replica.magic.update(
        Note("\(chance.below(5))", "round \(round) " + String(repeating: "x", count: chance.below(20_000))))
      if chance.below(3) == 0 {
        try await replica.magic.update(Photo("\(chance.below(3))", "content \(round) " + UUID().uuidString))
      }
      do {
        try await replica.replicator.sync()
      } catch let error as MagicDataError {
        // What broke is said, and is nothing worse.
        #expect(error.code == .unreachable, "\(error) MAGIC_SEED=\(seed)")
      }
    }
    let last = try replicas.map { Replica($0.magic, try place.remote()) }
    for _ in 0..<2 { for replica in last { try await replica.replicator.sync() } }
    for replica in last { #expect(try await replica.replicator.sync().push.transactions == 0, "MAGIC_SEED=\(seed)") }
    try await expectEqual(replicas.map(\.magic) + [place.served].compactMap { $0 }, "MAGIC_SEED=\(seed)")
    for replica in replicas {
      for photo in try await replica.magic.object(of: Photo.self) { _ = try photo.content?.load() }
    }
    try await place.stop()
  }

  /// W-12: the answer to a ping waits for room behind what is sent; what the server says meanwhile is heard.
  @Test func anErrorIsHeardWhileAnAnswerWaitsForRoom() async throws {
    let place = try await Place(.hub)
    let magic = try place.magic("a")
    // More than sockets hold.
    try await magic.update(Photo("1", String(repeating: "a content that is sent as it is ", count: 1_000_000)))
    let (ping, busy) = (RawSocket.frame(0x8d, []), RawSocket.frame(0xff, [9, 5] + Array("later".utf8)))
    let proxy = try Proxy(to: try #require(place.server).port) { _ in Proxy.Fate(deafness: (100_000, ping + ping + busy)) }
    await expectCode(.unreachable, naming: "later") {
      try await MagicReplicator(magic, remote: SocketRemote("tcp://127.0.0.1:\(proxy.port)")).push()
    }
    try await place.stop()
  }

  /// W-7: what came whole before a break is not asked for again.
  @Test func aPullGoesOnWhereItBroke() async throws {
    let place = try await Place(.hub)
    let a = try place.replica("a")
    var chance = Seeded(1)
    for number in 0..<10 {
      let text = String((0..<40_000).map { _ in Character(UnicodeScalar(UInt8(97 + chance.below(26)))) })
      try await a.magic.update(Note("\(number)", text))
      try await a.replicator.push()
    }
    let proxy = try Proxy(to: try #require(place.server).port) { Proxy.Fate(cut: $0 == 0 ? 100_000 : nil) }
    let b = Replica(try place.magic("b"), try SocketRemote("tcp://127.0.0.1:\(proxy.port)"))
    await expectCode(.unreachable) { try await b.replicator.pull() }
    let held = try await b.titles().count
    #expect((1..<10).contains(held))
    #expect(try await b.replicator.pull().transactions == 10 - held)
    try await expectEqual([a.magic, b.magic])
    try await place.stop()
  }

  /// W-14, W-15: nor of a content.
  @Test func aContentGoesOnWhereItBroke() async throws {
    let place = try await Place(.hub)
    let a = try place.magic("a")
    let text = (0..<60_000).map { "\($0) " }.joined()
    try await a.update(Photo("1", text))
    let cutting = try Proxy(to: try #require(place.server).port) { Proxy.Fate(cut: $0 < 2 ? 150_000 : nil) }
    let through = try SocketRemote("tcp://127.0.0.1:\(cutting.port)")
    let pushing = MagicReplicator(a, remote: through)
    for _ in 0..<2 { await expectCode(.unreachable) { try await pushing.push() } }
    // Until the server has noticed the break, the content is still on its way.
    var sent: PushReport?
    while sent == nil {
      do {
        sent = try await pushing.push()
      } catch let error as MagicDataError where error.code == .unreachable {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    let bytes = try #require(sent).assetBytes
    #expect((1..<text.utf8.count).contains(bytes))
    let again = try Proxy(to: try #require(place.server).port) { Proxy.Fate(cut: $0 == 0 ? 150_000 : nil) }
    let b = try place.magic("b")
    let pulling = MagicReplicator(b, remote: try SocketRemote("tcp://127.0.0.1:\(again.port)"))
    await expectCode(.unreachable) { try await pulling.pull() }
    #expect(try await pulling.pull().assets == 1)
    #expect(try await b.object(of: Photo.self, primary: "1").content?.load() == text)
    try await place.stop()
  }

  /// W-10: one who takes minutes to read what others read at once holds up nobody else.
  @Test func aSlowClientHoldsUpNobody() async throws {
    let place = try await Place(.peer)
    let a = try place.replica("a")
    var chance = Seeded(2)
    let text = String((0..<500_000).map { _ in Character(UnicodeScalar(UInt8(97 + chance.below(26)))) })
    try await a.magic.update(Note("long", text))
    try await a.replicator.push()
    let proxy = try Proxy(to: try #require(place.server).port) { _ in Proxy.Fate(piece: 32, pause: 20_000) }
    let slow = Replica(try place.magic("slow"), try SocketRemote("tcp://127.0.0.1:\(proxy.port)"))
    let pulling = Task { try await slow.replicator.pull() }
    for number in 0..<3 {
      let quick = try place.replica("quick \(number)")
      try await quick.magic.update(Note("\(number)", "quick"))
      try await quick.replicator.sync()
      #expect(try await quick.titles().count == number + 2)
    }
    pulling.cancel()
    await #expect(throws: CancellationError.self) { try await pulling.value }
    #expect(try await slow.titles().isEmpty)
    try await place.stop()
  }

  /// A connection that breaks comes back by itself, as does a server that was away.
  @Test func whoWatchesComesBack() async throws {
    let folder = try TemporaryFolder()
    let path = "unix:\(folder["s"].path)"
    func start() async throws -> RunningServer {
      try await RunningServer(MagicServer(folder: FolderRemote(folder["hub"]), at: [path], options: RunningServer.quiet))
    }
    let (a, b) = (try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]))
    let replicators = try [a, b].map { MagicReplicator($0, remote: try SocketRemote(path)) }
    let tasks = replicators.map { replicator in Task { try await replicator.run(every: .milliseconds(20)) } }
    for number in 0..<3 {
      let server = try await start()
      let (writer, reader) = number.isMultiple(of: 2) ? (a, b) : (b, a)
      try await writer.update(Note("n", "title \(number)"))
      for try await notes in reader.observe(of: Note.self) where notes.contains(where: { $0.title == "title \(number)" }) {
        break
      }
      try await server.stop()
    }
    for task in tasks {
      task.cancel()
      try await task.value
    }
    try await expectEqual([a, b])
  }

  /// A host that answers nothing is waited for as long as somebody wants it.
  @Test func whoConnectsIsInterruptedAtOnce() async throws {
    let folder = try TemporaryFolder()
    let full = try FullPort()
    let a = try await MagicData(path: folder["a"])
    let replicator = MagicReplicator(a, remote: try SocketRemote("tcp://127.0.0.1:\(full.port)"))
    let pulling = Task { try await replicator.pull() }
    try await Task.sleep(for: .milliseconds(500))
    let start = ContinuousClock.now
    pulling.cancel()
    await #expect(throws: CancellationError.self) { try await pulling.value }
    #expect(ContinuousClock.now - start < .seconds(8))
    withExtendedLifetime(full) {}
  }
}

/// A port at which nobody is answered: as many wait there as may, and nobody lets them in.
private final class FullPort: Sendable {
  let port: Int
  private let descriptors: [Int32]

  init() throws {
    let listener = FullPort.make()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // More of them than there is room for.
    let waiting = (0..<8).map { _ in FullPort.make() }
    descriptors = [listener] + waiting
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, length) == 0, listen(listener, 1) == 0, getsockname(listener, address, &length) == 0
        else { return false }
        return waiting.allSatisfy { waiting in
          guard fcntl(waiting, F_SETFL, O_NONBLOCK) == 0 else { return false }
          return connect(waiting, address, length) == 0 || errno == EINPROGRESS
        }
      }
    }
    port = Int(in_port_t(bigEndian: address.sin_port))
    guard isListening else { throw RawSocket.Failure(code: errno) }
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  private static func make() -> Int32 {
    #if canImport(Darwin)
      socket(AF_INET, SOCK_STREAM, 0)
    #else
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
  }
}
