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
