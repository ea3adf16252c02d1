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
    try await BundleFile.write(remote, to: bundle)
    let before = try Data(contentsOf: bundle)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: bundle.path)
    try await push(2)
    try await BundleFile.write(remote, to: bundle)
    #expect(try Data(contentsOf: bundle) != before)
    #expect(DurableFile.permissions(of: bundle).map { Int($0) } == mode)
  }

  /// B-4: a killed writer's part may be as long as the bundle. What is not this bundle's is somebody else's, who may be at it.
  @Test func whatKilledWritersOfABundleLeftGoesWithTheNextOne() async throws {
    try await push(1)
    let id = UUID().uuidString.lowercased()
    let others = [".\(id).tmp", ".b.magicbundle.\(id).tmp", ".a.magicbundle.b.magicbundle.\(id).tmp", ".a.magicbundle.tmp"]
    for name in others + [".a.magicbundle.\(id).tmp"] {
      try Data([1, 2, 3]).write(to: folder[name])
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: folder[name].path)
    }
    try await BundleFile.write(FolderRemote(folder["remote"]), to: folder["a.magicbundle"])
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasSuffix(".tmp") }
    #expect(left.sorted() == others.sorted())
  }

  /// B-4: of names that begin alike, or look alike, each is a bundle of its own.
  @Test func whatWritersOfABundleWithALikeNameWriteStays() async throws {
    try await push(1)
    let remote = FolderRemote(folder["remote"])
    let long = String(repeating: "a", count: 200)
    let pairs = [("\(long) 1.magicbundle", "\(long) 2.magicbundle"), ("e\u{301}.magicbundle", "\u{e9}.magicbundle")]
    func hidden(_ bundle: String) async throws -> [String] {
      var names: [String] = []
      // Bound, it has its own name next.
      try await BundleFile.write(remote, to: folder[bundle]) {
        names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasSuffix(".tmp") }
      }
      return names
    }
    for (mine, other) in pairs {
      let written = try await hidden(other)
      let name = try #require(written.first)
      // As if that one were at it still.
      try Data([1, 2, 3]).write(to: folder[name])
      #expect(try await hidden(mine).count == 2)
      #expect(FileManager.default.fileExists(atPath: folder[name].path))
      // It is left by somebody who was killed to who writes its own bundle.
      let names = try await hidden(other)
      #expect(names.count == 1 && names != [name])
      #expect(!FileManager.default.fileExists(atPath: folder[name].path))
    }
  }

  /// F-11, H-41: what a database that was bound elsewhere meanwhile was about to add is in nobody's bundle.
  @Test func whatCannotBeBoundIsNotPublished() async throws {
    try await push(1)
    let bundle = folder["a.magicbundle"]
    try await BundleFile.write(FolderRemote(folder["remote"]), to: bundle)
    let before = try Data(contentsOf: bundle)
    let other = try Replica(folder["other"], folder["elsewhere"], world)
    try await other.magic.update(Note("other", "theirs"))
    try await other.replicator.push()
    let c = try Replica(folder["c"], folder["elsewhere"], world)
    try await c.magic.update(Note("c", "mine"))
    let carried = FolderRemote(folder["carried"], isForTheTime: true)
    try BundleFile.unpack(bundle, into: carried)
    #expect(try await MagicReplicator(c.magic, remote: carried).push().transactions == 1)
    try await c.replicator.push()
    await #expect {
      try await BundleFile.write(carried, to: bundle) { try await carried.settle(c.magic) }
    } throws: { ($0 as? MagicDataError)?.code == .incompatible }
    #expect(try Data(contentsOf: bundle) == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(names.filter { $0.contains("magicbundle") } == ["a.magicbundle"])
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
