import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// What is made of a checkpoint before anything of it is handed out without a database (K-14, K-19).
@Suite struct CheckpointLookTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func names(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder[path].path).sorted()
  }

  /// Of few entries that are large memory holds some at a time, too.
  @Test func aCheckpointOfLargeValuesIsFoldedInSlices() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    try await a.magic.update(contentsOf: (0..<8).map { Note("n\($0)", String(repeating: "\($0)", count: 100_000)) })
    try await a.replicator.push()
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let checkpoint = try CheckpointFile(file, try FolderRemote(folder["remote"]).dataSet())
    // By what they are before compression.
    #expect(checkpoint.bytes < 100_000)
    for (bytesAtOnce, count) in [(1 << 17, 7), (1 << 26, 1)] {
      #expect(try CheckpointFold.slices(of: checkpoint, bytesAtOnce: bytesAtOnce) == count)
      let digest = try CheckpointFold.digest(of: checkpoint, bytesAtOnce: bytesAtOnce, {})
      #expect(checkpoint.comes(to: digest))
    }
  }

  /// F-20: another compaction may put another in its place before it was read, or while it is.
  @Test(arguments: [1, 2]) func aCheckpointThatGoesWhileItIsLookedAtIsLookedForAgain(call: Int) async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    try await a.replicator.compact()
    try FileManager.default.copyItem(at: folder["remote"], to: folder["read"])
    world.advance(10)
    try await a.magic.update(Note("2", "two"))
    try await a.replicator.push()
    try await a.replicator.compact()
    let later = try names("remote/checkpoints")
    #expect(try later.count == 1 && later != names("read/checkpoints"))
    var calls = 0
    func replace() throws {
      calls += 1
      guard calls == call else { return }
      for place in ["checkpoints", "segments"] {
        try FileManager.default.removeItem(at: folder["read/\(place)"])
        try FileManager.default.copyItem(at: folder["remote/\(place)"], to: folder["read/\(place)"])
      }
    }
    let taken = try FolderListing.taken(from: FolderRemote(folder["read"]), replace) { Issue.record($0) }
    #expect(calls > call)
    #expect(taken.checkpoints.map(\.url.lastPathComponent) == later)
    #expect(taken.listing.rejectedCheckpoints.isEmpty)
  }

  /// One that nothing takes the place of is lacking, and ends no reading.
  @Test func aCheckpointThatIsGoneIsLacking() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    try await a.replicator.compact()
    let checkpoints = folder["remote/checkpoints"]
    func remove() throws {
      guard FileManager.default.fileExists(atPath: checkpoints.path) else { return }
      try FileManager.default.removeItem(at: checkpoints)
    }
    let taken = try FolderListing.taken(from: FolderRemote(folder["remote"]), remove) { Issue.record($0) }
    #expect(!FileManager.default.fileExists(atPath: checkpoints.path))
    #expect(taken.checkpoints.isEmpty && taken.listing.checkpoints.isEmpty)
  }
}
