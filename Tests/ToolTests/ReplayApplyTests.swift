import Foundation
import MagicData
import TestSupport
import Testing

/// Holds objects that are named by their births.
private struct Album: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var cover: Remark?
  @MagicValue var remarks: MagicalSet<Remark> = []
  @MagicValue var order: [Remark] = []
  @MagicValue var coupons: [String: Coupon] = [:]
}

/// `apply` of parts, of several sources, in any order, and into what is there.
@Suite(.timeLimit(.minutes(15))) struct ReplayApplyTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }
  private func digest(_ name: String) throws -> String {
    try Tool.sync.run("digest", path(name)).output.trimmingCharacters(in: .newlines)
  }

  /// Two replicas that were apart: both gave number 1, both changed the guild.
  private func writeApart() async throws {
    try await fixture.writeGuild()
    try await fixture.work("a") { magic in try await magic.update(Remark("first")) }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await fixture.work("a") { magic in
      let guild = try await magic.object(of: Guild.self, primary: "g")
      guild.queue = try await [magic.object(of: Fellow.self, primary: "B")]
      guild.members.insert(Fellow("C"))
      try await magic.update(guild)
      try await magic.update(Coupon("a's"))
    }
    try await fixture.work("b") { magic in
      try await magic.update(Coupon("b's"))
      let guild = try await magic.object(of: Guild.self, primary: "g")
      guild.posts["second"] = Fellow("D")
      guild.members.removeAll()
      try await magic.update(guild)
      for remark in try await magic.object(of: Remark.self) { try await magic.remove(remark) }
    }
    for name in ["b", "a", "b"] { try Tool.sync.run("sync", path(name), path("remote")) }
  }

  /// Relations, assets and numbers, whatever the sources are and in whatever order they are merged.
  @Test func severalSourcesComeToTheSameInAnyOrder() async throws {
    try await writeApart()
    let (guild, coupons) = (try await fixture.guild(in: "a"), try await fixture.coupons(in: "a"))
    #expect(
      guild
        == GuildShown(
          head: "A", members: ["C"], queue: ["B"], posts: ["first": "A", "second": "D"], badge: "the first"))
    #expect(coupons.count == 2 && coupons[1] == "a's")
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try Data(Tool.replay.run("export", path("a")).output.utf8).write(to: fixture.folder["a.jsonl"])
    let segments = try fixture.segments("remote")
    try #require(segments.count > 2)
    // Those of the files together are a folder's, but for its assets.
    for (number, sources) in [segments, segments.reversed()].enumerated() {
      let result = try Tool.replay.run(arguments: ["apply"] + sources + [path("a"), "--into", path("files\(number)")])
      #expect(result.status == 0, "\(result)")
      #expect(try digest("files\(number)") == digest("a"))
    }
    let all = [path("b"), path("a.magicbundle"), path("a.jsonl"), segments[0], path("remote")]
    // In which order an entry's fields are printed follows from the order in which a database learnt of them.
    func entries(_ name: String) throws -> NSArray { try fixture.json("log", path(name)).events("entry") as NSArray }
    let logged = try entries("a")
    #expect(logged.count == 11)
    for (number, seed) in [1, 2, 2].enumerated() {
      let summary = try #require(
        fixture.json("apply", all + ["--into", path("s\(number)"), "--shuffle", "--seed", "\(seed)"]).last)
      #expect(try summary["digest"] as? String == digest("a") && summary["seed"] as? Int == seed, "\(summary)")
      #expect(try entries("s\(number)") == logged)
      #expect(try await fixture.guild(in: "s\(number)") == guild)
      #expect(try await fixture.coupons(in: "s\(number)") == coupons)
      #expect(try Tool.sync.run("verify", path("s\(number)")).status == 0)
    }
    // The next number goes on from there.
    try await fixture.work("s0") { magic in
      let next = Coupon("next")
      try await magic.update(next)
      #expect(next.number == 2)
    }
  }

  /// What a file of the journal lacks is lacking, and is said.
  @Test func sourcesThatLackAFileAreTakenAsFarAsTheyGo() async throws {
    for title in ["1", "2", "3"] {
      try await fixture.write(title, to: "a", id: title)
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let segments = try fixture.segments("remote")
    let lines = try fixture.json("apply", segments[0], segments[2], "--into", path("new"), status: 3)
    #expect(lines.last?["transactions"] as? Int == 1)
    let missing = lines.events("missing").compactMap { [$0["firstMissing"] as? Int, $0["lastMissing"] as? Int] }
    #expect(missing == [[2, 2]], "\(lines)")
    // It is a replica of the data set, and a sync brings the rest.
    try Tool.sync.run("sync", path("new"), path("remote"))
    #expect(try digest("new") == digest("a"))
  }

  /// A gap of one source that another one fills is none.
  @Test(arguments: [[], ["--type", "Note"]]) func whatAnotherSourceHasIsNotMissing(part: [String]) async throws {
    for title in ["1", "2", "3"] {
      try await fixture.write(title, to: "a", id: title)
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let second = URL(fileURLWithPath: try fixture.segments("remote")[1])
    var bytes = try Data(contentsOf: second)
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: second)
    func apply(_ sources: String..., into name: String) throws -> [[String: Any]] {
      try fixture.json("apply", sources.map(path) + ["--into", path(name)] + part, status: 3)
    }
    func missing(_ lines: [[String: Any]]) -> [[Int]] {
      lines.events("missing").map { [$0["firstMissing"] as? Int ?? 0, $0["lastMissing"] as? Int ?? 0] }
    }
    let whole = try apply("remote", "a", into: "whole")
    #expect(missing(whole) == [] && whole.last?["transactions"] as? Int == 3, "\(whole)")
    #expect(whole.events("unread").texts("path") == [second.path], "\(whole)")
    #expect(try digest("whole") == digest("a"))
    #expect(try missing(apply("remote", into: "alone")) == [[2, 2]])
  }

  /// What is left of a transaction is a whole one: it can be read, sent and merged.
  @Test func typesAreTakenOutOfTransactionsOfSeveral() async throws {
    try await fixture.work("a") { magic in
      try await magic.transaction { transaction in
        try await transaction.update(Note("n", "note"))
        try await transaction.update(Coupon("first"))
        try await transaction.update(Remark("remark"))
      }
    }
    try await fixture.work("a") { magic in
      let coupon = try await magic.object(of: Coupon.self, primary: 1)
      coupon.title = "second"
      try await magic.update(coupon)
    }
    let made = try Tool.replay.run("apply", path("a"), "--into", path("part"), "--type", "Coupon", "--type", "Remark")
    #expect(made.status == 0 && made.output.contains("data set of its own"), "\(made)")
    #expect(try await fixture.coupons(in: "part") == [1: "second"])
    let log = try Tool.replay.run("log", path("part"))
    #expect(log.status == 0, "\(log.errors)")
    #expect(log.lines.count == 3 && !log.output.contains("Note"))
    let verified = try Tool.replay.run("verify", path("part"))
    #expect(verified.status == 0, "\(verified.output)")
    #expect(try Tool.sync.run("push", path("part"), path("part-remote")).status == 0)
    #expect(try Tool.sync.run("clone", path("part-remote"), path("clone")).status == 0)
    #expect(try digest("clone") == digest("part"))
    #expect(try await fixture.coupons(in: "clone") == [1: "second"])
  }

  /// Their names are places in transactions: whoever speaks of them speaks of the same ones, then and later.
  @Test func relationsLeadToObjectsWhosePlaceIsAnother() async throws {
    try await fixture.work("a") { magic in
      try await magic.transaction { transaction in
        try await transaction.update(Note("n", "note"))
        let (album, a, b) = (Album(), Remark("a"), Remark("b"))
        (album.id, album.cover, album.remarks, album.order) = ("x", a, [a, b], [b, a])
        album.coupons = ["one": Coupon("one"), "two": Coupon("two")]
        try await transaction.update(album)
        try await transaction.update(Note("m", "note"))
      }
    }
    try await fixture.work("a") { magic in
      try await magic.transaction { transaction in
        try await transaction.update(Note("n", "again"))
        let album = try await transaction.object(of: Album.self, primary: "x")
        album.remarks.insert(Remark("c"))
        album.cover?.title = "a, again"
        try await transaction.update(album)
        for remark in try await transaction.object(of: Remark.self) where remark.title == "b" {
          try await transaction.remove(remark)
        }
      }
    }
    let shown = try await albums("a")
    #expect(shown == ["x: a, again / a, again, c / a, again / one 1, two 2"])
    var arguments = ["apply", path("a"), "--into", path("part"), "--type", "Album", "--type", "Remark"]
    arguments += ["--type", "Coupon"]
    #expect(try Tool.replay.run(arguments: arguments).status == 0)
    #expect(try await albums("part") == shown)
    #expect(try Tool.replay.run("verify", path("part")).status == 0)
    let order = arguments.map { $0 == path("part") ? path("shuffled") : $0 } + ["--shuffle", "--seed", "1"]
    #expect(try Tool.replay.run(arguments: order).status == 0)
    #expect(try digest("shuffled") == digest("part"))
    try Data(Tool.replay.run("export", path("part")).output.utf8).write(to: fixture.folder["part.jsonl"])
    #expect(try Tool.replay.run("import", path("part.jsonl"), "--into", path("imported")).status == 0)
    #expect(try Tool.sync.run("push", path("part"), path("part-remote")).status == 0)
    #expect(try Tool.sync.run("clone", path("part-remote"), path("clone")).status == 0)
    for name in ["imported", "clone"] {
      #expect(try digest(name) == digest("part"))
      #expect(try await albums(name) == shown)
    }
  }

  private func albums(_ name: String) async throws -> [String] {
    let magic = try await MagicData(path: fixture.folder[name])
    let albums = try await magic.object(of: Album.self).map { album in
      let parts = [
        album.cover?.title ?? "", album.remarks.map(\.title).sorted().joined(separator: ", "),
        album.order.map(\.title).joined(separator: ", "),
        album.coupons.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.number)" }.joined(separator: ", "),
      ]
      return "\(album.id): \(parts.joined(separator: " / "))"
    }
    try await magic.close()
    return albums
  }

  /// What held objects of types that were left out shows none, and is whole.
  @Test func whatHoldsObjectsThatWereLeftOutIsWhole() async throws {
    try await fixture.writeGuild()
    #expect(try Tool.replay.run("apply", path("a"), "--into", path("part"), "--type", "Guild").status == 0)
    #expect(
      try await fixture.guild(in: "part") == GuildShown(head: nil, members: [], queue: [], posts: [:], badge: "the first"))
    #expect(try Tool.replay.run("verify", path("part")).status == 0)
  }

  @Test func partsOfSeveralReplicasAreTaken() async throws {
    try await writeApart()
    let replicas = try fixture.json("log", path("a")).events("entry").texts("replica")
    let (a, b) = (replicas[0], try #require(replicas.first { $0 != replicas[0] }))
    for (name, arguments) in [
      ("both", ["--replica", String(a.prefix(8)), "--replica", b]), ("first", ["--replica", a]),
      ("then", ["--until", "\(a):2"]),
    ] {
      let result = try Tool.replay.run(arguments: ["apply", path("remote"), "--into", path(name)] + arguments)
      #expect(result.status == 0, "\(name): \(result)")
      #expect(try Tool.replay.run("verify", path(name)).status == 0)
    }
    #expect(try digest("both") == digest("a"))
    #expect(try await fixture.coupons(in: "first") == [1: "a's"])
    #expect(try await fixture.coupons(in: "then") == [:])
    #expect(try await fixture.guild(in: "then").queue == ["A", "B"])
    // Either is behind, and of the data set.
    for name in ["first", "then"] {
      #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0)
      #expect(try digest(name) == digest("a"))
    }
  }

  /// What is left out is named, and never by what was set for another command.
  @Test func nothingIsLeftOutByAVariable() async throws {
    try await fixture.writeGuild()
    let environment = [
      "MAGIC_REPLAY_UNTIL": "2000-01", "MAGIC_REPLAY_TYPE": "Else", "MAGIC_REPLAY_REPLICA": "ffffffff",
      "MAGIC_REPLAY_SKIP": "1",
    ]
    let applied = try Tool.replay.run("apply", path("a"), "--into", path("whole"), environment: environment)
    #expect(applied.status == 0, "\(applied)")
    #expect(try digest("whole") == digest("a"))
    let whole = try Tool.replay.run("export", path("a"))
    let exported = try Tool.replay.run("export", path("a"), environment: environment)
    #expect(exported.status == 0 && exported.output == whole.output, "\(exported)")
  }

  /// Byte for byte, its assets with it.
  @Test func aRebuildingThatFailsLeavesEverythingAsItWas() async throws {
    try await fixture.writeGuild()
    try await fixture.work("mine") { magic in
      let guild = Guild("mine")
      guild.badge = .init(value: "mine")
      try await magic.update(guild)
    }
    // Both have a data set that others know.
    for name in ["a", "mine"] { try Tool.sync.run("push", path(name), path("\(name)-remote")) }
    func contents() throws -> [String: Data] {
      try fixture.folder.contents().filter {
        $0.key.hasPrefix("mine/") && !$0.key.hasSuffix("-wal") && !$0.key.hasSuffix("-shm")
      }
    }
    let before = try contents()
    #expect(before.keys.contains { $0.hasPrefix("mine/files/") })
    for (arguments, status) in [
      ([path("a")], 1), ([path("a"), path("mine-remote"), "--force"], 7), ([path("a"), "--force", "--skip", "99"], 1),
      ([path("a"), "--force", "--until", "99"], 1), ([path("a"), "--force", "--until", "2016-01-31"], 1),
      ([path("nothing"), "--force"], 1),
      ([path("a"), "--force", "--at", "now"], 64),
    ] as [([String], Int32)] {
      let result = try Tool.replay.run(arguments: ["apply"] + arguments + ["--into", path("mine")])
      #expect(result.status == status, "\(arguments): \(result)")
      #expect(try contents() == before, "\(arguments)")
    }
    #expect(try await fixture.guild("mine", in: "mine").badge == "mine")
    let forced = try Tool.replay.run(
      "apply", path("a"), "--into", path("mine"), environment: ["MAGIC_REPLAY_FORCE": "1"])
    #expect(forced.status == 0, "\(forced)")
    #expect(try await fixture.guild(in: "mine").badge == "the first")
    // Nothing of what was there is left.
    let verified = try Tool.replay.run("verify", path("mine"))
    #expect(verified.status == 0 && !verified.output.contains("orphan"), "\(verified)")
  }

  /// Whoever has opened a database, and not read it yet, writes neither to what took its place nor to a file without a name.
  @Test(arguments: [false, true]) func whoHasADatabaseOpenLosesNothingToARebuilding(hasRead: Bool) async throws {
    try await fixture.writeGuild()
    try await fixture.work("mine") { magic in try await magic.update(Guild("mine")) }
    let program = """
      import sqlite3, subprocess, sys
      database, hasRead, tool = sys.argv[1], sys.argv[2] == 'true', sys.argv[3:]
      opened = sqlite3.connect(database)
      if hasRead: opened.execute('SELECT count(*) FROM magic_journal').fetchone()
      print(subprocess.run(tool, capture_output=True).returncode)
      try:
        opened.execute('UPDATE magic_replica SET uuid = uuid')
        opened.commit()
        print('wrote')
      except sqlite3.Error: print('refused')
      """
    let result = try Tool.python.run(
      "-c", program, path("mine/default.sqlite3"), "\(hasRead)", Tool.replay.path.path, "apply", path("a"), "--into",
      path("mine"), "--force")
    #expect(result.output == (hasRead ? "5\nwrote\n" : "0\nrefused\n"), "\(result)")
    #expect(try Tool.replay.run("verify", path("mine")).status == 0)
    #expect(try digest("mine") == digest("a") || hasRead)
  }
}
