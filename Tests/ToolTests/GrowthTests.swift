import Foundation
import MagicData
import TestSupport
import Testing

/// `compact`, `peers --expire` and what `status` says of history, as processes (H-14, H-15, H-16, H-26).
@Suite(.timeLimit(.minutes(15))) struct GrowthTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }

  private func write(_ name: String, _ count: Int) async throws {
    let magic = try await MagicData(path: folder[name])
    for number in 0..<count { try await magic.update(Note("n\(number % 5)", "title \(number)")) }
    try await magic.close()
  }

  private func object(_ result: Tool.Result) throws -> [String: Any] {
    let line = try #require(result.lines.last)
    return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  private func twoInStep() async throws {
    try await write("a", 60)
    for name in ["a", "b", "a", "b"] { try #require(Tool.sync.run("sync", path(name), path("remote")).status == 0) }
  }

  /// H-31: what is not downloaded yet is no reason to expire anybody.
  @Test func aCheckpointThatIsNotDownloadedIsWaitedFor() async throws {
    try await twoInStep()
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    try await write("a", 1)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let name = try #require(FileManager.default.contentsOfDirectory(atPath: path("remote/checkpoints")).first)
    let (file, placeholder) = (path("remote/checkpoints/\(name)"), path("remote/checkpoints/.\(name).icloud"))
    try FileManager.default.moveItem(atPath: file, toPath: placeholder)
    let clone = try Tool.sync.run("clone", path("remote"), path("c"))
    #expect(clone.status == 3 && clone.errors.contains("is not downloaded yet"), "\(clone)")
    #expect(clone.errors.contains("missing in what could be read"), "\(clone)")
    // Also to who holds something, and by what others say to have put there alone.
    try FileManager.default.removeItem(atPath: path("remote/segments"))
    let pull = try Tool.sync.run("pull", path("b"), path("remote"))
    #expect(pull.status == 3 && pull.errors.contains("is not downloaded yet"), "\(pull)")
    try FileManager.default.moveItem(atPath: placeholder, toPath: file)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    for name in ["b", "c"] {
      #expect(try Tool.sync.run("pull", path(name), path("remote")).status == 0)
      #expect(try digest(name) == digest("a"))
    }
  }

  @Test func historyIsGivenUpAndANewReplicaStartsFromTheState() async throws {
    try await twoInStep()
    let before = try digest("a")
    let planned = try object(Tool.sync.run("compact", path("a"), "--dry-run", "--json"))
    let database = try #require(planned["database"] as? [String: Any])
    #expect(database["entries"] as? Int == 60)
    #expect(database["keptEntries"] as? Int == 5)
    let status = try Tool.sync.run("status", path("a"), path("remote"))
    #expect(status.output.contains("history   compact would give up 55 changes"))
    let done = try Tool.sync.run("compact", path("a"), path("remote"))
    #expect(done.status == 0)
    #expect(done.output.contains("of 60 changes 5 stay"))
    #expect(done.output.contains("became 1 checkpoint"), "\(done.output)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).isEmpty)
    let clone = try object(Tool.sync.run("clone", path("remote"), path("c"), "--json"))
    #expect((clone["pulled"] as? [String: Any])?["changes"] as? Int == 5)
    for name in ["a", "b", "c"] { #expect(try digest(name) == before) }
    #expect(try Tool.sync.run("verify", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("verify", path("c")).status == 0)
    // A bundle of it has all that there is, and the reader in Python agrees.
    try #require(Tool.sync.run("push", path("a"), path("all.magicbundle")).status == 0)
    try #require(Tool.sync.run("clone", path("all.magicbundle"), path("d")).status == 0)
    #expect(try digest("d") == before)
    for file in ["remote", "all.magicbundle"] { #expect(try reader("digest", file).output == before) }
    #expect(try reader("state", "remote").status == 0)
    // Nobody has anything to do.
    for name in ["a", "b", "c"] {
      #expect(try Tool.sync.run("sync", path(name), path("remote")).output.contains("pushed nothing"))
    }
  }

  /// What a dry run counts is what comes of it, of the folder as well, and nothing is changed by it.
  @Test func aDryRunSaysWhatComesOfIt() async throws {
    try await twoInStep()
    let writer = try await MagicData(path: folder["a"])
    for note in try await writer.query(of: Note.self).limit(2).all() { try await writer.remove(note) }
    try await writer.close()
    for name in ["a", "b", "a", "b"] { try #require(Tool.sync.run("sync", path(name), path("remote")).status == 0) }
    let before = try folder.contents().filter { !$0.key.hasPrefix("a/") }
    let journal = try Tool.sync.run("log", path("a"), "--json").output
    // Whoever is writing keeps nobody waiting.
    let app = try await MagicData(path: folder["a"])
    var plan: Tool.Result?
    try? await app.transaction { tx in
      try await tx.update(Note("of a transaction", "that is undone"))
      plan = try Tool.sync.run("compact", path("a"), path("remote"), "--dry-run", "--json")
      throw CancellationError()
    }
    try await app.close()
    let planned = try object(#require(plan))
    #expect(planned["exit"] as? Int == 0)
    #expect(try folder.contents().filter { !$0.key.hasPrefix("a/") } == before)
    #expect(try Tool.sync.run("log", path("a"), "--json").output == journal)
    let done = try object(Tool.sync.run("compact", path("a"), path("remote"), "--json"))
    #expect(try #require(planned["remote"] as? [String: Int]) == #require(done["remote"] as? [String: Int]))
    let counts = try [planned, done].map { try #require($0["database"] as? [String: Any]) }
    #expect(counts[0]["purged"] as? Int == 2)
    for name in ["entries", "keptEntries", "journalBytes", "keptJournalBytes", "purged"] {
      #expect(counts[0][name] as? Int == counts[1][name] as? Int, "\(name)")
    }
  }

  private func reader(_ command: String, _ file: String) throws -> Tool.Result {
    var tools = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { tools.deleteLastPathComponent() }
    return try Tool.python.run("-m", "magicreader", command, path(file), in: tools.appendingPathComponent("Tools/reader"))
  }

  /// K-8, K-9.
  @Test func aSilentReplicaIsShownAndExpired() async throws {
    try await twoInStep()
    try FileManager.default.removeItem(at: folder["remote/acks"])
    // c has only b's word for nothing.
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    try await write("c", 3)
    let id =
      try #require(
        try object(Tool.sync.run("status", path("a"), path("remote"), "--json"))["database"] as? [String: Any])["replica"]
      as? String
    let replica = try #require(id)
    #expect(try Tool.sync.run("compact", path("c")).output.contains("waits for replica \(replica)"))
    try #require(Tool.sync.run("peers", path("c"), "--name", "old", "--of", replica).status == 0)
    #expect(try Tool.sync.run("compact", path("c")).output.contains("waits for replica \(replica) (old), which"))
    let peers = try Tool.sync.run("peers", path("c"), path("remote"))
    #expect(peers.output.contains("has acknowledged nothing"))
    let status = try Tool.sync.run("status", path("c"), path("remote")).output
    #expect(status.contains("all is kept: replica \(replica) (old) has acknowledged nothing; "), "\(status)")
    #expect(status.contains("let it push, or expire it: magic-sync peers DB --expire"), "\(status)")
    let expired = try Tool.sync.run("peers", path("c"), path("remote"), "--expire", String(replica.prefix(8)))
    #expect(expired.output == "expired replica \(replica): it is not waited for until it pushes again\n")
    #expect(try Tool.sync.run("peers", path("c"), path("remote")).output.contains(", expired"))
    #expect(try Tool.sync.run("compact", path("c")).output.contains("of 63 changes"))
    #expect(try Tool.sync.run("peers", path("c"), path("remote"), "--expire", "zzzz").status == 1)
    // It comes back.
    for name in ["c", "a", "b", "c"] { try #require(Tool.sync.run("sync", path(name), path("remote")).status == 0) }
    #expect(try !Tool.sync.run("peers", path("c"), path("remote")).output.contains(", expired"))
    #expect(try digest("a") == digest("c"))
    #expect(try digest("b") == digest("c"))
  }

  /// K-5, K-9: whom history is kept for, since when nobody has heard of it, and what lets it go.
  @Test func whoIsBehindIsNamedWithTheRemedy() async throws {
    try await twoInStep()
    try await write("a", 3)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let kept = try Tool.sync.run("compact", path("a"), "--dry-run").output
    #expect(kept.contains("3 transactions stay until replica ") && kept.contains(", last heard of on 20"), "\(kept)")
    #expect(kept.hasSuffix("magic-sync peers DB --expire REPLICA\n"), "\(kept)")
    try #require(Tool.sync.run("sync", path("b"), path("remote")).status == 0)
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    #expect(try !Tool.sync.run("compact", path("a"), "--dry-run").output.contains("--expire"))
  }

  /// K-8: who finds no room to be heard is not told to push once more; once expired he is remembered. Whose file is read first
  /// is no chance.
  @Test func whoFindsNoRoomIsNotCalledSilent() async throws {
    try await twoInStep()
    let said = try #require(FileManager.default.contentsOfDirectory(atPath: path("remote/acks")).first)
    let content = try JSONSerialization.jsonObject(with: Data(contentsOf: folder["remote/acks/\(said)"])) as? [String: Any]
    let dataSet = try #require(content?["dataSet"] as? String)
    func id(_ number: Int) -> String { String(repeating: "0", count: 27) + String(number + 10_000) }
    let crowd: [String: Any] = [
      "format": 1, "dataSet": dataSet, "replica": id(0), "acknowledged": [String: Any](),
      "expired": Dictionary(uniqueKeysWithValues: (1...10_000).map { (id($0), 1 as Any) }),
    ]
    try JSONSerialization.data(withJSONObject: crowd).write(to: folder["remote/acks/\(id(0)).json"])
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    try await write("c", 3)
    let report = try object(Tool.sync.run("compact", path("c"), "--dry-run", "--json"))
    let database = try #require(report["database"] as? [String: Any])
    #expect(database["isBeyondMemory"] as? Bool == true)
    let replica = try #require((database["waitsFor"] as? [String])?.first)
    let compacted = try Tool.sync.run("compact", path("c")).output
    #expect(compacted.contains("more is acknowledged than is remembered"), "\(compacted)")
    let unheard = "has acknowledged nothing that is remembered"
    #expect(compacted.contains("waits for replica \(replica), which \(unheard)"), "\(compacted)")
    for command in ["peers", "status"] {
      let said = try Tool.sync.run(command, path("c"), path("remote")).output
      #expect(said.contains(unheard), "\(said)")
    }
    let expired = try Tool.sync.run("peers", path("c"), path("remote"), "--expire", replica)
    #expect(expired.status == 0, "\(expired)")
    let freed = try Tool.sync.run("compact", path("c")).output
    #expect(!freed.contains("remembered"), "\(freed)")
  }

  /// K-5: of a database alone.
  @Test func whatIsNotPushedStays() async throws {
    try await write("a", 2)
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    try await write("a", 10)
    let compacted = try Tool.sync.run("compact", path("a")).output
    #expect(compacted.contains("8 transactions of this database stay until pushed"), "\(compacted.split(separator: "\n"))")
    try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    let then = try Tool.sync.run("compact", path("a")).output
    #expect(then.contains("database: of ") && !then.contains("until pushed"), "\(then.split(separator: "\n"))")
  }

  @Test func usageIsChecked() throws {
    #expect(try Tool.sync.run("compact", path("a"), "--keep", "soon").status == 64)
    #expect(try Tool.sync.run("compact", path("nothing"), "--keep", "2w").status == 1)
    #expect(try Tool.sync.run("compact", path("nothing")).status == 1)
    #expect(try Tool.sync.run("compact", path("nothing"), environment: ["MAGIC_SYNC_DRY_RUN": "perhaps"]).status == 64)
  }

  /// Killed at any moment, `compact` leaves both sides whole, and the next one finishes (H-26).
  @Test func killedAtAnyMomentNothingIsLost() async throws {
    try await twoInStep()
    let before = try digest("a")
    for round in 0..<10 {
      let process = try Tool.sync.start(["compact", path("a"), path("remote")])
      usleep(UInt32(round) * 4_000)
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      #expect(try digest("a") == before)
    }
    #expect(try Tool.sync.run("verify", path("a"), path("remote")).status == 0)
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    #expect(try digest("c") == before)
  }

  /// H-26: databases that are written, exchanged and compacted by programs which are killed at random: nothing is lost, and all
  /// come to the same.
  @Test(arguments: seeds(3)) func killedAtRandomAmongOthersNothingIsLost(seed: UInt64) async throws {
    var chance = Seeded(seed)
    try await twoInStep()
    try #require(Tool.sync.run("clone", path("remote"), path("c")).status == 0)
    var written: [String: Int] = [:]
    for round in 0..<16 {
      let name = chance.pick(["a", "b", "c"])
      let magic = try await MagicData(path: folder[name])
      let notes = (0..<40).map { _ in Note("n\(chance.below(90))", "round \(round)") }
      for part in [notes.prefix(20), notes.suffix(20)] { try await magic.update(contentsOf: part) }
      for note in notes { written[note.id] = round }
      try await magic.close()
      let command = chance.pick([
        ["sync", path(name), path("remote")], ["push", path(name), path("remote")], ["pull", path(name), path("remote")],
        ["compact", path(name)], ["compact", path(name), path("remote")], ["compact", path("remote")],
      ])
      let process = try Tool.sync.start(command, output: FileHandle.nullDevice, errors: FileHandle.nullDevice)
      if chance.below(4) > 0 {
        try await Task.sleep(for: .milliseconds(chance.below(160)))
        kill(process.processIdentifier, SIGKILL)
      }
      process.waitUntilExit()
    }
    for _ in 0..<2 {
      for name in ["a", "b", "c"] {
        #expect(try Tool.sync.run("sync", path(name), path("remote")).status == 0, "MAGIC_SEED=\(seed)")
      }
    }
    #expect(try Tool.sync.run("compact", path("a"), path("remote")).status == 0, "MAGIC_SEED=\(seed)")
    try #require(Tool.sync.run("clone", path("remote"), path("late")).status == 0)
    for name in ["a", "b", "c", "late"] {
      #expect(try digest(name) == digest("a"), "MAGIC_SEED=\(seed)")
      #expect(try Tool.sync.run("verify", path(name), path("remote")).status == 0, "MAGIC_SEED=\(seed)")
      let magic = try await MagicData(path: folder[name])
      let titles = Dictionary(uniqueKeysWithValues: try await magic.object(of: Note.self).map { ($0.id, $0.title) })
      // One clock for all, so the last write of each note has won.
      for (id, round) in written { #expect(titles[id] == "round \(round)", "MAGIC_SEED=\(seed)") }
      try await magic.close()
    }
  }
}
