import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// Protocol/vectors/wire.json: sessions, frame by frame, as they were recorded. Each is played again, and the server has to
/// answer the same.
@Suite(.timeLimit(.minutes(15))) struct RecordedSessionTests {
  struct File: Codable {
    var sessions: [Session]
  }

  struct Session: Codable {
    let name: String
    /// The hub's folder before: paths, and contents as digits.
    let before: [String: String]
    /// The server's file of tokens.
    var tokens: String?
    /// Of a database that has merged the folder, and is served in its place. Another has another id.
    var peer: String?
    var frames: [Recorded]
    /// The paths of the hub's files afterwards.
    var after: [String]
  }

  struct Recorded: Codable, Equatable {
    let from: String
    let frame: String
  }

  @Test func aSessionGoesAsItWasRecorded() async throws {
    let file = try await VectorFile<File>("wire").recorded(orRecord: record)
    for session in file.sessions {
      let played = try await play(session)
      #expect(played.frames == session.frames, "\(session.name)")
      #expect(played.after == session.after, "\(session.name)")
    }
  }

  /// What the client says is taken from a session; what the server says is put into it.
  private func play(_ session: Session) async throws -> Session {
    let folder = try TemporaryFolder()
    for (path, digits) in session.before {
      let file = folder["hub/" + path]
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(try #require([UInt8](hexadecimal: digits))).write(to: file)
    }
    var options = RunningServer.quiet
    if let tokens = session.tokens {
      options.tokens = folder["tokens"]
      try Data(tokens.utf8).write(to: folder["tokens"])
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder["tokens"].path)
    }
    let hub = FolderRemote(folder["hub"])
    var played = session
    played.frames = []
    var id = ""
    let server: RunningServer
    if session.peer != nil {
      let magic = try await MagicData(path: folder["peer"])
      try await MagicReplicator(magic, remote: hub).pull()
      id = try await magic.statistics().replica
      if session.peer == "" { played.peer = id }
      server = try await RunningServer(MagicServer(magic, at: ["tcp://127.0.0.1:0"], options: options))
    } else {
      server = try await RunningServer(MagicServer(folder: hub, at: ["tcp://127.0.0.1:0"], options: options))
    }
    let (client, another) = (try Talker(server.port), try Talker(server.port))
    for frame in session.frames where frame.from != "server" {
      played.frames.append(frame)
      let bytes = try #require([UInt8](hexadecimal: frame.frame))
      var answers = frame.from == "client" ? await client.say(bytes) : []
      if frame.from == "another", await another.say(bytes).last?[4] == 0x87 {
        answers = await client.listen(until: 0x8c)
      }
      for digits in answers.map(\.hexadecimal) {
        let frame = session.peer.map { digits.replacing(id, with: $0.isEmpty ? id : $0) } ?? digits
        played.frames.append(Recorded(from: "server", frame: frame))
      }
    }
    played.after = try folder.contents().filter { path, content in
      path.hasPrefix("hub/") && !content.isEmpty && !path.split(separator: "/").contains { $0.hasPrefix(".") }
    }.keys.map { String($0.dropFirst(4)) }.sorted()
    try await server.stop()
    return played
  }

  // MARK: Recording

  private func record() async throws -> File {
    let folder = try TemporaryFolder()
    let world = World()
    let magic = MagicData(store: try Store(.file(DatabaseLocation(folder["a"]), mustExist: false), world.surroundings()))
    let replicator = MagicReplicator(magic, remote: FolderRemote(folder["hub"]))
    for number in 1...2 {
      world.advance(1_000)
      try await magic.update(contentsOf: (0..<number).map { Note("\(number)-\($0)", "note \($0)") })
      try await replicator.push()
    }
    let before = try hub(folder)
    let state = try await magic.store.read { db in try DatabaseState(db) }
    let (id, all) = (state.replica.bytes, ["assets", "checkpoints", "digest", "members", "watch"])
    func session(
      _ name: String, _ before: [String: String], tokens: String? = nil, isPeer: Bool = false, _ frames: [[UInt8]]
    ) -> Session {
      Session(
        name: name, before: before, tokens: tokens, peer: isPeer ? "" : nil,
        frames: frames.map { Recorded(from: "client", frame: $0.hexadecimal) }, after: [])
    }
    let (held, settle, digest) = (RawSocket.frame(3, [0]), RawSocket.frame(7, []), RawSocket.frame(0x0e, [0]))
    let pull = RawSocket.frame(4, [0])
    let make = RawSocket.frame(2, state.dataSet.bytes)
    let segments = try sent(before)
    // It holds the first, and goes on from there.
    func frontier(_ kind: UInt8, _ last: UInt8) -> [UInt8] {
      RawSocket.frame(kind, [1] + id + [0, 0, 0, 0, 0, 0, 0, last])
    }
    var sessions = [
      session("all is pulled from a hub", before, [RawSocket.hello(), held, pull, digest]),
      session("what follows the first transaction is pulled", before, [RawSocket.hello(), held, frontier(4, 1)]),
      session(
        "two segments are pushed to a hub that holds nothing", [:], [RawSocket.hello(id: id), make, held] + segments + [settle]),
      session("a hub that holds nothing cannot be pulled", [:], [RawSocket.hello(), held]),
      session("another version is refused", [:], [RawSocket.hello(versions: (2, 3))]),
      session("no greeting is refused", [:], [held]),
      session("a length above the limit is refused", [:], [[0, 0, 0x10, 1, 1]]),
      session(
        "a database that holds all says its digest", before, isPeer: true,
        [RawSocket.hello(capabilities: all), frontier(0x0e, 2)]),
      session(
        "two segments are pushed to a database that holds them", before, isPeer: true,
        [RawSocket.hello(id: id, capabilities: all), held] + segments + [settle]),
    ]
    // Somebody else writes meanwhile.
    let paths = before.keys.filter { $0.hasPrefix("segments/") }.sorted()
    var watching = session(
      "who watches is told of a change", before.filter { $0.key != paths[1] },
      [RawSocket.hello(capabilities: all), held, RawSocket.frame(0x0b, [])])
    watching.frames += ([RawSocket.hello(id: id), held] + segments.suffix(2) + [settle]).map {
      Recorded(from: "another", frame: $0.hexadecimal)
    }
    watching.frames += [held, frontier(4, 1)].map { Recorded(from: "client", frame: $0.hexadecimal) }
    sessions.append(watching)
    // Tokens.
    let tokens = "a-reader-of-the-hub reader read\na-writer-of-the-hub writer readwrite\n"
    sessions += [
      session("who reads only pulls", before, tokens: tokens, [RawSocket.hello(token: "a-reader-of-the-hub"), held, pull]),
      session("who reads only may not push", before, tokens: tokens, [RawSocket.hello(token: "a-reader-of-the-hub"), settle]),
      session("a token that is not known is refused", before, tokens: tokens, [RawSocket.hello(token: "a-guess")]),
      session("no token is refused", before, tokens: tokens, [RawSocket.hello()]),
    ]
    func block(_ text: String) -> [UInt8] {
      var writer = ByteWriter()
      writer.varint(text.utf8.count)
      return writer.bytes + Array(text.utf8)
    }
    // K-6: what another says of itself, and what is known of the first.
    let said = try #require([UInt8](hexadecimal: before["acks/\(state.replica).json"] ?? ""))
    let other = String(decoding: said, as: UTF8.self).replacing(
      state.replica.description, with: String(repeating: "07", count: 16))
    sessions.append(
      session(
        "members are told of each other", before,
        [
          RawSocket.hello(capabilities: all), held,
          RawSocket.frame(0x0c, [1] + block(other)),
        ]))
    // Contents.
    world.advance(1_000)
    try await magic.update(Photo("photo", "a content of some length"))
    try await replicator.push()
    let withContent = try hub(folder)
    let path = try #require(withContent.keys.first { $0.hasPrefix("assets/") })
    let hash = try #require([UInt8](hexadecimal: String(path.split(separator: "/")[2])))
    let content = try #require([UInt8](hexadecimal: withContent[path] ?? ""))
    let lacking = [UInt8](repeating: 1, count: 32)
    func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(value).bigEndian, Array.init) }
    let stored = [RawSocket.frame(6, Array(content[..<9])), RawSocket.frame(6, Array(content[9...]))]
    sessions += [
      session(
        "contents are looked for, and fetched as a whole and from the middle", withContent,
        [
          RawSocket.hello(capabilities: all), RawSocket.frame(8, [2] + hash + lacking), RawSocket.frame(9, hash + number(0)),
          RawSocket.frame(9, hash + number(9)), RawSocket.frame(9, lacking + number(0)),
        ]),
      session(
        "a content is stored", before,
        [
          RawSocket.hello(capabilities: all), RawSocket.frame(8, [1] + hash),
          RawSocket.frame(0x0a, hash + number(content.count)),
        ] + stored
          + [settle, RawSocket.frame(8, [1] + hash)]),
      session(
        "a content that is another is refused", before,
        [RawSocket.hello(capabilities: all), RawSocket.frame(0x0a, lacking + number(content.count))] + stored),
    ]
    // Growth.
    try await replicator.compact()
    world.advance(1_000)
    try await magic.update(Note("later", "after the floor"))
    try await replicator.push()
    let compacted = try hub(folder)
    let checkpoint = try #require([UInt8](hexadecimal: compacted.first { $0.key.hasPrefix("checkpoints/") }?.value ?? ""))
    sessions += try [
      session(
        "all is pulled from a hub that was compacted", compacted, [RawSocket.hello(capabilities: all), held, pull, digest]),
      session(
        "who takes no checkpoints cannot pull from a hub that was compacted", compacted, [RawSocket.hello(), held, pull]),
      session(
        "a checkpoint and what follows it are pushed to a hub that holds nothing", [:],
        [
          RawSocket.hello(id: id, capabilities: all), make, held, RawSocket.frame(0x0f, number(checkpoint.count)),
          RawSocket.frame(6, checkpoint),
        ]
          + sent(compacted) + [settle]),
    ]
    var file = File(sessions: [])
    for session in sessions { file.sessions.append(try await play(session)) }
    return file
  }

  /// The files of the hub that count.
  private func hub(_ folder: TemporaryFolder) throws -> [String: String] {
    var files: [String: String] = [:]
    for (path, content) in try folder.contents() where path.hasPrefix("hub/") && !content.isEmpty {
      guard !path.split(separator: "/").contains(where: { $0.hasPrefix(".") }) else { continue }
      files[String(path.dropFirst(4))] = [UInt8](content).hexadecimal
    }
    return files
  }

  /// Its segments as they are pushed.
  private func sent(_ files: [String: String]) throws -> [[UInt8]] {
    try files.keys.filter { $0.hasPrefix("segments/") }.sorted().flatMap { path in
      let bytes = try #require([UInt8](hexadecimal: files[path] ?? ""))
      let name = try #require([UInt8](hexadecimal: String(path.split(separator: ".")[3])))
      return [RawSocket.frame(5, name + bytes[..<124]), RawSocket.frame(6, Array(bytes[124...]))]
    }
  }
}

/// A client that says what it is told to say, and knows by which frame an answer ends.
private final class Talker {
  private let socket: RawSocket
  private var hasBegun = false
  private var storing = 0

  private let answers: [UInt8: UInt8] = [
    0x02: 0x82, 0x03: 0x83, 0x04: 0x84, 0x07: 0x87, 0x08: 0x88, 0x0a: 0x8a, 0x0c: 0x8f, 0x0e: 0x8e,
  ]

  init(_ port: Int) throws { socket = try RawSocket(port: port) }

  /// - Returns: the frames of the answer, if there is one to wait for.
  func say(_ frame: [UInt8]) async -> [[UInt8]] {
    socket.send(frame)
    defer { hasBegun = true }
    guard hasBegun else { return await listen(until: 0x81) }
    switch frame[4] {
    case 0x06 where storing > 0:
      storing -= frame.count - 5
      return storing == 0 ? await listen(until: 0x8b) : []
    case 0x09:
      return await listen(until: 0x89, from: RawSocket.number(frame[37..<45]))
    case let kind:
      if kind == 0x0a { storing = RawSocket.number(frame[37..<45]) }
      return if let last = answers[kind] { await listen(until: last) } else { [] }
    }
  }

  /// - Parameter offset: from which on a content is fetched.
  func listen(until last: UInt8, from offset: Int = 0) async -> [[UInt8]] {
    var (heard, left) = ([[UInt8]](), 0)
    while let answer = await socket.frame() {
      // W-12: on a machine with much to do.
      if answer.kind == 0x8d { continue }
      heard.append(RawSocket.frame(answer.kind, answer.body))
      if answer.kind == 0x89, answer.body[0] != 0xff { left = RawSocket.number(answer.body[...]) - offset }
      if last == 0x89, answer.kind == 0x06 { left -= answer.body.count }
      if answer.kind == 0xff || left == 0 && (answer.kind == last || last == 0x89) { break }
    }
    return heard
  }
}
