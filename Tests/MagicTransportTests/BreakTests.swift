import Foundation
import Logging
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import NIOCore
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

  /// W-8: a peer merges what came before the link broke, so a push gets on, however long the history is.
  @Test func aPushToADatabaseGoesOnWhereItBroke() async throws {
    let place = try await Place(.peer)
    let a = try place.magic("a")
    // What cannot be compressed by much: 20 MB of it.
    for number in 0..<40 { try await a.update(Note("\(number)", try noise(500_000))) }
    let proxy = try Proxy(to: try #require(place.server).port) { _ in Proxy.Fate(cut: 13_000_000) }
    let replicator = MagicReplicator(a, remote: try SocketRemote("tcp://127.0.0.1:\(proxy.port)"))
    await expectCode(.unreachable) { try await replicator.push() }
    let served = try #require(place.served)
    let held = try await served.statistics().transactions
    #expect((1..<40).contains(held))
    #expect(try await replicator.push().transactions == 40 - held)
    try await expectEqual([a, served])
    try await place.stop()
  }

  /// W-14, H-38: so do contents, of which each is sent once, but for one that was on its way.
  @Test func contentsForADatabaseGoOnWhereTheyBroke() async throws {
    let place = try await Place(.peer)
    let a = try place.magic("a")
    for number in 0..<250 { try await a.update(Photo("\(number)", try noise(75_000))) }
    let cuts = [22_500_000, 1_000_000]
    let proxy = try Proxy(to: try #require(place.server).port) { Proxy.Fate(cut: $0 < cuts.count ? cuts[$0] : nil) }
    let replicator = MagicReplicator(a, remote: try SocketRemote("tcp://127.0.0.1:\(proxy.port)"))
    let files = place.folder["served/files"].path
    func named() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: files).count { $0.hasSuffix(".txt") } }
    await expectCode(.unreachable) { try await replicator.push() }
    #expect(try named() == 200)
    await expectCode(.unreachable) { try await replicator.push() }
    let report = try await replicator.push()
    #expect((1..<2_000_000).contains(report.assetBytes), "\(report.assetBytes)")
    #expect(try named() == 250)
    let served = try #require(place.served)
    for photo in try await served.object(of: Photo.self) { _ = try photo.content?.load() }
    try await place.stop()
  }

  /// W-14, H-38: what lies in the place of a content that has not got its name, and is another or cannot be read, is sent anew.
  @Test func whatWasLeftOfAContentIsLookedAt() async throws {
    let place = try await Place(.peer)
    let (a, served) = (try place.replica("a"), try #require(place.served))
    try await a.magic.update(Photo("1", "right"))
    let path = try #require(try await a.magic.object(of: Photo.self, primary: "1").content?.path)
    let content = URL(fileURLWithPath: path)
    let file = served.store.assets.incoming.content(AssetContent.digits(of: content.lastPathComponent))
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(try Data(contentsOf: content).map { $0 ^ 1 }).write(to: file)
    // Who is root may read everything.
    if geteuid() != 0 { try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file.path) }
    #expect(try await a.replicator.push().assets == 1)
    #expect(try await served.object(of: Photo.self, primary: "1").content?.load() == "right")
    #expect(!FileManager.default.fileExists(atPath: file.path))
    try await place.stop()
  }

  private func noise(_ count: Int) throws -> String {
    let source = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    let bytes = try source.read(upToCount: count)
    return try #require(bytes).base64EncodedString()
  }

  /// H-33: a client that was killed was not refused, and has spoken TLS.
  @Test(arguments: ["tls", "tcp"]) func aBrokenConnectionIsNoRefusal(scheme: String) async throws {
    let folder = try TemporaryFolder()
    let lines = Lines()
    var (options, connection) = (MagicServer.Options(), SocketRemote.Options())
    let certificate = try TestCertificate.shared.get()
    (options.certificate, options.key, connection.authority) = (certificate.file, certificate.key, certificate.file)
    options.logger = Logger(label: "test") { _ in lines }
    options.logger.logLevel = .info
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["\(scheme)://127.0.0.1:0"], options: options))
    let proxy = try Proxy(to: server.port) { _ in Proxy.Fate(cut: 100_000) }
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("1", try noise(500_000)))
    let through = try SocketRemote("\(scheme)://127.0.0.1:\(proxy.port)", options: connection)
    let replicator = MagicReplicator(magic, remote: through)
    await expectCode(.unreachable) { try await replicator.push() }
    try await server.stop()
    #expect(lines.all.contains { $0.contains("bytes in") })
    #expect(!lines.all.contains { $0.contains("refused") }, "\(lines.all)")
  }

  /// What a server has told of and sends nothing of is not taken for nothing.
  @Test func whatIsToldAndNotSentIsSaid() async throws {
    let folder = try TemporaryFolder()
    let told = HeldRun(
      replica: ReplicaID(7, 7), last: 5, name: TransactionName(stamp: Stamp(1_750_000_000_000 << 16), tag: 1))
    let port = try AnsweringPort([
      .hello: Welcome(replica: nil, dataSet: DataSetID(8, 8), rights: [.read], capabilities: []).frame,
      .held: .standing(.standing, Standing([.init(told)])),
      .pull: .texts(.pulled, []),
    ])
    let magic = try await MagicData(path: folder["a"])
    let report = try await MagicReplicator(magic, remote: SocketRemote("tcp://127.0.0.1:\(port.port)")).pull()
    #expect(!report.isComplete && report.transactions == 0)
    #expect(report.unread.first?.message.contains("transactions 1 to 5 of replica \(told.replica)") == true, "\(report)")
    // Nor does a push believe what it told.
    let before = port.count(of: .held)
    let again = try await MagicReplicator(magic, remote: SocketRemote("tcp://127.0.0.1:\(port.port)")).sync()
    #expect(!again.pull.isComplete)
    #expect(port.count(of: .held) == before + 2)
  }

  /// W-5: of a server that has become another data set's nothing is taken.
  @Test func anotherDataSetIsNotPulled() async throws {
    let folder = try TemporaryFolder()
    let other = try await MagicData(path: folder["other"])
    try await other.update(Note("1", "theirs"))
    try await MagicReplicator(other, remote: FolderRemote(folder["side"])).push()
    let place = folder["side/segments"]
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: place.path).first)
    let head = [UInt8](try Data(contentsOf: place.appendingPathComponent(name)))[..<SegmentHeader.length]
    let told = HeldRun(
      replica: ReplicaID(7, 7), last: 1, name: TransactionName(stamp: Stamp(1_750_000_000_000 << 16), tag: 1))
    let port = try AnsweringPort([
      .hello: Welcome(replica: nil, dataSet: DataSetID(8, 8), rights: [.read], capabilities: []).frame,
      .held: .standing(.standing, Standing([.init(told)])),
      .pull: .segment(String(name.split(separator: ".")[3]), head),
    ])
    let magic = try await MagicData(path: folder["a"])
    let replicator = MagicReplicator(magic, remote: try SocketRemote("tcp://127.0.0.1:\(port.port)"))
    await expectCode(.incompatible, naming: "another data set") { try await replicator.pull() }
    #expect(try await magic.statistics().transactions == 0)
  }

  /// W-7: what was broken off does not come again, whatever else its session ended with.
  @Test func whatWasBrokenOffConnectsNoMore() async throws {
    let folder = try TemporaryFolder()
    let dataSet = DataSetID(8, 8)
    let port = try AnsweringPort([
      .hello: Welcome(replica: nil, dataSet: dataSet, rights: [.read], capabilities: []).frame,
      .held: WireError(.fork, "another transaction").frame,
    ])
    let magic = try await MagicData(path: folder["a"])
    let remote = try SocketRemote("tcp://127.0.0.1:\(port.port)")
    let started = Locked(Task<Void, any Error>?.none)
    let asking = Task {
      try await remote.breakingOff { remote in
        try await remote.opened(for: magic) { session in
          do {
            _ = try await session.status(of: magic, dataSet)
          } catch {
            while started.withLock({ $0 == nil }) { await Task.yield() }
            started.withLock({ $0 })?.cancel()
            throw error
          }
        }
      }
    }
    started.withLock { $0 = asking }
    await expectCode(.unreachable, naming: "was broken off") { try await asking.value }
    // Whoever had come before this one would have been let in before it.
    let socket = try RawSocket(port: port.port)
    socket.send(RawSocket.hello())
    #expect(await socket.frame()?.kind == 0x81)
    #expect(port.clients == 2)
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

  /// H-33: a connection that breaks comes back by itself, as does a server that was away.
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

/// What a server logs.
private struct Lines: LogHandler {
  private let kept = Locked([String]())
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  var all: [String] { kept.withLock { $0 } }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { kept.withLock { $0.append("\(event.message)") } }
}

/// A port at which each client in turn gets the answers that stand for kinds of questions.
private final class AnsweringPort: Sendable {
  let port: Int
  private let descriptor: Int32
  private let asked: Locked<[Frame.Kind]>
  private let taken = Locked(0)

  /// How many it has let in.
  var clients: Int { taken.withLock { $0 } }

  func count(of kind: Frame.Kind) -> Int { asked.withLock { $0.count { $0 == kind } } }

  init(_ answers: [Frame.Kind: Frame]) throws {
    let asked = Locked([Frame.Kind]())
    self.asked = asked
    let descriptor = FullPort.make()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    port = Int(in_port_t(bigEndian: address.sin_port))
    self.descriptor = descriptor
    guard isListening else { throw RawSocket.Failure(code: errno) }
    Thread.detachNewThread { [taken] in
      while case let client = accept(descriptor, nil, nil), client >= 0 {
        taken.withLock { $0 += 1 }
        AnsweringPort.answer(client, answers, asked)
        close(client)
      }
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  private static func answer(_ client: Int32, _ answers: [Frame.Kind: Frame], _ asked: Locked<[Frame.Kind]>) {
    while let head = take(5, client), take(RawSocket.number(head[..<4]), client) != nil {
      guard let kind = Frame.Kind(rawValue: head[4]), let answer = answers[kind] else { return }
      asked.withLock { $0.append(kind) }
      let bytes = RawSocket.frame(answer.kind.rawValue, Array(answer.body.readableBytesView))
      guard send(client, bytes, bytes.count, Proxy.flags) == bytes.count else { return }
    }
  }

  private static func take(_ count: Int, _ client: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var got = 0
    while got < count {
      let more = bytes.withUnsafeMutableBytes { recv(client, $0.baseAddress! + got, count - got, 0) }
      guard more > 0 else { return nil }
      got += more
    }
    return bytes
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

  static func make() -> Int32 {
    #if canImport(Darwin)
      socket(AF_INET, SOCK_STREAM, 0)
    #else
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
  }
}
