import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@testable import MagicReplication

/// H-39, S-2: what a newer version has written is neither replaced nor deleted, whoever tidies.
@Suite struct NewerFormatTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  private func files(_ name: String) throws -> [URL] {
    let place = folder[name]
    return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted().map { place.appendingPathComponent($0) }
  }

  /// Two segments of a, which both have acknowledged.
  private func pushTwo() async throws {
    for number in 0..<2 {
      world.advance(5)
      try await a.magic.update(Note("n\(number)", "title \(number)"))
      try await a.replicator.push()
    }
    try await settle([a, b])
    try #require(files("remote/segments").count == 2)
  }

  /// Of format 2, with the header's checksum as its writer would have it.
  ///
  /// - Parameter length: the header's.
  private func makeNewer(_ file: URL, _ length: Int) throws -> Data {
    var bytes = try Data(contentsOf: file)
    bytes[9] = 2
    let checksum = Zlib.checksum([UInt8](bytes[..<(length - 4)])[...])
    bytes.replaceSubrange((length - 4)..<length, with: withUnsafeBytes(of: checksum.bigEndian) { Data($0) })
    try bytes.write(to: file)
    return bytes
  }

  private func makeNewer(checkpoint file: URL) throws -> Data { try makeNewer(file, checkpointHeader(of: file).bytes.count) }

  private func expectIncompatible(_ body: () async throws -> Void) async {
    do {
      try await body()
      Issue.record("nothing was refused")
    } catch {
      #expect((error as? MagicDataError)?.code == .incompatible, "\(error)")
    }
  }

  // MARK: Segments

  /// K-18: also if the floor is above it.
  @Test func aSegmentBelowTheFloorStays() async throws {
    try await pushTwo()
    let file = try files("remote/segments")[0]
    let bytes = try makeNewer(file, SegmentHeader.length)
    try await a.replicator.compact()
    #expect(try files("remote/checkpoints").count == 1)
    #expect(try files("remote/segments") == [file])
    #expect(try Data(contentsOf: file) == bytes)
  }

  /// F-18: also if another file holds all that it does by its name, and a file that would have its name is not written.
  @Test(arguments: [false, true]) func aSegmentStaysWhereSegmentsAreMadeOne(isWhole: Bool) async throws {
    try await pushTwo()
    let small = try files("remote/segments")
    try await MagicReplicator(b.magic, remote: FolderRemote(folder["other"])).push()
    let copied = try #require(files("other/segments").first)
    let whole = folder["remote/segments"].appendingPathComponent(copied.lastPathComponent)
    try #require(!small.contains(whole))
    try FileManager.default.copyItem(at: copied, to: whole)
    let file = isWhole ? whole : small[0]
    let bytes = try makeNewer(file, SegmentHeader.length)
    let remote = FolderRemote(folder["remote"])
    if isWhole {
      await expectIncompatible { try await remote.compact() }
      #expect(try files("remote/segments").count == 3)
    } else {
      try await remote.compact()
      #expect(try Set(files("remote/segments")) == [file, whole])
    }
    #expect(try Data(contentsOf: file) == bytes)
  }

  // MARK: Checkpoints

  /// K-17, K-18: beside one of which nobody knows what it stands for none is written; all else is sent.
  @Test(arguments: ["push", "compact", "compact the folder"]) func aCheckpointStays(command: String) async throws {
    try await pushTwo()
    try await a.replicator.compact()
    let file = try #require(files("remote/checkpoints").first)
    let bytes = try makeNewer(checkpoint: file)
    try await a.magic.update(Note("new", "of a"))
    switch command {
    case "push": await expectIncompatible { try await a.replicator.push() }
    case "compact": await expectIncompatible { try await a.replicator.compact() }
    default: try await FolderRemote(folder["remote"]).compact()
    }
    #expect(try files("remote/checkpoints") == [file])
    #expect(try Data(contentsOf: file) == bytes)
    #expect(try files("remote/segments").count == (command == "push" ? 1 : 0))
  }

  // MARK: Arriving

  /// W-8, W-17: the same of what comes to a hub.
  @Test func whatArrivesTakesNoNewerFilesPlace() async throws {
    try await pushTwo()
    let segment = try files("remote/segments")[0]
    let whole = [UInt8](try Data(contentsOf: segment))
    let dataSet = try SegmentHeader(Array(whole[..<SegmentHeader.length])).dataSet
    let newer = try makeNewer(segment, SegmentHeader.length)
    let remote = FolderRemote(folder["remote"])
    let arriving = try ArrivingSegment(
      Array(whole[..<SegmentHeader.length]), name: try #require(SegmentFileName(segment.lastPathComponent)).name, in: remote,
      isDurable: true)
    try whole[SegmentHeader.length...].withUnsafeBytes { try arriving.append($0) }
    #expect { try arriving.finish() } throws: { ($0 as? MagicDataError)?.cause is NotReplaced }
    #expect(try Data(contentsOf: segment) == newer)
    try FileManager.default.removeItem(at: segment)
    try await a.replicator.push()
    try await a.replicator.compact()
    let checkpoint = try #require(files("remote/checkpoints").first)
    let good = [UInt8](try Data(contentsOf: checkpoint))
    let bytes = try makeNewer(checkpoint: checkpoint)
    #expect { try arrive(good, of: dataSet, in: remote) } throws: { ($0 as? MagicDataError)?.cause is NotReplaced }
    #expect(try Data(contentsOf: checkpoint) == bytes)
    // H-41: nor is one taken that is of another data set.
    let hub = FolderRemote(folder["hub"])
    try FileManager.default.createDirectory(at: folder["hub"], withIntermediateDirectories: false)
    #expect { try arrive(good, of: DataSetID(9, 9), in: hub) } throws: { ($0 as? MagicDataError)?.code == .incompatible }
    #expect(try files("hub/checkpoints").isEmpty)
  }

  private func arrive(_ bytes: [UInt8], of dataSet: DataSetID, in remote: FolderRemote) throws {
    let arriving = try ArrivingCheckpoint(bytes.count, of: dataSet, in: remote, isDurable: true)
    try bytes.withUnsafeBytes { try arriving.append($0) }
    try arriving.finish()
  }
}
