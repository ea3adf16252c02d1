import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Protocol/bundle.md, of bundles that others have put together. What the tools do with bundles is in `ToolTests/CommandTests`.
@Suite struct BundleTests {
  let folder: TemporaryFolder
  let world = World()
  let a: Replica

  init() throws {
    folder = try TemporaryFolder()
    a = try Replica(folder["a"], folder["remote"], world)
  }

  /// So many segments of one transaction each.
  private func push(_ count: Int) async throws {
    for number in 0..<count {
      world.advance(5)
      try await a.magic.update(Note("n\(number)", "title \(number)"))
      try await a.replicator.push()
    }
  }

  /// The files in a remote, in the order of their names.
  private func segments(_ remote: String = "remote") throws -> [Data] {
    let place = folder["\(remote)/segments"]
    return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted().map {
      try Data(contentsOf: place.appendingPathComponent($0))
    }
  }

  /// A bundle of some segments, in their order, as a folder.
  private func bundle(_ segments: [Data], _ name: String) async throws -> FolderRemote {
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    var head = ByteWriter()
    head.append(Array("MAGICBUN".utf8))
    head.fixed(UInt16(1))
    head.fixed(UInt16(0))
    dataSet.encode(to: &head)
    head.fixed(Zlib.checksum(head.bytes[...]))
    var end = ByteWriter()
    end.append(Array("MAGICEND".utf8))
    end.fixed(UInt32(segments.count))
    end.fixed(UInt32(0))
    end.fixed(Zlib.checksum(end.bytes[...]))
    var bytes = Data(head.bytes)
    for segment in segments { bytes += segment }
    bytes += Data(end.bytes)
    try bytes.write(to: folder["\(name).magicbundle"])
    let remote = FolderRemote(folder[name])
    try BundleFile.unpack(folder["\(name).magicbundle"], into: remote)
    return remote
  }

  /// B-1: the order of its parts means nothing, and they may overlap.
  @Test(arguments: seeds(6)) func partsStandInAnyOrder(seed: UInt64) async throws {
    var chance = Seeded(seed)
    try await push(4)
    // The same run as one part, as another cuts it.
    let b = try Replica(folder["b"], folder["remote"], world)
    try await b.replicator.pull()
    try await MagicReplicator(b.magic, remote: FolderRemote(folder["side"])).push()
    let parts = try segments() + segments("side")
    #expect(parts.count == 5)
    _ = try await bundle(parts.shuffled(using: &chance), "whole")
    let c = try Replica(folder["c"], folder["whole"], world)
    #expect(try await c.replicator.pull().isComplete, "MAGIC_SEED=\(seed)")
    try await expectEqual([a, c], "MAGIC_SEED=\(seed)")
  }

  /// Who may read it stays as it was, whatever a new file's permissions would be.
  @Test(arguments: [0o600, 0o660]) func aBundleKeepsItsPermissions(mode: Int) async throws {
    let (remote, bundle) = (FolderRemote(folder["remote"]), folder["a.magicbundle"])
    try await push(1)
    try BundleFile.write(remote, to: bundle)
    let before = try Data(contentsOf: bundle)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: bundle.path)
    try await push(2)
    try BundleFile.write(remote, to: bundle)
    #expect(try Data(contentsOf: bundle) != before)
    #expect(BundleFile.permissions(of: bundle).map { Int($0) } == mode)
  }

  /// B-4, F-21: a killed writer's part may be as long as the bundle.
  @Test func whatKilledWritersOfABundleLeftGoesAfterADay() async throws {
    try await push(1)
    let (old, recent) = (folder[".\(UUID().uuidString.lowercased()).tmp"], folder[".\(UUID().uuidString.lowercased()).tmp"])
    let others = folder[".notes.tmp"]
    for file in [old, recent, others] { try Data([1, 2, 3]).write(to: file) }
    for file in [old, others] {
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: file.path)
    }
    try BundleFile.write(FolderRemote(folder["remote"]), to: folder["a.magicbundle"])
    #expect([old, recent, others].map { FileManager.default.fileExists(atPath: $0.path) } == [false, true, true])
  }

  /// B-1, M-8: a gap waits, and another bundle fills it.
  @Test func aGapInItWaits() async throws {
    try await push(3)
    let parts = try segments()
    _ = try await bundle([parts[2], parts[0]], "most")
    let c = try Replica(folder["c"], folder["most"], world)
    let report = try await c.replicator.pull()
    #expect(report.transactions == 1)
    #expect(report.gaps.map(\.sequences) == [2...2])
    #expect(try await c.notes().keys.sorted() == ["n0"])
    for part in [parts[1], parts[2]] {
      let rest = try await bundle([part], "rest \(part == parts[1])")
      #expect(try await MagicReplicator(c.magic, remote: rest).pull().transactions == 1)
    }
    try await expectEqual([a, c])
  }
}
