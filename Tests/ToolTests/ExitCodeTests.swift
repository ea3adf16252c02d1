import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// The exit codes of README.md that scripts rely on, of the real tools. Others stand with what they belong to: 3 and 4 in
/// `CommandTests`, 6 and 7 in `ServeTests`, 130 in `WatchTests`, 141 in `ReplayTests`.
@Suite(.timeLimit(.minutes(15))) struct ExitCodeTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ titles: [String], to name: String) async throws {
    let magic = try await MagicData(path: folder[name])
    try await magic.update(contentsOf: titles.map { Note($0, $0) })
    try await magic.close()
  }

  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  /// The last line of `--json`.
  private func summary(_ result: Tool.Result) throws -> (exit: Int?, code: String?) {
    let line = try #require(result.lines.last)
    let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    return (object["exit"] as? Int, (object["error"] as? [String: Any])?["code"] as? String)
  }

  // MARK: 1

  /// What is opened first would get the number of a file that is closed, and be read or written to in its place, or waited for
  /// without an end. What runs asynchronous code opens files, too, and which come first is chance.
  @Test func aStandardFileThatIsClosedIsNoOtherFile() async throws {
    try await write(["a"], to: "a")
    func run(_ tool: Tool, _ redirection: String, _ arguments: String...) throws -> (status: Int32, errors: String) {
      let errors = Pipe()
      let process = try ChildProcess(
        "/bin/sh", ["-c", "tool=$1; shift; exec \"$tool\" \"$@\" \(redirection)", "sh", tool.path.path] + arguments, in: nil,
        input: FileHandle.nullDevice, output: FileHandle.nullDevice, errors: errors,
        environment: ProcessInfo.processInfo.environment)
      let deadline = ContinuousClock.now.advanced(by: .seconds(60))
      while process.isRunning, ContinuousClock.now < deadline { usleep(10_000) }
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      return (process.terminationStatus, said)
    }
    for _ in 0..<8 {
      for (tool, arguments) in [(Tool.sync, ["clone", "-", path("b")]), (.replay, ["import", "-", "--into=\(path("b"))"])] {
        let read = try run(tool, "<&-", arguments[0], arguments[1], arguments[2])
        #expect(read.status == 1 && read.errors.contains("standard input could not be read: Bad file descriptor"), "\(read)")
        #expect(!FileManager.default.fileExists(atPath: path("b")))
      }
      for redirection in [">&-", "<&- >&-"] {
        let digest = try run(.sync, redirection, "digest", path("a"))
        #expect(
          digest.status == 1 && digest.errors.contains("standard output could not be written: Bad file descriptor"),
          "\(digest)")
      }
      #expect(try run(.sync, "<&- >&- 2>&-", "digest", path("a")).status == 1)
      // Remarks that nobody hears.
      #expect(try run(.sync, "2>&-", "digest", path("a")).status == 0)
    }
    #expect(try run(.sync, "<&- >&- 2>&-", "push", path("a"), path("remote")).status == 1)
    #expect(try Tool.sync.run("status", path("a"), path("remote"), "--check").status == 0)
    let served = try run(.sync, "<&-", "serve", path("a"), "--stdio")
    #expect(served.status == 6 && served.errors.contains("pipes or sockets"), "\(served)")
  }

  /// A database's folder may hold anything beside it.
  @Test func whatIsCalledAsAPartOfARemoteIsNotOne() throws {
    for (name, part) in [("ml", "checkpoints"), ("video", "segments")] {
      try FileManager.default.createDirectory(at: folder[name], withIntermediateDirectories: false)
      try Data("x\n".utf8).write(to: folder["\(name)/\(part)"])
      let made = try Tool.sync.run("init", path(name))
      #expect(made.status == 0, "\(made)")
      #expect(try Tool.replay.run("log", path(name)).status == 0)
      #expect(try Data(contentsOf: folder["\(name)/\(part)"]) == Data("x\n".utf8))
    }
  }

  // MARK: 5

  /// H-40, J-34: another process holds the write lock for longer than anybody waits. Reading goes on, and nothing is half done.
  @Test func aBusyDatabaseIsATryAgain() async throws {
    try await write(["a"], to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await write(["more"], to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    let before = try digest("b")
    let other = try DatabaseQueue(path: path("b/default.sqlite3"))
    try await other.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN IMMEDIATE")
      let result = try Tool.sync.run("pull", path("b"), path("remote"), "--json")
      #expect(result.status == 5, "\(result.errors)")
      #expect(try summary(result) == (5, "busy"))
      #expect(try digest("b") == before)
      try db.execute(sql: "ROLLBACK")
    }
    try other.close()
    #expect(try Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try digest("b") == digest("a"))
  }

  // MARK: 8

  /// A database and a copy that nothing told write as one, to two folders.
  private func makeBranches() async throws {
    try await write(["sent"], to: "a")
    try Tool.sync.run("push", path("a"), path("remote"))
    try copyUnnoticed(folder["a"], to: folder["copy"])
    try await write(["first"], to: "a")
    try await write(["second"], to: "copy")
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("copy"), path("side"))
  }

  /// J-3: two databases wrote as one, and somebody has to say which journal is meant.
  @Test func aForkNeedsAPerson() async throws {
    try await makeBranches()
    #expect(try Tool.replay.run("apply", path("remote"), path("side"), "--into", path("both")).status == 8)
    // A database of a served one's own id, which is a copy of it.
    let server = try ServingProcess([path("a"), "--listen", "tcp://127.0.0.1:0"])
    let before = try digest("copy")
    for command in ["pull", "push", "sync"] {
      let result = try Tool.sync.run(command, path("copy"), server.address, "--json")
      #expect(result.status == 8, "\(command): \(result.errors)")
      #expect(try summary(result) == (8, "fork"))
    }
    #expect(try digest("copy") == before)
    #expect(server.end() == 0)
  }

  /// J-3, F-11: the same in one folder, as when somebody has copied the one into the other. Nothing is made of one branch
  /// alone, and what is shown says so.
  @Test func aFolderOfTwoBranchesIsAForkForWhoHasNoDatabase() async throws {
    try await makeBranches()
    let side = folder["side/segments"]
    for name in try FileManager.default.contentsOfDirectory(atPath: side.path) where name.hasSuffix(".segment") {
      let file = folder["remote/segments"].appendingPathComponent(name)
      if !FileManager.default.fileExists(atPath: file.path) {
        try FileManager.default.copyItem(at: side.appendingPathComponent(name), to: file)
      }
    }
    for arguments in [
      ["apply", path("remote"), "--into", path("x")], ["state", path("remote")], ["export", path("remote")],
    ] {
      let result = try Tool.replay.run(arguments: arguments)
      #expect(result.status == 8, "\(arguments): \(result)")
      #expect(!FileManager.default.fileExists(atPath: path("x")))
    }
    let log = try Tool.replay.run("log", path("remote"))
    #expect(log.status == 3 && log.errors.contains("there are two transactions"), "\(log)")
  }

  /// L-11, J-33: a third who has taken the one's transactions for the other's holds both, and says so.
  @Test func branchesAreSaid() async throws {
    try await makeBranches()
    try #require(Tool.sync.run("clone", path("side"), path("third")).status == 0)
    let result = try Tool.sync.run("sync", path("third"), path("remote"), "--json")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("\"closed\""))
    try #require(Tool.sync.run("sync", path("third"), path("side")).status == 0)
    for (database, place) in [
      ("a", "remote"), ("copy", "side"), ("third", "remote"), ("third", "side"), ("a", "remote"), ("copy", "side"),
    ] {
      #expect(try Tool.sync.run("sync", path(database), path(place)).status == 0)
    }
    #expect(try digest("a") == digest("third"))
    #expect(try digest("copy") == digest("third"))
    for place in ["remote", "side"] {
      #expect(try Tool.sync.run("verify", path("third"), path(place)).status == 0)
      #expect(try Tool.replay.run("log", path(place)).status == 0)
    }
  }

  /// F-10, J-33: who has not heard that an id is closed goes on under it. Of a folder in which nobody has taken that yet
  /// nothing is made that is called whole.
  @Test func whatIsWrittenUnderAClosedIdIsLackingUntilItIsTaken() async throws {
    try await makeBranches()
    try #require(Tool.sync.run("clone", path("side"), path("third")).status == 0)
    try #require(Tool.sync.run("sync", path("third"), path("remote")).status == 0)
    #expect(try Tool.replay.run("log", path("remote")).status == 0)
    let before = try FileManager.default.contentsOfDirectory(atPath: path("side/segments"))
    try await write(["late"], to: "copy")
    try #require(Tool.sync.run("push", path("copy"), path("side")).status == 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: path("side/segments"))
    where name.hasSuffix(".segment") && !before.contains(name) {
      try FileManager.default.copyItem(atPath: path("side/segments/\(name)"), toPath: path("remote/segments/\(name)"))
    }
    for command in ["log", "state", "export", "verify"] {
      let result = try Tool.replay.run(command, path("remote"))
      #expect(result.status == 3 && result.errors.contains("under an id that is closed"), "\(command): \(result)")
    }
    try await write(["own"], to: "made")
    let own = try digest("made")
    let refused = try Tool.replay.run("apply", path("remote"), "--into", path("made"), "--force")
    #expect(refused.status != 0 && refused.errors.contains("not all of the sources could be taken"), "\(refused)")
    #expect(try digest("made") == own)
    let verified = try Tool.sync.run("verify", path("third"), path("remote"))
    #expect(verified.status == 3 && verified.output.contains("gap: "), "\(verified)")
    let status = try Tool.sync.run("status", path("third"), path("remote"), "--check")
    #expect(status.status == 4, "\(status)")
    #expect(status.output.contains("1 branch of ids that are closed waits to be pulled"), "\(status)")
    try #require(Tool.sync.run("sync", path("third"), path("remote")).status == 0)
    let log = try Tool.replay.run("log", path("remote"))
    #expect(log.status == 0 && log.output.contains("late"), "\(log)")
    #expect(try Tool.sync.run("verify", path("third"), path("remote")).status == 0)
  }

  // MARK: 9

  #if os(Linux)
    /// H-34, M-10: a full disk while a pull merges. All that was there is there, and the next pull brings the rest.
    @Test(arguments: [0, 20_000, 200_000]) func aFullDiskUnderTheDatabaseChangesNothing(room: Int) async throws {
      let disk = try FullDisk(folder)
      try await write(["a"], to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
      try Tool.sync.run("clone", path("remote"), path("b"))
      try await write((0..<3_000).map { "note \($0) \(String(repeating: "x", count: 100))" }, to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
      let before = try digest("b")
      let result = try Tool.sync.run(
        "pull", path("b"), path("remote"), "--json", environment: disk.environment(path("b/"), room))
      #expect(result.status == 9, "\(result.errors)")
      #expect(try summary(result) == (9, "full"))
      #expect(try digest("b") == before)
      #expect(try Tool.replay.run("verify", path("b")).status == 0)
      #expect(try Tool.sync.run("pull", path("b"), path("remote")).status == 0)
      #expect(try digest("b") == digest("a"))
    }

    /// H-34: which disk is full is said, and the next `init` makes the database.
    @Test func aFullDiskIsNamedByTheDatabase() throws {
      let disk = try FullDisk(folder)
      let file = path("a/default.sqlite3")
      let result = try Tool.sync.run("init", path("a"), environment: disk.environment(path("a/"), 0))
      #expect(result.status == 9, "\(result)")
      #expect(result.errors.contains(file) && result.errors.contains("no space is left on the disk"), "\(result)")
      #expect(try Tool.sync.run("init", path("a")).output == "made the database \(file)\n")
      // No path steers a terminal, or counts as two lines.
      #expect(try Tool.sync.run("init", path("b\nc")).output.hasSuffix(#"/b\u000ac/default.sqlite3""# + "\n"))
    }

    /// H-34: what a full disk leaves in the log alone is told of when the database is closed, and is in its file the next time.
    @Test func aFullDiskAtTheEndIsTold() throws {
      let disk = try FullDisk(folder)
      let (file, log) = (path("a/default.sqlite3"), folder["a/default.sqlite3-wal"])
      let result = try Tool.sync.run("init", path("a"), environment: disk.environment(file + ":", 8_192))
      #expect(result.status == 9, "\(result)")
      #expect(result.errors.contains(log.path), "\(result)")
      func bytes() throws -> Int { try Data(contentsOf: log).count }
      #expect(try bytes() > 32)
      #expect(try Tool.sync.run("status", path("a")).status == 0)
      #expect(try bytes() <= 32)
    }

    /// H-33, H-29, F-23: the same in a folder, a bundle and a database that is being made. What others see is whole.
    @Test(arguments: ["remote", "notes.magicbundle"]) func aFullDiskUnderARemoteChangesNothing(name: String) async throws {
      let disk = try FullDisk(folder)
      try await write(["a"], to: "a")
      try Tool.sync.run("push", path("a"), path(name))
      try await write((0..<300).map { "note \($0) \(UUID())" }, to: "a")
      let remote = disk.environment(path(name == "remote" ? "remote/" : ""), 500)
      let result = try Tool.sync.run("push", path("a"), path(name), "--json", environment: remote)
      #expect(result.status == 9, "\(result.errors)")
      #expect(try summary(result) == (9, "full"))
      #expect(try Tool.sync.run("clone", path(name), path("b")).status == 0)
      #expect(try Tool.sync.run("push", path("a"), path(name)).status == 0)
      #expect(try Tool.sync.run("pull", path("b"), path(name)).status == 0)
      #expect(try digest("b") == digest("a"))
      let rebuilt = disk.environment(path("rebuilt"), 10_000)
      #expect(try Tool.replay.run("apply", path(name), "--into", path("rebuilt"), environment: rebuilt).status == 9)
      #expect(try Tool.replay.run("apply", path(name), "--into", path("rebuilt")).status == 0)
    }

    /// F-11: a bundle that could not be written binds a database to nothing, and one that could does.
    @Test(arguments: [("push", "-"), ("push", "stick/notes.magicbundle"), ("sync", "stick/notes.magicbundle")])
    func aBundleThatCameToNobodyBindsNobody(command: String, name: String) async throws {
      let disk = try FullDisk(folder)
      try FileManager.default.createDirectory(at: folder["stick"], withIntermediateDirectories: false)
      for database in ["a", "b", "c"] { try await write([database], to: database) }
      try Tool.sync.run("push", path("a"), path("remote"))
      let isPipe = name == "-"
      let bundle = isPipe ? name : path(name)
      let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
      let failing = try Tool.sync.start(
        [command, path("b"), bundle], output: isPipe ? full : FileHandle.nullDevice,
        environment: isPipe ? [:] : disk.environment(path("stick/"), 10))
      #expect(failing.terminationStatus == 9)
      #expect(try FileManager.default.contentsOfDirectory(atPath: path("stick")).isEmpty)
      #expect(try Tool.sync.run(command, path("c"), bundle).status == 0)
      #expect(try Tool.sync.run("sync", path("c"), path("remote")).status == 7)
      for database in ["b", "a"] { #expect(try Tool.sync.run("sync", path(database), path("remote")).status == 0) }
      #expect(try digest("b") == digest("a"))
    }

    /// What is full is the temporary folder, and not the bundle.
    @Test func aFullTemporaryFolderIsNamed() async throws {
      let disk = try FullDisk(folder)
      try FileManager.default.createDirectory(at: folder["tmp"], withIntermediateDirectories: false)
      try await write(["a"], to: "a")
      try Tool.sync.run("push", path("a"), path("notes.magicbundle"))
      let environment = disk.environment(path("tmp/"), 10).merging(["TMPDIR": path("tmp")]) { $1 }
      for arguments in [["clone", path("notes.magicbundle"), path("b")], ["push", path("a"), path("notes.magicbundle")]] {
        let result = try Tool.sync.run(arguments: arguments, environment: environment)
        #expect(result.status == 9, "\(arguments): \(result)")
        #expect(result.errors.contains("the temporary folder \(path("tmp")) has no room"), "\(result.errors)")
        #expect(result.errors.contains("TMPDIR"), "\(result.errors)")
      }
      let bundle = try FileHandle(forReadingFrom: folder["notes.magicbundle"])
      let log = try Tool.replay.run("log", "-", input: bundle, environment: environment)
      #expect(log.status == 9 && log.errors.contains("has no room for what standard input holds"), "\(log)")
      #expect(log.errors.contains("the temporary folder \(path("tmp")) ") && log.errors.contains("TMPDIR"), "\(log)")
    }

    /// H-26, L-13, F-4, J-21: what others get is on this disk before they get it. Nothing here can cut the power, so the order
    /// of the calls has to show it.
    @Test func whatIsSentIsOnTheDiskBefore() async throws {
      let order = try DiskOrder(folder)
      // Somebody has it open, so what was written is in the WAL.
      let magic = try await MagicData(path: folder["a"])
      for number in 0..<3 { try await magic.update(Note("\(number)", "note \(number)")) }
      #expect(try Tool.sync.run("push", path("a"), path("remote"), environment: order.environment).status == 0)
      try await magic.close()
      let calls = try order.calls()
      let sent = try #require(calls.firstIndex { $0[0] == "rename" && $0[2].contains("/remote/segments/") }, "\(calls)")
      #expect(calls[..<sent].contains { $0[0] == "sync" && $0[1].hasSuffix("/a/default.sqlite3-wal") }, "\(calls)")
      // The file's content before it has its name, and its name before the push is over.
      #expect(calls[..<sent].contains(["sync", calls[sent][1]]), "\(calls)")
      #expect(calls[sent...].contains { $0[0] == "sync" && $0[1].hasSuffix("/remote/segments") }, "\(calls)")
    }

    /// L-13, J-21: an export, or another database, carries the addresses that transactions have here, and here these would be
    /// given again if a power failure took the last ones.
    @Test func whatIsMadeOfAJournalIsOnTheDiskBefore() async throws {
      let order = try DiskOrder(folder)
      try await write(["own"], to: "made")
      let magic = try await MagicData(path: folder["a"])
      try await magic.update(contentsOf: (0..<3_000).map { Note("\($0)", String(repeating: "x", count: 100)) })
      func hasSynced(_ calls: ArraySlice<[String]>) -> Bool {
        calls.contains { $0[0] == "sync" && $0[1].hasSuffix("/a/default.sqlite3-wal") }
      }
      let output = Pipe()
      let export = try Tool.replay.start(["export", path("a")], output: output, environment: order.environment)
      // It waits with the rest, which is more than a pipe holds.
      #expect(!output.fileHandleForReading.availableData.isEmpty)
      let exporting = try order.calls()
      #expect(hasSynced(exporting[...]), "\(exporting)")
      _ = output.fileHandleForReading.readDataToEndOfFile()
      #expect(export.terminationStatus == 0)
      let before = try order.calls().count
      let applied = try Tool.replay.run(
        "apply", path("a"), "--into", path("made"), "--force", environment: order.environment)
      #expect(applied.status == 0, "\(applied)")
      try await magic.close()
      let applying = try order.calls()[before...]
      let placed = try #require(
        applying.lastIndex { $0[0] == "rename" && $0[2].hasSuffix("/made/default.sqlite3") }, "\(applying)")
      #expect(hasSynced(applying[..<placed]), "\(applying)")
    }

    /// H-26: what takes a database's place is on the disk before that one's assets go. As above, the order of the calls has to
    /// show it.
    @Test func whatIsReplacedGoesAfterTheOtherIsOnTheDisk() async throws {
      let order = try DiskOrder(folder)
      let magic = try await MagicData(path: folder["a"])
      try await magic.update(Photo("p", "content"))
      try await magic.close()
      try Tool.sync.run("push", path("a"), path("remote"))
      let replaced = try Tool.replay.run(
        "apply", path("remote"), "--into", path("a"), "--force", environment: order.environment)
      #expect(replaced.status == 0, "\(replaced)")
      let calls = try order.calls()
      let placed = try #require(
        calls.lastIndex { $0[0] == "rename" && $0[2].hasSuffix("/a/default.sqlite3") }, "\(calls)")
      let removed = try #require(
        calls.firstIndex { $0[0] == "unlink" && $0[1].contains("/a/.magic-replaced-") }, "\(calls)")
      #expect(placed < removed, "\(calls)")
      #expect(calls[..<removed].lastIndex { $0[0] == "sync" && $0[1].hasSuffix("/a") }.map { $0 > placed } == true, "\(calls)")
    }

    /// H-33, H-34, F-23: a quota, and a disk that fails. Nothing is half done, and the next time goes on.
    @Test(arguments: [EDQUOT, EIO]) func aDiskThatFailsChangesNothing(error: Int32) async throws {
      let disk = try FullDisk(folder)
      try await write(["a"], to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
      try Tool.sync.run("clone", path("remote"), path("b"))
      try await write((0..<3_000).map { "note \($0) \(UUID())" }, to: "a")
      let remote = disk.environment(path("remote/"), 500, error: error)
      let push = try Tool.sync.run("push", path("a"), path("remote"), "--json", environment: remote)
      #expect(try summary(push) == (error == EDQUOT ? (9, "full") : (1, "failed")), "\(push)")
      try Tool.sync.run("push", path("a"), path("remote"))
      let before = try digest("b")
      let database = disk.environment(path("b/"), 20_000, error: error)
      // SQLite does not tell a quota from a disk that fails.
      #expect(try Tool.sync.run("pull", path("b"), path("remote"), environment: database).status == 1)
      #expect(try digest("b") == before)
      #expect(try Tool.replay.run("verify", path("b")).status == 0)
      #expect(try Tool.sync.run("pull", path("b"), path("remote")).status == 0)
      #expect(try digest("b") == digest("a"))
    }

    /// H-34: a drawing is there as a whole or not at all.
    @Test(arguments: [ENOSPC, EDQUOT]) func aFullDiskUnderAPlotIsNoSpaceLeft(error: Int32) async throws {
      let disk = try FullDisk(folder)
      try await write(["a"], to: "a")
      try FileManager.default.createDirectory(at: folder["plots"], withIntermediateDirectories: false)
      let plot = disk.environment(path("plots/"), 100, error: error)
      let result = try Tool.replay.run("stats", path("a"), "--plot", path("plots/plot.svg"), "--json", environment: plot)
      #expect(result.status == 9, "\(result.errors)")
      #expect(try summary(result) == (9, "full"))
      #expect(result.errors.contains("plot.svg could not be written; no space is left"), "\(result.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: path("plots")).isEmpty)
    }

    /// A result that could not be written is none.
    @Test func aFullOutputIsNoSpaceLeft() async throws {
      try await write(["a"], to: "a")
      try Tool.sync.run("push", path("a"), path("remote"))
      for (tool, arguments) in [
        (Tool.sync, ["push", path("a"), "-"]), (.sync, ["log", path("a")]), (.sync, ["digest", path("a")]),
        (.sync, ["status", path("a"), path("remote"), "--json"]),
        (.sync, ["clone", path("remote"), path("b"), "--json"]), (.replay, ["export", path("a")]),
        (.replay, ["stats", path("a")]),
      ] {
        let (full, errors) = (try #require(FileHandle(forWritingAtPath: "/dev/full")), Pipe())
        let process = try tool.start(arguments, output: full, errors: errors)
        let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 9, "\(arguments): \(message)")
        #expect(message.contains("standard output could not be written"), "\(arguments): \(message)")
      }
    }
  #endif
}

#if os(Linux)
  /// Clang comes with Swift.
  func compile(_ source: String, to library: URL) throws {
    let file = library.deletingPathExtension().appendingPathExtension("c")
    try Data(source.utf8).write(to: file)
    let result = try Tool.clang.run("-shared", "-fPIC", "-o", library.path, file.path, "-ldl")
    try #require(result.status == 0, "\(result.errors)")
  }

  /// A disk without room, or one that fails, for one process: calls that write to files whose paths begin in a certain way fail
  /// once so many bytes are written. Anybody may run it, where a small file system would take an administrator.
  private struct FullDisk {
    private let library: URL

    private static let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>

      static long room = -1;

      static int is_full(int file, size_t count) {
        const char *prefix = getenv("FULL_DISK");
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 2);
        if (!prefix || length < 0) return 0;
        // So that what begins in this way may be a file alone, and not those beside it.
        strcpy(path + length, ":");
        if (strncmp(path, prefix, strlen(prefix))) return 0;
        if (room < 0) room = atol(getenv("FULL_DISK_ROOM"));
        if (count > (size_t)room) { errno = atoi(getenv("FULL_DISK_ERROR")); return 1; }
        room -= count;
        return 0;
      }

      ssize_t write(int file, const void *bytes, size_t count) {
        if (is_full(file, count)) return -1;
        return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, count);
      }

      ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
        if (is_full(file, count)) return -1;
        return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, count, offset);
      }

      ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) { return pwrite64(file, bytes, count, offset); }
      """

    init(_ folder: TemporaryFolder) throws {
      library = folder["full-disk.so"]
      try compile(FullDisk.source, to: library)
    }

    func environment(_ prefix: String, _ room: Int, error: Int32 = ENOSPC) -> [String: String] {
      ["LD_PRELOAD": library.path, "FULL_DISK": prefix, "FULL_DISK_ROOM": "\(room)", "FULL_DISK_ERROR": "\(error)"]
    }
  }
#endif
