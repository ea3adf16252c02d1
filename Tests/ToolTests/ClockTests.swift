import Foundation
import MagicData
import TestSupport
import Testing

/// Replicas whose clocks are days off (C-5, H-2). The tools have this machine's time.
@Suite(.timeLimit(.minutes(15))) struct ClockTests {
  let fixture: ReplayFixture
  private let days: Int64 = 86_400_000

  init() throws {
    fixture = try ReplayFixture()
    // Each write takes an hour, and the last of them is to be in the past.
    fixture.world.advance(Int64(Date().timeIntervalSince1970 * 1_000) - days / 2 - fixture.world.milliseconds)
  }

  private func path(_ name: String) -> String { fixture.path(name) }

  /// By an app whose clock is so far off.
  private func write(_ title: String, to name: String, id: String, off milliseconds: Int64) async throws {
    fixture.world.advance(milliseconds)
    try await fixture.write(title, to: name, id: id)
    fixture.world.advance(-milliseconds)
  }

  private func replica(_ name: String) async throws -> String {
    var id = ""
    try await fixture.work(name) { magic in id = try await magic.statistics().replica }
    return id
  }

  @Test(arguments: [false, true]) func aClockDaysAheadKeepsNothingElseBack(isServed: Bool) async throws {
    let server = try isServed ? ServingProcess([path("remote"), "--listen", "tcp://127.0.0.1:0"]) : nil
    let remote = server?.address ?? "remote"
    try await fixture.write("first", to: "a", id: "n")
    try fixture.settle("a", "b", "ahead", through: remote)
    try await write("from the future", to: "ahead", id: "n", off: 3 * days)
    try await fixture.write("from a", to: "a", id: "a")
    try await fixture.write("from b", to: "b", id: "b")
    for name in ["ahead", "b"] {
      // Who is ahead itself has everything; b has what came before.
      let result = try Tool.sync.run("sync", path(name), fixture.address(remote))
      #expect(result.status == (name == "b" ? 3 : 0), "\(result.errors)")
    }
    // It is named, with the way out, and what others wrote comes and goes.
    let (id, before) = (try await replica("ahead"), try await fixture.titles("a"))
    #expect(before == ["first", "from a"])
    let held = try Tool.sync.run("sync", path("a"), fixture.address(remote))
    #expect(held.status == 3)
    #expect(held.errors.contains("the clock of replica \(id) is 2 days"), "\(held.errors)")
    #expect(held.errors.contains("--accept \(id.prefix(8))"), "\(held.errors)")
    #expect(held.output.contains("pulled 1 transaction") && held.output.contains("pushed 1 transaction"), "\(held.output)")
    #expect(try await fixture.titles("a") == ["first", "from a", "from b"])
    let again = try Tool.sync.run("sync", path("a"), fixture.address(remote), "--json")
    #expect(again.status == 3)
    #expect(again.lines.contains { $0.contains(#""event":"parked""#) && $0.contains(id) }, "\(again.output)")
    // Who takes it all the same goes on from there, as do all who do.
    for name in ["a", "b"] {
      let accepted = try Tool.sync.run("sync", path(name), fixture.address(remote), "--accept", String(id.prefix(8)))
      #expect(accepted.status == 0, "\(accepted.errors)")
    }
    try await fixture.write("afterwards", to: "a", id: "n")
    try fixture.settle("a", "b", "ahead", through: remote)
    for name in ["a", "b", "ahead"] { #expect(try await fixture.titles(name) == ["afterwards", "from a", "from b"]) }
    if let server { #expect(server.end() == 0) }
  }

  /// What is looked at and thrown away waits for no clock; a database that is made of it does.
  @Test(arguments: [false, true]) func whatAClockWroteThatIsAheadIsShown(isServed: Bool) async throws {
    let server = try isServed ? ServingProcess([path("remote"), "--listen", "tcp://127.0.0.1:0"]) : nil
    let source = fixture.address(server?.address ?? "remote")
    try await fixture.write("first", to: "ahead", id: "a")
    try await write("from the future", to: "ahead", id: "n", off: 3 * days)
    #expect(try Tool.sync.run("push", path("ahead"), source).status == 0)
    let digest = try Tool.sync.run("digest", path("ahead")).output
    for command in [["log"], ["state"], ["diff", "--from", "1"]] {
      let shown = try Tool.replay.run(arguments: [command[0], source] + command.dropFirst())
      #expect(shown.status == 0 && shown.output.contains("from the future"), "\(command): \(shown)")
    }
    let verified = try Tool.replay.run("verify", source)
    #expect(verified.status == 0 && verified.output.contains(digest.trimmingCharacters(in: .newlines)), "\(verified)")
    let applied = try Tool.replay.run("apply", source, "--into", path("rebuilt"))
    #expect(applied.status == 3 && applied.errors.contains("ahead"), "\(applied)")
    #expect(try await fixture.titles("rebuilt") == ["first"])
    if let server { #expect(server.end() == 0) }
  }

  /// K-13: below a floor nothing can be left out, so it is taken whole, or not at all. What is built to be tested waits for no
  /// clock.
  @Test func whatIsKeptOfAClockThatIsAheadIsTakenOnlyIfItIsAccepted() async throws {
    try await fixture.write("first", to: "ahead", id: "a")
    try await write("from the future", to: "ahead", id: "n", off: 3 * days)
    #expect(try Tool.sync.run("push", path("ahead"), path("remote")).status == 0)
    // It fails once the second object is there.
    let python =
      "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]+'/default.sqlite3'); n=c.execute(\\\"SELECT count(*) FROM sqlite_master WHERE name='Note'\\\").fetchone()[0]; sys.exit(1 if n and c.execute('SELECT count(*) FROM Note').fetchone()[0] > 1 else 0)"
    let found = try Tool.replay.run("bisect", path("remote"), "--test", "python3 -c \"\(python)\" \"$1\"")
    #expect(found.output.contains("update Note n"), "\(found)")
    let digest = try Tool.sync.run("digest", path("ahead")).output
    try #require(Tool.sync.run("compact", path("ahead"), path("remote")).status == 0)
    let id = String(try await replica("ahead").prefix(8))
    let refused = try Tool.replay.run("apply", path("remote"), "--into", path("rebuilt"))
    #expect(refused.status == 1 && refused.errors.contains("--accept \(id)"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: path("rebuilt")))
    let applied = try Tool.replay.run("apply", path("remote"), "--into", path("rebuilt"), "--accept", id)
    #expect(applied.status == 0, "\(applied)")
    #expect(try Tool.sync.run("digest", path("rebuilt")).output == digest)
  }

  /// X-10: what a database holds is imported, and what it would hold back itself is not.
  @Test func whatWasAcceptedIsExportedAndImported() async throws {
    try await fixture.write("first", to: "a", id: "a")
    try fixture.settle("a", "ahead")
    try await write("from the future", to: "ahead", id: "n", off: 3 * days)
    try fixture.sync("ahead")
    let id = String(try await replica("ahead").prefix(8))
    #expect(try Tool.sync.run("pull", path("a"), path("remote"), "--accept", id).status == 0)
    let digest = try Tool.sync.run("digest", path("a")).output
    func export(_ name: String) throws -> String {
      let exported = try Tool.replay.run("export", path(name)).output
      try Data(exported.utf8).write(to: fixture.folder["\(name).jsonl"])
      return exported
    }
    // Who accepted it and who wrote it.
    for name in ["a", "ahead"] {
      let exported = try export(name)
      #expect(exported.contains(#","clock":"#), "\(exported)")
      let imported = try Tool.replay.run("import", path("\(name).jsonl"), "--into", path("of \(name)"))
      #expect(imported.status == 0, "\(imported)")
      #expect(try Tool.sync.run("digest", path("of \(name)")).output == digest)
      #expect(try Tool.replay.run("export", path("of \(name)")).output == exported)
    }
    // A folder has accepted nothing.
    #expect(try !export("remote").contains(#","clock":"#))
    let held = try Tool.replay.run("import", path("remote.jsonl"), "--into", path("held"))
    #expect(held.status == 3 && held.errors.contains("--accept \(id)"), "\(held)")
    #expect(try await fixture.titles("held") == ["first"])
    let accepted = try Tool.replay.run("import", path("remote.jsonl"), "--into", path("accepted"), "--accept", id)
    #expect(accepted.status == 0, "\(accepted)")
    #expect(try Tool.sync.run("digest", path("accepted")).output == digest)
    #expect(try Tool.replay.run("import", path("remote.jsonl"), "--into", path("no"), "--accept", "x").status == 64)
  }

  /// C-2: who is behind writes after all that it has merged, and before what it has not.
  @Test func aClockDaysBehindKeepsNothingBack() async throws {
    for id in ["known", "unknown"] { try await fixture.write("first", to: "a", id: id) }
    try fixture.settle("a", "b", "behind")
    try await fixture.write("by a", to: "a", id: "unknown")
    for id in ["known", "unknown", "own"] { try await write("by behind", to: "behind", id: id, off: -3 * days) }
    try fixture.settle("behind", "a", "b")
    for name in ["a", "b", "behind"] { #expect(try await fixture.titles(name) == ["by a", "by behind", "by behind"]) }
  }

  #if os(Linux)
    /// To one who is days behind, all others are ahead.
    @Test func aMachineThatIsDaysBehindIsToldAndGoesOn() async throws {
      let clock = try ClockShift(fixture.folder, seconds: -3 * 86_400)
      try await fixture.write("from a", to: "a", id: "a")
      try fixture.sync("a")
      try await write("from behind", to: "behind", id: "behind", off: -3 * days)
      let held = try Tool.sync.run("sync", path("behind"), path("remote"), environment: clock.environment)
      #expect(held.status == 3, "\(held.errors)")
      let id = try await replica("a")
      #expect(held.errors.contains("the clock of replica \(id) is 2 days"), "\(held.errors)")
      #expect(held.errors.contains("--accept \(id.prefix(8))"), "\(held.errors)")
      #expect(held.output.contains("pushed 1 transaction"), "\(held.output)")
      let status = try Tool.sync.run("status", path("behind"), path("remote"), environment: clock.environment)
      #expect(status.output.contains("ahead of this machine's clock"), "\(status.output)")
      #expect(try fixture.sync("a").output.contains("pulled 1 transaction"))
      // Once its clock is right it has all.
      try fixture.settle("behind", "a")
      for name in ["a", "behind"] { #expect(try await fixture.titles(name) == ["from a", "from behind"]) }
    }
  #endif
}

#if os(Linux)
  /// Another time of day, for one process.
  private struct ClockShift {
    private let library: URL
    private let seconds: Int

    private static let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <stdlib.h>
      #include <time.h>

      int clock_gettime(clockid_t clock, struct timespec *time) {
        const char *shift = getenv("CLOCK_SHIFT");
        int result = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
        if (result == 0 && clock == CLOCK_REALTIME && shift) time->tv_sec += atol(shift);
        return result;
      }
      """

    init(_ folder: TemporaryFolder, seconds: Int) throws {
      library = folder["clock-shift.so"]
      self.seconds = seconds
      try compile(ClockShift.source, to: library)
    }

    var environment: [String: String] { ["LD_PRELOAD": library.path, "CLOCK_SHIFT": "\(seconds)"] }
  }
#endif
