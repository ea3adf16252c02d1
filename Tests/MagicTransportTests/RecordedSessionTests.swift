import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import TestSupport
import Testing

/// Protocol/vectors/wire.json: sessions, frame by frame, as they were recorded. Each is played again, and the server has to answer the same.
@Suite(.timeLimit(.minutes(15))) struct RecordedSessionTests {
  struct File: Codable {
    var sessions: [Session]
  }

  struct Session: Codable {
    let name: String
    /// The hub's folder before: paths, and contents as digits.
    let before: [String: String]
    var frames: [Recorded]
    /// The hub's segments afterwards.
    var segments: [String]
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
      #expect(played.segments == session.segments, "\(session.name)")
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
    let server = try await RunningServer(
      MagicServer(folder: FolderRemote(folder["hub"]), at: ["tcp://127.0.0.1:0"], options: RunningServer.quiet))
    let socket = try RawSocket(port: server.port)
    var played = session
    played.frames = []
    for frame in session.frames where frame.from == "client" {
      played.frames.append(frame)
      let bytes = try #require([UInt8](hexadecimal: frame.frame))
      socket.send(bytes)
      // What is answered, and by what the answer ends.
      let last: UInt8? =
        switch bytes[4] {
        case _ where played.frames.count == 1: 0x81
        case 0x02: 0x82
        case 0x03: 0x83
        case 0x04: 0x84
        case 0x07: 0x87
        case 0x08: 0x88
        case 0x0e: 0x8e
        default: nil
        }
      while let last, let answer = await socket.frame() {
        // W-12: on a machine with much to do.
        if answer.kind == 0x8d { continue }
        played.frames.append(Recorded(from: "server", frame: RawSocket.frame(answer.kind, answer.body).hexadecimal))
        if answer.kind == last || answer.kind == 0xff { break }
      }
    }
    let segments = folder["hub/segments"].path
    played.segments =
      FileManager.default.fileExists(atPath: segments)
      ? try FileManager.default.contentsOfDirectory(atPath: segments).filter { !$0.hasPrefix(".") }.sorted() : []
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
    var before: [String: String] = [:]
    for (path, content) in try folder.contents() where path.hasPrefix("hub/") && !content.isEmpty {
      before[String(path.dropFirst(4))] = [UInt8](content).hexadecimal
    }
    let segments = before.keys.filter { $0.hasPrefix("segments/") }.sorted()
    let state = try await magic.store.read { db in try DatabaseState(db) }
    func client(_ bytes: [UInt8]) -> Recorded { Recorded(from: "client", frame: bytes.hexadecimal) }
    var pushing = [
      client(RawSocket.hello(id: state.replica.bytes)), client(RawSocket.frame(2, state.dataSet.bytes)),
      client(RawSocket.frame(3, [0])),
    ]
    for path in segments {
      let bytes = try #require([UInt8](hexadecimal: before[path] ?? ""))
      let name = try #require([UInt8](hexadecimal: String(path.split(separator: ".")[3])))
      pushing += [client(RawSocket.frame(5, name + bytes[..<124])), client(RawSocket.frame(6, Array(bytes[124...])))]
    }
    pushing.append(client(RawSocket.frame(7, [])))
    let pulling = [RawSocket.hello(), RawSocket.frame(3, [0]), RawSocket.frame(4, [0]), RawSocket.frame(0x0e, [0])].map(client)
    // It holds the first, and goes on from there.
    let first = RawSocket.frame(4, [1] + state.replica.bytes + [0, 0, 0, 0, 0, 0, 0, 1])
    let refused: [(String, [UInt8])] = [
      ("another version", RawSocket.hello(versions: (2, 3))), ("no greeting", RawSocket.frame(3, [0])),
      ("a length above the limit", [0, 0, 0x10, 1, 1]),
    ]
    let sessions =
      [
        Session(name: "all is pulled from a hub", before: before, frames: pulling, segments: []),
        Session(
          name: "what follows the first transaction is pulled", before: before,
          frames: [client(RawSocket.hello()), client(RawSocket.frame(3, [0])), client(first)], segments: []),
        Session(name: "two segments are pushed to a hub that holds nothing", before: [:], frames: pushing, segments: []),
        Session(
          name: "a hub that holds nothing cannot be pulled", before: [:],
          frames: [client(RawSocket.hello()), client(RawSocket.frame(3, [0]))], segments: []),
      ] + refused.map { Session(name: $0.0 + " is refused", before: [:], frames: [client($0.1)], segments: []) }
    var file = File(sessions: [])
    for session in sessions { file.sessions.append(try await play(session)) }
    return file
  }
}
