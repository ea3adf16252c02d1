import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// A journal with a history, and what programs get of it. Its clock is in the test's hands.
struct ReplayFixture {
  let folder: TemporaryFolder
  let world = World(start: 1_750_000_000_000)  // 2025-06-15T15:06:40Z

  init() throws {
    folder = try TemporaryFolder()
  }

  func path(_ name: String) -> String { folder[name].path }

  func open(_ name: String) throws -> MagicData {
    MagicData(store: try Store(.file(DatabaseLocation(folder[name]), mustExist: false), world.surroundings()))
  }

  /// Opens, works and closes; then an hour passes.
  func work(_ name: String, _ body: (MagicData) async throws -> Void) async throws {
    let magic = try open(name)
    try await body(magic)
    try await magic.close()
    world.advance(3_600_000)
  }

  func write(_ title: String, to name: String, id: String) async throws {
    try await work(name) { magic in
      if try await magic.has(of: Note.self, primary: id) {
        let note = try await magic.object(of: Note.self, primary: id)
        note.title = title
        try await magic.update(note)
      } else {
        try await magic.update(Note(id, title))
      }
    }
  }

  func remove(_ id: String, from name: String) async throws {
    try await work(name) { magic in try await magic.remove(magic.object(of: Note.self, primary: id)) }
  }

  func segments(_ remote: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path("\(remote)/segments")).sorted().map {
      path("\(remote)/segments/\($0)")
    }
  }

  /// Behind the journal's back.
  func sql(_ statements: String..., in name: String) throws {
    let change = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()"
    #expect(try Tool.python.run("-c", change, path("\(name)/default.sqlite3"), statements.joined(separator: ";")).status == 0)
  }

  /// The lines of JSON of a command; the last one is the summary.
  func json(
    _ command: String, _ arguments: [String], status: Int32 = 0, environment: [String: String] = [:]
  ) throws -> [[String: Any]] {
    let pipe = Pipe()
    let process = try Tool.replay.start([command] + arguments + ["--json"], output: pipe, environment: environment)
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == status, "\(arguments): \(output)")
    return try output.split(separator: "\n").map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  func json(
    _ command: String, _ arguments: String..., status: Int32 = 0, environment: [String: String] = [:]
  ) throws -> [[String: Any]] {
    try json(command, arguments, status: status, environment: environment)
  }
}

extension [[String: Any]] {
  func events(_ name: String) -> [[String: Any]] { filter { $0["event"] as? String == name } }
  func texts(_ name: String) -> [String] { compactMap { $0[name] as? String } }
}

@Suite(.timeLimit(.minutes(15))) struct ReplayLogTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func titles(_ arguments: String..., environment: [String: String] = [:]) throws -> [String] {
    let pipe = Pipe()
    let process = try Tool.replay.start(["log"] + arguments + ["--json"], output: pipe, environment: environment)
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 0, "\(arguments): \(output)")
    return try output.split(separator: "\n").dropLast().map {
      let line = try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      return (line["fields"] as? [String: Any])?["title"] as? String ?? line["op"] as? String ?? ""
    }
  }

  /// O-3.
  @Test func theLogIsTheSameFromEverySource() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("first \u{7} \"line\"\n", to: "a", id: "n")
    try await f.write("second", to: "a", id: "n")
    try await f.remove("n", from: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    let exported = try f.json("log", path("a"))
    #expect(exported.count == 4)
    let logs = try [path("a"), path("remote"), "file://" + path("remote"), f.segments("remote")[0], path("a.magicbundle")].map {
      try Tool.replay.run("log", $0, "--json").output
    }
    #expect(Set(logs).count == 1)
    let entries = exported.events("entry")
    #expect(entries.texts("op") == ["update", "update", "remove"])
    #expect(
      entries.compactMap { $0["fields"] as? [String: String] } == [
        ["title": "first \u{7} \"line\"\n"], ["title": "second"], [:],
      ])
    #expect(entries.compactMap { $0["sequence"] as? Int } == [1, 2, 3])
    #expect(entries.texts("time") == ["2025-06-15T15:06:40.000Z", "2025-06-15T16:06:40.000Z", "2025-06-15T17:06:40.000Z"])
    #expect(entries.allSatisfy { $0["type"] as? String == "Note" && $0["object"] as? String == "n" })
    #expect(exported.last?["event"] as? String == "summary")
    #expect(exported.last?["entries"] as? Int == 3)
    let text = try Tool.replay.run("log", path("a"), "--limit", "2")
    #expect(text.lines.count == 2)
    #expect(text.lines.last?.contains("remove Note n") == true)
  }

  @Test func entriesAreChosen() async throws {
    let (f, path) = (fixture, fixture.path)
    for title in ["1", "2", "3"] { try await f.write(title, to: "a", id: title == "2" ? "other" : "n") }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.write("4", to: "b", id: "n")
    try await f.remove("n", from: "b")
    try Tool.sync.run("push", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    for source in ["a", "remote"] {
      #expect(try titles(path(source)) == ["1", "2", "3", "4", "remove"])
      #expect(try titles(path(source), "--primary", "n") == ["1", "3", "4", "remove"])
      #expect(try titles(path(source), "--op", "remove") == ["remove"])
      #expect(try titles(path(source), "--op", "update", "--limit", "2") == ["3", "4"])
      #expect(try titles(path(source), "--type", "Else") == [])
      for option in [["--type", "Else"], ["--replica", "ffffffff"], ["--since", "2099-01"], ["--until", "2001-01"]] {
        let nothing = try Tool.replay.run(arguments: ["log", path(source)] + option)
        #expect(nothing.status == 0 && nothing.errors.contains("no entry matches"), "\(nothing.errors)")
        #expect(try Tool.replay.run(arguments: ["log", path(source), "-q"] + option).errors.isEmpty)
      }
      // A name that was mistyped: the answer has those that there are.
      let (unknown, known) = ("there is no type note; the journal has Note", "magic-replay log SOURCE --type Note")
      for command in [["history", path(source), "note", "n"], ["blame", path(source), "note", "n"]] {
        let nothing = try Tool.replay.run(arguments: command)
        #expect(nothing.status == 1 && nothing.errors.contains(unknown) && !nothing.errors.contains(known), "\(nothing)")
      }
      for command in [["log", path(source), "--type", "note"], ["state", path(source), "--type", "note"]] {
        #expect(try Tool.replay.run(arguments: command).errors.contains("matches: \(unknown)"), "\(command)")
      }
      let object = try Tool.replay.run("history", path(source), "Note", "else")
      #expect(object.status == 1 && object.errors.contains("there is no Note else; `\(known)`"), "\(object)")
      for (command, said) in [
        (["state", path(source), "--type", "Else"], "no object matches"),
        (["state", path(source), "--at", "2001-01"], "no object matches"),
        (["diff", path(source), path("b"), "--type", "Else"], "no object of type Else differs"),
      ] {
        let nothing = try Tool.replay.run(arguments: command)
        #expect(nothing.status == 0 && nothing.lines.isEmpty && nothing.errors.contains(said), "\(command) \(nothing.errors)")
        #expect(try Tool.replay.run(arguments: command + ["-q"]).errors.isEmpty)
      }
      // The hours after 15:06:40, and their ends, belong to the window.
      #expect(
        try titles(path(source), "--since", "2025-06-15T16:06:40Z", "--until", "2025-06-15T18:06:40Z") == ["2", "3", "4"])
      #expect(try titles(path(source), "--since", "2025-06-15T18:06:40.001+00:00") == ["remove"])
      #expect(try titles(path(source), "--until", "2025-06-15 17:06:40", environment: ["TZ": "UTC"]) == ["1", "2", "3"])
      #expect(try titles(path(source), "--until", "2025-06-15 17:06:40", environment: ["TZ": "Asia/Tokyo"]) == [])
      #expect(try titles(path(source), "--since", "1h ago") == [])
      // Down to the hour, and to the month.
      #expect(try titles(path(source), "--until", "2025-06-15T16Z") == ["1"])
      #expect(try titles(path(source), "--since", "2025-06").count == 5)
      #expect(try titles(path(source), "--since", "2025-07") == [])
      #expect(try titles(path(source), "--since", "52000 weeks ago").count == 5)
      let replica = try #require(f.json("log", path(source)).events("entry").texts("replica").first)
      #expect(try titles(path(source), "--replica", String(replica.prefix(8))) == ["1", "2", "3"])
      // A sequence of a replica is a moment for all of them.
      #expect(try titles(path(source), "--since", "\(replica.prefix(8)):3") == ["3", "4", "remove"])
      #expect(try titles(path(source), "--replica", replica, "--until", "2") == ["1", "2"])
      #expect(try titles(path(source), "--limit", "0") == [])
    }
    // In a database, a sequence alone is its own replica's.
    #expect(try titles(path("a"), "--until", "2") == ["1", "2"])
    let ambiguous = try Tool.replay.run("log", path("remote"), "--until", "2")
    #expect(ambiguous.status == 1)
    #expect(ambiguous.errors.contains("replica:sequence"))
    #expect(try Tool.replay.run("log", path("a"), "--until", "99").status == 1)
    // A year alone is a sequence.
    for option in [["--since", "2026"], ["--until", "2026", "--replica", "ffffffff"], ["--since", "ffffffff:2026"]] {
      let year = try Tool.replay.run(arguments: ["log", path("a")] + option)
      #expect(year.status == 1 && year.errors.contains("2026-01 is a time") != option[1].contains(":"), "\(year)")
    }
  }

  @Test(arguments: [
    "tomorrow", "2026-13-01", "2026-02-30", "1 fortnight ago", "1 fortnight", "0", "24:00", "12:00Z", "2026-01-01T25:00", "",
  ])
  func whatIsNoTimeIsAWrongArgument(text: String) throws {
    #expect(try Tool.replay.run("log", ".", "--since", text).status == 64)
  }

  /// Times near this one are what anybody types first. In Cairo 2026-04-24 began at one o'clock.
  @Test func timesNearThisOneMayBeShort() throws {
    let now = try Date("2026-04-25T10:30:00Z", strategy: .iso8601)
    func isSame(_ text: String, _ other: String, _ place: String) throws -> Bool {
      let zone = try #require(TimeZone(identifier: place))
      return try MagicMoment(text, now: now, timeZone: zone) == MagicMoment(other, now: now, timeZone: zone)
    }
    for (text, other) in [
      ("1h", "1h ago"), ("90 min", "90 min ago"), ("2w", "14d ago"), ("today", "2026-04-25"), ("Yesterday", "2026-04-24T00Z"),
      ("12:00", "2026-04-25T12:00Z"), ("09:05:30", "2026-04-25T09:05:30Z"),
    ] {
      #expect(try isSame(text, other, "UTC"), "\(text)")
    }
    #expect(try isSame("12:00", "2026-04-25T03:00Z", "Asia/Tokyo"))
    #expect(try isSame("today", "2026-04-24T15:00Z", "Asia/Tokyo"))
    #expect(try isSame("yesterday", "2026-04-23T22:00Z", "Africa/Cairo"))
    #expect(try isSame("today", "2026-04-24T21:00Z", "Africa/Cairo"))
    // A number alone stays a sequence.
    #expect(try MagicMoment("17") == MagicMoment(replica: nil, sequence: 17))
    #expect(try Tool.replay.run("log", ".", "--since", "yesterday").status == 1)
  }

  @Test func whatIsNoJournalIsNamed() throws {
    try Data("A letter".utf8).write(to: fixture.folder["letter"])
    try Data().write(to: fixture.folder["empty"])
    #expect(try Tool.replay.run("log", fixture.path("empty")).errors.contains("it is empty"))
    #expect(try Tool.replay.run("log", fixture.path("letter")).errors.contains("is no segment, bundle or export"))
    for name in ["letter", "nothing", ".", "empty"] {
      let result = try Tool.replay.run("log", fixture.path(name))
      #expect(result.status == 1)
      #expect(result.output.isEmpty)
      #expect(result.errors.hasPrefix("magic-replay: "), "\(result.errors)")
    }
    for address in ["gopher://host:1", "https://host/x"] {
      #expect(try Tool.replay.run("log", address).errors.contains("file: URL"))
    }
    #expect(try Tool.replay.run("log").status == 64)
  }

  /// H-32: of a damaged file as much as its bytes still say, and the place from which on they do not.
  @Test func aDamagedSegmentIsShownAsFarAsItGoes() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in
      for number in 0..<300 { try await magic.update(Note("\(number)", String(UUID().uuidString.dropLast()))) }
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    let file = try f.segments("remote")[0]
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    let all = try Tool.replay.run("log", file).lines
    let cut = path("cut.segment")
    try whole.prefix(whole.count - 2_000).write(to: URL(fileURLWithPath: cut))
    let shown = try Tool.replay.run("log", cut)
    #expect(shown.status == 3)
    #expect((1..<300).contains(shown.lines.count))
    #expect(shown.lines == Array(all.prefix(shown.lines.count)))
    #expect(shown.errors.contains("byte") && shown.errors.contains("to 300 cannot be read"), "\(shown.errors)")
    // Nothing that anybody can do to the bytes is a crash.
    var chance = Seeded(seeds(1)[0])
    for length in [0, 3, 8, 50, 123, 124, 200] + (0..<6).map({ _ in chance.below(whole.count) }) {
      var bytes = whole
      if chance.below(2) == 0 { bytes = whole.prefix(length) } else { bytes[length] ^= UInt8(1 + chance.below(255)) }
      try bytes.write(to: URL(fileURLWithPath: cut))
      #expect([1, 3, 7].contains(try Tool.replay.run("log", cut).status), "\(length)")
    }
  }

  /// S-1: what was not checked is shown, and never merged.
  @Test func nothingOfADamagedSegmentIsApplied() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in
      for number in 0..<300 { try await magic.update(Note("\(number)", String(UUID().uuidString.dropLast()))) }
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    let cut = path("cut.segment")
    try Data(contentsOf: URL(fileURLWithPath: try f.segments("remote")[0])).dropLast(2_000).write(to: URL(fileURLWithPath: cut))
    // With nothing there is no database, and one that is there stays.
    try await f.write("mine", to: "mine", id: "n")
    for target in [["--into", path("new")], ["--into", path("mine"), "--force"]] {
      let applied = try f.json("apply", [cut] + target, status: 1)
      #expect((applied.last?["error"] as? [String: String])?["code"] == "damaged")
      #expect(applied.events("unread").texts("message").first?.contains("nothing of it can be taken") == true)
    }
    #expect(!FileManager.default.fileExists(atPath: path("new")))
    #expect(try titles(path("mine")) == ["mine"])
    let shown = try Tool.replay.run("state", cut)
    #expect(shown.status == 3 && shown.lines.count > 1)
  }

  @Test func whatIsWholeInAFolderAndABundleIsShown() async throws {
    let (f, path) = (fixture, fixture.path)
    for title in ["1", "2", "3"] {
      try await f.write(title, to: "a", id: "n")
      try Tool.sync.run("push", path("a"), path("remote"))
      try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    }
    let second = URL(fileURLWithPath: try f.segments("remote")[1])
    var bytes = try Data(contentsOf: second)
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: second)
    let lines = try f.json("log", path("remote"), status: 3)
    #expect(lines.events("entry").compactMap { $0["sequence"] as? Int } == [1, 3])
    #expect(lines.events("unread").texts("path") == [second.path])
    #expect(lines.events("missing").compactMap { $0["firstMissing"] as? Int } == [2])
    let bundle = fixture.folder["a.magicbundle"]
    try Data(contentsOf: bundle).dropLast(40).write(to: bundle)
    let rest = try f.json("log", path("a.magicbundle"), status: 3)
    #expect(rest.events("entry").compactMap { $0["sequence"] as? Int } == [1, 2])
    #expect(rest.events("unread").texts("message").contains { $0.contains("byte") })
  }

  @Test func aDamagedTransactionOfADatabaseIsNamed() async throws {
    let (f, path) = (fixture, fixture.path)
    for title in ["1", "2", "3"] { try await f.write(title, to: "a", id: "n") }
    let change =
      "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(\"UPDATE magic_journal SET data = x'05ff' WHERE id = 2\"); c.commit()"
    #expect(try Tool.python.run("-c", change, path("a/default.sqlite3")).status == 0)
    let lines = try f.json("log", path("a"), status: 3)
    #expect(lines.events("entry").compactMap { $0["sequence"] as? Int } == [1, 3])
    #expect(lines.events("unread").texts("message").first?.contains(":2") == true)
  }

  @Test func whoeverReadsNoFurtherEndsIt() async throws {
    try await fixture.work("a") { magic in
      try await magic.update(
        contentsOf: (0..<20_000).map { Note("\($0)", "a title of some length, so that a pipe cannot hold all of them") })
    }
    let pipe = Pipe()
    let process = try Tool.replay.start(["log", fixture.path("a")], output: pipe)
    #expect(try pipe.fileHandleForReading.read(upToCount: 10)?.count == 10)
    try pipe.fileHandleForReading.close()
    #expect(process.terminationStatus == 128 + SIGPIPE)
  }

  /// It is read in parts, and is one all the same.
  @Test func aLargeTransactionIsOne() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.work("a") { magic in
      try await magic.update(contentsOf: (0..<5_000).map { Note("\($0)", String(UUID().uuidString.dropLast())) })
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    let file = try f.segments("remote")[0]
    let all = try Tool.replay.run("log", path("a")).lines
    #expect(all.count == 5_000)
    #expect(try Tool.replay.run("log", file).lines == all)
    #expect(try Tool.replay.run("log", file, "--limit", "3").lines == all.suffix(3))
    #expect(try titles(file, "--primary", "4321").count == 1)
    let counted = try #require(f.json("stats", file).last)
    #expect(counted["transactions"] as? Int == 1 && counted["entries"] as? Int == 5_000, "\(counted)")
    let cut = path("cut.segment")
    try Data(contentsOf: URL(fileURLWithPath: file)).dropLast(2_000).write(to: URL(fileURLWithPath: cut))
    let shown = try Tool.replay.run("log", cut)
    #expect(shown.status == 3 && 1..<5_000 ~= shown.lines.count)
    #expect(shown.lines == Array(all.prefix(shown.lines.count)))
    #expect(shown.errors.contains("byte") && shown.errors.contains(":1 to 1 cannot be read"), "\(shown.errors)")
  }

  @Test func aLogIsFollowed() async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("1", to: "a", id: "n")
    let log = try FollowingProcess([path("a")])
    #expect(log.prints(#""title":"1""#))
    try await f.write("2", to: "a", id: "n")
    #expect(log.prints(#""title":"2""#))
    #expect(log.end() == 0)
    #expect(log.prints(#""event":"summary""#))
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(try Tool.replay.run("log", f.segments("remote")[0], "--follow").errors.contains("does not grow"))
  }

  /// What came before the moment that was asked for does not come later.
  @Test(arguments: ["a", "remote"], [["--since", "2025-06-15T16:00:00Z"], ["--limit", "0"]])
  func whatIsFollowedBeginsWhereItIsAskedTo(source: String, window: [String]) async throws {
    let (f, path) = (fixture, fixture.path)
    try await f.write("old", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let log = try FollowingProcess([path(source)] + window)
    // What was there when it looked first does not come; it looks five times a second.
    for number in 0..<100 where !log.output.contains("new") {
      try await f.write("new \(number)", to: "a", id: "n")
      try Tool.sync.run("push", path("a"), path("remote"))
      _ = log.prints("new", within: 2_000)
    }
    #expect(log.output.contains("new") && !log.output.contains(#""old""#), "\(log.output)")
    #expect(log.end() == 0)
  }

  @Test func everyCommandHasExamples() throws {
    let help = try Tool.replay.run("--help").output
    let commands =
      help.components(separatedBy: "SUBCOMMANDS:").last?.split(separator: "\n").filter {
        $0.hasPrefix("  ") && !$0.hasPrefix("   ")
      }
      .compactMap { $0.split(separator: " ").first.map(String.init) } ?? []
    #expect(commands.count > 2)
    for command in commands where command != "See" {
      #expect(try Tool.replay.run(command, "--help").output.contains("Example"), "\(command)")
    }
    #expect(try Tool.replay.run("tell").errors.contains("there is no command 'tell'"))
  }

  /// A shell offers files where a path may stand, and words where they are few.
  @Test func aShellCompletesPaths() throws {
    let (script, files) = (fixture.folder["completions"], fixture.folder["files"])
    try Data(Tool.replay.run("--generate-completion-script", "bash").output.utf8).write(to: script)
    try FileManager.default.createDirectory(
      at: files.appendingPathComponent("notes"), withIntermediateDirectories: true)
    for name in ["notes.jsonl", "notes.svg"] { try Data().write(to: files.appendingPathComponent(name)) }
    // As bash asks: what stands there, the word that is begun, and the one before it.
    let ask = #"""
      source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      _magic-replay "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\n' "${COMPREPLY[@]}"
      """#
    func completions(_ words: String...) throws -> [String] {
      let output = Pipe()
      let bash = try ChildProcess(
        "/usr/bin/env", ["bash", "-c", ask, "bash", script.path, "magic-replay"] + words, in: files,
        input: FileHandle.nullDevice, output: output, errors: FileHandle.nullDevice,
        environment: ProcessInfo.processInfo.environment)
      let bytes = output.fileHandleForReading.readDataToEndOfFile()
      #expect(bash.terminationStatus == 0)
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init).sorted()
    }
    let all = ["notes", "notes.jsonl", "notes.svg"]
    for command in ["log", "apply", "import"] { #expect(try completions(command, "n") == all, "\(command)") }
    for command in ["diff", "apply"] { #expect(try completions(command, "notes", "n") == all, "\(command)") }
    #expect(try completions("apply", "notes", "--into", "n") == all)
    #expect(try completions("stats", "notes", "--plot", "n") == ["notes", "notes.svg"])
    #expect(try completions("verify", "notes", "--repair", "") == ["journal", "tables"])
    #expect(try completions("log", "notes", "--op", "") == ["purge", "remove", "update"])
  }
}
