import Foundation
import MagicData
import TestSupport
import Testing

#if os(Linux)
  /// What others get, or what takes a file's place, is on the disk before (H-26, H-29, L-13).
  @Suite(.timeLimit(.minutes(15))) struct DiskOrderTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
    }

    private func path(_ name: String) -> String { folder[name].path }

    /// Open, so that what was written is in the WAL, of which no commit brings more to the disk.
    private func open(_ name: String) async throws -> MagicData {
      let magic = try await MagicData(path: folder[name])
      for number in 0..<3 { try await magic.update(Note("\(number) of \(name)", "\(UUID())")) }
      return magic
    }

    private func run(_ arguments: String..., as order: DiskOrder? = nil) throws {
      let result = try Tool.sync.run(arguments: arguments, environment: order?.environment ?? [:])
      try #require(result.status == 0, "\(arguments): \(result)")
    }

    private func segments(_ remote: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: path("\(remote)/segments")).sorted()
    }

    // MARK: Calls

    /// From the first frame of a kind to the first one of another behind it.
    private func calls(_ calls: [[String]], from first: String, to last: String) throws -> ArraySlice<[String]> {
      let start = try #require(calls.firstIndex(of: ["send", first]), "\(calls)")
      let end = try #require(calls[start...].firstIndex(of: ["send", last]), "\(calls)")
      return calls[start..<end]
    }

    /// As L-13 has it. A commit may sync the WAL, and never the database's file behind it.
    private func expectSynced(
      _ database: String, in calls: ArraySlice<[String]>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      func isSync(_ name: String) -> ([String]) -> Bool {
        { $0[0] == "sync" && $0[1].hasSuffix("/\(database)/default.sqlite3\(name)") }
      }
      let log = calls.firstIndex(where: isSync("-wal"))
      #expect(log.map { calls[$0...].contains(where: isSync("")) } == true, "\(calls)", sourceLocation: sourceLocation)
    }

    /// F-4: of the first file that gets its name in a folder, the content before it and the name behind it.
    private func expectDurable(
      _ place: String, in calls: ArraySlice<[String]>, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let named = try #require(
        calls.firstIndex { $0[0] == "rename" && $0[2].contains("/\(place)/") }, "\(calls)", sourceLocation: sourceLocation)
      #expect(calls[..<named].contains(["sync", calls[named][1]]), "\(calls)", sourceLocation: sourceLocation)
      let isFolderSynced = calls[named...].contains { $0[0] == "sync" && $0[1].hasSuffix("/\(place)") }
      #expect(isFolderSynced, "\(calls)", sourceLocation: sourceLocation)
    }

    /// Until the first segment of `remote` is deleted.
    private func untilDeleted(_ calls: [[String]]) throws -> ArraySlice<[String]> {
      let deleted = try #require(
        calls.firstIndex { $0[0] == "unlink" && $0[1].contains("/remote/segments/") && $0[1].hasSuffix(".segment") },
        "\(calls)")
      return calls[..<deleted]
    }

    // MARK: Sent

    /// L-13, J-21, W-8, F-4: what goes out and what is acknowledged, on both sides.
    @Test func whatAHubGetsIsOnTheDiskBefore() async throws {
      let (client, server) = (try DiskOrder(folder, "client"), try DiskOrder(folder, "server"))
      let magic = try await open("a")
      let hub = try ServingProcess([path("hub"), "--listen", "unix:\(path("s"))"], environment: server.environment)
      try run("push", path("a"), hub.address, as: client)
      #expect(hub.end() == 0)
      try await magic.close()
      let sent = try client.calls()
      expectSynced("a", in: try calls(sent, from: "held", to: "segment"))
      expectSynced("a", in: try calls(sent, from: "settle", to: "members"))
      let received = try server.calls()
      try expectDurable("hub/segments", in: calls(received, from: "standing", to: "settled"))
      try expectDurable("hub/acks", in: calls(received, from: "settled", to: "said"))
    }

    /// L-13, J-21, W-8: the same between databases, in both directions.
    @Test(arguments: ["push", "sync"]) func whatAPeerSaysIsOnTheDiskBefore(command: String) async throws {
      let (client, server) = (try DiskOrder(folder, "client"), try DiskOrder(folder, "server"))
      try run("init", path("a"))
      try run("push", path("a"), path("remote"))
      try run("clone", path("remote"), path("b"))
      let a = try await open("a")
      let b = try await open("b")
      let peer = try ServingProcess([path("b"), "--listen", "unix:\(path("s"))"], environment: server.environment)
      try run(command, path("a"), peer.address, as: client)
      #expect(peer.end() == 0)
      try await a.close()
      try await b.close()
      let (asked, said) = (try client.calls(), try server.calls())
      // What is there is taken for kept.
      expectSynced("b", in: try calls(said, from: "welcome", to: "standing"))
      expectSynced("b", in: try calls(said, from: "standing", to: "settled"))
      expectSynced("a", in: try calls(asked, from: "held", to: "segment"))
      expectSynced("a", in: try calls(asked, from: "settle", to: "members"))
      guard command == "sync" else { return }
      expectSynced("b", in: try calls(said, from: "standing", to: "segment"))
      expectSynced("a", in: try calls(asked, from: "pull", to: "segment"))
    }

    /// L-13, K-7, F-4: what is acknowledged in a folder, which is after what was sent.
    @Test func whatIsAcknowledgedIsOnTheDiskBefore() async throws {
      let order = try DiskOrder(folder)
      let magic = try await open("a")
      try run("push", path("a"), path("remote"), as: order)
      try await magic.close()
      let calls = try order.calls()
      let sent = try #require(calls.lastIndex { $0[0] == "rename" && $0[2].contains("/remote/segments/") }, "\(calls)")
      let said = try #require(calls.firstIndex { $0[0] == "rename" && $0[2].contains("/remote/acks/") }, "\(calls)")
      try #require(sent < said, "\(calls)")
      expectSynced("a", in: calls[sent..<said])
      try expectDurable("remote/acks", in: calls[sent...])
    }

    /// L-13, J-21, H-29: what is in a bundle, and the bundle itself.
    @Test func whatIsPackedIsOnTheDiskBefore() async throws {
      let order = try DiskOrder(folder)
      let magic = try await open("a")
      try FileManager.default.createDirectory(at: folder["stick"], withIntermediateDirectories: false)
      try run("push", path("a"), path("stick/notes.magicbundle"), as: order)
      try await magic.close()
      let calls = try order.calls()
      let named = try #require(
        calls.firstIndex { $0[0] == "rename" && $0[2].hasSuffix("/stick/notes.magicbundle") }, "\(calls)")
      expectSynced("a", in: calls[..<named])
      try expectDurable("stick", in: calls[...])
    }

    // MARK: Deleted

    private func twoInStep() async throws {
      for name in ["a", "b"] {
        let magic = try await open(name)
        try await magic.close()
        try run("sync", path(name), path("remote"))
      }
      for name in ["a", "b", "a"] { try run("sync", path(name), path("remote")) }
    }

    /// H-26, K-18: a checkpoint, before what it stands for goes; also one that somebody else has put there, who may have synced
    /// nothing.
    @Test(arguments: [false, true]) func aCheckpointIsOnTheDiskBeforeSegmentsGo(isFound: Bool) async throws {
      let order = try DiskOrder(folder)
      try await twoInStep()
      if isFound {
        try FileManager.default.copyItem(at: folder["remote/segments"], to: folder["segments"])
        try run("compact", path("a"), path("remote"))
        try FileManager.default.removeItem(at: folder["remote/segments"])
        try FileManager.default.moveItem(at: folder["segments"], to: folder["remote/segments"])
      }
      try run("compact", path("a"), path("remote"), as: order)
      #expect(try segments("remote").isEmpty)
      let calls = try untilDeleted(order.calls())
      guard isFound else { return try expectDurable("remote/checkpoints", in: calls) }
      #expect(calls.contains { $0[0] == "sync" && $0[1].hasSuffix(".checkpoint") }, "\(calls)")
      #expect(calls.contains { $0[0] == "sync" && $0[1].hasSuffix("/remote/checkpoints") }, "\(calls)")
    }

    /// H-26, F-18: the same of a segment that holds what others hold.
    @Test(arguments: [false, true]) func aSegmentIsOnTheDiskBeforeThoseGoThatItCovers(isFound: Bool) async throws {
      let order = try DiskOrder(folder)
      for _ in 0..<2 {
        let magic = try await open("a")
        try await magic.close()
        try run("push", path("a"), path("remote"))
      }
      let small = try segments("remote")
      try #require(small.count == 2)
      if isFound {
        try FileManager.default.copyItem(at: folder["remote/segments"], to: folder["segments"])
        try run("compact", path("remote"))
        for name in small {
          try FileManager.default.moveItem(at: folder["segments/\(name)"], to: folder["remote/segments/\(name)"])
        }
      }
      try run("compact", path("remote"), as: order)
      let whole = try #require(segments("remote").first)
      #expect(try segments("remote").count == 1 && !small.contains(whole))
      let calls = try untilDeleted(order.calls())
      guard isFound else { return try expectDurable("remote/segments", in: calls) }
      #expect(calls.contains { $0[0] == "sync" && $0[1].hasSuffix("/remote/segments/\(whole)") }, "\(calls)")
      #expect(calls.contains { $0[0] == "sync" && $0[1].hasSuffix("/remote/segments") }, "\(calls)")
    }
  }
#endif
