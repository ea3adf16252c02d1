import Foundation
import MagicData
import MagicJournal
import MagicReplication
import MagicTransport
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

/// H-32, H-42: what comes over a wire, or is typed as an address, or stands in a file of tokens, is read or refused with an
/// error that says why. `Tools/fuzz` runs these for longer; `AbuseTests` asks the same of a server at work.
@Suite(.timeLimit(.minutes(60))) struct FuzzTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  // MARK: Frames

  /// One of each kind.
  private var frames: [Frame] {
    let (one, two) = (Identifier(1, 2), Identifier(3, 4))
    let name = TransactionName(stamp: Stamp(0x1234_5678), tag: 9)
    let (digits, runs) = (
      String(repeating: "0a", count: 32),
      [HeldRun(replica: one, last: 9, name: name), HeldRun(replica: two, last: 1, name: name)]
    )
    var frontier = Frontier()
    (frontier[one], frontier[two]) = (9, 1 << 40)
    let standing = Standing(
      [.init(runs[0], beyond: [12...14, 20...20], isClosed: true), .init(runs[1])], segments: 3, bytes: 12_345)
    return [
      Hello(replica: one, dataSet: two, token: Array("secret".utf8)).frame, Hello(replica: one, dataSet: nil, token: []).frame,
      Welcome(replica: two, dataSet: one, rights: [.read, .write], capabilities: ["assets", "é"]).frame,
      .dataSet(.make, one), .dataSet(.made, two), .held(runs), .held([]), .standing(.standing, standing),
      .standing(.settled, standing),
      .frontier(.pull, frontier), .frontier(.digest, Frontier()), .texts(.pulled, ["a file", ""]),
      .segment(String(repeating: "ab", count: 16), [UInt8](repeating: 7, count: SegmentHeader.length)[...]),
      .which([digits, digits]), .have([5, nil, 0]), .content(.fetch, digits, 17), .content(.store, digits, 1 << 40),
      .length(.content, nil), .length(.from, 3), .length(.checkpoint, 400), .digest(nil),
      .digest(String(repeating: "cd", count: 16)), .blocks(.members, [Data([1, 2]), Data()]), .blocks(.said, []),
      Frame(.data, ByteBuffer(bytes: [1, 2, 3])), Frame(.settle), Frame(.watch), Frame(.changed), Frame(.ping), Frame(.pong),
      Frame(.stored),
      WireError(.fork, "two of one id").frame,
    ]
  }

  /// What a frame says, said again; `nil` for one whose body says nothing, or anything.
  private func again(_ frame: Frame) throws -> Frame? {
    switch frame.kind {
    case .hello: return try Hello(frame).frame
    case .welcome: return try Welcome(frame).frame
    case .make, .made: return .dataSet(frame.kind, try frame.dataSet())
    case .held: return .held(try frame.held())
    case .standing, .settled: return .standing(frame.kind, try frame.standing())
    case .pull, .digest: return .frontier(frame.kind, try frame.frontier())
    case .pulled: return .texts(.pulled, try frame.texts())
    case .segment:
      let (name, head) = try frame.segment()
      _ = try? SegmentHeader(head)
      return .segment(name, head[...])
    case .which: return .which(try frame.which())
    case .have: return .have(try frame.have())
    case .fetch, .store:
      let (digits, number) = try frame.content()
      return .content(frame.kind, digits, number)
    case .content, .from, .checkpoint: return .length(frame.kind, try frame.length())
    case .members, .said: return .blocks(frame.kind, try frame.blocks())
    case .digested: return .digest(try frame.digest())
    case .error:
      _ = WireError.said(frame, by: "tcp://there")
      return nil
    case .settle, .watch, .changed, .ping, .pong, .stored, .data: return nil
    }
  }

  private func bytes(_ frame: Frame) -> [UInt8] { [frame.kind.rawValue] + Array(frame.body.readableBytesView) }

  /// A message that was read and written is read again as the same.
  @Test func messagesAreReadOrRefused() async throws {
    let faults = try await Fuzz("messages", frames.map(bytes), inputs: 3_000).faults { input in
      guard let kind = input.first.flatMap(Frame.Kind.init) else { return .refused }
      do {
        guard let once = try again(Frame(kind, ByteBuffer(bytes: input.dropFirst()))) else { return .read }
        guard let twice = try again(once), bytes(once) == bytes(twice) else { throw MagicDataError(.damaged, "") }
        return .read
      } catch let error as WireError {
        guard error.message.contains("at byte") else { throw error }
        return .refused
      }
    }
    #expect(faults == [])
  }

  /// H-42: what a server says is shown in its line, as it is written, and not without end.
  @Test func whatAServerSaysSteersNoTerminal() throws {
    let words = "a\u{1b}[2J\u{202e}b\u{2028}c\u{2029}d\u{85}\u{2066}é\u{200c}f\u{200d}g"
    let shown = "a[2Jbcdé\u{200c}f\u{200d}g"
    #expect(WireError.said(WireError(.failed, words).frame, by: "tcp://there").message == "tcp://there: " + shown)
    #expect(try Frame.texts(.pulled, [words]).texts() == [shown])
    var writer = ByteWriter()
    writer.byte(10)
    writer.string(String(repeating: "x", count: 100_000))
    let said = WireError.said(Frame(.error, ByteBuffer(bytes: writer.bytes)), by: "tcp://there").message
    #expect(said == "tcp://there: " + String(repeating: "x", count: 4_096))
  }

  /// Frames that come in pieces; nothing is held for one before its length is known to be allowed (W-1).
  @Test(arguments: [true, false]) func framesAreCutOrRefused(isServer: Bool) async throws {
    let frames = isServer ? [frames[0]] : frames
    let streams = (isServer ? self.frames.map { [frames[0], $0] } : [frames]).map { frames in
      frames.filter { $0.kind != .hello || isServer }.flatMap { frame in
        withUnsafeBytes(of: UInt32(frame.body.readableBytes).bigEndian, Array.init) + bytes(frame)
      }
    }
    let faults = try await Fuzz("frames of a \(isServer ? "client" : "server")", streams, inputs: 600).faults { input in
      let channel = EmbeddedChannel()
      defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
      try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(FrameDecoder(isServer: isServer)))
      do {
        for start in stride(from: 0, to: input.count, by: 7) {
          try channel.writeInbound(ByteBuffer(bytes: input[start..<min(start + 7, input.count)]))
        }
        while let frame = try channel.readInbound(as: Frame.self) { _ = try again(frame) }
        return .read
      } catch let error as WireError {
        guard !error.message.isEmpty else { throw error }
        return .refused
      }
    }
    #expect(faults == [])
  }

  // MARK: Texts

  @Test func addressesAreReadOrRefused() async throws {
    let texts = [
      "/a/folder", "./tcp:", "file:///a/folder", "tcp://localhost:7420", "tls://[::1]:7420/", "unix:/run/magic",
      "unix:///run/magic",
      "ssh://user@host:22/a/database",
    ]
    let words = [
      "tcp:", "tls://", "unix:", "ssh://", "file:", "[", "]", ":", "@", "/", "?", "#", "%", "%zz", "99999999999999999999", "-",
      "é", "\u{0}",
    ]
    let faults = try await Fuzz("addresses", texts: texts, words: words, inputs: 500).faults { input in
      let text = String(decoding: input, as: UTF8.self)
      _ = try? RemoteAddress.source(at: text)
      _ = try RemoteAddress(text)
      return .read
    }
    #expect(faults == [])
  }

  @Test func fingerprintsAreReadOrRefused() async throws {
    let digits = String(repeating: "0A", count: 32)
    let colons = Array(repeating: "0a", count: 32).joined(separator: ":")
    let faults = try await Fuzz(
      "fingerprints", texts: [digits, colons, "sha256:" + digits], words: [":", "sha256:", "É"], inputs: 300
    ).faults {
      input in
      var options = SocketRemote.Options()
      options.fingerprint = String(decoding: input, as: UTF8.self)
      _ = try SocketRemote("tls://localhost:1", options: options)
      return .read
    }
    #expect(faults == [])
  }

  /// Who stands in it may come in, and nobody else.
  @Test func filesOfTokensAreReadOrRefused() async throws {
    let texts = ["secret\n", "# who\nsecret anna readwrite\nother bo read\nthird cy write\n"]
    let words = [" ", "\n", "\r\n", "#", "read", "write", "readwrite", "\t", "é", "\u{85}", String(repeating: "x", count: 513)]
    let file = folder["tokens"]
    let owners = folder["tokens.replicas"]
    try Data().write(to: file)
    try Data().write(to: owners)
    chmod(file.path, 0o600)
    chmod(owners.path, 0o600)
    var faults = try await Fuzz("tokens", texts: texts, words: words, inputs: 300).faults { input in
      try overwrite(file, input)
      let tokens = try Tokens(file)
      guard tokens.holder(of: []) == nil, tokens.holder(of: Array("nobody's".utf8)) == nil else {
        throw MagicDataError(.damaged, "")
      }
      return .read
    }
    faults += try await Fuzz("owners", texts: ["910a2dec89025cc1beeb8da1658eec67 anna\n"], words: words, inputs: 300).faults {
      input in
      try overwrite(owners, input)
      _ = try Owners(besides: file)
      return .read
    }
    #expect(faults == [])
  }

  /// Others may read a file that is made anew.
  private func overwrite(_ file: URL, _ bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
  }
}
