import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// What arrives in a hub's folder.
@Suite struct ServedTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  /// F-2, F-6: what counts stays the file that it is, and only what does not is replaced.
  @Test func aHubReplacesOnlyWhatDoesNotCount() async throws {
    let a = try Replica(folder["a"], folder["remote"], world)
    try await a.magic.update(Note("1", "one"))
    try await a.replicator.push()
    let segments = folder["remote/segments"]
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: segments.path).first)
    let file = segments.appendingPathComponent(name)
    let good = [UInt8](try Data(contentsOf: file))
    func arrive() throws {
      let segment = try ArrivingSegment(
        Array(good[..<SegmentHeader.length]), name: try #require(SegmentFileName(name)).name,
        in: FolderRemote(folder["remote"]), isDurable: true)
      try good[SegmentHeader.length...].withUnsafeBytes { try segment.append($0) }
      try segment.finish()
    }
    let before = OpenFile.State(of: file)
    try arrive()
    #expect(OpenFile.State(of: file) == before)
    var damaged = good
    damaged[good.count - 1] ^= 1
    try Data(damaged).write(to: file)
    try arrive()
    #expect([UInt8](try Data(contentsOf: file)) == good)
    #expect(try FileManager.default.contentsOfDirectory(atPath: segments.path) == [name])
  }

  /// H-38: what is another content than its name says goes; what could only not be read stays for another try.
  @Test func aContentThatCannotBeReadStays() throws {
    let digits = String(repeating: "0a", count: 32)
    let part = folder["hub/assets/.\(digits).part"]
    let content = try ArrivingContent(digits, in: FolderRemote(folder["hub"]))
    try [UInt8](repeating: 7, count: 10).withUnsafeBytes { try content.append($0) }
    // Who is root may read everything.
    if geteuid() != 0 {
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: part.path)
      #expect { try content.finish() } throws: { ($0 as? MagicDataError)?.code == .notAllowed }
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: part.path)
    }
    #expect(FileManager.default.fileExists(atPath: part.path))
    #expect { try content.finish() } throws: { ($0 as? MagicDataError)?.code == .damaged }
    #expect(!FileManager.default.fileExists(atPath: part.path))
  }
}
