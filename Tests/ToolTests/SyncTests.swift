import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String

  init() {}

  init(_ id: String, _ title: String) {
    self.id = id
    self.title = title
  }
}

@Suite struct SyncTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  /// Nobody writes into the pipe.
  @Test(arguments: [["pull"], ["clone", "-"]]) func whoWaitsForAPipeIsInterrupted(command: [String]) async throws {
    try await write("n", to: "a")
    let (input, errors) = (Pipe(), Pipe())
    let arguments = command == ["pull"] ? ["pull", path("a"), "-"] : command + [path("b")]
    let process = try Tool.sync.start(arguments, input: input, errors: errors)
    // A part of a header, and no more.
    try input.fileHandleForWriting.write(contentsOf: Data([0x4d, 0x44]))
    try await Task.sleep(for: .seconds(2))
    kill(process.processIdentifier, SIGTERM)
    #expect(process.terminationStatus == 128 + SIGTERM)
    withExtendedLifetime(input) {}
  }

  /// What would be ignored on an address without TLS is refused.
  @Test(arguments: ["--cert", "--key", "--client-ca"]) func certificatesAreForTLS(option: String) throws {
    let serve = try Tool.sync.run("serve", path("hub"), "--listen", "unix:\(path("socket"))", option, path("none.pem"))
    #expect(serve.status == 64 && serve.errors.contains("tls://"), "\(serve)")
  }

  /// Nor does a client take a server for one that was checked.
  @Test(arguments: ["--ca", "--fingerprint"], ["tcp://127.0.0.1:1", "unix:/nowhere"])
  func whatChecksAServerIsForTLS(option: String, remote: String) async throws {
    try await write("first", to: "a")
    let value = option == "--ca" ? path("none.pem") : String(repeating: "0", count: 64)
    let sync = try Tool.sync.run("sync", path("a"), remote, option, value)
    #expect(sync.status == 64 && sync.errors.contains("tls://"), "\(sync)")
    let log = try Tool.replay.run("log", remote, option, value)
    #expect(log.status != 0 && log.errors.contains("tls://"), "\(log)")
  }

  /// An empty variable is none.
  @Test func anEmptyProgramIsTheUsualOne() async throws {
    try await write("first", to: "a")
    let sync = try Tool.sync.run(
      "sync", path("a"), "ssh://nobody.invalid/x", environment: ["MAGIC_SYNC_SSH": "", "PATH": folder.url.path])
    #expect(sync.errors.contains("ssh") && !sync.errors.contains(":  could not be run"), "\(sync)")
  }

  private func write(_ title: String, to name: String) async throws {
    let magic = try await MagicData(path: folder[name])
    try await magic.update(Note(title, title))
    try await magic.close()
  }

  /// A run that must fail: one line that names what it is about, nothing on standard output, nothing changed.
  private func expectFailure(
    _ status: Int32, naming text: String, _ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = try contents()
    let process: Tool.Result =
      switch arguments.count {
      case 2: try Tool.sync.run(arguments[0], arguments[1])
      default: try Tool.sync.run(arguments[0], arguments[1], arguments[2])
      }
    #expect(process.status == status, "\(process.errors)", sourceLocation: sourceLocation)
    #expect(process.errors.contains(text), "\(process.errors)", sourceLocation: sourceLocation)
    #expect(process.errors.hasPrefix("magic-sync: "), sourceLocation: sourceLocation)
    #expect(process.output.isEmpty, sourceLocation: sourceLocation)
    #expect(try contents() == before, sourceLocation: sourceLocation)
  }

  /// Without what SQLite keeps beside a database for those who have it open.
  private func contents() throws -> [String: Data] {
    try folder.contents().filter { !$0.key.hasSuffix("-shm") }
  }

  @Test func twoReplicasThatWereWrittenApartEndEqual() async throws {
    #expect(try Tool.sync.run("init", path("a")).status == 0)
    try await write("from a", to: "a")
    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("clone", "file://" + path("remote"), path("b.sqlite")).status == 0)
    try await write("more from a", to: "a")
    try await write("from b", to: "b.sqlite")
    for name in ["a", "b.sqlite", "a"] {
      #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0)
    }
    #expect(try Tool.sync.run("pull", path("new"), path("remote")).status == 0)
    let digests = try ["a", "b.sqlite", "new"].map { name in
      let output = try Tool.sync.run("digest", path(name), "--json").output
      struct Summary: Decodable { let digest: String }
      return try JSONDecoder().decode(Summary.self, from: Data(output.utf8)).digest
    }
    #expect(Set(digests).count == 1)
    #expect(digests[0].count == 32)
    let notes = try await MagicData(path: folder["new"]).object(of: Note.self).map(\.title).sorted()
    #expect(notes == ["from a", "from b", "more from a"])
  }

  @Test func whatTheyDidIsPrintedForPeopleAndPrograms() async throws {
    try await write("x", to: "a")
    #expect(
      try Tool.sync.run("push", path("a"), path("remote")).output.contains("pushed 1 transaction with 1 change in 1 segment"))
    #expect(try Tool.sync.run("push", path("a"), path("remote")).output == "pushed nothing: the remote lacks nothing\n")
    struct Summary: Decodable {
      struct Moved: Decodable { var transactions, changes, segments, bytes, inflatedBytes: Int }
      var pulled: Moved
      var pushed: Moved
    }
    let last = try #require(Tool.sync.run("sync", path("b"), path("remote"), "--json").lines.last)
    let summary = try JSONDecoder().decode(Summary.self, from: Data(last.utf8))
    #expect(summary.pulled.changes == 1)
    #expect(summary.pushed.changes == 0)
  }

  /// H-40: a push must not drop the locks that SQLite holds; else another program, which takes itself for the last one, deletes
  /// the WAL that this one goes on writing to.
  @Test func anotherProgramAfterAPushTakesNothingAway() async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("before", "x"))
    try await MagicReplicator(magic, remote: FolderRemote(folder["remote"])).push()
    let count = "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM Note').fetchone()[0])"
    let file = path("a/default.sqlite3")
    #expect(try Tool.python.run("-c", count, file).output == "1\n")
    try await magic.update(Note("after", "x"))
    try await magic.update(Note("later", "x"))
    #expect(try Tool.python.run("-c", count, file).output == "3\n")
    let digest = try await magic.digest()
    #expect(try Tool.sync.run("digest", path("a")).output == digest + "\n")
    #expect(try Tool.python.run("-c", count, file).output == "3\n")
    try await magic.update(Note("last", "x"))
    #expect(try Tool.python.run("-c", count, file).output == "4\n")
  }

  @Test func whatIsMadeIsSaid() throws {
    try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    let output = try Tool.sync.run("sync", path("a"), path("remote")).output
    #expect(output.contains("made the database \(path("a/default.sqlite3"))"))
    #expect(output.contains("made the remote \(path("remote"))"))
    #expect(try !Tool.sync.run("sync", path("a"), path("remote")).output.contains("made"))
    #expect(try Tool.sync.run("snyc", path("a")).errors.contains("there is no command 'snyc'"))
  }

  @Test func initMakesADatabaseOnce() throws {
    #expect(try Tool.sync.run("init", path("a")).output.hasPrefix("made"))
    let digest = try Tool.sync.run("digest", path("a")).output
    #expect(digest == String(repeating: "0", count: 32) + "\n")
    let again = try Tool.sync.run("init", path("a"))
    #expect(again.status == 0)
    #expect(again.output.contains("already"))
  }

  @Test func whatIsNotThereIsNamed() async throws {
    try await write("x", to: "a")
    try FileManager.default.createDirectory(at: folder["empty"], withIntermediateDirectories: false)
    try expectFailure(1, naming: "no database at", "push", path("nothing"), path("remote"))
    try expectFailure(1, naming: "no database at", "digest", path("nothing.db"))
    try Tool.sync.run("push", path("a"), path("remote"))
    try expectFailure(1, naming: "is a remote", "digest", path("remote"))
    try FileManager.default.removeItem(at: folder["remote"])
    for verb in ["pull"] {
      try expectFailure(1, naming: "there is no folder", verb, path("new"), path("nothing"))
      try expectFailure(1, naming: "is no remote", verb, path("new"), path("empty"))
      try expectFailure(1, naming: "is no remote", verb, path("a"), path("a"))
    }
    try expectFailure(1, naming: "there is no folder", "clone", path("nothing"), path("new"))
    try expectFailure(1, naming: "is no remote", "clone", path("empty"), path("new"))
    try expectFailure(1, naming: "there is no folder", "push", path("a"), path("no/remote"))
    try Tool.sync.run("init", path("made"))
    try expectFailure(1, naming: "there is no folder", "sync", path("made"), path("no/remote"))
    try expectFailure(1, naming: "there is no folder", "init", path("no/database"))
  }

  /// Two empty ones that were made of mistyped names would go on well with each other.
  @Test(arguments: ["remote", "notes.magicbundle"]) func twoNamesThatMeanNothingMakeNothing(remote: String) async throws {
    var commands = [["sync"]]
    if remote == "remote" { commands += [["sync", "--watch"], ["pull", "--watch"]] }
    for command in commands {
      let refused = try Tool.sync.run(arguments: [command[0], path("a"), path(remote)] + command.dropFirst())
      #expect(refused.status == 1 && refused.errors.contains("neither a database at \(path("a"))"), "\(command): \(refused)")
      #expect(refused.errors.contains("`magic-sync init "), "\(refused)")
      #expect(try folder.contents().isEmpty)
    }
    // One of them is enough to know that the other is meant.
    try #require(Tool.sync.run("init", path("a")).status == 0)
    for name in ["a", "b"] { #expect(try Tool.sync.run("sync", path(name), path(remote)).status == 0) }
  }

  /// A bundle that was saved under another name, and another program's file.
  @Test func aFileIsNoRemote() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("x.magicbundle"))
    try FileManager.default.moveItem(at: folder["x.magicbundle"], to: folder["x.bundle"])
    for verb in ["pull", "push", "sync"] {
      try expectFailure(1, naming: "a bundle's name ends in .magicbundle", verb, path("a"), path("x.bundle"))
    }
    let piped = try Tool.sync.run("pull", path("b"), "-", input: FileHandle(forReadingFrom: folder["x.bundle"]))
    #expect(piped.status == 0, "\(piped)")
  }

  /// As a program leaves it that was killed while it made the database.
  @Test(arguments: ["pull", "sync"]) func anEmptyFileIsMadeADatabase(command: String) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try FileManager.default.createDirectory(at: folder["b"], withIntermediateDirectories: false)
    try Data().write(to: folder["b/default.sqlite3"])
    let made = try Tool.sync.run(command, path("b"), path("remote"))
    #expect(made.status == 0 && made.output.contains("made the database"), "\(made)")
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output)
  }

  @Test func addressesOfOtherKindsAreRefused() async throws {
    try await write("x", to: "a")
    for (text, address) in [
      ("gopher: is no kind of remote", "gopher://host/x"), ("no address of a server", "tcp:localhost:1"),
      ("of this machine", "file://elsewhere/x"), ("empty", ""),
    ] {
      let refused = try Tool.sync.run("push", path("a"), address)
      #expect(refused.status == 64 && refused.errors.contains(text), "\(refused.errors)")
    }
    let refused = try Tool.sync.run("init", "")
    #expect(refused.status == 64 && refused.errors.contains("empty"), "\(refused.errors)")
  }

  @Test func filesThatAreNoDatabasesAreRefused() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Data("A letter, which is longer than the header of a database would be, since it goes on and on and on and on.".utf8)
      .write(to: folder["letter.db"])
    try Data().write(to: folder["void.db"])
    for verb in ["push", "pull", "sync"] {
      try expectFailure(1, naming: "letter.db", verb, path("letter.db"), path("remote"))
    }
    try expectFailure(1, naming: "letter.db", "digest", path("letter.db"))
    try expectFailure(1, naming: "letter.db", "init", path("letter.db"))
    try expectFailure(1, naming: "void.db", "push", path("void.db"), path("remote"))
  }

  @Test func cloneDoesNotTouchADatabaseThatIsThere() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try expectFailure(1, naming: "already", "clone", path("remote"), path("a"))
  }

  /// H-29: what is damaged or missing is named, and the rest is merged, into a new database as well.
  @Test(arguments: ["cut", "flipped", "missing"]) func aDamagedFileIsPartlyDone(damage: String) async throws {
    for title in ["x", "y", "z"] {
      try await write(title, to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
    }
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).sorted().dropFirst().first)
    let file = folder["remote/segments/\(name)"]
    var bytes = try Data(contentsOf: file)
    switch damage {
    case "cut": try bytes.dropLast(4).write(to: file)
    case "flipped":
      bytes[bytes.count - 5] ^= 1
      try bytes.write(to: file)
    default: try FileManager.default.removeItem(at: file)
    }
    try Tool.sync.run("init", path("b"))
    for arguments in [
      ["pull", "new", "remote"], ["clone", "remote", "new.sqlite"], ["sync", "b", "remote"], ["pull", "b", "remote"],
    ] {
      let result = try Tool.sync.run(arguments[0], path(arguments[1]), path(arguments[2]))
      #expect(result.status == 3, "\(arguments)")
      #expect(result.errors.contains(damage == "missing" ? "transactions 2 to 2" : name), "\(result.errors)")
      #expect(!result.output.contains("lacks nothing\npushed"), "\(result.output)")
    }
    let notes = try await MagicData(path: folder["new.sqlite"]).object(of: Note.self).map(\.title)
    #expect(notes == ["x"])
    struct Summary: Decodable {
      struct Pulled: Decodable {
        struct Unread: Decodable { var path, message: String }
        struct Gap: Decodable { var firstMissing, lastMissing: Int }
        var unread: [Unread]
        var missing: [Gap]
      }
      var pulled: Pulled
    }
    let output = try Tool.sync.run("pull", path("new"), path("remote"), "--json")
    #expect(output.status == 3)
    #expect(output.lines.contains { $0.contains(damage == "missing" ? #""event":"missing""# : #""event":"unread""#) })
    let summary = try JSONDecoder().decode(Summary.self, from: Data(#require(output.lines.last).utf8))
    #expect(summary.pulled.unread.map(\.path) == (damage == "missing" ? [] : [file.path]))
    #expect(summary.pulled.missing.map(\.firstMissing) == [2])

    #expect(try Tool.sync.run("push", path("a"), path("remote")).status == 0)
    for name in ["new", "new.sqlite", "b"] {
      #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0)
      #expect(try Tool.sync.run("digest", path(name)).output == Tool.sync.run("digest", path("a")).output)
    }
  }

  @Test func eachKindOfRefusalHasItsExitCode() async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try await write("y", to: "b")
    try Tool.sync.run("push", path("b"), path("elsewhere"))
    try expectFailure(7, naming: "another data set", "sync", path("b"), path("remote"))

    try copyUnnoticed(folder["a"], to: folder["copy"])
    try await write("first", to: "a")
    try await write("second", to: "copy")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("copy"), path("side"))
    try Tool.sync.run("clone", path("side"), path("third"))
    // What needed a person once is said, and done.
    let closing = try Tool.sync.run("sync", path("third"), path("remote"))
    #expect(closing.status == 0)
    #expect(closing.errors.contains("two databases have written under the id"))

    for arguments in [["push"], ["frobnicate"], ["push", "a", "b", "c"], ["digest", "a", "--nonsense"]] {
      let process = try Tool.sync.start(arguments, output: FileHandle.nullDevice, errors: FileHandle.nullDevice)
      process.waitUntilExit()
      #expect(process.terminationStatus == 64, "\(arguments)")
    }
    #expect(try Tool.sync.run("--help").output.contains("Exit codes"))
  }

  /// H-7, H-8: a copy, and what was put back from a backup, go on as replicas of their own, and nothing is lost.
  @Test(arguments: [false, true]) func copiesAndBackupsGoOn(unnoticed: Bool) async throws {
    try await write("x", to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    if unnoticed {
      try copyUnnoticed(folder["a"], to: folder["copy"])
    } else {
      try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    }
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    try await write("first", to: "a")
    try await write("second", to: "copy")
    try Tool.sync.run("push", path("a"), path("remote"))
    let copy = try Tool.sync.run("sync", path("copy"), path("remote"))
    #expect(copy.status == 0)
    // What noticed it when it was written to has said nothing to the tool.
    #expect(copy.errors.contains("goes on as a replica of its own") == unnoticed, "\(copy.errors)")
    try putBack(folder["backup"], into: folder["a"], unnoticed: unnoticed)
    let back = try Tool.sync.run("sync", path("a"), path("remote"))
    #expect(back.errors.contains("goes on as a replica of its own"), "\(back.errors)")
    try await write("third", to: "a")
    for name in ["a", "copy", "b", "a", "copy"] { #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0) }
    for name in ["copy", "b"] {
      #expect(try Tool.sync.run("digest", path(name)).output == Tool.sync.run("digest", path("a")).output)
    }
    let notes = try await MagicData(path: folder["b"]).object(of: Note.self).map(\.title)
    #expect(notes.sorted() == ["first", "second", "third", "x"])
  }

  @Test func aClockFarAheadIsPartlyDone() async throws {
    try Tool.sync.run("init", path("a"))
    try Tool.sync.run("push", path("a"), path("remote"))
    let ahead = MagicData(
      store: try Store(
        .file(DatabaseLocation(folder["ahead"]), mustExist: false),
        World(start: Int64(Date().timeIntervalSince1970 * 1_000) + 3 * 86_400_000).surroundings()))
    try await ahead.update(Note("n", "from the future"))
    try await MagicReplicator(ahead, remote: FolderRemote(folder["remote"])).sync()
    let result = try Tool.sync.run("sync", path("a"), path("remote"))
    #expect(result.status == 3)
    #expect(result.errors.contains("days"), "\(result.errors)")
    #expect(result.output.contains("pushed nothing"))
    let id = try #require(result.errors.components(separatedBy: "--accept ").last?.prefix(8))
    let accepted = try Tool.sync.run("sync", path("a"), path("remote"), "--accept", String(id))
    #expect(accepted.status == 0 && accepted.output.contains("pulled 1 transaction"), "\(accepted)")
  }

  /// H-30, B-4: what two programs add to one bundle at once is in it.
  @Test func whatTwoAddToABundleAtOnceIsInIt() async throws {
    try await write("first", to: "a")
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try Tool.sync.run("clone", path("a.magicbundle"), path("b"))
    for round in 0..<5 {
      for name in ["a", "b"] { try await write("\(name) \(round)", to: name) }
      let pushes = try ["a", "b"].map { try Tool.sync.start(["push", path($0), path("a.magicbundle")]) }
      for push in pushes { #expect(push.terminationStatus == 0) }
    }
    try Tool.sync.run("clone", path("a.magicbundle"), path("c"))
    let titles = try await MagicData(path: folder["c"]).object(of: Note.self).map(\.title)
    #expect(titles.count == 11, "\(titles)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains(".lock") } == [])
  }

  /// H-40: an app that writes and syncs, and the command beside it, are one replica all the time.
  @Test func twoProcessesExchangeOneDatabaseAtOnce() async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Note("first", "first"))
    let replicator = MagicReplicator(magic, remote: FolderRemote(folder["remote"]))
    try await replicator.sync()
    let own = try #require(try await magic.replicas().first { $0.isOwn }?.replica)
    for round in 0..<15 {
      let sync = try Tool.sync.start(["sync", path("a"), path("remote")])
      for number in 0..<4 {
        try await magic.update(Note("\(round) \(number)", "n"))
        try await replicator.sync()
      }
      #expect(sync.terminationStatus == 0)
    }
    #expect(try await magic.replicas().filter { $0.here > 0 }.map(\.replica) == [own])
    try await magic.close()
    try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(try await MagicData(path: folder["b"]).object(of: Note.self).count == 61)
    #expect(try Tool.sync.run("digest", path("a")).output == Tool.sync.run("digest", path("b")).output)
  }

  /// O-1: where standard output is the result itself, nothing else ever goes there.
  @Test func aPipeCarriesNothingButTheBundle() throws {
    for arguments in [["push", path("none"), "-", "--json"], ["push", path("none"), "-"]] {
      let failed = try Tool.sync.run(arguments: arguments)
      #expect(failed.status != 0 && failed.output.isEmpty, "\(failed)")
      #expect(failed.errors.contains("none"))
    }
    let exported = try Tool.replay.run("export", path("none"), "--json")
    #expect(exported.status != 0 && exported.output.isEmpty && exported.errors.contains("summary"), "\(exported)")
  }
}
