import Foundation
import MagicData
import TestSupport
import Testing

/// `undo` of what holds objects, files and numbers.
@Suite(.timeLimit(.minutes(15))) struct ReplayUndoTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }

  /// Undoes a transaction of the database's own; nothing is at odds with its journal afterwards.
  private func undo(_ sequence: Int) throws {
    let undone = try Tool.replay.run("undo", path("a"), "--transaction", "\(sequence)", "--yes")
    #expect(undone.status == 0, "\(undone)")
    #expect(try !Tool.replay.run("verify", path("a")).output.contains("fault:"))
  }

  @Test func relationsAreUndone() async throws {
    try await fixture.writeGuild()
    let before = try await fixture.guild(in: "a")
    try await fixture.work("a") { magic in
      let guild = try await magic.object(of: Guild.self, primary: "g")
      let a = try await magic.object(of: Fellow.self, primary: "A")
      let b = try await magic.object(of: Fellow.self, primary: "B")
      guild.head = b
      guild.members = [b]
      guild.queue = [b]
      guild.posts = ["first": b, "second": a]
      try await magic.update(guild)
    }
    let after = try await fixture.guild(in: "a")
    #expect(
      after
        == GuildShown(head: "B", members: ["B"], queue: ["B"], posts: ["first": "B", "second": "A"], badge: "the first"))
    let plan = try Tool.replay.run("undo", path("a"), "--transaction", "2", "--dry-run")
    #expect(plan.output.hasPrefix("change Guild g\n"), "\(plan)")
    for line in [#"head: "B" → "A""#, #"members: ["B"] → ["A"]"#, #"queue: ["B"] → ["A","B"]"#, "posts: "] {
      #expect(plan.output.contains("\n  \(line)"), "\(plan)")
    }
    #expect(try await fixture.guild(in: "a") == after)
    try undo(2)
    #expect(try await fixture.guild(in: "a") == before)
    // What was undone can be undone, and others merge either.
    try undo(3)
    #expect(try await fixture.guild(in: "a") == after)
    try undo(4)
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(try await fixture.guild(in: "b") == before)
  }

  @Test func emptiedRelationsAreFilledAgain() async throws {
    try await fixture.writeGuild()
    let before = try await fixture.guild(in: "a")
    try await fixture.work("a") { magic in
      let guild = try await magic.object(of: Guild.self, primary: "g")
      guild.head = nil
      guild.members.removeAll()
      guild.queue = []
      guild.posts = [:]
      try await magic.update(guild)
    }
    let empty = GuildShown(head: nil, members: [], queue: [], posts: [:], badge: "the first")
    #expect(try await fixture.guild(in: "a") == empty)
    try undo(2)
    #expect(try await fixture.guild(in: "a") == before)
    try undo(3)
    #expect(try await fixture.guild(in: "a") == empty)
  }

  /// What holds an object shows it again, and what it holds itself is there again.
  @Test func whatWasRemovedComesBackWithItsRelations() async throws {
    try await fixture.writeGuild()
    let before = try await fixture.guild(in: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try await fixture.work("a") { magic in try await magic.remove(magic.object(of: Fellow.self, primary: "A")) }
    #expect(
      try await fixture.guild(in: "a") == GuildShown(head: nil, members: [], queue: ["B"], posts: [:], badge: "the first"))
    try undo(2)
    #expect(try await fixture.guild(in: "a") == before)
    try await fixture.work("a") { magic in try await magic.remove(magic.object(of: Guild.self, primary: "g")) }
    #expect(
      try Tool.replay.run("undo", path("a"), "--transaction", "4", "--dry-run").output.hasPrefix("revive Guild g\n"))
    try undo(4)
    // Of its file the name alone is left, until somebody has it.
    #expect(try Tool.sync.run("pull", path("a"), path("remote")).output.contains("pulled 1 asset"))
    #expect(try await fixture.guild(in: "a") == before)
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  @Test func anAssetComesBackByNameAndWithItsContentIfSomebodyHasIt() async throws {
    func give(_ badges: [String: String]) async throws {
      try await fixture.work("a") { magic in
        try await magic.transaction { transaction in
          for (id, badge) in badges.sorted(by: { $0.key < $1.key }) {
            let guild = Guild(id)
            guild.badge = .init(value: badge)
            try await transaction.update(guild)
          }
        }
      }
    }
    func badge(_ id: String) async throws -> String? { try await fixture.guild(id, in: "a").badge }
    try await give(["lost": "alone", "shared": "kept", "other": "kept"])
    try Tool.sync.run("push", path("a"), path("remote"))
    try await give(["lost": "new", "shared": "new"])
    #expect(try await badge("lost") == "new")
    let shown = try fixture.json("undo", path("a"), "--transaction", "2", "--dry-run").events("undo")
    #expect(shown.texts("object").sorted() == ["lost", "shared"])
    #expect(shown.compactMap { ($0["fields"] as? [String: Any])?.keys.sorted() } == [["badge"], ["badge"]])
    try undo(2)
    #expect(try await badge("shared") == "kept")
    #expect(try await badge("lost") == nil)
    let verified = try Tool.replay.run("verify", path("a"))
    #expect(verified.status == 3 && verified.output.contains("missing asset: "), "\(verified)")
    #expect(!verified.output.contains("orphan asset"), "\(verified)")
    #expect(try Tool.sync.run("pull", path("a"), path("remote")).output.contains("pulled 1 asset"))
    #expect(try await badge("lost") == "alone")
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// A number is given once, and what comes back has the one that it had.
  @Test func objectsWithAutomaticNumbersAreUndone() async throws {
    try await fixture.work("a") { magic in try await magic.update(Coupon("first")) }
    try await fixture.work("a") { magic in
      let coupon = try await magic.object(of: Coupon.self, primary: 1)
      coupon.title = "second"
      try await magic.update(coupon)
    }
    try await fixture.work("a") { magic in try await magic.update(Coupon("other")) }
    try undo(2)
    #expect(try await fixture.coupons(in: "a") == [1: "first", 2: "other"])
    try await fixture.work("a") { magic in try await magic.remove(magic.object(of: Coupon.self, primary: 1)) }
    #expect(try await fixture.coupons(in: "a") == [2: "other"])
    try undo(5)
    #expect(try await fixture.coupons(in: "a") == [1: "first", 2: "other"])
    // What it is called, as `log` prints it.
    let made = try fixture.json("log", path("a")).events("entry").first { $0["number"] as? Int == 2 }
    let birth = try #require(made?["object"] as? String)
    let plan = try fixture.json("undo", path("a"), "--transaction", "3", "--dry-run").events("undo")
    #expect(plan.texts("kind") == ["remove"] && plan.texts("object") == [birth])
    try undo(3)
    #expect(try await fixture.coupons(in: "a") == [1: "first"])
    try await fixture.work("a") { magic in try await magic.update(Coupon("next")) }
    let coupons = try await fixture.coupons(in: "a")
    #expect(coupons == [1: "first", 3: "next"])
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(try await fixture.coupons(in: "b") == coupons)
  }

  @Test func whatIsUndoneIsChosenByTimeTypeAndReplica() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("first", to: "a", id: "n")  // 15:06:40
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.write("b's, before", to: "b", id: "early")  // 16:06:40
    try await f.write("a's", to: "a", id: "m")  // 17:06:40
    try await f.work("b") { magic in try await magic.update(Fellow("F")) }  // 18:06:40
    try await f.write("b's", to: "b", id: "n")  // 19:06:40
    try await f.write("b's", to: "b", id: "o")  // 20:06:40
    try Tool.sync.run("sync", path("b"), path("remote"))
    try Tool.sync.run("sync", path("a"), path("remote"))
    let entries = try f.json("log", path("a")).events("entry")
    let other = try #require(entries.first { $0["object"] as? String == "early" }?["replica"] as? String)
    let chosen = [path("a"), "--since", "2025-06-15T17:00:00Z", "--type", "Note", "--replica", String(other.prefix(8))]
    let plan = try f.json("undo", chosen + ["--dry-run"])
    #expect(plan.events("undo").texts("object") == ["n", "o"] && plan.events("kept").isEmpty, "\(plan)")
    #expect(plan.last?["changes"] as? Int == 2 && plan.last?["written"] as? Bool == false)
    #expect(try f.json("undo", chosen + ["--yes"]).last?["written"] as? Bool == true)
    let state = try f.json("state", path("a")).events("object")
    #expect(state.texts("object").sorted() == ["F", "early", "m", "n"])
    #expect(state.compactMap { ($0["fields"] as? [String: String])?["title"] }.sorted() == ["a's", "b's, before", "first"])
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// Each relation by itself: a single one and an array as a whole, a set by its members.
  @Test func ofRelationsWhatOthersChangedSinceIsLeftAndListed() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.writeGuild()
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.work("a") { magic in
      let guild = try await magic.object(of: Guild.self, primary: "g")
      let b = try await magic.object(of: Fellow.self, primary: "B")
      guild.head = b
      guild.members.insert(b)
      guild.queue = [b]
      try await magic.update(guild)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("pull", path("b"), path("remote"))
    try await f.work("b") { magic in
      let guild = try await magic.object(of: Guild.self, primary: "g")
      let (c, d) = (Fellow("C"), Fellow("D"))
      guild.members.insert(c)
      guild.members.insert(d)
      guild.queue = [d]
      try await magic.update(guild)
    }
    try Tool.sync.run("push", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    let lines = try f.json("undo", path("a"), "--transaction", "2", "--yes")
    #expect((lines.events("undo").first?["fields"] as? [String: Any])?.keys.sorted() == ["head", "members"], "\(lines)")
    let kept = lines.events("kept")
    #expect(kept.texts("property").contains("queue") && !kept.texts("property").contains("head"), "\(lines)")
    // Once, however many members others have changed.
    #expect(Set(kept.texts("property")).count == kept.count, "\(lines)")
    #expect(
      try await f.guild(in: "a")
        == GuildShown(head: "A", members: ["A", "C", "D"], queue: ["D"], posts: ["first": "A"], badge: "the first"))
    #expect(try Tool.replay.run("verify", path("a")).status == 0)
  }

  /// What stands on the command line goes before the twins in the environment.
  @Test func aTwinThatWouldContradictIsNotRead() async throws {
    for title in ["first", "second"] { try await fixture.write(title, to: "a", id: "n") }
    let undo = try Tool.replay.run(
      "undo", path("a"), "--transaction", "2", "--dry-run", environment: ["MAGIC_REPLAY_SINCE": "2020-01"])
    #expect(undo.status == 0 && undo.output.contains("nothing was written"), "\(undo)")
    // What is taken back is named, and never by what was set for another command.
    for twin in ["SINCE": "2020-01", "TRANSACTION": "2"] {
      let undo = try Tool.replay.run("undo", path("a"), "--yes", environment: ["MAGIC_REPLAY_\(twin.key)": twin.value])
      #expect(undo.status == 64, "\(undo)")
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    let diff = try Tool.replay.run("diff", path("a"), path("remote"), environment: ["MAGIC_REPLAY_FROM": "2020-01"])
    #expect(diff.status == 0, "\(diff)")
    #expect(try Tool.replay.run("log", path("a"), environment: ["MAGIC_REPLAY_INSECURE": "maybe"]).status == 64)
  }

  /// Nobody can be asked without a terminal: it writes at once.
  @Test func withoutATerminalItWritesAtOnce() async throws {
    for title in ["first", "second"] { try await fixture.write(title, to: "a", id: "n") }
    let plan = try Tool.replay.run("undo", path("a"), "--transaction", "2", "--dry-run")
    #expect(plan.status == 0 && plan.output.contains("nothing was written"), "\(plan)")
    let undo = try Tool.replay.run("undo", path("a"), "--transaction", "2")
    #expect(undo.status == 0 && undo.output.contains("wrote 1 change"), "\(undo)")
    #expect(try Tool.replay.run("state", path("a")).output.contains("first"))
  }

  /// It writes nothing: a copy keeps its id for the exchange that says what became of it.
  @Test func aDryRunLeavesACopyAsItIs() async throws {
    for title in ["first", "second"] { try await fixture.write(title, to: "a", id: "n") }
    try FileManager.default.copyItem(atPath: path("a"), toPath: path("copy"))
    func mark() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path("copy") + "/default.sqlite3-replica")) }
    let before = try mark()
    let undo = try Tool.replay.run("undo", path("copy"), "--transaction", "2", "--dry-run")
    #expect(undo.status == 0 && !undo.errors.contains("replica of its own"), "\(undo)")
    #expect(try Tool.sync.run("compact", path("copy"), "--dry-run").status == 0)
    #expect(try mark() == before)
  }
}
