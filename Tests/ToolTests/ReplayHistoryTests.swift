import Foundation
import MagicData
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ReplayHistoryTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  @Test func aJournalIsCounted() async throws {
    let (f, path) = (fixture, fixture.path)
    for title in ["1", "2", "3"] { try await f.write(title, to: "a", id: "n") }
    try await f.write("x", to: "a", id: "gone")
    try await f.remove("gone", from: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    f.world.advance(86_400_000)
    try await f.write("y", to: "b", id: "m")
    try Tool.sync.run("sync", path("b"), path("remote"))
    for source in ["b", "remote"] {
      let summary = try #require(f.json("stats", path(source)).last)
      #expect(summary["transactions"] as? Int == 6)
      #expect(summary["entries"] as? Int == 6)
      #expect(summary["removes"] as? Int == 1)
      #expect((summary["storedBytes"] as? Int ?? 0) > 0)
      #expect((summary["types"] as? [String: [String: Int]])?["Note"]?["entries"] == 6)
      #expect((summary["replicas"] as? [String: [String: Int]])?.values.compactMap { $0["entries"] }.sorted() == [1, 5])
      let days = try #require(summary["days"] as? [String: [String: Int]])
      #expect(days.mapValues { $0.values.reduce(0, +) } == ["2025-06-15": 5, "2025-06-16": 1])
      // Two titles that were overwritten, and that of the note that is gone.
      #expect((summary["compaction"] as? [String: Any])?["values"] as? Int == 3)
      #expect((summary["compaction"] as? [String: Any])?["isEstimate"] as? Bool == false)
    }
    #expect(try f.json("stats", path("b"), "--since", "2025-06-16").last?["entries"] as? Int == 1)
    let file = f.folder["plot.svg"]
    #expect(try Tool.replay.run("stats", path("remote"), "--plot", file.path).status == 0)
    let drawing = try String(contentsOf: file, encoding: .utf8)
    #expect(drawing.hasPrefix("<svg") && drawing.contains("polyline") && drawing.hasSuffix("</svg>\n"))
    try Tool.replay.run("stats", path("b"), "--plot", file.path)
    #expect(try String(contentsOf: file, encoding: .utf8) == drawing)
    #expect(try Tool.replay.run("stats", path("b"), "--plot", "x.gif").status == 64)
    let terminal = "import pty,sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("magic-replay")
      .path
    #expect(try Tool.python.run("-c", terminal, tool, "stats", path("b")).output.contains("█"))
    #expect(try !Tool.replay.run("stats", path("b")).output.contains("█"))
  }

  /// H-44: what lost is in the history, with what it lost to.
  @Test func theHistoryOfAnObjectTellsWhatLost() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("first", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.write("a's", to: "a", id: "n")
    try await f.write("b's", to: "b", id: "n")
    try Tool.sync.run("sync", path("b"), path("remote"))
    try Tool.sync.run("sync", path("a"), path("remote"))
    try Tool.sync.run("sync", path("b"), path("remote"))
    for source in ["a", "b", "remote"] {
      let changes = try f.json("history", path(source), "Note", "n").events("change")
      #expect(changes.texts("value") == ["\"first\"", "\"a's\"", "\"b's\""])
      #expect(changes.texts("outcome") == ["replaced", "lost", "current"])
      #expect((changes[1]["by"] as? [String: Any])?["value"] as? String == "\"b's\"")
      let blame = try f.json("blame", path(source), "Note", "n").events("field")
      #expect(blame.texts("value") == ["\"b's\""])
      #expect(blame.texts("replica") == changes.suffix(1).map { $0["replica"] as? String ?? "" })
      #expect(blame.texts("time") == ["2025-06-15T17:06:40.000Z"])
    }
    #expect(try Tool.replay.run("history", path("a"), "Note", "n").output.contains("lost to \"b's\" of"))
    #expect(try Tool.replay.run("history", path("a"), "Note", "n", "--field", "other").output.isEmpty)
    try await f.remove("n", from: "a")
    let changes = try f.json("history", path("a"), "Note", "n").events("change")
    #expect(changes.texts("outcome") == ["replaced", "lost", "removed", "current"])
    #expect(try Tool.replay.run("blame", path("a"), "Note", "n").output == "Note n is removed\n")
    #expect(try Tool.replay.run("history", path("a"), "Note", "nobody").status == 1)
    #expect(try Tool.replay.run("history", path("a"), "Else", "n").status == 1)
  }
}
