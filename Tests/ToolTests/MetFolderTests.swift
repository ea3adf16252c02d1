import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// A folder with which a database has exchanged, and that is gone: a drive may not be mounted (F-8, H-31).
@Suite(.timeLimit(.minutes(15))) struct MetFolderTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ id: String, to name: String) async throws {
    let magic = try await MagicData(path: folder[name])
    try await magic.update(Note(id, id))
    try await magic.close()
  }

  /// What is left where a drive was: an empty folder, or none.
  private func unmount(leaves isEmpty: Bool = false) throws {
    try FileManager.default.moveItem(at: folder["remote"], to: folder["drive"])
    if isEmpty { try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false) }
  }

  private func mount() throws {
    if FileManager.default.fileExists(atPath: path("remote")) { try FileManager.default.removeItem(at: folder["remote"]) }
    try FileManager.default.moveItem(at: folder["drive"], to: folder["remote"])
  }

  /// Without what SQLite keeps beside a database for those who have it open.
  private func contents() throws -> [String: Data] {
    try folder.contents().filter { !$0.key.hasSuffix("-shm") }
  }

  private func expectGone(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let before = try contents()
    let result = try Tool.sync.run(arguments: arguments)
    // What the database has by itself is told.
    let isTold = ["status", "peers"].contains(arguments.first)
    #expect(result.status == 5 && result.output.isEmpty == !isTold, "\(arguments): \(result)", sourceLocation: sourceLocation)
    #expect(result.errors.contains("is the share mounted?"), "\(arguments): \(result)", sourceLocation: sourceLocation)
    #expect(try contents() == before, "\(arguments)", sourceLocation: sourceLocation)
  }

  @Test(arguments: [false, true], ["push", "pull", "sync", "clone"])
  func aFolderThatIsGoneIsNotMadeAnew(isEmpty: Bool, first: String) async throws {
    try await write("1", to: "a")
    if first == "clone" {
      try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
      try #require(Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    } else {
      try #require(Tool.sync.run("init", path("b")).status == 0)
      if first == "pull" { try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0) }
      try #require(Tool.sync.run(first, path("b"), path("remote")).status == 0)
    }
    try await write("2", to: "b")
    try unmount(leaves: isEmpty)
    for command in ["push", "pull", "sync", "status", "peers", "compact"] {
      try expectGone([command, path("b"), path("remote")])
    }
    try expectGone(["compact", path("b"), path("remote"), "--dry-run"])
    // What is found of the database is said all the same.
    let verified = try Tool.sync.run("verify", path("b"), path("remote"))
    #expect(verified.status == 5 && verified.errors.contains("is the share mounted?"), "\(verified)")
    #expect(verified.output.hasSuffix("the database is well\n"), "\(verified)")
    try mount()
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).output.contains("pushed 1 transaction"))
    #expect(try Tool.sync.run("status", path("b"), path("remote"), "--check").status == 0)
  }

  @Test func aFolderThatHasANameIsRememberedUntilTheNameGoes() async throws {
    try await write("1", to: "a")
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    try unmount()
    for command in ["push", "pull", "sync", "status"] { try expectGone([command, path("a")]) }
    try #require(Tool.sync.run("remote", "remove", path("a"), "origin").status == 0)
    try #require(Tool.sync.run("remote", "add", path("a"), "origin", path("remote")).status == 0)
    let pushed = try Tool.sync.run("push", path("a"))
    #expect(pushed.status == 0 && pushed.output.contains("made the remote"), "\(pushed)")
  }

  @Test(arguments: [false, true], ["push", "sync"])
  func whoAsksForItHasItMadeAnew(isEmpty: Bool, command: String) async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    for environment: [String: String] in [[:], ["MAGIC_SYNC_ANEW": "1"]] {
      try unmount(leaves: isEmpty)
      try FileManager.default.removeItem(at: folder["drive"])
      let option = environment.isEmpty ? ["--anew"] : []
      let made = try Tool.sync.run(arguments: [command, path("a"), path("remote")] + option, environment: environment)
      #expect(made.status == 0 && made.output.contains("made the remote"), "\(made)")
      #expect(made.output.contains("pushed 1 transaction"), "\(made)")
      #expect(try Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    }
    for remote in ["tcp://127.0.0.1:1", path("a.magicbundle")] {
      let refused = try Tool.sync.run(command, path("a"), remote, "--anew")
      #expect(refused.status == 64 && refused.errors.contains("a folder"), "\(refused)")
    }
  }

  /// F-8, H-41: who has exchanged there puts back what makes it a remote, if asked for it, and nobody else does.
  @Test(arguments: [false, true], ["push", "sync"])
  func aMarkerThatIsLostIsPutBack(isDamaged: Bool, command: String) async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try await write("other", to: "other")
    try #require(Tool.sync.run("push", path("other"), path("elsewhere")).status == 0)
    let marker = folder["remote/magicdata.json"]
    let whole = try Data(contentsOf: marker)
    try FileManager.default.removeItem(at: marker)
    if isDamaged { try Data("{".utf8).write(to: marker) }
    let before = try folder.contents().filter { $0.key.hasPrefix("remote") }
    let refused = try Tool.sync.run(command, path("a"), path("remote"))
    #expect(refused.status == (isDamaged ? 1 : 5) && refused.errors.contains("--anew"), "\(refused)")
    let others = try Tool.sync.run(command, path("other"), path("remote"), "--anew")
    #expect(others.status == refused.status && others.errors.contains("are of data set"), "\(others)")
    // Nobody is sent in a circle.
    #expect(!others.errors.contains("--anew"), "\(others)")
    #expect(try folder.contents().filter { $0.key.hasPrefix("remote") } == before)
    let done = try Tool.sync.run(command, path("a"), path("remote"), "--anew")
    #expect(done.status == 0 && done.errors.contains("put magicdata.json back in"), "\(done)")
    #expect(!done.output.contains("made the remote"), "\(done)")
    #expect(try Data(contentsOf: marker) == whole)
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
  }

  /// F-8, H-39: where no header can be read that names a data set, acknowledgements do; where nothing does, it is put back from
  /// a copy alone.
  @Test(arguments: [false, true]) func acknowledgementsSayWhoseAMarkerIs(hasNewer: Bool) async throws {
    if hasNewer { try await write("1", to: "a") } else { try #require(Tool.sync.run("init", path("a")).status == 0) }
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    let segments = try FileManager.default.contentsOfDirectory(atPath: path("remote/segments"))
    #expect(segments.count == (hasNewer ? 1 : 0))
    for name in segments {
      let change = """
        import sys, zlib
        data = bytearray(open(sys.argv[1], "rb").read())
        data[9] = 2
        data[120:124] = zlib.crc32(bytes(data[:120])).to_bytes(4, "big")
        open(sys.argv[1], "wb").write(data)
        """
      try #require(Tool.python.run("-c", change, path("remote/segments/\(name)")).status == 0)
    }
    let marker = folder["remote/magicdata.json"]
    let whole = try Data(contentsOf: marker)
    try Data().write(to: marker)
    let done = try Tool.sync.run("push", path("a"), path("remote"), "--anew")
    // The newer version's segment is in the way of the push then.
    #expect(done.status == (hasNewer ? 7 : 0) && done.errors.contains("put magicdata.json back in"), "\(done)")
    #expect(try Data(contentsOf: marker) == whole)
    try FileManager.default.removeItem(at: folder["remote/acks"])
    try Data().write(to: marker)
    let refused = try Tool.sync.run("push", path("a"), path("remote"), "--anew")
    #expect(refused.status == 1 && refused.errors.contains("no file there says of which data set"), "\(refused)")
    #expect(!refused.errors.contains("--anew"), "\(refused)")
    #expect(try Data(contentsOf: marker).isEmpty)
  }

  /// F-8, H-41: what cannot be read yet, or is another data set's, may be what the folder is of.
  @Test func noMarkerIsPutBackBesideWhatMayBeAnothers() async throws {
    for (name, remote) in [("a", "remote"), ("other", "others")] {
      try await write("1", to: name)
      try #require(Tool.sync.run("sync", path(name), path(remote)).status == 0)
    }
    let marker = folder["remote/magicdata.json"]
    try Data().write(to: marker)
    let placeholder = folder["remote/segments/.\(String(repeating: "0", count: 32)).segment.icloud"]
    try Data().write(to: placeholder)
    let awaited = try Tool.sync.run("push", path("a"), path("remote"), "--anew")
    #expect(awaited.status == 1 && awaited.errors.contains("still bringing"), "\(awaited)")
    try FileManager.default.removeItem(at: placeholder)
    let acks = try FileManager.default.contentsOfDirectory(atPath: path("others/acks"))
    try #require(!acks.isEmpty)
    for name in acks { try FileManager.default.copyItem(at: folder["others/acks/\(name)"], to: folder["remote/acks/\(name)"]) }
    let refused = try Tool.sync.run("push", path("a"), path("remote"), "--anew")
    #expect(refused.status == 1 && refused.errors.contains("are of data set"), "\(refused)")
    #expect(try Data(contentsOf: marker).isEmpty)
    for name in acks { try FileManager.default.removeItem(at: folder["remote/acks/\(name)"]) }
    #expect(try Tool.sync.run("push", path("a"), path("remote"), "--anew").status == 0)
  }

  @Test(arguments: [false, true]) func aFolderThatWasMovedIsFoundWhereItIs(isSet: Bool) async throws {
    try await write("1", to: "a")
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    try unmount()
    let gone = try Tool.sync.run("push", path("a"))
    #expect(gone.status == 5 && gone.errors.contains("magic-sync remote set"), "\(gone)")
    if isSet {
      #expect(try Tool.sync.run("remote", "add", path("a"), "origin", path("drive")).errors.contains("`magic-sync remote set`"))
      let moved = try Tool.sync.run("remote", "set", path("a"), "origin", path("drive"))
      #expect(moved.status == 0 && moved.output == "origin is \(path("drive"))\n", "\(moved)")
      #expect(try Tool.sync.run("remote", "set", path("a"), "orgin", path("drive")).status == 1)
    } else {
      try #require(Tool.sync.run("remote", "remove", path("a"), "origin").status == 0)
      try #require(Tool.sync.run("remote", "add", path("a"), "origin", path("drive")).status == 0)
    }
    #expect(try Tool.sync.run("status", path("a"), "--check").status == 0)
    #expect(try Tool.sync.run("sync", path("a")).output.contains("pushed nothing"))
  }

  /// On another machine the same path means another folder. What a copy has met it remembers itself.
  @Test func aCopyHasMetNothing() async throws {
    try await write("1", to: "a")
    try Tool.sync.run("remote", "add", path("a"), "origin", path("remote"))
    try #require(Tool.sync.run("sync", path("a")).status == 0)
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    try unmount()
    try expectGone(["sync", path("a")])
    let made = try Tool.sync.run("sync", path("copy"))
    #expect(made.status == 0 && made.output.contains("made the remote"), "\(made)")
    try FileManager.default.removeItem(at: folder["remote"])
    try expectGone(["sync", path("copy")])
  }

  /// A bundle is a file to hand on, and a database that was made anew has met nobody.
  @Test func whatIsHandedOnIsMadeAgain() async throws {
    try await write("1", to: "a")
    for _ in 1...2 {
      let pushed = try Tool.sync.run("push", path("a"), path("a.magicbundle"))
      #expect(pushed.status == 0 && pushed.output.contains("made the remote"), "\(pushed)")
      try FileManager.default.removeItem(at: folder["a.magicbundle"])
    }
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    try FileManager.default.removeItem(at: folder["a"])
    try FileManager.default.removeItem(at: folder["remote"])
    try await write("2", to: "a")
    #expect(try Tool.sync.run("push", path("a"), path("remote")).output.contains("made the remote"))
  }

  /// Who keeps in step waits for what another process has met.
  @Test(arguments: [false, true]) func whoKeepsInStepWaitsForWhatWasThereBefore(isEmpty: Bool) async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    try await write("2", to: "a")
    try unmount(leaves: isEmpty)
    let (output, errors) = (Pipe(), Pipe())
    let process = try Tool.sync.start(
      ["sync", path("a"), path("remote"), "--watch", "--interval", "0.05", "--json"], output: output, errors: errors)
    var lines = WatchTests.lines(of: output).makeAsyncIterator()
    while let line = await lines.next(), !line.contains(#""event":"retrying""#) {}
    #expect(try folder.contents().keys.allSatisfy { !$0.hasPrefix("remote/") })
    try mount()
    while let line = await lines.next(), !line.contains(#""event":"inStep""#) {}
    kill(process.processIdentifier, SIGINT)
    var last = ""
    while let line = await lines.next() { last = line }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 0)
    #expect(said.contains("awaited, as it was there before"), "\(said)")
    #expect(last.contains(#""madeRemote":false"#), "\(last)")
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
  }

  // MARK: Beside an app's names

  private struct Met: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var folder: String = "one"
    static var magicIndexes: [MagicIndex] { [MagicIndex(\Met.folder)] }
    init() {}
  }

  private struct Remote: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var option: String = "one"
    static var magicIndexes: [MagicIndex] { [MagicIndex(\Remote.option)] }
    init() {}
  }

  /// J-29: `magic_met_folder` and `magic_remote_option` are made when they are first needed. A former version gave their names
  /// to an app's indexes.
  @Test(arguments: [false, true]) func anIndexOfAnAppTakesNoNameOfATable(isFormer: Bool) async throws {
    func indexes(_ magic: MagicData) async throws -> [String] {
      try await magic.store.read { db in
        try String.fetchAll(
          db,
          sql: """
            SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE INDEX%' AND tbl_name IN ('Met', 'Remote') ORDER BY name
            """)
      }
    }
    let expected = ["magic_Met_folder~2", "magic_Remote_option~2"]
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Met())
    try await magic.update(Remote())
    #expect(try await indexes(magic) == expected)
    if isFormer {
      try await magic.store.write { db in
        try db.execute(
          sql: """
            DROP INDEX "magic_Met_folder~2";
            DROP INDEX "magic_Remote_option~2";
            CREATE INDEX "magic_Met_folder" ON "Met" ("folder");
            CREATE INDEX "magic_Remote_option" ON "Remote" ("option");
            """)
      }
    }
    try await magic.close()
    try Data("a-token\n".utf8).write(to: folder["token"])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path("token"))
    for _ in 1...2 {
      for command in [
        ["sync", path("a"), path("remote")],
        ["remote", "add", path("a"), "hub", "tcp://127.0.0.1:1", "--token-file", path("token")],
        ["remote", "list", path("a")], ["remote", "remove", path("a"), "hub"],
      ] {
        let result = try Tool.sync.run(arguments: command)
        #expect(result.status == 0, "\(command): \(result)")
        #expect(command[1] != "list" || result.output.contains("--token-file"), "\(result)")
      }
      // The index is made again with the next use of its type.
      let again = try await MagicData(path: folder["a"])
      #expect(try await again.count(of: Met.self) == 1)
      #expect(try await again.count(of: Remote.self) == 1)
      #expect(try await indexes(again) == expected)
      try await again.close()
    }
    try unmount()
    try expectGone(["sync", path("a"), path("remote")])
  }

  // MARK: Several at once

  /// H-30, H-40: nobody comes too late for the database, or for the remote. One database is one replica.
  @Test(arguments: ["sync", "pull"]) func severalMakeOneDatabaseAtOnce(command: String) async throws {
    try await write("1", to: "a")
    if command == "pull" {
      try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    } else {
      // Something has to be there that says what is meant.
      try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false)
    }
    for name in ["b", "c.sqlite"] {
      let processes = try (1...4).map { _ in try Tool.sync.start([command, path(name), path("remote")]) }
      for process in processes { #expect(process.terminationStatus == 0) }
    }
    try #require(Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    try #require(Tool.sync.run("sync", path("c.sqlite"), path("remote")).status == 0)
    let peers = try Tool.sync.run("peers", path("b"), path("remote"), "--json").lines
    #expect(peers.filter { $0.contains(#""event":"peer""#) }.count == (command == "pull" ? 3 : 2), "\(peers)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(".") } == [])
  }

  /// One makes it, and the others hear that it is there, before they have read anything.
  @Test func severalApplyIntoOneDatabaseAtOnce() async throws {
    try await write("1", to: "a")
    let processes = try (1...4).map { _ in try Tool.replay.start(["apply", path("a"), "--into", path("b")]) }
    #expect(processes.map(\.terminationStatus).sorted() == [0, 1, 1, 1])
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(".") } == [])
  }

  @Test func severalMakeOneRemoteAtOnce() async throws {
    let names = ["a", "b", "c", "d"]
    for name in names { try await write(name, to: name) }
    let processes = try names.map { try Tool.sync.start(["sync", path($0), path("remote")]) }
    for process in processes { #expect(process.terminationStatus == 0) }
    for name in names + names { #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0) }
    #expect(Set(try names.map { try Tool.sync.run("digest", path($0)).output }).count == 1)
  }

  /// Who makes a folder and who looks for it at once: what the one remembers is not held against the other.
  @Test func severalProcessesOfADatabaseMakeOneRemoteAtOnce() async throws {
    try await write("1", to: "a")
    for round in 1...5 {
      let processes = try ["push", "sync", "push", "sync"].map { try Tool.sync.start([$0, path("a"), path("remote\(round)")]) }
      for process in processes { #expect(process.terminationStatus == 0) }
    }
  }
}
