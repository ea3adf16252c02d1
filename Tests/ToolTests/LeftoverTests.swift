import Foundation
import MagicData
import TestSupport
import Testing

/// What programs keep in the temporary folder, and what they leave there.
@Suite(.timeLimit(.minutes(15))) struct LeftoverTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(at: folder["tmp"], withIntermediateDirectories: false)
  }

  private var environment: [String: String] { ["TMPDIR": folder["tmp"].path] }

  private func write(_ count: Int) async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(contentsOf: (0..<count).map { Note("a \($0)", "a") })
    try await magic.close()
  }

  private func leftovers() throws -> [String] {
    // Foundation's own are none of ours.
    try FileManager.default.contentsOfDirectory(atPath: folder["tmp"].path).filter { $0.hasPrefix("magic") }.sorted()
  }

  /// Everything that uses such a folder: a bundle that is packed, and segments that a server takes and gives.
  private func work() throws {
    #expect(try Tool.sync.run("push", folder["a"].path, folder["a.magicbundle"].path, environment: environment).status == 0)
  }

  @Test func nothingIsLeftByWhoEnds() async throws {
    try await write(10)
    try work()
    #expect(try leftovers() == [])
  }

  /// H-33: who is killed cleans nothing up; the next one does.
  @Test func whatSomebodyKilledHasLeftIsTakenAway() async throws {
    try await write(10)
    let left = folder["tmp"].appendingPathComponent("magic-scratch-spool-\(UUID().uuidString.lowercased())")
    try FileManager.default.createDirectory(at: left.appendingPathComponent("segments"), withIntermediateDirectories: true)
    try Data(count: 1_000).write(to: left.appendingPathComponent("segments/1"))
    try work()
    #expect(try leftovers() == [])
  }

  /// Who reads what is printed may go away: what was begun is cleaned up, as after any failure.
  @Test func whoseReaderHasGoneLeavesNothing() async throws {
    try await write(10)
    try work()
    let output = Pipe()
    try output.fileHandleForReading.close()
    let process = try Tool.sync.start(
      ["clone", folder["a.magicbundle"].path, folder["b"].path, "--json"], output: output, environment: environment)
    #expect(process.terminationStatus == 128 + SIGPIPE)
    #expect(try leftovers() == [])
    #expect(!FileManager.default.fileExists(atPath: folder["b/default.sqlite3"].path))
  }

  /// What a killed `init` leaves is completed by who would make a database there, and nobody else is told that there is one.
  @Test func aDatabaseThatNobodyCompletedIsCompleted() async throws {
    try await write(10)
    let (remote, path) = (folder["remote"].path, folder["cut"].path)
    try Tool.sync.run("push", folder["a"].path, remote)
    for command in [["init", path], ["pull", path, remote], ["sync", path, remote]] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try Data().write(to: folder["cut/default.sqlite3"])
      for refused in [["push", path, remote], ["status", path, remote], ["log", path]] {
        let result = try Tool.sync.run(arguments: refused)
        #expect(result.status == 1 && result.errors.contains("`magic-sync init` completes it"), "\(refused): \(result)")
      }
      let made = try Tool.sync.run(arguments: command)
      #expect(made.status == 0 && made.output.contains("made the database"), "\(command): \(made)")
      #expect(try Tool.sync.run("sync", path, remote).status == 0)
      #expect(try Tool.sync.run("digest", path).output == Tool.sync.run("digest", folder["a"].path).output, "\(command)")
      try FileManager.default.removeItem(atPath: path)
    }
  }

  /// B-4: a bundle is written where a link leads, and locked there.
  @Test func aLinkToABundleStaysOne() async throws {
    try FileManager.default.createDirectory(at: folder["share"], withIntermediateDirectories: false)
    let (link, bundle) = (folder["a.magicbundle"].path, folder["share/notes.magicbundle"].path)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "share/notes.magicbundle")
    for count in [10, 20] {
      try await write(count)
      try Tool.sync.run("push", folder["a"].path, link)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "share/notes.magicbundle")
      #expect(try Tool.replay.run("log", bundle).lines.count == count)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder["share"].path) == ["notes.magicbundle"])
    }
    let descriptor = open(folder["share/.notes.magicbundle.lock"].path, O_RDWR | O_CREAT, 0o600)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX) == 0)
    #expect(try Tool.sync.run("push", folder["a"].path, link).status == 5)
  }

  /// A link's `..` is that of the folder which it is in, however one came there.
  @Test func aLinkInALinkedFolderLeadsWhereItIsRead() async throws {
    try FileManager.default.createDirectory(at: folder["mount/inner"], withIntermediateDirectories: true)
    try FileManager.default.createDirectory(at: folder["home"], withIntermediateDirectories: false)
    for (link, target) in [
      ("home/linked", "../mount/inner"), ("mount/inner/a.magicbundle", "../b.magicbundle"),
    ] { try FileManager.default.createSymbolicLink(atPath: folder[link].path, withDestinationPath: target) }
    for count in [10, 20] {
      try await write(count)
      try Tool.sync.run("push", folder["a"].path, folder["home/linked/a.magicbundle"].path)
      #expect(try Tool.replay.run("log", folder["mount/b.magicbundle"].path).lines.count == count)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder["home"].path) == ["linked"])
    }
  }

  @Test func whatIsNoFileIsNoBundle() async throws {
    try await write(1)
    let pipe = folder["p.magicbundle"].path
    try #require(mkfifo(pipe, 0o600) == 0)
    for command in [["push", folder["a"].path, pipe], ["pull", folder["a"].path, pipe], ["clone", pipe, folder["b"].path]] {
      let result = try Tool.sync.run(arguments: command)
      #expect(result.status == 1 && result.errors.contains("is no file"), "\(command): \(result)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder["b"].path))
  }

  @Test func whatSomebodyElseIsUsingStays() async throws {
    try await write(10)
    let used = folder["tmp"].appendingPathComponent("magic-scratch-spool-\(UUID().uuidString.lowercased())")
    try FileManager.default.createDirectory(at: used, withIntermediateDirectories: true)
    let descriptor = open(used.path, O_RDONLY)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX) == 0)
    try work()
    #expect(try leftovers() == [used.lastPathComponent])
  }

  /// A served database collects what a client sends; a session that is open when the server is told to stop has a folder then.
  @Test func aServerThatIsToldToStopLeavesNothing() async throws {
    try await write(10)
    try await MagicData(path: folder["served"]).close()
    let server = try ServingProcess(
      [folder["served"].path, "--listen", "tcp://127.0.0.1:0"], environment: environment)
    let follower = try Tool.sync.start(
      ["sync", folder["a"].path, server.address, "--watch", "--json"], environment: environment)
    let isSynced = try await MagicData(path: folder["served"])
    for try await notes in isSynced.observe(of: Note.self) where notes.count == 10 { break }
    try await isSynced.close()
    #expect(server.end() == 0)
    kill(follower.processIdentifier, SIGINT)
    _ = follower.terminationStatus
    #expect(try leftovers() == [])
  }
}
