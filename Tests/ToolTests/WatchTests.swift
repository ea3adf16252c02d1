import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct WatchTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  /// As they come.
  static func lines(of pipe: Pipe) -> AsyncStream<String> {
    AsyncStream { continuation in
      let handle = pipe.fileHandleForReading
      Thread.detachNewThread {
        var rest = Data()
        while case let data = handle.availableData, !data.isEmpty {
          rest += data
          while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
            rest = Data(rest[(end + 1)...])
          }
        }
        continuation.finish()
      }
    }
  }

  /// A name that was mistyped makes another database, or another remote, which is said.
  @Test(arguments: [true, false]) func watchSaysWhatItMakes(isDatabase: Bool) async throws {
    try #require(Tool.sync.run("init", path(isDatabase ? "other" : "typo")).status == 0)
    if isDatabase { try #require(Tool.sync.run("push", path("other"), path("remote")).status == 0) }
    let (output, errors) = (Pipe(), Pipe())
    let process = try Tool.sync.start(
      ["sync", path("typo"), path("remote"), "--watch", "--interval", "0.05", "--json"], output: output, errors: errors)
    var lines = WatchTests.lines(of: output).makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    kill(process.processIdentifier, SIGINT)
    var last = ""
    while let line = await lines.next() { last = line }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 0)
    #expect(said.contains(isDatabase ? "made the database \(path("typo"))" : "\(path("remote")) is not there"), "\(said)")
    #expect(last.contains("\"madeDatabase\":\(isDatabase)") && last.contains("\"madeRemote\":\(!isDatabase)"), "\(last)")
  }

  /// Where a share went away and came back, both are said.
  @Test(arguments: ["sync", "pull"]) func watchSaysThatItGoesOn(command: String) async throws {
    try await MagicData(path: folder["app"]).close()
    try #require(Tool.sync.run("push", path("app"), path("remote")).status == 0)
    let errors = Pipe()
    let process = try Tool.sync.start(
      [command, path("app"), path("remote"), "--watch", "--interval", "0.05"], output: FileHandle.nullDevice, errors: errors)
    var lines = WatchTests.lines(of: errors).makeAsyncIterator()
    while let line = await lines.next(), !line.contains("following") {}
    try FileManager.default.moveItem(at: folder["remote"], to: folder["away"])
    while let line = await lines.next(), !line.contains("Trying again") {}
    try FileManager.default.moveItem(at: folder["away"], to: folder["remote"])
    var goesOn = false
    while !goesOn, let line = await lines.next() { goesOn = line.contains("the exchange goes on") }
    #expect(goesOn)
    kill(process.processIdentifier, SIGTERM)
    #expect(process.terminationStatus == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM]) func watchFollowsBothSidesUntilItIsStopped(signal: Int32) async throws {
    let (app, other) = (try await MagicData(path: folder["app"]), try await MagicData(path: folder["other"]))
    let replicator = MagicReplicator(other, remote: FolderRemote(folder["remote"]))
    let output = Pipe()
    let process = try Tool.sync.start(
      ["sync", path("app"), path("remote"), "--watch", "--interval", "0.05", "--json"], output: output,
      errors: FileHandle.nullDevice)
    var lines = WatchTests.lines(of: output).makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    // What the app writes goes out.
    try await app.update(Note("1", "from the app"))
    while let line = await lines.next(), !line.contains("\"sent\"") {}
    try await replicator.sync()
    #expect(try await other.object(of: Note.self).map(\.title) == ["from the app"])
    // What others write comes in.
    try await other.update(Note("2", "from afar"))
    try await replicator.sync()
    while let line = await lines.next(), !line.contains("\"applied\"") {}
    #expect(try await app.object(of: Note.self).count == 2)
    kill(process.processIdentifier, signal)
    var last = ""
    while let line = await lines.next() { last = line }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(last.contains("\"summary\"") && last.contains("\"exit\":0"), "\(last)")
    let digests = (try await app.digest(), try await other.digest())
    #expect(digests.0 == digests.1)
    #expect(try Tool.sync.run("verify", path("app"), path("remote")).status == 0)
  }

  /// Who may only read follows all the same.
  @Test func aPullGoesOnAndSendsNothing() async throws {
    let (app, other) = (try await MagicData(path: folder["app"]), try await MagicData(path: folder["other"]))
    let replicator = MagicReplicator(other, remote: FolderRemote(folder["remote"]))
    try await other.update(Note("1", "first"))
    try await replicator.sync()
    try await app.update(Note("own", "stays here"))
    let output = Pipe()
    let process = try Tool.sync.start(
      ["pull", path("app"), path("remote"), "--watch", "--interval", "0.05", "--json"], output: output,
      errors: FileHandle.nullDevice)
    var lines = WatchTests.lines(of: output).makeAsyncIterator()
    while let line = await lines.next(), !line.contains("\"applied\"") {}
    try await other.update(Note("2", "from afar"))
    try await replicator.sync()
    while let line = await lines.next(), !line.contains("\"applied\"") {}
    #expect(try await app.object(of: Note.self).map(\.id).sorted() == ["1", "2", "own"])
    kill(process.processIdentifier, SIGINT)
    var last = ""
    while let line = await lines.next() { last = line }
    #expect(process.terminationStatus == 0)
    #expect(last.contains("\"pulled\"") && !last.contains("\"pushed\""), "\(last)")
    try await replicator.sync()
    #expect(try await other.object(of: Note.self).map(\.id).sorted() == ["1", "2"])
    try await other.close()
    try await app.close()
    #expect(try Tool.sync.run("status", path("app"), path("remote")).output.contains("1 transaction waits to be pushed"))
  }

  private func watch(_ errors: Any = FileHandle.nullDevice) throws -> (process: ChildProcess, output: AsyncStream<String>) {
    try #require(Tool.sync.run("init", path("app")).status == 0)
    let output = Pipe()
    let process = try Tool.sync.start(
      ["sync", path("app"), path("remote"), "--watch", "--interval", "0.05", "--json"], output: output, errors: errors)
    return (process, WatchTests.lines(of: output))
  }

  /// What is said beside the results, and what nobody takes of it, ends nothing.
  @Test func whoseRemarksNobodyReadsGoesOn() async throws {
    let errors = Pipe()
    try errors.fileHandleForReading.close()
    let (process, output) = try watch(errors)
    var lines = output.makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    kill(process.processIdentifier, SIGTERM)
    #expect(process.terminationStatus == 0)
  }

  /// `timeout` tells a program, and then the group that it is in; who ends a service may send it two signals.
  @Test func signalsThatComeTogetherAreOne() async throws {
    let (process, output) = try watch()
    var lines = output.makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    for signal in [SIGTERM, SIGTERM, SIGHUP] {
      kill(process.processIdentifier, signal)
      try await Task.sleep(for: .milliseconds(2))
    }
    var last = ""
    while let line = await lines.next() { last = line }
    #expect(process.terminationStatus == 0)
    #expect(last.contains("\"summary\"") && last.contains("\"exit\":0"), "\(last)")
  }

  /// It takes no summary any more.
  @Test func watchEndsWellWithItsTerminal() throws {
    try #require(Tool.sync.run("init", path("app")).status == 0)
    let script = """
      import os, pty, signal, sys
      signal.pthread_sigmask(signal.SIG_SETMASK, [])
      signal.signal(signal.SIGHUP, signal.SIG_DFL)
      signal.alarm(60)
      child, terminal = pty.fork()
      if child == 0: os.execv(sys.argv[1], sys.argv[1:])
      shown = b""
      while b"inStep" not in shown: shown += os.read(terminal, 1000)
      os.close(terminal)
      sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
      """
    let result = try Tool.python.run(
      "-c", script, Tool.sync.path.path, "sync", path("app"), path("remote"), "--watch", "--json")
    #expect(result.status == 0, "\(result)")
    #expect(try Tool.sync.run("status", path("app"), path("remote"), "--check").status == 0)
  }

  /// What an app writes to the new file would not be followed, and what came would go to one that nobody can open.
  @Test(arguments: [true, false]) func aDatabaseThatIsReplacedOrRemovedIsNoLongerFollowed(isReplaced: Bool) async throws {
    for name in ["app", "other"] { try #require(Tool.sync.run("init", path(name)).status == 0) }
    try #require(Tool.sync.run("sync", path("app"), path("remote")).status == 0)
    let (process, output) = try watch()
    var lines = output.makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    let file = folder["app/default.sqlite3"]
    if isReplaced {
      // As a program would that puts a backup back.
      #expect(rename(path("other/default.sqlite3"), file.path) == 0)
    } else {
      try FileManager.default.removeItem(at: file)
    }
    var last = ""
    while let line = await lines.next() { last = line }
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(last.contains("\"notFound\"") && last.contains(isReplaced ? "was replaced" : "was moved or removed"), "\(last)")
    #expect(last.contains("nothing is written to it any more"), "\(last)")
  }

  /// H-31: where a share is not mounted is an empty folder, or none. What was written there would be seen by nobody, and hidden
  /// once the share is back.
  @Test(arguments: [true, false]) func aRemoteThatVanishesIsWaitedForAndNotMadeAnew(isEmpty: Bool) async throws {
    let app = try await MagicData(path: folder["app"])
    try await app.update(Note("1", "before"))
    let (process, output) = try watch()
    var lines = output.makeAsyncIterator()
    while let line = await lines.next(), !line.contains("inStep") {}
    try FileManager.default.moveItem(at: folder["remote"], to: folder["elsewhere"])
    if isEmpty { try FileManager.default.createDirectory(at: folder["remote"], withIntermediateDirectories: false) }
    try await app.update(Note("2", "meanwhile"))
    var told = ""
    while let line = await lines.next() {
      guard line.contains("\"retrying\"") else { continue }
      told = line
      break
    }
    #expect(told.contains("is the share mounted?"), "\(told)")
    #expect(try folder.contents().keys.allSatisfy { !$0.hasPrefix("remote/") })
    // It comes back, and what waited goes there.
    if isEmpty { try FileManager.default.removeItem(at: folder["remote"]) }
    try FileManager.default.moveItem(at: folder["elsewhere"], to: folder["remote"])
    while let line = await lines.next(), !line.contains("\"sent\"") {}
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    try await app.close()
    #expect(try Tool.sync.run("status", path("app"), path("remote"), "--check").status == 0)
  }

  /// H-26, H-27: of a transaction all objects are there, or none, whenever the program that brings it is killed, on either
  /// side.
  @Test(arguments: seeds(4)) func aTransactionIsThereWholeOrNotAtAll(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let count = 4_000
    try #require(Tool.sync.run("init", path("b")).status == 0)
    let magic = try await MagicData(path: folder["a"])
    try await magic.transaction { tx in
      try await tx.update(contentsOf: (0..<count).map { Note("\($0)", String(repeating: "some text", count: 20)) })
    }
    try await magic.close()
    for command in ["push", "pull"] {
      for _ in 0..<6 {
        let process = try Tool.sync.start([command, path(command == "push" ? "a" : "b"), path("remote")])
        try await Task.sleep(for: .milliseconds(chance.below(500)))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        let there = try await MagicData(path: folder["b"])
        let found = try await there.query(of: Note.self).count()
        try await there.close()
        #expect([0, count].contains(found), "MAGIC_SEED=\(seed)")
      }
      // A push that is killed leaves a file of which nothing is believed, or none.
      if command == "push" { try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0) }
    }
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try Tool.sync.run("digest", path("a")).output == Tool.sync.run("digest", path("b")).output)
  }

  /// Interrupted at any moment: the code says so, both sides are whole, and the next run goes on.
  @Test(arguments: seeds(6)) func anInterruptedSyncIsWhole(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let magic = try await MagicData(path: folder["a"])
    for _ in 0..<20 { try await magic.update(contentsOf: (0..<1_000).map { _ in Note(UUID().uuidString, "some text") }) }
    try await magic.close()
    try Tool.sync.run("push", path("a"), path("remote"))
    let process = try Tool.sync.start(
      ["clone", path("remote"), path("b")], output: FileHandle.nullDevice, errors: FileHandle.nullDevice)
    try await Task.sleep(for: .milliseconds(chance.below(900)))
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    // Before the program listens, the signal ends it.
    let status = process.terminationStatus
    #expect([0, 130].contains(status), "MAGIC_SEED=\(seed)")
    #expect(FileManager.default.fileExists(atPath: path("b/default.sqlite3")) == (status == 0), "MAGIC_SEED=\(seed)")
    if status != 0 { #expect(try Tool.sync.run("clone", path("remote"), path("b")).status == 0, "MAGIC_SEED=\(seed)") }
    #expect(try Tool.sync.run("digest", path("b")).output == Tool.sync.run("digest", path("a")).output, "MAGIC_SEED=\(seed)")
  }
}
