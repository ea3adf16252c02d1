import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

@Suite struct DemoTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// The main job on a repository with few commits or many; of one commit, too, the replicas end equal.
  @Test(arguments: [1, 2, 3, 60]) func theReplicasOfACommitLogEndEqual(commits: Int) async throws {
    try makeRepository(at: folder["repository"], commits: commits)
    let result = try Tool.sync.run("demo", "--into", folder["demo"].path, in: folder["repository"])
    #expect(result.status == 0, "\(result.errors)")
    for text in ["laptop imports \(commits) commit", "They are equal", "won, since it is the later one", folder["demo"].path] {
      #expect(result.output.contains(text), "\(text) in \(result.output)")
    }
    let digests = try ["laptop", "phone"].map { try Tool.sync.run("digest", folder["demo/\($0)"].path).output }
    #expect(digests[0] == digests[1])
    #expect(result.output.contains(digests[0].trimmingCharacters(in: .newlines)))
    let (laptop, phone) = try await (MagicData(path: folder["demo/laptop"]), MagicData(path: folder["demo/phone"]))
    let dump = try await Dump(laptop)
    #expect(try await Dump(phone) == dump)
    // Commits, authors and two remarks.
    #expect(dump.objects.count == commits + min(commits, 3) / 3 + 1 + 2)
  }

  @Test func aRepositoryCanBeNamedAndItsLogCut() throws {
    try makeRepository(at: folder["repository"], commits: 9)
    let result = try Tool.sync.run("demo", folder["repository"].path, "--commits", "4", "--into", folder["demo"].path)
    #expect(result.status == 0)
    #expect(result.output.contains("laptop imports 4 commits by 2 authors"))
  }

  @Test func aBareRepositoryWillDo() throws {
    try makeRepository(at: folder["repository"], commits: 3)
    try #require(Tool.git.run("clone", "-q", "--bare", folder["repository"].path, folder["bare's.git"].path).status == 0)
    let result = try Tool.sync.run("demo", folder["bare's.git"].path, "--into", folder["it's a demo"].path)
    #expect(result.status == 0)
    #expect(result.output.contains("laptop imports 3 commits"))
    #expect(result.output.contains(#"it'\''s a demo/phone'"#))
  }

  @Test func withoutARepositoryItSaysWhatToDo() throws {
    try makeRepository(at: folder["empty"], commits: 0)
    for path in [folder.url.path, folder["empty"].path, folder["nowhere"].path] {
      let result = try Tool.sync.run("demo", path, "--into", folder["demo"].path)
      #expect(result.status == 1)
      #expect(result.errors.contains("magic-sync demo PATH"))
      #expect(result.output.isEmpty)
    }
    #expect(!FileManager.default.fileExists(atPath: folder["demo"].path))
  }

  @Test func itTakesAFolderOfItsOwn() throws {
    try makeRepository(at: folder["repository"], commits: 3)
    let before = try folder.contents()
    for path in [folder["repository"].path, folder["no/demo"].path] {
      let result = try Tool.sync.run("demo", folder["repository"].path, "--into", path)
      #expect(result.status == 1)
    }
    #expect(try Tool.sync.run("demo", folder["repository"].path, "--commits", "0").status == 64)
    #expect(try folder.contents() == before)
  }

  /// H-26: killed at any moment, what is there is whole: rows, journal and clock are of one moment.
  @Test(arguments: seeds(5)) func killedAtAnyMomentTheDatabaseIsWhole(seed: UInt64) async throws {
    try makeRepository(at: folder["repository"], commits: 3_000)
    var chance = Seeded(seed)
    let process = try Tool.sync.start(
      ["demo", folder["repository"].path, "--into", folder["demo"].path], output: FileHandle.nullDevice,
      errors: FileHandle.nullDevice)
    while !FileManager.default.fileExists(atPath: folder["demo/laptop/default.sqlite3"].path) {
      try await Task.sleep(for: .milliseconds(1))
    }
    try await Task.sleep(for: .milliseconds(chance.below(600)))
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    for name in ["laptop", "phone"] where FileManager.default.fileExists(atPath: folder["demo/\(name)"].path) {
      let magic = try await MagicData(path: folder["demo/\(name)"])
      #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic), "MAGIC_SEED=\(seed)")
      // And it can go on.
      try await MagicReplicator(magic, remote: FolderRemote(folder["demo/remote"])).sync()
    }
  }
}
