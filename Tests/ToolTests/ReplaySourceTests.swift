import Foundation
import MagicData
import TestSupport
import Testing

/// What every command does with every kind of source, whole and damaged, and with what is none.
@Suite(.timeLimit(.minutes(15))) struct ReplaySourceTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }

  private func export(to name: String) throws {
    try Data(Tool.replay.run("export", path("a")).output.utf8).write(to: fixture.folder[name])
  }

  // MARK: Whole

  @Test func everyKindOfSourceIsCountedVerifiedExportedAndBisected() async throws {
    for (id, title) in [("1", "fine"), ("2", "fine"), ("3", "broken"), ("1", "later")] {
      try await fixture.write(title, to: "a", id: id)
    }
    for place in ["remote", "a.magicbundle"] { try Tool.sync.run("push", path("a"), path(place)) }
    try export(to: "a.jsonl")
    let exported = try Tool.replay.run("export", path("a")).output
    let counted = try Tool.replay.run("stats", path("a")).lines.filter { !$0.hasPrefix("values") }
    #expect(counted.first == "4 transactions, 4 entries, 0 of them removes")
    let python =
      "import sys,glob; sys.exit(any(b'broken' in open(each,'rb').read() for each in glob.glob(sys.argv[1]+'/default*')))"
    for source in [path("remote"), path("a.magicbundle"), try fixture.segments("remote")[0], path("a.jsonl")] {
      let stats = try Tool.replay.run("stats", source)
      #expect(stats.status == 0 && stats.lines.filter { !$0.hasPrefix("values") } == counted, "\(source): \(stats)")
      let verified = try Tool.replay.run("verify", source)
      #expect(verified.status == 0, "\(source): \(verified)")
      #expect(verified.output.hasPrefix("4 transactions with 4 changes, ") && verified.output.hasSuffix("all is well\n"))
      #expect(try Tool.replay.run("export", source).output == exported, "\(source)")
      let found = try Tool.replay.run("bisect", source, "--test", "python3 -c \"\(python)\" \"$1\"")
      #expect(found.output.contains(":3 is the first after which the command fails\n  update Note 3\n"), "\(source): \(found)")
    }
  }

  /// A journal is read more than once, and a pipe is not: what comes through one is copied, and the copy goes with the program.
  @Test func whatComesThroughAPipeIsRead() async throws {
    try await fixture.write("fine", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try export(to: "a.jsonl")
    try FileManager.default.createDirectory(at: fixture.folder["tmp"], withIntermediateDirectories: false)
    func piped(_ name: String, _ arguments: String...) throws -> Tool.Result {
      let pipe = Pipe()
      let writer = try ChildProcess(
        "/bin/cat", [path(name)], in: nil, input: FileHandle.nullDevice, output: pipe, errors: FileHandle.nullDevice,
        environment: [:])
      defer { writer.waitUntilExit() }
      return try Tool.replay.run(arguments: arguments, input: pipe, environment: ["TMPDIR": path("tmp")])
    }
    let digest = try Tool.sync.run("digest", path("a")).output
    for (name, command, source) in [
      ("a.jsonl", "import", "-"), ("a.jsonl", "import", "/dev/stdin"), ("a.magicbundle", "apply", "-"),
    ] {
      let made = path("\(command)\(source.count)")
      let result = try piped(name, command, source, "--into", made)
      #expect(result.status == 0, "\(command) \(source): \(result)")
      #expect(try Tool.sync.run("digest", made).output == digest, "\(command) \(source)")
      #expect(try piped(name, "log", source).output == Tool.replay.run("log", path("a")).output, "\(command) \(source)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: path("tmp")).isEmpty)
    // As `gzip` makes one.
    try Data([0x1f, 0x8b, 8, 0] + Array(repeating: 0, count: 60)).write(to: fixture.folder["a.jsonl.gz"])
    let packed = try Tool.replay.run("import", path("a.jsonl.gz"), "--into", path("unpacked"))
    #expect(packed.status == 1 && packed.errors.contains("gunzip -c"), "\(packed)")
  }

  /// The copy is nobody's file: what is told of it is told of what it is a copy of.
  @Test func whatCameThroughAPipeIsCalledAsItCame() async throws {
    try await damage("a.magicbundle")
    func piped(_ arguments: String...) throws -> Tool.Result {
      let bundle = try FileHandle(forReadingFrom: fixture.folder["a.magicbundle"])
      return try Tool.replay.run(arguments: arguments, input: bundle)
    }
    for result in [try piped("log", "-"), try piped("apply", "-", "--into", path("made"))] {
      #expect(result.status == 3 && result.errors.contains("standard input"), "\(result)")
      #expect(!result.errors.contains("magic-scratch"), "\(result)")
    }
    let told = try piped("log", "-", "--json")
    #expect(told.output.contains(#""path":"standard input""#) && !told.output.contains("magic-scratch"), "\(told.output)")
    let followed = try piped("log", "-", "--follow")
    #expect(followed.status == 64 && followed.errors.contains("standard input is a file that does not grow"), "\(followed)")
    try Data("nothing of ours".utf8).write(to: fixture.folder["a.magicbundle"])
    let other = try piped("log", "-", "--json")
    #expect(other.status == 1 && other.errors.contains("standard input is no segment"), "\(other)")
    #expect(other.output.contains("standard input is no segment") && !other.output.contains("magic-scratch"), "\(other)")
  }

  /// A pipe with a name is waited for until somebody writes to it, or who waits is interrupted.
  @Test func aPipeWithANameIsWaitedFor() async throws {
    try await fixture.write("fine", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try #require(mkfifo(path("pipe"), 0o600) == 0)
    for address in [path("pipe"), "file://\(path("pipe"))"] {
      let waiting = try Tool.replay.start(["log", address])
      try await Task.sleep(for: .seconds(2))
      #expect(waiting.isRunning)
      kill(waiting.processIdentifier, SIGINT)
      #expect(waiting.terminationStatus == 128 + SIGINT)
      let output = Pipe()
      let reading = try Tool.replay.start(["log", address], output: output)
      let writer = try ChildProcess(
        "/bin/sh", ["-c", "sleep 1; cat \"$1\" > \"$2\"", "sh", path("a.magicbundle"), path("pipe")], in: nil,
        input: FileHandle.nullDevice, output: FileHandle.nullDevice, errors: FileHandle.nullDevice,
        environment: ProcessInfo.processInfo.environment)
      let read = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(reading.terminationStatus == 0 && writer.terminationStatus == 0)
      #expect(try read == Tool.replay.run("log", path("a")).output, "\(address)")
    }
  }

  // MARK: Missing

  /// H-31, F-8: a service may bring the marker last. Until then the folder is a remote to whoever means one, and no database's
  /// place.
  @Test func aRemoteWhoseMarkerHasNotComeIsSaid() async throws {
    try await fixture.write("fine", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    try FileManager.default.removeItem(atPath: path("remote/magicdata.json"))
    func files() throws -> [String: Data] { try fixture.folder.contents().filter { $0.key.hasPrefix("remote") } }
    let before = try files()
    let commands: [(Tool, [String])] = [
      (.replay, ["log", path("remote")]), (.replay, ["apply", path("remote"), "--into", path("b")]),
      (.replay, ["undo", path("remote"), "--since", "1h ago"]), (.replay, ["apply", path("a"), "--into", path("remote")]),
      (.sync, ["digest", path("remote")]), (.sync, ["init", path("remote")]), (.sync, ["pull", path("a"), path("remote")]),
      (.sync, ["pull", path("remote"), path("other")]), (.sync, ["compact", path("remote")]),
    ]
    for (tool, arguments) in commands {
      let result = try tool.run(arguments: arguments)
      #expect(result.status == 5 && result.errors.contains("no magicdata.json"), "\(arguments): \(result)")
    }
    #expect(try files() == before)
  }

  /// H-28, H-31: a folder that a service has not brought whole. What somebody says to have put there, and no file has, is
  /// missing to whoever reads it, with a database or without, and such a folder takes no database's place.
  @Test func whatHasNotComeIsMissingToWhoReads() async throws {
    for (id, title) in [("1", "first"), ("2", "second"), ("3", "third")] {
      try await fixture.write(title, to: "a", id: id)
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    try await fixture.write("mine", to: "mine", id: "x")
    let segments = try fixture.segments("remote")
    try #require(segments.count == 3)
    for come in [2, 0] {
      let part = path("part\(come)")
      try FileManager.default.copyItem(atPath: path("remote"), toPath: part)
      for segment in segments[come...] {
        try FileManager.default.removeItem(atPath: "\(part)/segments/\(URL(fileURLWithPath: segment).lastPathComponent)")
      }
      for command in ["log", "stats", "export", "state", "verify"] {
        let read = try Tool.replay.run(command, part)
        #expect(read.status == 3, "\(command) \(come): \(read)")
        #expect(read.errors.contains("\(come + 1) to 3 of replica"), "\(command) \(come): \(read.errors)")
      }
      #expect(try Tool.replay.run("log", part, "--json").lines.contains { $0.contains("\"firstMissing\":\(come + 1)") })
      let checked = try Tool.sync.run("verify", path("a"), part)
      #expect(checked.status == 3 && (checked.output + checked.errors).contains("\(come + 1) to 3 are missing"), "\(checked)")
      // Of what others wrote nothing is missing, nor where somebody who has it is asked as well.
      #expect(try Tool.replay.run("log", part, "--replica", "ffffffff").status == 0)
      #expect(try Tool.replay.run("apply", path("a"), part, "--into", path("both\(come)")).status == 0)
      #expect(try Tool.replay.run("apply", part, "--into", path("new\(come)")).status == (come == 0 ? 1 : 3))
      let forced = try Tool.replay.run("apply", part, "--into", path("mine"), "--force")
      #expect(forced.status == 1 && forced.errors.contains(come == 0 ? "no database was made" : "stays"), "\(forced)")
    }
    // Of a source that goes on where the folder ends, what both lack is missing.
    try Tool.sync.run("clone", path("part2"), path("stale"))
    let together = try fixture.json("apply", path("stale"), path("part0"), "--into", path("together"), status: 3)
    #expect(together.events("missing").first?["firstMissing"] as? Int == 3)
    // What comes after a moment that is there is not asked for.
    #expect(try Tool.replay.run("log", path("part2"), "--until", "2").status == 3)
    #expect(try Tool.replay.run("log", path("part2"), "--until", "1").status == 0)
    // A log that is followed tells what comes after all.
    let log = try FollowingProcess([path("part2")])
    #expect(log.prints(#""firstMissing":3"#))
    try FileManager.default.copyItem(
      atPath: segments[2], toPath: path("part2/segments/\(URL(fileURLWithPath: segments[2]).lastPathComponent)"))
    #expect(log.prints(#""title":"third""#))
    #expect(log.end() == 0)
    // What came is a part of the same journal.
    try Tool.sync.run("sync", path("new2"), path("remote"))
    #expect(try Tool.sync.run("digest", path("new2")).output == Tool.sync.run("digest", path("a")).output)
    // An export that was cut, and a folder of which nobody says what it held.
    let export = try Tool.replay.run("export", path("a")).lines
    try Data(export.dropLast(2).map { $0 + "\n" }.joined().utf8).write(to: fixture.folder["cut.jsonl"])
    let cut = try Tool.replay.run("import", path("cut.jsonl"), "--into", path("mine"), "--force")
    #expect(cut.status == 1 && cut.errors.contains("stays"), "\(cut)")
    try FileManager.default.removeItem(atPath: path("part0/acks"))
    #expect(try Tool.replay.run("log", path("part0")).status == 0)
    let empty = try Tool.replay.run("apply", path("part0"), "--into", path("mine"), "--force")
    #expect(empty.status == 1 && empty.errors.contains("the sources hold nothing"), "\(empty)")
    #expect(try Tool.replay.run("log", path("mine")).output.contains("mine"))
    // In another place what is there makes a database.
    #expect(try Tool.replay.run("import", path("cut.jsonl"), "--into", path("elsewhere")).status == 3)
  }

  /// A folder that is away for a while, as a share may be, is looked at again.
  @Test func aFolderThatIsAwayIsFollowedOn() async throws {
    try await fixture.write("first", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""title":"first""#))
    try FileManager.default.moveItem(atPath: path("remote"), toPath: path("away"))
    #expect(log.prints(#""event":"retrying""#))
    try FileManager.default.moveItem(atPath: path("away"), toPath: path("remote"))
    try await fixture.write("second", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(log.prints(#""title":"second""#))
    #expect(log.end() == 0)
  }

  /// So many changes of one note, each a segment in the folder `remote`; their files by name.
  private func push(_ titles: [String]) async throws -> [String] {
    for title in titles {
      try await fixture.write(title, to: "a", id: "n")
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let names = try fixture.segments("remote").map { URL(fileURLWithPath: $0).lastPathComponent }
    try #require(names.count == titles.count)
    return names
  }

  private func bring(_ name: String, to folder: String) throws {
    try FileManager.default.copyItem(atPath: path("remote/segments/\(name)"), toPath: path("\(folder)/segments/\(name)"))
  }

  /// Writes into the file that is there.
  private func overwrite(_ file: String, _ content: Data) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    try handle.write(contentsOf: content)
    try handle.truncate(atOffset: UInt64(content.count))
    try handle.close()
  }

  /// The titles that it has printed when it ends. One more change shows that it is through with all before, of which nothing is
  /// lacking.
  private func titles(of log: FollowingProcess, over folder: String) async throws -> [String] {
    let (titles, status) = try await ended(log, over: folder)
    #expect(status == 0)
    return titles
  }

  /// The same, with the exit code.
  private func ended(_ log: FollowingProcess, over folder: String) async throws -> (titles: [String], status: Int32?) {
    try await fixture.write("end", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path(folder))
    #expect(log.prints(#""title":"end""#, within: 60_000), "\(log.output)")
    let status = log.end()
    #expect(log.prints(#""event":"summary""#, within: 60_000))
    let titles = log.output.split(separator: "\n").compactMap { line in
      let fields = (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["fields"] as? [String: Any]
      return fields?["title"] as? String
    }
    return (titles, status)
  }

  /// H-28, F-3: files come in any order. What fills a hole is told when it comes, once, and then nothing is lacking.
  @Test(arguments: [[], ["--limit", "0"]] as [[String]]) func whatFillsAHoleIsTold(window: [String]) async throws {
    let names = try await push(["1", "2", "3", "4", "5", "6"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    for name in names[1...3] + names[5...] { try FileManager.default.removeItem(atPath: path("part/segments/\(name)")) }
    let log = try FollowingProcess([path("part")] + window)
    #expect(log.prints(#""firstMissing":2"#, within: 60_000))
    for index in [2, 5, 3, 1] {
      try bring(names[index], to: "part")
      #expect(log.prints(#""title":"\#(index + 1)""#, within: 60_000), "\(log.output)")
    }
    let told = try await titles(of: log, over: "part")
    #expect(told == (window.isEmpty ? ["1", "5"] : []) + ["3", "6", "4", "2", "end"])
  }

  /// F-5: a file that is cut, or has other bytes than it should, comes whole under its name: in a hole, and where nothing
  /// follows.
  @Test(arguments: [1, 2], [true, false]) func whatComesWholeInItsPlaceIsTold(index: Int, isCut: Bool) async throws {
    let names = try await push(["1", "2", "3"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    let file = path("part/segments/\(names[index])")
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    var other = whole
    if isCut { other.removeLast(20) } else { other[other.count - 9] ^= 4 }
    try overwrite(file, other)
    let log = try FollowingProcess([path("part")])
    #expect(log.prints(#""event":"unread""#, within: 60_000))
    try overwrite(file, whole)
    #expect(log.prints(#""title":"\#(index + 1)""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "part")
    #expect(told == (index == 1 ? ["1", "3", "2", "end"] : ["1", "2", "3", "end"]))
  }

  /// What is left out on purpose does not come later, and a file at the end that was cut does.
  @Test func whatIsLeftOutIsNotToldWithWhatComesWhole() async throws {
    let names = try await push(["1", "2", "3"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    let file = path("part/segments/\(names[2])")
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    var other = whole
    other[other.count - 9] ^= 4
    try overwrite(file, other)
    let log = try FollowingProcess([path("part"), "--limit", "1"])
    #expect(log.prints(#""event":"unread""#, within: 60_000))
    try overwrite(file, whole)
    #expect(log.prints(#""title":"3""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "part")
    // The last one that could be read, and what came later.
    #expect(told == ["2", "3", "end"])
  }

  /// F-18: a file that holds what fills a hole and what was told takes the place of all.
  @Test func whatFillsAHoleFromALargerFileIsToldOnce() async throws {
    let names = try await push(["1", "2", "3", "4"])
    for copy in ["part", "joined"] { try FileManager.default.copyItem(atPath: path("remote"), toPath: path(copy)) }
    try Tool.sync.run("compact", path("joined"))
    let joined = try fixture.segments("joined")
    try #require(joined.count == 1)
    try FileManager.default.removeItem(atPath: path("part/segments/\(names[1])"))
    let log = try FollowingProcess([path("part")])
    #expect(log.prints(#""title":"4""#, within: 60_000))
    try FileManager.default.copyItem(
      atPath: joined[0], toPath: path("part/segments/\(URL(fileURLWithPath: joined[0]).lastPathComponent)"))
    for index in [0, 2, 3] { try FileManager.default.removeItem(atPath: path("part/segments/\(names[index])")) }
    #expect(log.prints(#""title":"2""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "part")
    #expect(told == ["1", "3", "4", "2", "end"])
  }

  /// K-1: a floor that rises stands for what was told. What was lacking and is given up then was never told, and that stays
  /// said.
  @Test func whatIsGivenUpMeanwhileIsNotToldAgain() async throws {
    let names = try await push(["1", "2", "3"])
    try FileManager.default.moveItem(atPath: path("remote/segments/\(names[1])"), toPath: path("away"))
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""firstMissing":2"#, within: 60_000))
    try Tool.sync.run("compact", path("a"), path("remote"))
    #expect(try !FileManager.default.contentsOfDirectory(atPath: path("remote/checkpoints")).isEmpty)
    let (told, status) = try await ended(log, over: "remote")
    // If it looks before the compaction is through, it may tell what was lacking as well.
    let isAllTold = told.contains("2")
    #expect(told.filter { $0 != "2" } == ["1", "3", "end"] && told.filter { $0 == "2" }.count <= 1, "\(told)")
    #expect(status == (isAllTold ? 0 : 3))
  }

  /// Three changes of one note that were given up, in the folder `remote`, and their segments in the folder `kept`; the
  /// checkpoint.
  private func compact() async throws -> String {
    _ = try await push(["1", "2", "3"])
    try FileManager.default.copyItem(atPath: path("remote/segments"), toPath: path("kept"))
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    let checkpoints = try FileManager.default.contentsOfDirectory(atPath: path("remote/checkpoints"))
    let name = try #require(checkpoints.first { !$0.hasPrefix(".") })
    return path("remote/checkpoints/\(name)")
  }

  /// K-12: what a checkpoint has kept that comes whole is told, and is lacking until then.
  @Test func whatACheckpointHasKeptIsToldOnceItIsWhole() async throws {
    let file = try await compact()
    try await fixture.write("4", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    try overwrite(file, whole.prefix(40))
    let interrupted = try FollowingProcess([path("remote")])
    #expect(interrupted.prints(#""event":"unread""#, within: 60_000))
    #expect(interrupted.end() == 3)
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""event":"unread""#, within: 60_000))
    try overwrite(file, whole)
    #expect(log.prints(#""title":"3""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "remote")
    #expect(told == ["4", "3", "end"])
  }

  /// K-1: what was told as it is kept is not told again where its files come back.
  @Test func whatIsKeptIsNotToldAgain() async throws {
    _ = try await compact()
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""title":"3""#, within: 60_000))
    try await fixture.write("4", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    #expect(log.prints(#""title":"4""#, within: 60_000), "\(log.output)")
    for name in try FileManager.default.contentsOfDirectory(atPath: path("kept")) {
      try FileManager.default.copyItem(atPath: path("kept/\(name)"), toPath: path("remote/segments/\(name)"))
    }
    let told = try await titles(of: log, over: "remote")
    #expect(told == ["3", "4", "end"])
  }

  /// What is older than was asked for does not come with what fills a hole.
  @Test func whatIsTooOldIsNotToldWithWhatFillsAHole() async throws {
    let names = try await push(["1", "2", "3", "4"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    for name in names[1...2] { try FileManager.default.removeItem(atPath: path("part/segments/\(name)")) }
    // Of four changes an hour apart, the first one at 15:06, the last two.
    let log = try FollowingProcess([path("part"), "--since", "2025-06-15T17:00:00Z"])
    #expect(log.prints(#""firstMissing":2"#, within: 60_000))
    for name in names[1...2] { try bring(name, to: "part") }
    #expect(log.prints(#""title":"3""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "part")
    #expect(told == ["4", "3", "end"])
  }

  /// K-16: one that can be read at last is not lacking any more, also where the files that it stands for are back and it is not
  /// needed.
  @Test func aCheckpointThatIsWholeAgainIsNotLackingWhereItIsNotNeeded() async throws {
    let file = try await compact()
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    try overwrite(file, whole.prefix(40))
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""event":"unread""#, within: 60_000))
    for name in try FileManager.default.contentsOfDirectory(atPath: path("kept")).sorted() {
      try FileManager.default.copyItem(atPath: path("kept/\(name)"), toPath: path("remote/segments/\(name)"))
    }
    #expect(log.prints(#""title":"3""#, within: 60_000), "\(log.output)")
    try overwrite(file, whole)
    let told = try await titles(of: log, over: "remote")
    #expect(told == ["1", "2", "3", "end"])
  }

  /// H-28: that somebody has put more there is heard of whenever that is said.
  @Test func acknowledgementsThatComeLaterAreHeard() async throws {
    let names = try await push(["1", "2"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    for name in ["acks", "segments/\(names[1])"] { try FileManager.default.removeItem(atPath: path("part/\(name)")) }
    let log = try FollowingProcess([path("part")])
    #expect(log.prints(#""title":"1""#, within: 60_000))
    try FileManager.default.copyItem(atPath: path("remote/acks"), toPath: path("part/acks"))
    #expect(log.prints(#""firstMissing":2"#, within: 60_000), "\(log.output)")
    try bring(names[1], to: "part")
    #expect(log.prints(#""title":"2""#, within: 60_000), "\(log.output)")
    let told = try await titles(of: log, over: "part")
    #expect(told == ["1", "2", "end"])
  }

  /// K-1: what a moment is named by may be given up while what comes after it is followed.
  @Test func aMomentStaysWhatItWas() async throws {
    let names = try await push(["1", "2", "3"])
    let replica = try #require(names[0].split(separator: ".").first)
    let log = try FollowingProcess([path("remote"), "--since", "\(replica.prefix(8)):2"])
    #expect(log.prints(#""title":"3""#, within: 60_000))
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    let told = try await titles(of: log, over: "remote")
    #expect(told == ["2", "3", "end"])
    #expect(!log.output.contains(#""event":"retrying""#), "\(log.output)")
  }

  /// F-24: nothing comes any more to a database that has no name.
  @Test(arguments: [true, false]) func aDatabaseThatIsReplacedOrRemovedIsNoLongerFollowed(isReplaced: Bool) async throws {
    try await fixture.write("first", to: "a", id: "n")
    try #require(Tool.sync.run("init", path("other")).status == 0)
    let log = try FollowingProcess([path("a")])
    #expect(log.prints(#""title":"first""#, within: 60_000))
    if isReplaced {
      #expect(rename(path("other/default.sqlite3"), path("a/default.sqlite3")) == 0)
    } else {
      try FileManager.default.removeItem(atPath: path("a/default.sqlite3"))
    }
    #expect(log.prints(isReplaced ? "was replaced" : "was moved or removed", within: 60_000), "\(log.output)")
    // To its end.
    #expect(!log.prints("nothing more", within: 60_000))
    #expect(log.end() == 1)
  }

  #if os(Linux)
    /// What was printed would come again, and begin in the middle of a line.
    @Test func aFollowedLogWithoutRoomForWhatItPrintsEnds() async throws {
      _ = try await push(["1"])
      let (full, errors) = (try #require(FileHandle(forWritingAtPath: "/dev/full")), Pipe())
      let log = try Tool.replay.start(["log", path("remote"), "--follow", "--limit", "0"], output: full, errors: errors)
      let latest = ContinuousClock.now + .seconds(120)
      var number = 1
      // What is there when it begins is not printed.
      while log.isRunning, ContinuousClock.now < latest {
        number += 1
        try await fixture.write("\(number)", to: "a", id: "n")
        try Tool.sync.run("push", path("a"), path("remote"))
        try await Task.sleep(for: .seconds(1))
      }
      try #require(!log.isRunning)
      let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(log.terminationStatus == 9, "\(message)")
      #expect(message.contains("standard output could not be written") && !message.contains("Trying again"), "\(message)")
    }
  #endif

  /// The last so many are those that can be read.
  @Test func theLastOnesBeforeWhatIsDamagedAreShown() async throws {
    let names = try await push(["1", "2", "3", "4"])
    let file = path("remote/segments/\(names[3])")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    bytes[bytes.count - 9] ^= 4
    try overwrite(file, bytes)
    let read = try fixture.json("log", path("remote"), "--limit", "2", status: 3)
    #expect(read.events("entry").compactMap { ($0["fields"] as? [String: Any])?["title"] as? String } == ["2", "3"])
  }

  /// K-16: what is readable behind a damaged file is shown, also where a checkpoint stands for that file.
  @Test func whatFollowsADamagedFileBelowAFloorIsShown() async throws {
    for title in ["1", "2", "3"] {
      try await fixture.write(title, to: "a", id: "n")
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    try FileManager.default.copyItem(atPath: path("remote/segments"), toPath: path("kept"))
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: path("kept")) {
      try FileManager.default.copyItem(atPath: path("kept/\(name)"), toPath: path("remote/segments/\(name)"))
    }
    let second = URL(fileURLWithPath: try fixture.segments("remote").sorted()[1])
    var bytes = try Data(contentsOf: second)
    bytes[bytes.count - 9] ^= 4
    try bytes.write(to: second)
    try await fixture.write("later", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let log = try Tool.replay.run("log", path("remote"))
    #expect(log.status == 3 && log.output.contains("later") && log.errors.contains(second.lastPathComponent), "\(log)")
  }

  // MARK: Damaged
  // MARK: Damaged

  private static let (batches, perBatch) = (3, 100)

  /// Three batches of changes, each a segment, and each with a change of the note n; of which something is damaged.
  private func damage(_ source: String) async throws {
    for batch in 0..<ReplaySourceTests.batches {
      try await fixture.write("n \(batch)", to: "a", id: "n")
      try await fixture.work("a") { magic in
        for number in 1..<ReplaySourceTests.perBatch { try await magic.update(Note("\(batch) \(number)", UUID().uuidString)) }
      }
      for place in ["remote", "a.magicbundle"] { try Tool.sync.run("push", path("a"), path(place)) }
    }
    let segments = try fixture.segments("remote").map { URL(fileURLWithPath: $0) }
    try #require(segments.count == ReplaySourceTests.batches)
    switch source {
    case "remote":
      var bytes = try Data(contentsOf: segments[1])
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: segments[1])
    case "a.magicbundle":
      let bundle = fixture.folder[source]
      try Data(contentsOf: bundle).dropLast(40).write(to: bundle)
    case "cut.segment": try Data(contentsOf: segments[0]).dropLast(600).write(to: fixture.folder[source])
    default:
      let whole = Data(try Tool.replay.run("export", path("a")).output.utf8)
      try whole.prefix(whole.count / 2).write(to: fixture.folder[source])
    }
  }

  /// S-1, H-32: each command shows what can be read, and says of the rest where it is.
  @Test(arguments: [
    ("remote", "at byte"), ("a.magicbundle", "byte"), ("cut.segment", "at byte"), ("a.jsonl", "a.jsonl, line"),
  ])
  func ofDamagedSourcesWhatCanBeReadIsShown(source: String, place: String) async throws {
    try await damage(source)
    let all = try Tool.replay.run("log", path("a")).lines
    func run(_ command: String, _ arguments: String...) throws -> Tool.Result {
      let result = try Tool.replay.run(arguments: [command, path(source)] + arguments)
      #expect(result.status == 3, "\(command): \(result.errors)")
      #expect(result.errors.contains(fixture.path(source)) && result.errors.contains(place), "\(command): \(result.errors)")
      return result
    }
    let log = try run("log").lines
    #expect(1..<all.count ~= log.count && Set(log).isSubset(of: all))
    let stats = try #require(fixture.json("stats", path(source), status: 3).last)
    #expect(stats["transactions"] as? Int == log.count && stats["exit"] as? Int == 3, "\(stats)")
    _ = try run("stats")
    // What is exported may be merged elsewhere, so of a file that failed its check nothing is.
    let checked = source == "cut.segment" ? 0 : log.count
    let exported = try run("export").lines
    #expect(exported.filter { $0.hasPrefix("{\"transaction\"") }.count == checked)
    #expect(exported.last == "{\"end\":{\"transactions\":\(checked)}}")
    let history = try run("history", "Note", "n").lines
    #expect(history.count == log.filter { $0.contains("update Note n ") }.count && !history.isEmpty)
    #expect(try !run("blame", "Note", "n").lines.isEmpty)
    let state = try run("state").lines
    #expect(state.first?.hasPrefix("type") == true && 2..<all.count ~= state.count)
    #expect(try run("verify").output.hasSuffix("not all is well\n"))
  }

  /// Programs get the same, once, with the file that is meant.
  @Test(arguments: ["remote", "a.magicbundle", "cut.segment", "a.jsonl"])
  func programsLearnWhatIsDamaged(source: String) async throws {
    try await damage(source)
    for command in ["log", "stats", "state", "verify"] {
      let lines = try fixture.json(command, path(source), status: 3)
      let unread = lines.events("unread")
      #expect(!unread.isEmpty && unread.texts("path").allSatisfy { $0.hasPrefix(path(source)) }, "\(command): \(unread)")
      #expect(Set(unread.texts("message")).count == unread.count, "\(command): \(unread)")
      // The folder lacks what its second file has.
      let missing = lines.events("missing").compactMap { $0["firstMissing"] as? Int }
      #expect(missing == (source == "remote" ? [ReplaySourceTests.perBatch + 1] : []), "\(command): \(missing)")
      if command == "verify" {
        let summary = try #require(lines.last)
        #expect(summary["unread"] as? Int == unread.count && summary["missing"] as? Int == missing.count, "\(summary)")
      }
    }
    // O-1: standard output is the export's.
    let exported = try Tool.replay.run("export", path(source), "--json")
    for event in ["unread", "summary"] {
      #expect(exported.errors.contains("\"event\":\"\(event)\""), "\(exported.errors)")
    }
  }

  /// The same words for who takes the rest and for who takes nothing.
  @Test func aDamagedBundleIsAppliedAsFarAsItGoesAndNotCloned() async throws {
    try await damage("a.magicbundle")
    let applied = try Tool.replay.run("apply", path("a.magicbundle"), "--into", path("applied"))
    #expect(applied.status == 3 && applied.output.contains("made the database"), "\(applied)")
    let cloned = try Tool.sync.run("clone", path("a.magicbundle"), path("cloned"))
    #expect(cloned.status == 1, "\(cloned)")
    for result in [applied, cloned] { #expect(result.errors.contains("What is damaged was not taken"), "\(result.errors)") }
  }

  /// X-1: nobody knows the data set of a file whose header is damaged, and nothing follows.
  @Test func anExportHasItsFirstLineWhateverIsDamaged() async throws {
    try await fixture.write("x", to: "a", id: "n")
    try Tool.sync.run("push", path("a"), path("remote"))
    let segment = URL(fileURLWithPath: try fixture.segments("remote")[0])
    var bytes = try Data(contentsOf: segment)
    bytes[20] ^= 1
    try bytes.write(to: segment)
    let exported = try Tool.replay.run("export", segment.path)
    #expect(exported.status == 3 && exported.errors.contains(segment.path), "\(exported)")
    #expect(exported.lines.count == 2 && exported.lines.last == "{\"end\":{\"transactions\":0}}", "\(exported.output)")
    try Data(exported.output.utf8).write(to: fixture.folder["x.jsonl"])
    let log = try Tool.replay.run("log", path("x.jsonl"))
    #expect(log.status == 0 && log.output.isEmpty, "\(log)")
  }

  /// What is damaged before the moment that is asked for is lacking, though what is after it is not wanted.
  @Test func whatIsDamagedBeforeTheEndOfAWindowIsSaid() async throws {
    for title in ["1", "2", "3"] {
      try await fixture.write(title, to: "a", id: title)
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let second = URL(fileURLWithPath: try fixture.segments("remote")[1])
    var bytes = try Data(contentsOf: second)
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: second)
    // The second is of 16:06:40, the third of an hour later.
    let until = ["--until", "2025-06-15T16:30:00Z"]
    for command in [["log"], ["stats"], ["export"], ["apply", "--into", path("then")]] {
      let result = try Tool.replay.run(arguments: [command[0], path("remote")] + command.dropFirst() + until)
      #expect(result.status == 3, "\(command): \(result)")
      #expect(result.errors.contains(second.path), "\(command): \(result)")
    }
  }

  /// Of a database a row of its journal: that transaction is named, and objects whose entries lead over it.
  @Test func ofADamagedDatabaseWhatCanBeReadIsShown() async throws {
    for (id, title) in [("n", "1"), ("n", "2"), ("n", "3"), ("other", "4")] { try await fixture.write(title, to: "a", id: id) }
    try await fixture.work("b") { magic in try await magic.update(Note("other", "4")) }
    try fixture.sql("UPDATE magic_journal SET data = x'05ff' WHERE id = 2", in: "a")
    let stats = try fixture.json("stats", path("a"), status: 3)
    #expect(stats.last?["transactions"] as? Int == 3)
    #expect(stats.events("unread").texts("message").first?.contains(":2") == true, "\(stats)")
    let exported = try Tool.replay.run("export", path("a"))
    #expect(exported.status == 3 && exported.errors.contains(":2: "), "\(exported.errors)")
    #expect(exported.lines.last == "{\"end\":{\"transactions\":3}}")
    let state = try fixture.json("state", path("a"), status: 3)
    #expect(state.events("object").texts("object") == ["other"])
    #expect(state.events("unread").texts("message").first?.contains("Note n") == true, "\(state)")
    let diff = try fixture.json("diff", path("b"), path("a"), status: 3)
    #expect(diff.events("unread").texts("message").first?.contains("Note n") == true, "\(diff)")
    for command in ["history", "blame"] {
      #expect(try Tool.replay.run(command, path("a"), "Note", "other").status == 0)
      let result = try Tool.replay.run(command, path("a"), "Note", "n")
      #expect(result.status == 3, "\(command): \(result)")
      #expect(result.output.contains("title=\"3\"") && result.errors.contains("a/default.sqlite3"), "\(command): \(result)")
    }
    // What is damaged may be what tells of an object.
    try Tool.sync.run("push", path("b"), path("remote"))
    let segment = try fixture.segments("remote")[0]
    try Data(contentsOf: URL(fileURLWithPath: segment)).dropLast(1).write(to: URL(fileURLWithPath: segment))
    let unknown = try Tool.replay.run("history", path("remote"), "Note", "other")
    #expect(unknown.status == 1 && unknown.errors.contains("no Note other") && unknown.errors.contains(segment), "\(unknown)")
  }

  // MARK: Nothing there

  @Test(arguments: [
    ["log"], ["stats"], ["state"], ["verify"], ["export"], ["history", "Note", "n"], ["blame", "Note", "n"],
    ["bisect", "--test", "true"], ["diff", "--from", "now"], ["apply", "--into", "new"], ["import", "--into", "new"],
    ["undo", "--since", "1h ago"],
  ])
  func whatIsNotThereIsNamed(command: [String]) throws {
    let nothing = path("nothing")
    let result = try Tool.replay.run(arguments: [command[0], nothing] + command.dropFirst(), in: fixture.folder.url)
    #expect(result.status == 1, "\(result)")
    #expect(result.output.isEmpty, "\(result.output)")
    #expect(result.errors.hasPrefix("magic-replay: there is no") && result.errors.contains(nothing), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    #expect(try fixture.folder.contents().isEmpty)
  }

  @Test func whatIsNotThereIsToldToPrograms() async throws {
    try await fixture.write("x", to: "a", id: "n")
    let lines = try fixture.json("diff", path("a"), path("nothing"), status: 1)
    #expect(lines.count == 1)
    #expect(lines.last?["exit"] as? Int == 1 && lines.last?["command"] as? String == "diff")
    #expect((lines.last?["error"] as? [String: String])?["code"] == "notFound")
    // What cannot be undone is no database.
    try Tool.sync.run("push", path("a"), path("remote"))
    let undone = try Tool.replay.run("undo", path("remote"), "--since", "1h ago")
    #expect(undone.status == 1 && undone.errors.contains("is a remote, and no database"), "\(undone.errors)")
    let plotted = try Tool.replay.run("stats", path("a"), "--plot", path("nowhere/plot.svg"))
    #expect(plotted.status == 1 && plotted.errors.contains("make it first"), "\(plotted.errors)")
  }

  // MARK: Wrong arguments

  private static let wrong: [([String], String)] = [
    (["state", ".", "--at", "tomorrow"], "2h ago"), (["export", ".", "--until", "soon"], "2h ago"),
    (["undo", ".", "--since", "soon"], "2h ago"), (["diff", ".", "--from", "soon"], "2h ago"),
    (["apply", ".", "--into", "x", "--until", "soon"], "2h ago"),
    (["apply", ".", "--into", "x", "--skip", "first"], "sequence"),
    (["diff", "."], "two sources"), (["diff", ".", ".", "--to", "now"], "two sources"), (["apply", "."], "--into"),
    (["diff", ".", ".", "--from", "now"], "two sources"), (["apply", "--into", "x"], "<SOURCE>"),
    (["apply", ".", "--into", "x", "--seed", "1"], "--shuffle"), (["undo", "."], "--transaction"),
    (["undo", ".", "--since", "now", "--transaction", "1"], "--transaction"), (["history", ".", "Note"], "<PRIMARY>"),
    (["bisect", "."], "--test"), (["verify", ".", "--repair", "both"], "journal"), (["log", ".", "--op", "insert"], "remove"),
    (["log", ".", "--limit", "many"], "--limit"), (["stats", ".", "--since", "25:00"], "2h ago"), (["stats"], "<SOURCE>"),
    (["state", ".", "--nothing"], "--nothing"), (["log", ".", "--replica", ""], "and not ''"),
    (["stats", ".", "--replica", "1a", "--replica", ""], "and not ''"),
    (["undo", ".", "--since", "1h ago", "--replica", ""], "and not ''"),
    (["apply", ".", "--into", "x", "--replica", ""], "and not ''"),
    (["log", ".", "--replica", "zz"], "and not 'zz'"), (["undo", ".", "--since", "1h ago", "--replica", "zz"], "and not 'zz'"),
    (["apply", ".", "--into", "x", "--replica", String(repeating: "1a", count: 17)], "hexadecimal digits"),
    (["bisect", ".", "--test", ""], "and not ''"), (["bisect", ".", "--test", " "], "and not ' '"),
    (["apply", "-", "-", "--into", "x"], "read once"), (["diff", "-", "-"], "read once"),
  ]

  /// They are refused before anything is looked at, with what would do.
  @Test(arguments: ReplaySourceTests.wrong) func wrongArgumentsAreRefused(arguments: [String], remedy: String) throws {
    let result = try Tool.replay.run(arguments: arguments, in: fixture.folder.url)
    #expect(result.status == 64 && result.output.isEmpty, "\(result)")
    #expect(result.errors.hasPrefix("magic-replay: "), "\(result.errors)")
    #expect(result.errors.contains(remedy), "\(result.errors)")
    #expect(try fixture.folder.contents().isEmpty)
  }

  @Test(arguments: ["LIMIT": "many", "JSON": "maybe", "FOLLOW": "often", "SEED": "x", "SINCE": "soon", "OP": "insert"])
  func wrongTwinsAreRefusedToo(name: String, value: String) async throws {
    try await fixture.write("x", to: "a", id: "n")
    let result = try Tool.replay.run("log", path("a"), environment: ["MAGIC_REPLAY_\(name)": value])
    #expect(result.status == 64, "\(result)")
    #expect(result.errors.contains(value), "\(result.errors)")
  }

  /// A transaction cannot be named by a time.
  @Test func whereATransactionIsMeantATimeIsNone() async throws {
    try await fixture.write("x", to: "a", id: "n")
    for arguments in [
      ["undo", path("a"), "--transaction", "now"], ["apply", path("a"), "--into", path("new"), "--skip", "now"],
    ] {
      let result = try Tool.replay.run(arguments: arguments)
      #expect(result.status == 64 && result.errors.contains("replica:sequence"), "\(result)")
    }
    #expect(try fixture.folder.contents().keys.allSatisfy { !$0.hasPrefix("new") })
  }
}
