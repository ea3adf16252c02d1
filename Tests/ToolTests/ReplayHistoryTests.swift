import Foundation
import MagicData
import MagicReplication
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
    let nowhere = try Tool.replay.run("stats", path("b"), "--plot", path("no/x.svg"))
    #expect(nowhere.status == 1 && nowhere.errors.contains("there is no folder"), "\(nowhere.errors)")
    let terminal = "import pty,sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("magic-replay")
      .path
    #expect(try Tool.python.run("-c", terminal, tool, "stats", path("b")).output.contains("█"))
    #expect(try !Tool.replay.run("stats", path("b")).output.contains("█"))
  }

  /// A ratio says something where compression saves more than all else takes.
  @Test func compressionIsToldWhereItSaves() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("x", to: "a", id: "n")
    let small = try Tool.replay.run("stats", path("a")).output
    #expect(small.contains("kept in") && !small.contains("compressed"), "\(small)")
    try await f.write(String(repeating: "x", count: 100_000), to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let large = try Tool.replay.run("stats", path("remote")).output
    #expect(large.contains(#/\(compressed \d{2,}\.\d to 1\)/#), "\(large)")
  }

  /// What a link leads to is written, and who may read it stays as it is.
  @Test func aPlotTakesThePlaceOfWhatALinkLeadsTo() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("x", to: "a", id: "n")
    try Data("before".utf8).write(to: f.folder["private.svg"])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path("private.svg"))
    try FileManager.default.createSymbolicLink(atPath: path("link.svg"), withDestinationPath: "private.svg")
    #expect(try Tool.replay.run("stats", path("a"), "--plot", path("link.svg")).status == 0)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link.svg")) == "private.svg")
    #expect(try String(contentsOf: f.folder["private.svg"], encoding: .utf8).hasPrefix("<svg"))
    #expect(DurableFile.permissions(of: f.folder["private.svg"]) == 0o600)
  }

  /// Each replica stands beside its colour, and growth is a line from nothing to all bytes of the journal.
  @Test func aPlotNamesReplicasAndGrowsToTheJournalsSize() async throws {
    let (f, path) = (fixture, fixture.path)
    for title in ["1", "2", "3"] { try await f.write(title, to: "a", id: "n") }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    f.world.advance(86_400_000)
    try await f.write(String(repeating: "y", count: 100), to: "b", id: "m")
    try Tool.sync.run("sync", path("b"), path("remote"))
    let summary = try #require(f.json("stats", path("remote"), "--plot", path("plot.svg")).last)
    let drawing = try String(contentsOf: f.folder["plot.svg"], encoding: .utf8)
    let replicas = try #require(summary["replicas"] as? [String: Any])
    #expect(replicas.count == 2)
    for replica in replicas.keys { #expect(drawing.contains(">\(replica)</text>")) }
    // The last axis is that of growth: where it stands, and the number at its upper end.
    let axes = drawing.matches(of: #/<path d="M(\d+) (\d+)V(\d+)H(\d+)"[^>]*>\s*<text [^>]*>(\d+)</text>/#)
    let axis = try #require(axes.last?.output)
    #expect(Int(axis.5) == summary["bytes"] as? Int)
    let points = try #require(drawing.firstMatch(of: #/<polyline [^>]*points="([^"]*)"/#)?.1)
      .split(separator: " ").map { $0.split(separator: ",").map(String.init) }
    #expect(points.first == [String(axis.1), String(axis.3)])
    #expect(points.last == [String(axis.4), String(axis.2)])
    // It never falls, and more than half of it came with what was written last.
    let heights = try points.map { try #require(Int($0[1])) }
    #expect(heights == heights.sorted(by: >))
    let (top, bottom) = (try #require(Int(axis.2)), try #require(Int(axis.3)))
    #expect(heights.dropLast().allSatisfy { $0 > (top + bottom) / 2 })
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
    let nothing = try Tool.replay.run("history", path("a"), "Note", "n", "--field", "other")
    #expect(nothing.status == 0 && nothing.output.isEmpty && nothing.errors.contains("no change matches"), "\(nothing)")
    #expect(try Tool.replay.run("history", path("a"), "Note", "n", "--field", "other", "-q").errors.isEmpty)
    try await f.remove("n", from: "a")
    let changes = try f.json("history", path("a"), "Note", "n").events("change")
    #expect(changes.texts("outcome") == ["replaced", "lost", "removed", "current"])
    #expect(try Tool.replay.run("blame", path("a"), "Note", "n").output == "Note n is removed\n")
    #expect(try Tool.replay.run("history", path("a"), "Note", "nobody").status == 1)
    #expect(try Tool.replay.run("history", path("a"), "Else", "n").status == 1)
  }

  /// L-3: two names that look the same are two names.
  @Test func namesAreComparedByTheirBytes() async throws {
    let (f, path) = (fixture, fixture.path)
    let names = ["caf\u{e9}", "cafe\u{301}"]
    for (name, title) in zip(names, ["one", "two"]) { try await f.write(title, to: "a", id: name) }
    try Tool.sync.run("push", path("a"), path("remote"))
    for source in ["a", "remote"] {
      for (name, title) in zip(names, ["one", "two"]) {
        let changes = try f.json("history", path(source), "Note", name).events("change")
        #expect(changes.texts("value") == ["\"\(title)\""], "\(source) \(title)")
        let entries = try f.json("log", path(source), "--primary", name).events("entry")
        #expect(entries.compactMap { $0["sequence"] as? Int } == [title == "one" ? 1 : 2], "\(source) \(title)")
      }
    }
  }

  /// Of whatever source, by the name that `log` prints.
  @Test func anObjectWithoutAPrimaryValueHasAHistory() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in
      try await magic.update(Remark("first"))
      try await magic.update(Remark("another"))
    }
    try await f.work("a") { magic in
      let remark = try #require(try await magic.object(of: Remark.self).first { $0.title == "first" })
      remark.title = "second"
      try await magic.update(remark)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    let named = try f.json("log", path("a"), "--type", "Remark").events("entry").texts("object")
    #expect(named.count == 3 && named[0] == named[2] && named[0] != named[1] && named.allSatisfy { $0.count == 32 })
    for source in [path("a"), path("remote"), path("a.magicbundle"), try f.segments("remote")[0]] {
      for name in [named[0], named[0].uppercased()] {
        #expect(try f.json("log", source, "--primary", name).events("entry").compactMap { $0["sequence"] as? Int } == [1, 3])
        #expect(try f.json("history", source, "Remark", name).last?["object"] as? String == named[0])
      }
      let history = try f.json("history", source, "Remark", named[0])
      #expect(history.events("change").texts("value") == ["\"first\"", "\"second\""], "\(source)")
      #expect(history.events("change").texts("outcome") == ["replaced", "current"], "\(source)")
      #expect(history.last?["object"] as? String == named[0] && history.last?["alive"] as? Bool == true, "\(source)")
      let blame = try f.json("blame", source, "Remark", named[0]).events("field")
      #expect(blame.texts("value") == ["\"second\""] && blame.compactMap { $0["sequence"] as? Int } == [3], "\(source)")
      // The last digit of another one, which nobody is.
      let nobody = named[0].dropLast() + (named[0].hasSuffix("0") ? "1" : "0")
      let unknown = try Tool.replay.run("history", source, "Remark", String(nobody))
      #expect(unknown.status == 1 && unknown.errors.contains("log SOURCE --type Remark"), "\(unknown)")
    }
    try await f.work("a") { magic in
      for remark in try await magic.object(of: Remark.self) { try await magic.remove(remark) }
    }
    #expect(try f.json("history", path("a"), "Remark", named[0]).events("change").texts("outcome").last == "current")
    #expect(try Tool.replay.run("blame", path("a"), "Remark", named[0]).output == "Remark \(named[0]) is removed\n")
  }

  /// Two replicas that were apart gave number 1: what that came to is the same in every source.
  @Test func anObjectWithAnAutomaticNumberIsFoundByIt() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in try await magic.update(Coupon("a's first")) }
    try await f.work("a") { magic in
      let coupon = try await magic.object(of: Coupon.self, primary: 1)
      coupon.title = "a's second"
      try await magic.update(coupon)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    for source in ["a", "remote"] {
      let history = try f.json("history", path(source), "Coupon", "1")
      #expect(history.events("change").texts("value") == ["\"a's first\"", "\"a's second\""], "\(source)")
      #expect((history.last?["object"] as? String)?.count == 32, "\(source)")
      #expect(try f.json("blame", path(source), "Coupon", "1").events("field").texts("value") == ["\"a's second\""])
      #expect(try Tool.replay.run("history", path(source), "Coupon", "2").status == 1)
    }
    try await f.work("b") { magic in try await magic.update(Coupon("b's")) }
    try Tool.sync.run("sync", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    let objects = try f.json("state", path("a"), "--type", "Coupon").events("object")
    #expect(objects.count == 2)
    for object in objects {
      let title = try #require((object["fields"] as? [String: Any])?["title"] as? String)
      let (number, birth) = (try #require(object["number"] as? Int), try #require(object["object"] as? String))
      #expect((number == 1) == (title == "a's second"), "\(object)")
      // A log prints the number that was claimed behind the birth.
      #expect(try Tool.replay.run("log", path("a")).output.contains(" \(birth)#1 "))
      for source in ["a", "remote"] {
        for name in ["\(number)", birth, birth.uppercased(), "\(birth)#1"] {
          let history = try f.json("history", path(source), "Coupon", name)
          #expect(history.events("change").texts("value").last == "\"\(title)\"", "\(source), \(name)")
          #expect(history.last?["object"] as? String == birth, "\(source), \(name)")
          let blame = try f.json("blame", path(source), "Coupon", name).events("field")
          #expect(blame.texts("value") == ["\"\(title)\""], "\(source), \(name)")
        }
        let entries = try f.json("log", path(source), "--primary", "\(birth)#1").events("entry")
        #expect(!entries.isEmpty && entries.texts("object").allSatisfy { $0 == birth }, "\(source)")
      }
      let none = try Tool.replay.run("history", path("a"), "Coupon", "\(birth)#x")
      #expect(none.status == 1, "\(none)")
    }
  }

  /// M-16: no claim keeps a number that an app sets.
  @Test func aNumberThatWasSetMeansTheObjectThatHasIt() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in
      let coupon = Coupon("set")
      coupon.number = 1
      try await magic.update(coupon)
    }
    try await f.work("b") { magic in try await magic.update(Coupon("claimed")) }
    for name in ["a", "b", "a"] { try Tool.sync.run("sync", path(name), path("remote")) }
    let objects = try f.json("state", path("a"), "--type", "Coupon").events("object")
    let number = try #require(objects.compactMap { $0["number"] as? Int }.first)
    for source in ["a", "remote"] {
      for (name, title) in [("1", "set"), ("\(number)", "claimed")] {
        let blame = try f.json("blame", path(source), "Coupon", name).events("field")
        #expect(blame.texts("value") == ["\"\(title)\""], "\(source), \(name)")
      }
    }
  }

  /// What claims it may stand before what is asked for.
  @Test func aNumberMeansItsObjectWhereverTheLogBegins() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in try await magic.update(Coupon("first")) }  // 15:06:40
    try await f.work("a") { magic in  // 16:06:40
      let coupon = try await magic.object(of: Coupon.self, primary: 1)
      coupon.title = "second"
      try await magic.update(coupon)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    for source in ["a", "remote"] {
      let arguments = [path(source), "--type", "Coupon", "--primary", "1"]
      #expect(try f.json("log", arguments).events("entry").count == 2, "\(source)")
      let later = try f.json("log", arguments + ["--since", "2025-06-15T16:00:00Z"]).events("entry")
      #expect(later.compactMap { ($0["fields"] as? [String: String])?["title"] } == ["second"], "\(source)")
    }
    // Or with another replica.
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.work("b") { magic in
      let coupon = try await magic.object(of: Coupon.self, primary: 1)
      coupon.title = "b's"
      try await magic.update(coupon)
    }
    let entries = try f.json("log", path("b"), "--primary", "1").events("entry")
    let replica = try #require(entries.texts("replica").last)
    let own = try f.json("log", path("b"), "--primary", "1", "--replica", String(replica.prefix(8))).events("entry")
    #expect(entries.count == 3 && own.compactMap { ($0["fields"] as? [String: String])?["title"] } == ["b's"], "\(own)")
  }
}
