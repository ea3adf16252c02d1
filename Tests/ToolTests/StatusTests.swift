import Foundation
import MagicData
import TestSupport
import Testing

private struct Scan: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var page: MagicAsset<String>

  init() {}

  init(_ id: String, _ page: String) {
    self.id = id
    self.page = MagicAsset(value: page, pathExtension: "txt")
  }
}

/// What is in step and what is not: `status --check` must not be wrong where something waits that no file tells of.
@Suite(.timeLimit(.minutes(15))) struct StatusTests {
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

  private func check(_ name: String) throws -> (status: Int32, output: String) {
    let result = try Tool.sync.run("status", path(name), path("remote"), "--check")
    return (result.status, result.output)
  }

  private func replica(_ name: String) throws -> String {
    struct Summary: Decodable {
      struct Store: Decodable { let replica: String }
      let database: Store
    }
    let line = try #require(Tool.sync.run("status", path(name), path("remote"), "--json").lines.last)
    return try JSONDecoder().decode(Summary.self, from: Data(line.utf8)).database.replica
  }

  /// H-38.
  @Test func contentsThatWaitAreNotInStep() async throws {
    let magic = try await MagicData(path: folder["a"])
    try await magic.update(Scan("1", "a page"))
    try await magic.close()
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try check("a").status == 0)
    try FileManager.default.removeItem(at: folder["remote/assets"])
    #expect(try Tool.sync.run("clone", path("remote"), path("b")).status == 3)
    let (there, here) = (try check("a"), try check("b"))
    #expect(there.status == 4)
    #expect(there.output.contains("out       the content of 1 asset waits to be pushed"), "\(there.output)")
    #expect(here.status == 4)
    #expect(here.output.contains("in        the content of 1 asset waits to be pulled"), "\(here.output)")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try check("a").status == 0)
    // In doubt (F-16): the next push looks at it.
    let content = try #require(FileManager.default.subpaths(atPath: path("remote/assets"))?.first { $0.count > 64 })
    try FileManager.default.createDirectory(at: folder["remote/doubts"], withIntermediateDirectories: true)
    try Data().write(to: folder["remote/doubts/\(URL(fileURLWithPath: content).lastPathComponent)"])
    #expect(try check("a").status == 4)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    #expect(try check("a").status == 0)
    #expect(try check("b").status == 4)
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try check("b").status == 0)
  }

  /// H-28: nothing follows what is missing, but who put it there has said so.
  @Test func aLastSegmentThatIsGoneIsSaid() async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    try await write("2", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let last = try #require(FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).sorted().last)
    try FileManager.default.removeItem(at: folder["remote/segments/\(last)"])
    let pull = try Tool.sync.run("pull", path("b"), path("remote"))
    #expect(pull.status == 3)
    #expect(pull.errors.contains("transactions 2 to 2 of replica \(try replica("a")) are missing"), "\(pull.errors)")
    let status = try check("b")
    #expect(status.status == 4)
    #expect(status.output.contains("(and up to 2 acknowledged by who has them)"), "\(status.output)")
    // Whoever has it fills it.
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try check("b").status == 0)
  }

  /// What nobody has any more is waited for until who said to have it is expired (H-15).
  @Test func whatIsGoneForGoodIsGivenUpByAnExpiry() async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try await write("1", to: "b")
    let lost = try replica("a")
    for file in try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")) {
      try FileManager.default.removeItem(at: folder["remote/segments/\(file)"])
    }
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 3)
    #expect(try check("b").status == 4)
    try #require(Tool.sync.run("peers", path("b"), path("remote"), "--expire", lost).status == 0)
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    #expect(try check("b").status == 0)
    // Until it comes again.
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    #expect(try check("b").status == 4)
    try #require(Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    #expect(try check("b").status == 0)
  }

  /// K-6: an expiry is written to a folder that was read only, by who has pushed more elsewhere.
  @Test func whatWasPushedElsewhereIsNotMissingHere() async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("elsewhere")).status == 0)
    try #require(Tool.sync.run("clone", path("elsewhere"), path("b")).status == 0)
    try #require(Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    try await write("2", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("elsewhere")).status == 0)
    try #require(Tool.sync.run("pull", path("a"), path("remote")).status == 0)
    let other = try #require(
      Tool.sync.run("peers", path("a"), path("remote"), "--json").lines.first { !$0.contains("isOwn\":true") })
    struct Peer: Decodable { let replica: String }
    let replica = try JSONDecoder().decode(Peer.self, from: Data(other.utf8)).replica
    try #require(Tool.sync.run("peers", path("a"), path("remote"), "--expire", replica).status == 0)
    #expect(try Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    #expect(try Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    #expect(try check("c").status == 0)
  }

  /// J-31: what was said under an id that is left, by who was put back from a backup that nothing told.
  @Test func whatWasSaidUnderAnIdThatWasLeftIsNotMissing() async throws {
    func databaseFiles() -> [URL] { ["default.sqlite3", "default.sqlite3-replica"].map { folder["a/\($0)"] } }
    for id in ["1", "2", "3"] { try await write(id, to: "a") }
    for remote in ["remote", "elsewhere"] { try #require(Tool.sync.run("push", path("a"), path(remote)).status == 0) }
    let backup = try databaseFiles().map { try Data(contentsOf: $0) }
    try await write("4", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(at: folder["a/default.sqlite3\(suffix)"]) }
    // In place, so that the mark is its own.
    for (file, bytes) in zip(databaseFiles(), backup) {
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: bytes)
      try handle.close()
    }
    for id in ["5", "6"] { try await write(id, to: "a") }
    try #require(Tool.sync.run("push", path("a"), path("elsewhere")).status == 0)
    try FileManager.default.removeItem(at: folder["elsewhere"])
    // Who only looks says what tells them apart.
    let looked = try Tool.sync.run("status", path("a"), path("remote"), "--check")
    #expect(
      looked.status == 8 && looked.errors.contains("A sync of one that holds some of them tells the two apart"), "\(looked)")
    // It may be no fork, and flipped bytes.
    #expect(looked.errors.contains("is damaged: `magic-sync verify` tells"), "\(looked)")
    let left = try Tool.sync.run("sync", path("a"), path("remote"))
    #expect(left.errors.contains("goes on as a replica of its own"), "\(left)")
    #expect(try Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    #expect(try check("a").status == 0)
    try #require(Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    #expect(try check("b").status == 0)
    let magic = try await MagicData(path: folder["b"])
    #expect(try await magic.object(of: Note.self).map(\.id).sorted() == ["1", "2", "3", "4", "5", "6"])
  }

  /// What is only served knows no remote: it has no step to be in.
  @Test func aDatabaseWithoutARemoteTellsOfItself() async throws {
    try await write("1", to: "a")
    let told = try Tool.sync.run("status", path("a"))
    #expect(told.status == 0 && told.output.contains("journal   1 transaction"), "\(told)")
    #expect(told.lines.last == "remote    none", "\(told)")
    let line = try #require(Tool.sync.run("status", path("a"), "--json").lines.last)
    let summary = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(summary["database"] != nil && summary["isInStep"] == nil && summary["remote"] == nil, "\(line)")
    let checked = try Tool.sync.run("status", path("a"), "--check")
    #expect(checked.status == 1 && checked.errors.contains("no remote is named"), "\(checked)")
  }

  /// H-31: offline is how an offline store mostly is.
  @Test(arguments: ["nobody", "unmade", "gone", "several"])
  func aRemoteThatIsAwayHidesNothingOfTheDatabase(kind: String) async throws {
    try await write("1", to: "a")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    try #require(Tool.sync.run("sync", path("b")).status == 0)
    try #require(Tool.sync.run("pull", path("a"), path("remote")).status == 0)
    try await write("2", to: "a")
    let address = kind == "nobody" ? "tcp://127.0.0.1:1" : path(kind == "gone" ? "remote" : "unmade")
    for name in kind == "several" ? ["one", "two"] : ["origin"] {
      try #require(Tool.sync.run("remote", "add", path("a"), name, address).status == 0)
    }
    if kind == "gone" { try FileManager.default.removeItem(at: folder["remote"]) }
    let status: Int32 = ["nobody", "gone"].contains(kind) ? 5 : 1
    let told = try Tool.sync.run("status", path("a"))
    #expect(told.status == status && !told.errors.isEmpty, "\(told)")
    #expect(told.output.contains("journal   2 transactions") && told.output.contains("history   "), "\(told)")
    #expect(told.output.contains("acknowledged all but 1"), "\(told)")
    let remotes = (kind == "several" ? ["one ", "two "] : [""]).map { "remote    \($0)\(address), which was not looked at" }
    #expect(told.lines.suffix(remotes.count) == remotes[...], "\(told)")
    let line = try #require(Tool.sync.run("status", path("a"), "--json").lines.last)
    let summary = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(["database", "history", "peers", "error"].allSatisfy { summary[$0] != nil }, "\(line)")
    #expect(summary["exit"] as? Int == Int(status) && summary["isInStep"] == nil && summary["remote"] == nil, "\(line)")
    let peers = try Tool.sync.run("peers", path("a"), "--json")
    #expect(peers.status == status && peers.lines.count == 3, "\(peers)")
    #expect(peers.lines.last?.contains("\"error\"") == true, "\(peers)")
    let silent = try Tool.sync.run("status", path("a"), "--check", "--quiet")
    #expect(silent.status == status && silent.output.isEmpty && !silent.errors.isEmpty, "\(silent)")
  }

  @Test func anOnlyCheckpointThatIsGoneIsSaid() async throws {
    for number in 0..<10 { try await write("\(number)", to: "a") }
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).isEmpty)
    try FileManager.default.removeItem(at: folder["remote/checkpoints"])
    let clone = try Tool.sync.run("clone", path("remote"), path("b"))
    #expect(clone.status == 3)
    #expect(clone.errors.contains("transactions 1 to 10 of replica \(try replica("a")) are missing"), "\(clone.errors)")
    #expect(try check("b").status == 4)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(try check("b").status == 0)
    #expect(try Tool.sync.run("digest", path("a")).output == Tool.sync.run("digest", path("b")).output)
  }
}
