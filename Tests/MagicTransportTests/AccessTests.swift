import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import NIOCore
import TestSupport
import Testing

/// H-42: who may come in, and what they may do.
@Suite(.timeLimit(.minutes(15))) struct AccessTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func secret(_ name: String, _ text: String, mode: Int = 0o600) throws -> URL {
    try Data(text.utf8).write(to: folder[name])
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder[name].path)
    return folder[name]
  }

  /// Another file in the place of one, as `mv` puts it there.
  private func replace(_ name: String, _ text: String, mode: Int = 0o600) throws {
    let file = try secret("\(name).new", text, mode: mode)
    try #require(rename(file.path, folder[name].path) == 0)
  }

  private func server(_ tokens: String) async throws -> RunningServer {
    var options = RunningServer.quiet
    options.tokens = try secret("tokens", tokens)
    return try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: options))
  }

  private func replicator(_ magic: MagicData, _ server: RunningServer, _ token: String?) throws -> MagicReplicator {
    var options = SocketRemote.Options()
    options.token = try token.map { try secret("token-\($0)", $0 + "\n") }
    return MagicReplicator(magic, remote: try SocketRemote(server.address, options: options))
  }

  @Test func withoutTheTokenNothingIsReadOrWritten() async throws {
    let server = try await server("full-rights\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    for token in [nil, "full-right", "full-rightsx"] {
      let replicator = try replicator(a, server, token)
      await expectCode(.unauthorized, naming: "token") { try await replicator.sync() }
    }
    #expect(!FileManager.default.fileExists(atPath: folder["hub"].path))
    try await replicator(a, server, "full-rights").push()
    try await server.stop()
  }

  /// W-3: the tokens are those of the file, also while the server runs. One with which it would not start changes nothing.
  @Test func aTokenThatIsTakenOutLetsNobodyIn() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\n")
    let (a, b, c) = (
      try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]), try await MagicData(path: folder["c"])
    )
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    try replace("tokens", "two b readwrite\nthree c readwrite\n")
    let gone = try replicator(a, server, "one")
    await expectCode(.unauthorized, naming: "not known") { try await gone.pull() }
    #expect(try await replicator(b, server, "two").pull().transactions == 1)
    #expect(try await replicator(c, server, "three").pull().transactions == 1)
    for (text, mode) in [("\n", 0o600), ("four d reader\n", 0o600), ("four\n", 0o644)] {
      try replace("tokens", text, mode: mode)
      try await replicator(b, server, "two").pull()
    }
    try FileManager.default.removeItem(at: folder["tokens"])
    try await replicator(b, server, "two").pull()
    try replace("tokens", "four\n")
    let late = try replicator(b, server, "two")
    await expectCode(.unauthorized, naming: "not known") { try await late.pull() }
    try await server.stop()
  }

  /// W-3: a link leads to the tokens, as where they are mounted, and leads elsewhere once they are others.
  @Test func tokensBehindALinkAreReadAnew() async throws {
    for (name, text) in [("old", "one a readwrite\n"), ("new", "two a readwrite\n")] {
      try FileManager.default.createDirectory(at: folder[name], withIntermediateDirectories: false)
      _ = try secret("\(name)/tokens", text)
    }
    try FileManager.default.createSymbolicLink(atPath: folder["current"].path, withDestinationPath: "old")
    try FileManager.default.createSymbolicLink(atPath: folder["tokens"].path, withDestinationPath: "current/tokens")
    var options = RunningServer.quiet
    options.tokens = folder["tokens"]
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: options))
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    try FileManager.default.createSymbolicLink(atPath: folder["next"].path, withDestinationPath: "new")
    try #require(rename(folder["next"].path, folder["current"].path) == 0)
    try await replicator(a, server, "two").pull()
    let gone = try replicator(a, server, "one")
    await expectCode(.unauthorized, naming: "not known") { try await gone.pull() }
    try await server.stop()
  }

  /// W-3: what could not be read just then, though it is right, is read when that has passed.
  @Test func whatCouldNotBeReadOnceIsReadAgain() async throws {
    let file = try secret("tokens", "one")
    let (isFailing, tries) = (Locked(false), Locked(0))
    let renewed = try Reloading(of: [file], RunningServer.quiet.logger, ("read anew", "kept")) {
      tries.withLock { $0 += 1 }
      guard !isFailing.withLock({ $0 }) else { throw MagicDataError(.failed, "too many open files") }
      return try String(contentsOf: file, encoding: .utf8)
    }
    try replace("tokens", "two")
    isFailing.withLock { $0 = true }
    for _ in 0..<100 { #expect(renewed.current == "one") }
    // Not by everybody who comes meanwhile.
    #expect(tries.withLock { $0 } < 50)
    isFailing.withLock { $0 = false }
    let latest = ContinuousClock.now + .seconds(40)
    while renewed.current == "one", .now < latest { try await Task.sleep(for: .milliseconds(50)) }
    #expect(renewed.current == "two")
  }

  /// W-3: who is in is asked for the token again with each frame.
  @Test func aSessionEndsWithItsToken() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\nthree c read\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    var sockets: [RawSocket] = []
    for (number, token) in ["one", "two", "three"].enumerated() {
      let socket = try RawSocket(port: server.port)
      socket.send(RawSocket.hello(replica: UInt8(number + 7), token: token))
      #expect(await socket.frame()?.kind == 0x81)
      socket.send(RawSocket.frame(3, [0]))
      #expect(await socket.frame()?.kind == 0x83)
      sockets.append(socket)
    }
    try replace("tokens", "two b read\nthree c read\n")
    for (socket, code) in zip(sockets, [UInt8(3), 9]) {
      socket.send(RawSocket.frame(3, [0]))
      let answer = await socket.frame()
      #expect(answer?.kind == 0xff && answer?.body.first == code, "\(String(describing: answer))")
    }
    sockets[2].send(RawSocket.frame(3, [0]))
    #expect(await sockets[2].frame()?.kind == 0x83)
    try await server.stop()
  }

  /// W-3, W-4: what has begun to come is not finished by who may write no more, and makes nothing his.
  @Test(arguments: ["two b readwrite\n", "one a read\n"], [false, true])
  func whatHasBegunIsNotFinishedWithoutTheRight(tokens: String, isContent: Bool) async throws {
    let server = try await server("one a readwrite\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await MagicReplicator(a, remote: FolderRemote(folder["side"])).push()
    let state = try await a.store.read { db in try DatabaseState(db) }
    let segments = folder["side/segments"]
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: segments.path).first)
    var bytes = [UInt8](try Data(contentsOf: segments.appendingPathComponent(name)))
    let begin: [UInt8]
    if isContent {
      bytes = Array("a content of some length".utf8)
      let length = withUnsafeBytes(of: UInt64(bytes.count).bigEndian, Array.init)
      begin = RawSocket.frame(0x0a, SHA256.hash(bytes) + length)
    } else {
      let hash = try #require([UInt8](hexadecimal: String(name.split(separator: ".")[3])))
      begin = RawSocket.frame(5, hash + bytes[..<124])
      bytes = Array(bytes[124...])
    }
    let socket = try RawSocket(port: server.port)
    socket.send(RawSocket.hello(id: state.replica.bytes, token: "one"))
    #expect(await socket.frame()?.kind == 0x81)
    socket.send(RawSocket.frame(2, state.dataSet.bytes))
    #expect(await socket.frame()?.kind == 0x82)
    socket.send(begin)
    if isContent {
      #expect(await socket.frame()?.kind == 0x8a)
    } else {
      let (latest, coming) = (ContinuousClock.now + .seconds(40), folder["hub/segments"].path)
      while try ContinuousClock.now < latest
        && (!FileManager.default.fileExists(atPath: coming) || FileManager.default.contentsOfDirectory(atPath: coming).isEmpty)
      {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    socket.send(RawSocket.frame(6, Array(bytes[..<5])))
    try replace("tokens", tokens)
    socket.send(RawSocket.frame(6, Array(bytes[5...])))
    let answer = await socket.frame()
    #expect(answer?.kind == 0xff && answer?.body.first == (tokens.hasPrefix("one") ? 9 : 3), "\(String(describing: answer))")
    let kept = try folder.contents().filter { path, content in
      path.hasPrefix("hub/") && !content.isEmpty && !path.split(separator: "/").contains { $0.hasPrefix(".") }
    }
    #expect(kept.keys.sorted() == ["hub/magicdata.json"])
    #expect(!FileManager.default.fileExists(atPath: folder["tokens.replicas"].path))
    try await server.stop()
  }

  /// C-5, W-6: who may only read says nothing, and hears what was accepted before he pulls.
  @Test func aReaderHearsWhatWasAccepted() async throws {
    let (world, side) = (World(), FolderRemote(folder["side"]))
    func magic(_ name: String, skew: Int64 = 0) throws -> MagicData {
      MagicData(store: try Store(.file(DatabaseLocation(folder[name]), mustExist: false), world.surroundings(skew: skew)))
    }
    let server = try await server("full both readwrite\nlook reader read\n")
    let (ahead, a, b) = (try magic("ahead", skew: 3 * 86_400_000), try magic("a"), try magic("b"))
    try await ahead.update(Note("1", "in three days"))
    try await MagicReplicator(ahead, remote: side).push()
    let waiting = try await MagicReplicator(a, remote: side).pull().heldBack
    try await MagicReplicator(a, remote: side).pull(accepting: Set(waiting.map(\.replica)))
    try await replicator(a, server, "full").push()
    let pulled = try await replicator(b, server, "look").pull()
    #expect((pulled.transactions, pulled.heldBack.count) == (1, 0))
    try await expectEqual([a, b])
    try await server.stop()
  }

  /// H-42: a certificate lasts shorter than its server. One that does not go with the key, and none, change nothing.
  @Test func aRenewedCertificateIsShown() async throws {
    let (first, second) = (try TestCertificate(), try TestCertificate())
    func put(_ name: String, _ file: URL) throws { try replace(name, String(contentsOf: file, encoding: .utf8)) }
    try put("cert", first.file)
    try put("key", first.key)
    var options = RunningServer.quiet
    (options.certificate, options.key) = (folder["cert"], folder["key"])
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["tls://127.0.0.1:0"], options: options))
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    func trusting(_ certificate: TestCertificate) throws -> MagicReplicator {
      var options = SocketRemote.Options()
      options.authority = certificate.file
      return MagicReplicator(a, remote: try SocketRemote(server.address, options: options))
    }
    try await trusting(first).push()
    try put("cert", second.file)
    try await trusting(first).push()
    try put("key", second.key)
    try await trusting(second).push()
    let late = try trusting(first)
    await expectCode(.unauthorized, naming: "not trusted") { try await late.push() }
    try FileManager.default.removeItem(at: folder["cert"])
    try await trusting(second).push()
    try await server.stop()
  }

  @Test func aReaderCannotWriteNorAWriterRead() async throws {
    let server = try await server("# who\nfull both readwrite\nlook reader read\npost writer write\n")
    let (a, b, c) = (
      try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]), try await MagicData(path: folder["c"])
    )
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "full").push()
    let reading = try replicator(b, server, "look")
    #expect(try await reading.pull().transactions == 1)
    // A reader that has nothing to say is in step; else it hears that it may not.
    try await reading.sync()
    try await b.update(Note("2", "two"))
    let before = try folder.contents().filter { $0.key.hasPrefix("hub") }
    await expectCode(.unauthorized, naming: "may only read") { try await reading.push() }
    #expect(try folder.contents().filter { $0.key.hasPrefix("hub") } == before)
    let writing = try replicator(c, server, "post")
    await expectCode(.unauthorized, naming: "no right to read") { try await writing.pull() }
    #expect(try await c.statistics().transactions == 0)
    try await server.stop()
  }

  /// F-24: what the server lacks, and others can send, ends nobody who follows it and may only read; it is told once.
  @Test func aReaderGoesOnWhereTheServerLacksWhatOthersHave() async throws {
    let server = try await server("full both readwrite\nlook reader read\n")
    let (a, b, c) = (
      try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]), try await MagicData(path: folder["c"])
    )
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "full").push()
    // What c has written reaches b on another way.
    try await replicator(c, server, "full").pull()
    try await c.update(Note("2", "two"))
    let stick = FolderRemote(folder["stick"])
    try await MagicReplicator(c, remote: stick).push()
    let reading = try replicator(b, server, "look")
    try await reading.pull()
    try await MagicReplicator(b, remote: stick).pull()
    // Who asks once hears it as an error.
    await expectCode(.unauthorized, naming: "lacks what is held here (1 transaction of replica") { try await reading.sync() }
    let (events, told) = (reading.events, Locked([MagicDataError]()))
    let (heard, first) = AsyncStream.makeStream(of: Void.self)
    let listening = Task {
      for await event in events {
        guard case .retrying(let error, _) = event, error.code == .unauthorized else { continue }
        told.withLock { $0.append(error) }
        first.yield()
      }
    }
    let following = Task { try await reading.run(every: .milliseconds(20)) }
    for await _ in heard { break }
    for number in 3...5 {
      try await a.update(Note("\(number)", "more"))
      try await replicator(a, server, "full").push()
      for try await notes in b.observe(of: Note.self) where notes.count == number { break }
    }
    #expect(told.withLock { $0.count } == 1, "\(told.withLock { $0 })")
    #expect(told.withLock { $0.first?.message.contains("whoever has it as well, and may write, sends it") } == true)
    following.cancel()
    try await following.value
    listening.cancel()
    // What nobody else has ends it.
    try await b.update(Note("6", "own"))
    await expectCode(.unauthorized, naming: "may only read") { try await reading.run() }
    try await server.stop()
  }

  /// L-25, K-22, W-16: whoever may only read says no digest, and asks for one.
  @Test func aReaderHearsOfWhatDiffers() async throws {
    let (served, b) = (try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]))
    try await served.update(Note("1", "one"))
    var options = RunningServer.quiet
    options.tokens = try secret("tokens", "look reader read\n")
    let server = try await RunningServer(MagicServer(served, at: ["tcp://127.0.0.1:0"], options: options))
    let reading = try replicator(b, server, "look")
    try await reading.pull()
    _ = try await b.store.write { db in
      try db.execute(sql: "UPDATE magic_journal SET data = CAST(replace(CAST(data AS TEXT), 'one', 'two') AS BLOB)")
    }
    await expectCode(.failed, naming: server.address) { try await reading.sync() }
    // It is asked anew when it is time.
    try await reading.sync()
    try await server.stop()
  }

  /// W-4: a replica id is its token's, also over a restart.
  @Test func nobodyWritesUnderAnothersReplica() async throws {
    var server = try await server("one a readwrite\ntwo b readwrite\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    let thief = try replicator(a, server, "two")
    await expectCode(.unauthorized, naming: "belongs to another token") { try await thief.pull() }
    try await server.stop()
    server = try await self.server("one a readwrite\ntwo b readwrite\n")
    let again = try replicator(a, server, "two")
    await expectCode(.unauthorized, naming: "belongs to another token") { try await again.pull() }
    // What it has of another by other ways waits for the other.
    let b = try await MagicData(path: folder["b"])
    try await a.update(Note("2", "two"))
    try await MagicReplicator(a, remote: FolderRemote(folder["side"])).push()
    try await replicator(b, server, "two").pull()
    try await MagicReplicator(b, remote: FolderRemote(folder["side"])).pull()
    try await b.update(Note("3", "three"))
    #expect(try await replicator(b, server, "two").push().transactions == 1)
    #expect(try await replicator(a, server, "one").sync().push.transactions == 1)
    try await replicator(b, server, "two").sync()
    try await expectEqual([a, b])
    try await server.stop()
  }

  /// W-4: a token that takes another's place has its replicas if it has its name.
  @Test func aTokenInThePlaceOfAnotherNeedsItsName() async throws {
    var server = try await server("old\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "old").push()
    try await server.stop()
    let owned = try String(contentsOf: folder["tokens.replicas"], encoding: .utf8)
    let name = try #require(owned.split(whereSeparator: \.isWhitespace).last)
    try await a.update(Note("2", "two"))
    server = try await self.server("new\n")
    let another = try replicator(a, server, "new")
    await expectCode(.unauthorized, naming: "has to have its name") { try await another.push() }
    try await server.stop()
    server = try await self.server("new \(name) readwrite\n")
    #expect(try await replicator(a, server, "new").push().transactions == 1)
    try await server.stop()
  }

  /// W-4: also where the server holds nothing of the other yet, which has taken its id by looking around.
  @Test func whatIsOfAnotherThatSentNothingYetWaitsForIt() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\n")
    let (a, b) = (try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]))
    try await replicator(a, server, "one").sync()
    try await a.update(Note("1", "one"))
    try await MagicReplicator(a, remote: FolderRemote(folder["side"])).push()
    try await b.update(Note("2", "two"))
    try await MagicReplicator(b, remote: FolderRemote(folder["side"])).pull()
    for _ in 0..<2 {
      let report = try await replicator(b, server, "two").sync()
      #expect(report.push.transactions <= 1)
    }
    try await replicator(a, server, "one").sync()
    try await replicator(b, server, "two").sync()
    try await expectEqual([a, b])
    try await server.stop()
  }

  /// W-4: an id that a client forwards may become another token's at any time: it hears so, asks anew, and goes on without.
  @Test func whoFollowsGoesOnWithoutWhatBecameAnothers() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\n")
    let (a, b, c) = (
      try await MagicData(path: folder["a"]), try await MagicData(path: folder["b"]), try await MagicData(path: folder["c"])
    )
    func carry(_ title: String) async throws {
      try await b.update(Note(title, title))
      try await MagicReplicator(b, remote: FolderRemote(folder["side"])).push()
      try await MagicReplicator(a, remote: FolderRemote(folder["side"])).pull()
    }
    let (mine, looking) = (try replicator(a, server, "one"), try replicator(c, server, "one"))
    func isThere(_ title: String) async throws -> Bool {
      let latest = ContinuousClock.now + .seconds(40)
      while ContinuousClock.now < latest {
        do {
          try await looking.pull()
        } catch let error as MagicDataError where error.code == .notFound {
          // Nobody has pushed yet.
        }
        if try await c.object(of: Note.self).contains(where: { $0.title == title }) { return true }
        try await Task.sleep(for: .milliseconds(50))
      }
      return false
    }
    try await carry("one")
    let following = Task { try await mine.run(every: .milliseconds(20)) }
    #expect(try await isThere("one"))
    // It brings nothing, and makes its id its token's.
    #expect(try await replicator(b, server, "two").sync().push.transactions == 0)
    try await carry("two")
    try await a.update(Note("three", "three"))
    #expect(try await isThere("three"))
    following.cancel()
    try await following.value
    #expect(try await replicator(b, server, "two").sync().push.transactions == 1)
    try await replicator(a, server, "one").sync()
    try await expectEqual([a, b])
    try await server.stop()
  }

  /// W-4: what was delivered before it was refused is in the report, once.
  @Test func whatCameBeforeARefusalIsReported() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\n")
    let (a, c) = (try await MagicData(path: folder["a"]), try await MagicData(path: folder["c"]))
    var others: [(id: String, magic: MagicData)] = []
    for name in ["x", "y"] {
      let magic = try await MagicData(path: folder[name])
      try await magic.update(Note(name, name))
      others.append((try await magic.statistics().replica, magic))
    }
    // The lower one's are sent first.
    others.sort { $0.id < $1.id }
    let (free, taken) = (others[0].magic, others[1].magic)
    func carry() async throws {
      for magic in [free, taken] { try await MagicReplicator(magic, remote: FolderRemote(folder["side"])).push() }
      try await MagicReplicator(a, remote: FolderRemote(folder["side"])).pull()
    }
    let (mine, looking) = (try replicator(a, server, "one"), try replicator(c, server, "one"))
    let sent = Locked(0)
    let events = mine.events
    let listening = Task {
      for await event in events { if case .sent(let report) = event { sent.withLock { $0 += report.transactions } } }
    }
    func isSent(_ count: Int) async throws -> Bool {
      let latest = ContinuousClock.now + .seconds(40)
      while sent.withLock({ $0 }) < count, .now < latest { try await Task.sleep(for: .milliseconds(50)) }
      return sent.withLock { $0 } == count
    }
    try await carry()
    let following = Task { try await mine.run(every: .milliseconds(20)) }
    #expect(try await isSent(2))
    // It brings nothing, and makes its id its token's.
    #expect(try await replicator(taken, server, "two").sync().push.transactions == 0)
    try await taken.update(Note("refused", "refused"))
    try await free.update(Note("taken", "taken"))
    try await carry()
    #expect(try await isSent(3))
    try await looking.pull()
    #expect(try await c.object(of: Note.self).map(\.title).contains("taken"))
    following.cancel()
    try await following.value
    listening.cancel()
    #expect(sent.withLock { $0 } == 3)
    try await server.stop()
  }

  /// W-4: what two servers know of one file of tokens is the same.
  @Test func serversThatShareTokensShareOwners() async throws {
    let tokens = try secret("tokens", "one a readwrite\ntwo b readwrite\n")
    let (first, second) = (try Owners(besides: tokens), try Owners(besides: tokens))
    let ids = (1...4).map { ReplicaID(0, UInt64($0)) }
    #expect(try first.claim(ids[0], for: "a"))
    #expect(try second.claim(ids[1], for: "b"))
    #expect(try first.claim(ids[2], for: "a"))
    #expect(try !second.claim(ids[0], for: "b"))
    #expect(try !first.claim(ids[1], for: "a"))
    let again = try Owners(besides: tokens)
    #expect(try [again, first, second].allSatisfy { try $0.isOthers(ids[0], than: "b") && $0.isOthers(ids[2], than: "b") })
    #expect(try !again.isOthers(ids[3], than: "a"))
  }

  /// W-4: servers take turns, also while the file of the tokens is replaced by others.
  @Test func ownersAreClaimedInTurnWhileTokensAreReplaced() async throws {
    let tokens = try secret("tokens", "one a readwrite\ntwo b readwrite\n")
    let ids = (0..<80).map { ReplicaID(0, UInt64($0 + 1)) }
    let servers = try (0..<8).map { _ in try Owners(besides: tokens) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, owners) in servers.enumerated() {
        group.addTask {
          for id in ids[(number * 10)..<(number * 10 + 10)] {
            let isClaimed = try owners.claim(id, for: number < 4 ? "a" : "b")
            #expect(isClaimed)
          }
        }
      }
      for _ in 0..<40 {
        try replace("tokens", "one a readwrite\ntwo b readwrite\n")
        await Task.yield()
      }
      try await group.waitForAll()
    }
    for owners in try servers + [Owners(besides: tokens)] {
      #expect(try owners.others(than: "b") == Set(ids[..<40]))
      #expect(try owners.others(than: "a") == Set(ids[40...]))
    }
  }

  /// W-4: what nobody can look at is not nobody's, and is not written anew.
  @Test func ownersThatCannotBeLookedAtAreNotForgotten() throws {
    try FileManager.default.createDirectory(at: folder["share"], withIntermediateDirectories: false)
    let tokens = try secret("share/tokens", "one a readwrite\ntwo b readwrite\n")
    let owners = try Owners(besides: tokens)
    let (one, other) = (ReplicaID(1, 1), ReplicaID(2, 1))
    #expect(try owners.claim(one, for: "a"))
    try #require(rename(folder["share"].path, folder["aside"].path) == 0)
    // Root does not get through either.
    try FileManager.default.createSymbolicLink(atPath: folder["share"].path, withDestinationPath: "share")
    #expect(throws: MagicDataError.self) { try owners.isOthers(one, than: "b") }
    #expect(throws: MagicDataError.self) { try owners.claim(other, for: "b") }
    #expect(throws: MagicDataError.self) { try Owners(besides: tokens) }
    try #require(unlink(folder["share"].path) == 0)
    try #require(rename(folder["aside"].path, folder["share"].path) == 0)
    #expect(try owners.isOthers(one, than: "b"))
    #expect(try owners.claim(other, for: "b"))
    #expect(try String(contentsOf: folder["share/tokens.replicas"], encoding: .utf8) == "\(one) a\n\(other) b\n")
  }

  /// W-4: what a file said that is gone holds on, and none is written in its place until somebody has decided about that.
  @Test func ownersWhoseFileIsGoneAreNotForgotten() throws {
    let tokens = try secret("tokens", "one a readwrite\ntwo b readwrite\n")
    let owners = try Owners(besides: tokens)
    let (one, other, file) = (ReplicaID(1, 1), ReplicaID(2, 1), folder["tokens.replicas"])
    #expect(try owners.claim(one, for: "a"))
    try #require(rename(file.path, folder["aside"].path) == 0)
    #expect(try owners.isOthers(one, than: "b"))
    #expect(try owners.claim(one, for: "a"))
    #expect { try owners.claim(other, for: "b") } throws: { ($0 as? MagicDataError)?.code == .busy }
    #expect(!FileManager.default.fileExists(atPath: file.path))
    try #require(rename(folder["aside"].path, file.path) == 0)
    #expect(try owners.claim(other, for: "b"))
    #expect(try String(contentsOf: file, encoding: .utf8) == "\(one) a\n\(other) b\n")
    // Where it is meant to be gone, a server that starts makes another, which holds for all.
    try FileManager.default.removeItem(at: file)
    #expect(try Owners(besides: tokens).claim(one, for: "b"))
    #expect(try !owners.isOthers(one, than: "b") && !owners.isOthers(other, than: "a"))
  }

  /// An id is a token's by what it writes: who looks around claims nothing.
  @Test func readingClaimsNoID() async throws {
    let server = try await server("one a readwrite\ntwo b readwrite\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    let owned = try Data(contentsOf: folder["tokens.replicas"])
    for token in ["one", "two"] {
      let socket = try RawSocket(port: server.port)
      socket.send(RawSocket.hello(token: token))
      #expect(await socket.frame()?.kind == 0x81)
      socket.send(RawSocket.frame(3, [0]))
      #expect(await socket.frame()?.kind == 0x83)
    }
    #expect(try Data(contentsOf: folder["tokens.replicas"]) == owned)
    try await server.stop()
  }

  /// W-4: nor does who stores nothing, whatever it may.
  @Test func whatStoresNothingClaimsNoID() async throws {
    let server = try await server("one a readwrite\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    let owned = try Data(contentsOf: folder["tokens.replicas"])
    let dataSet = try await a.store.read { db in try DatabaseState(db).dataSet }
    let writer = Identifier(7, 7)
    var head = ByteWriter()
    SegmentHeader(
      dataSet: dataSet, writer: writer, replica: writer, first: 1, last: 1, previous: .none,
      lastName: TransactionName(stamp: Stamp(1_750_000_000_000 << 16), tag: 1), bodyLength: 3, storedLength: 3,
      storedChecksum: 0
    ).encode(to: &head)
    let socket = try RawSocket(port: server.port)
    socket.send(RawSocket.hello(id: writer.bytes, token: "one"))
    #expect(await socket.frame()?.kind == 0x81)
    socket.send(RawSocket.frame(2, dataSet.bytes))
    #expect(await socket.frame()?.kind == 0x82)
    socket.send(RawSocket.frame(7, []))
    #expect(await socket.frame()?.kind == 0x87)
    // What is said is no acknowledgement.
    socket.send(RawSocket.frame(12, [1, 2] + Array("{}".utf8)))
    #expect(await socket.frame()?.kind == 0x8f)
    #expect(try Data(contentsOf: folder["tokens.replicas"]) == owned)
    // Its checksum is another.
    socket.send(RawSocket.frame(5, [UInt8](repeating: 5, count: 16) + head.bytes) + RawSocket.frame(6, [1, 2, 3]))
    let answer = await socket.frame()
    #expect(answer?.kind == 0xff && answer?.body.first == 7)
    #expect(try Data(contentsOf: folder["tokens.replicas"]) == owned)
    try await server.stop()
  }

  /// W-4, C-5: a peer hears what was accepted before anything is sent, which makes the id nobody's; an acknowledgement does.
  @Test func whatWasAcceptedClaimsNoID() async throws {
    let served = try await MagicData(path: folder["served"])
    var options = RunningServer.quiet
    options.tokens = try secret("tokens", "one a readwrite\n")
    let server = try await RunningServer(MagicServer(served, at: ["tcp://127.0.0.1:0"], options: options))
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "one").push()
    let owned = try String(contentsOf: folder["tokens.replicas"], encoding: .utf8)
    let dataSet = try await a.store.read { db in try DatabaseState(db).dataSet }
    let writer = Identifier(7, 7)
    let socket = try RawSocket(port: server.port)
    socket.send(RawSocket.hello(id: writer.bytes, token: "one"))
    #expect(await socket.frame()?.kind == 0x81)
    for acknowledged in ["{}", #"{"\#(writer)":{"frontier":{},"time":1750000000000}}"#] {
      let said = """
        {"accepted":1750000000000,"acknowledged":\(acknowledged),"dataSet":"\(dataSet)","expired":{},"format":1,"replica":"\(writer)"}
        """
      let frame = Frame.blocks(.members, [Data(said.utf8)])
      socket.send(RawSocket.frame(frame.kind.rawValue, Array(frame.body.readableBytesView)))
      #expect(await socket.frame()?.kind == 0x8f)
      let isOwned = try String(contentsOf: folder["tokens.replicas"], encoding: .utf8) != owned
      #expect(isOwned == (acknowledged != "{}"), "\(acknowledged)")
    }
    let accepted = try await served.store.read { db in try AcceptedTime.read(db) }
    #expect(accepted == 1_750_000_000_000)
    try await server.stop()
    try await served.close()
  }

  /// H-32, W-4: what one token takes is bounded, and takes nothing from another.
  @Test func aTokenGetsSoManyIDs() throws {
    let tokens = try secret("tokens", "one a readwrite\ntwo b readwrite\n")
    _ = try secret("tokens.replicas", (1...20_000).map { "\(ReplicaID(1, UInt64($0))) a\n" }.joined())
    let owners = try Owners(besides: tokens)
    let before = try Data(contentsOf: folder["tokens.replicas"])
    #expect(try owners.claim(ReplicaID(1, 1), for: "a"))
    #expect { try owners.claim(ReplicaID(2, 1), for: "a") } throws: { ($0 as? WireError)?.code == .notAllowed }
    #expect(try Data(contentsOf: folder["tokens.replicas"]) == before)
    #expect(try owners.claim(ReplicaID(2, 1), for: "b"))
    #expect(try owners.isOthers(ReplicaID(2, 1), than: "a"))
  }

  /// W-3: the server itself refuses, whatever the client thinks of its rights.
  @Test(arguments: [("look", [2, 5, 7, 10, 12, 15]), ("post", [4, 9, 11, 14])]) func aServerRefusesWhatATokenHasNoRightTo(
    token: String, kinds: [UInt8]
  ) async throws {
    let server = try await server("full both readwrite\nlook reader read\npost writer write\n")
    let a = try await MagicData(path: folder["a"])
    try await a.update(Note("1", "one"))
    try await replicator(a, server, "full").push()
    let before = try folder.contents().filter { $0.key.hasPrefix("hub") }
    for kind in kinds {
      let socket = try RawSocket(port: server.port)
      socket.send(RawSocket.hello(token: token))
      #expect(await socket.frame()?.kind == 0x81)
      socket.send(RawSocket.frame(kind, [UInt8](repeating: 0, count: 16)))
      let answer = await socket.frame()
      #expect(answer?.kind == 0xff && answer?.body.first == 4, "kind \(kind): \(String(describing: answer))")
    }
    #expect(try folder.contents().filter { $0.key.hasPrefix("hub") } == before)
    try await server.stop()
  }

  /// A token is not sent where others can read it on its way.
  @Test func aTokenGoesToThisMachineOrIsHidden() async throws {
    let magic = try await MagicData(path: folder["a"])
    var options = SocketRemote.Options()
    options.token = try secret("token", "word\n")
    let open = MagicReplicator(magic, remote: try SocketRemote("tcp://192.0.2.1:1", options: options))
    await expectCode(.notAllowed, naming: "--insecure") { try await open.pull() }
  }

  /// Also however this machine's own address is written; what only looks so is another's.
  @Test(arguments: [
    ("LOCALHOST", true), ("127.9.9.9", true), ("[0:0:0:0:0:0:0:1]", true), ("[::ffff:127.0.0.1]", true), ("[::1%25lo]", true),
    ("[::ffff:192.0.2.1]", false), ("[::2]", false), ("[::127.0.0.1]", false), ("127.0.0.1.example.org", false),
    ("127.0.0.1%25%3A.example.org", false), ("[127.0.0.1%25:example.org]", false), ("127.0.0.1%00.example.org", false),
  ]) func aLoopbackAddressIsKnown(host: String, isOwn: Bool) async throws {
    let magic = try await MagicData(path: folder["a"])
    var options = SocketRemote.Options()
    options.token = try secret("token", "word\n")
    let replicator = MagicReplicator(magic, remote: try SocketRemote("tcp://\(host):1", options: options))
    await expectCode(isOwn ? .unreachable : .notAllowed, naming: isOwn ? "" : "--insecure") { try await replicator.pull() }
  }

  @Test func secretsThatOthersCanReadAreRefused() async throws {
    var options = RunningServer.quiet
    options.tokens = try secret("tokens", "secret-word\n", mode: 0o644)
    let open = options
    await expectCode(.notAllowed, naming: "chmod 600") {
      _ = try await RunningServer(MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: open))
    }
    let magic = try await MagicData(path: folder["a"])
    var connection = SocketRemote.Options()
    connection.token = options.tokens
    let replicator = MagicReplicator(magic, remote: try SocketRemote("tcp://127.0.0.1:1", options: connection))
    await expectCode(.notAllowed, naming: "chmod 600") { try await replicator.pull() }
  }

  @Test(arguments: ["one two\n", "one name rights\n", "\n", "same\nsame\n", "a n read\nb n read\n"])
  func aFileOfTokensThatMeansNothingIsRefused(text: String) async throws {
    await expectCode(.value) { _ = try await server(text) }
  }

  @Test func aPlainAddressIsThisMachinesOwn() async throws {
    for address in ["tcp://0.0.0.0:0", "tcp://[::]:0", "tcp://example.org:0"] {
      await expectCode(.notAllowed, naming: "--insecure") {
        _ = try await RunningServer(
          MagicServer(folder: FolderRemote(folder["hub"]), at: [address], options: RunningServer.quiet))
      }
    }
  }

  @Test func aUnixSocketIsItsOwnersAlone() async throws {
    let path = folder["socket"].path
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["unix:\(path)"], options: RunningServer.quiet))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    await expectCode(.busy, naming: "already") {
      _ = try await RunningServer(
        MagicServer(folder: FolderRemote(folder["hub"]), at: ["unix:\(path)"], options: RunningServer.quiet))
    }
    try await server.stop()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(arguments: ["tcp://127.0.0.1:1", "unix:/nobody/is/here", "tls://127.0.0.1:1"])
  func nobodyThereIsSaidWithTheAddress(address: String) async throws {
    let magic = try await MagicData(path: folder["a"])
    let replicator = MagicReplicator(magic, remote: try SocketRemote(address))
    await expectCode(.unreachable, naming: address) { try await replicator.pull() }
  }

  /// What is stored as its text is the same when it is read again.
  @Test(arguments: ["ssh://h/data/what%3F", "ssh://me%40work@h:22/100%25/%23", "ssh://h/a b/ü", "tcp://[::1]:1"])
  func anAddressIsItsText(address: String) throws {
    let text = try SocketRemote(address).text
    #expect(try SocketRemote(text).text == text)
    #expect(text.removingPercentEncoding == address.removingPercentEncoding)
  }

  @Test(arguments: ["TCP://h:1", "Tls://h:1", "UNIX:/run/magic", "SSH://h/path"])
  func aKindOfAddressHasAnyCase(address: String) throws {
    let remote = try SocketRemote(address)
    #expect(remote.address.hasPrefix(remote.scheme + ":") && address.lowercased().hasPrefix(remote.scheme))
  }

  @Test(arguments: [
    "tcp://", "http://host", "tcp://host:1/path", "unix:", "ssh://host", "ssh://-oProxy/x", "tcp://h:99999", "tcp://u:p@h:1",
    "unix:/" + String(repeating: "long", count: 40),
  ])
  func whatIsNoAddressIsRefused(address: String) {
    #expect(throws: MagicDataError.self) { try SocketRemote(address) }
  }
}
