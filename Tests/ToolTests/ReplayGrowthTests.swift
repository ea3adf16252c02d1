import Foundation
import MagicData
import TestSupport
import Testing

/// `magic-replay` over what has no whole history any more: it works, or says what is not there.
@Suite(.timeLimit(.minutes(15))) struct ReplayGrowthTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func path(_ name: String) -> String { folder[name].path }
  private func replay(_ arguments: String...) throws -> Tool.Result { try Tool.replay.run(arguments: arguments) }
  private func digest(_ name: String) throws -> String { try Tool.sync.run("digest", path(name)).output }

  /// A database and a folder that were compacted, a bundle of them, and two changes since.
  private func compacted() async throws {
    let magic = try await MagicData(path: folder["a"])
    for number in 0..<20 { try await magic.update(Note("n\(number % 4)", "title \(number)")) }
    try await magic.close()
    try #require(Tool.sync.run("sync", path("a"), path("remote")).status == 0)
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    let again = try await MagicData(path: folder["a"])
    for number in 0..<2 { try await again.update(Note("n\(number)", "later \(number)")) }
    try await again.close()
    for remote in ["remote", "b.magicbundle"] { try #require(Tool.sync.run("push", path("a"), path(remote)).status == 0) }
  }

  /// K-19: what is left is read as what it is.
  @Test func whatIsLeftIsReadAndRebuilt() async throws {
    try await compacted()
    for source in ["a", "remote", "b.magicbundle"] {
      let log = try replay("log", path(source))
      #expect(log.status == 0, "\(source)")
      #expect(log.lines.filter { $0.contains("update Note") }.count == 6, "\(source)")
      #expect(log.errors.contains("was given up by compact"), "\(source)")
      #expect(try replay("stats", path(source)).status == 0, "\(source)")
      #expect(try replay("verify", path(source)).output.contains("all is well"), "\(source)")
      let history = try replay("history", path(source), "Note", "n1")
      #expect(history.output.contains("later 1") && history.output.contains("title 17"), "\(source)")
      #expect(!history.output.contains("title 13"), "\(source)")
      let state = try replay("state", path(source))
      #expect(state.output.contains("later 0") && state.output.contains("title 19"), "\(source)")
      try #require(replay("apply", path(source), "--into", path("of \(source)")).status == 0, "\(source)")
      #expect(try digest("of \(source)") == digest("a"), "\(source)")
      #expect(try Tool.sync.run("verify", path("of \(source)")).status == 0, "\(source)")
      // It is of the data set, and lacks nothing.
      let synced = try Tool.sync.run("sync", path("of \(source)"), path("remote"))
      #expect(synced.output.contains("pulled nothing") && synced.output.contains("pushed nothing"), "\(source)")
      try #require(replay("apply", path(source), "--into", path("shuffled \(source)"), "--shuffle", "--seed", "3").status == 0)
      #expect(try digest("shuffled \(source)") == digest("a"), "\(source)")
    }
  }

  /// K-12: what is kept stands for all below the floor. A database of a part of it is a data set of its own, from which nobody
  /// believes that it holds the rest.
  @Test func whatIsKeptAndCannotBeReadIsNotTakenForTheState() async throws {
    try await compacted()
    let checkpoints = folder["remote/checkpoints"]
    let name = try #require(FileManager.default.contentsOfDirectory(atPath: checkpoints.path).first { !$0.hasPrefix(".") })
    var bytes = try Data(contentsOf: checkpoints.appendingPathComponent(name))
    bytes[bytes.count - 20] ^= 1
    try bytes.write(to: checkpoints.appendingPathComponent(name))
    let applied = try replay("apply", path("remote"), "--into", path("rebuilt"))
    #expect(applied.status == 3 || applied.status == 1, "\(applied)")
    if applied.status == 3 {
      #expect(applied.output.contains("a data set of its own"), "\(applied)")
      #expect(try Tool.sync.run("sync", path("rebuilt"), path("remote")).status == 7)
    }
    #expect(try digest("a") != (try? digest("rebuilt")))
    // Whoever has all of it mends the folder.
    _ = try Tool.sync.run("sync", path("a"), path("remote"))
    _ = try Tool.sync.run("sync", path("a"), path("remote"))
    try #require(replay("apply", path("remote"), "--into", path("again")).status == 0)
    #expect(try digest("again") == digest("a"))
  }

  /// K-19: what does not come to its digest is damage, and nothing of it is shown.
  @Test func aFalseCheckpointIsNamed() async throws {
    try await compacted()
    let checkpoints = folder["remote/checkpoints"]
    let name = try #require(FileManager.default.contentsOfDirectory(atPath: checkpoints.path).first { !$0.hasPrefix(".") })
    let file = checkpoints.appendingPathComponent(name)
    var bytes = [UInt8](try Data(contentsOf: file))
    // The digest stands at 44, and behind the floor the checksum of the header (K-10).
    bytes[44] ^= 1
    let end = 64 + 36 * bytes[60..<64].reduce(0) { $0 << 8 | Int($1) }
    let sum = checksum(bytes[..<end])
    for place in 0..<4 { bytes[end + place] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32(place))) }
    try Data(bytes).write(to: file)
    for command in ["verify", "log", "state", "stats"] {
      let result = try replay(command, path("remote"))
      #expect(result.status == 3, "\(command): \(result)")
      #expect(result.errors.contains("\(name) does not come to what it says"), "\(command): \(result)")
      #expect(!result.output.contains("title 19"), "\(command): \(result)")
    }
    let verified = try Tool.sync.run("verify", path("a"), path("remote"))
    #expect(verified.status == 3 && (verified.output + verified.errors).contains(name), "\(verified)")
    // Nothing of the one replica can be taken, so there is no database of it.
    #expect(try replay("apply", path("remote"), "--into", path("rebuilt")).status != 0)
    #expect(!FileManager.default.fileExists(atPath: path("rebuilt")))
  }

  /// That history was given up is said once, and not with each change.
  @Test func thatHistoryWasGivenUpIsSaidOnce() async throws {
    try await compacted()
    let log = try FollowingProcess([path("a")])
    #expect(log.prints("later 1", within: 60_000))
    for number in 1...2 {
      let magic = try await MagicData(path: folder["a"])
      try await magic.update(Note("n1", "followed \(number)"))
      try await magic.close()
      #expect(log.prints("followed \(number)", within: 60_000), "\(log.output)")
    }
    #expect(log.end() == 0)
    #expect(log.output.components(separatedBy: #""event":"compacted""#).count == 2, "\(log.output)")
  }

  /// K-16: what a pull takes as a checkpoint is in no transaction that could be told: it is missing in a log that follows the
  /// database, and stays so.
  @Test func whatAPullTakesAsACheckpointIsMissingInAFollowedLog() async throws {
    func write(_ titles: [String]) async throws {
      let magic = try await MagicData(path: folder["a"])
      for title in titles { try await magic.update(Note("n", title)) }
      try await magic.close()
      try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    }
    try await write(["one"])
    try #require(Tool.sync.run("clone", path("remote"), path("b")).status == 0)
    let log = try FollowingProcess([path("b")])
    #expect(log.prints(#""title":"one""#, within: 60_000))
    try await write(["two", "three"])
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    try #require(FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).isEmpty)
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(log.prints(#""event":"missing""#, within: 60_000), "\(log.output)")
    #expect(log.output.contains(#""firstMissing":2"#) && log.output.contains(#""lastMissing":3"#), "\(log.output)")
    try await write(["four"])
    try #require(Tool.sync.run("pull", path("b"), path("remote")).status == 0)
    #expect(log.prints(#""title":"four""#, within: 60_000), "\(log.output)")
    #expect(log.end() == 3)
  }

  /// K-16: of a checkpoint that comes into a folder later nothing is told, so what it stands for is missing in a log that
  /// follows the folder, and stays so.
  @Test func whatACheckpointThatComesLaterStandsForIsMissingInAFollowedLog() async throws {
    func write(_ titles: [String]) async throws {
      let magic = try await MagicData(path: folder["a"])
      for title in titles { try await magic.update(Note("n", title)) }
      try await magic.close()
      try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    }
    // Whole, or not at all.
    func carry(_ place: String) throws {
      try FileManager.default.createDirectory(at: folder["part/\(place)"], withIntermediateDirectories: true)
      let there = try FileManager.default.contentsOfDirectory(atPath: path("part/\(place)"))
      for name in try FileManager.default.contentsOfDirectory(atPath: path("remote/\(place)")) where !there.contains(name) {
        try FileManager.default.copyItem(atPath: path("remote/\(place)/\(name)"), toPath: path("on its way"))
        try FileManager.default.moveItem(atPath: path("on its way"), toPath: path("part/\(place)/\(name)"))
      }
    }
    try await write(["one"])
    try FileManager.default.copyItem(atPath: path("remote"), toPath: path("part"))
    let log = try FollowingProcess([path("part")])
    #expect(log.prints(#""title":"one""#, within: 60_000))
    try await write(["two", "three"])
    try #require(Tool.sync.run("compact", path("a"), path("remote")).status == 0)
    try #require(FileManager.default.contentsOfDirectory(atPath: path("remote/segments")).isEmpty)
    try carry("checkpoints")
    #expect(log.prints(#""event":"missing""#, within: 60_000), "\(log.output)")
    #expect(log.prints(#""lastMissing":3"#, within: 60_000), "\(log.output)")
    #expect(log.output.contains(#""firstMissing":2"#), "\(log.output)")
    try await write(["four"])
    try carry("segments")
    #expect(log.prints(#""title":"four""#, within: 60_000), "\(log.output)")
    #expect(log.end() == 3)
    // What was only in force is not said to be shown.
    #expect(!log.output.contains(#""event":"compacted""#), "\(log.output)")
  }

  /// K-7: what could not be read for a while, and was no transaction, is not lacking in the end.
  @Test func whatPassesIsNotLackingInTheEnd() async throws {
    func write(_ title: String) async throws {
      let magic = try await MagicData(path: folder["a"])
      try await magic.update(Note("n", title))
      try await magic.close()
      try #require(Tool.sync.run("push", path("a"), path("remote")).status == 0)
    }
    try await write("one")
    try FileManager.default.moveItem(atPath: path("remote/acks"), toPath: path("away"))
    try Data().write(to: folder["remote/acks"])
    let log = try FollowingProcess([path("remote")])
    #expect(log.prints(#""event":"unread""#, within: 60_000))
    try FileManager.default.removeItem(atPath: path("remote/acks"))
    try FileManager.default.moveItem(atPath: path("away"), toPath: path("remote/acks"))
    // Once a reading tells what comes later, the one before it is through.
    for title in ["two", "three"] {
      try await write(title)
      #expect(log.prints(#""title":"\#(title)""#, within: 60_000), "\(log.output)")
    }
    #expect(log.end() == 0, "\(log.output)")
  }

  /// CRC-32, as zlib has it.
  private func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xedb8_8320 : sum >> 1 }
    }
    return ~sum
  }

  /// K-19: what cannot be told is an error.
  @Test func whatIsNotThereIsSaid() async throws {
    try await compacted()
    let first = "2020-01-01T00:00:00Z"
    for source in ["a", "remote", "b.magicbundle"] {
      for arguments in [
        ["state", path(source), "--at", first], ["diff", path(source), "--from", first],
        ["apply", path(source), "--into", path("x"), "--until", first],
        ["apply", path(source), "--into", path("x"), "--type", "Note"], ["export", path(source)],
      ] {
        let result = try Tool.replay.run(arguments: arguments)
        #expect(result.status == 1, "\(arguments)")
        #expect(result.errors.contains("given up by compact"), "\(arguments): \(result.errors)")
      }
    }
    #expect(!FileManager.default.fileExists(atPath: path("x")))
    let undone = try replay("undo", path("a"), "--since", first, "--dry-run")
    #expect(undone.status == 1 && undone.errors.contains("given up by compact"), "\(undone.errors)")
  }

  /// What is kept is printed with the sequence 0, which names no transaction (K-12).
  @Test func whatIsKeptIsNoTransaction() async throws {
    try await compacted()
    let kept = try #require(try replay("log", path("a"), "--json").lines.first { $0.contains("\"sequence\":0,") })
    let entry = try #require(JSONSerialization.jsonObject(with: Data(kept.utf8)) as? [String: Any])
    let name = "\(try #require(entry["replica"] as? String).prefix(8)):0"
    #expect(try replay("log", path("a")).output.contains(name))
    for arguments in [
      ["undo", path("a"), "--transaction", name], ["undo", path("a"), "--since", name], ["state", path("a"), "--at", name],
      ["apply", path("a"), "--into", path("x"), "--skip", name], ["export", path("a"), "--until", name],
    ] {
      let result = try Tool.replay.run(arguments: arguments)
      #expect(result.status == 64 && result.errors.contains("stands for what compact has kept"), "\(arguments): \(result)")
    }
  }

  @Test func whatCameLaterIsUndoneAndBisected() async throws {
    try await compacted()
    let last = try #require(try replay("log", path("a"), "--json").lines.last { $0.contains("later 1") })
    let entry = try #require(JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
    let (replica, sequence) = (try #require(entry["replica"] as? String), try #require(entry["sequence"] as? Int))
    let python =
      "import sys,glob; sys.exit(any(b'later 1' in open(each,'rb').read() for each in glob.glob(sys.argv[1]+'/default*')))"
    let found = try replay("bisect", path("a"), "--test", "python3 -c \"\(python)\" \"$1\"")
    #expect(found.output.contains(":\(sequence) is the first after which the command fails"), "\(found)")
    let undone = try replay("undo", path("a"), "--transaction", "\(replica):\(sequence)", "--yes")
    #expect(undone.status == 0, "\(undone)")
    #expect(try replay("state", path("a")).output.contains("title 17"))
    #expect(try Tool.sync.run("verify", path("a")).status == 0)
  }
}
