import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// One replica's files are damaged or missing in the remote; what it wrote before, and what others wrote, is merged (F-10).
@Suite struct DamageTests {
  let folder: TemporaryFolder
  let world = World()
  let a: Replica
  let b: Replica
  let other: Replica

  init() throws {
    folder = try TemporaryFolder()
    a = try Replica(folder["a"], folder["remote"], world)
    b = try Replica(folder["b"], folder["remote"], world)
    other = try Replica(folder["other"], folder["remote"], world)
  }

  private var segments: URL { folder["remote/segments"] }

  private func files() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(atPath: segments.path).sorted().map { segments.appendingPathComponent($0) }
  }

  private func doubts() throws -> [String] {
    let path = folder["remote/doubts"].path
    return FileManager.default.fileExists(atPath: path)
      ? try FileManager.default.contentsOfDirectory(atPath: path).sorted() : []
  }

  /// Three segments of a's with a transaction each, and one of another replica's.
  ///
  /// - Returns: a's files, in the order of their sequences.
  private func fill() async throws -> [URL] {
    for number in 0..<3 {
      world.advance(5)
      try await a.magic.update(Note("n\(number)", "title \(number)"))
      try await a.replicator.push()
    }
    let own = try files()
    world.advance(5)
    // Not having pulled: it is to know nothing of a's.
    try await other.magic.update(Note("o", "of another"))
    try await other.replicator.push()
    return own
  }

  enum Damage: CaseIterable {
    case flippedHeader, flippedBody, cut, emptied, grown, swapped, noSegment, link, pipe, missing, conflictCopy

    /// Whether there is a file to complain about.
    var isThere: Bool { self != .missing && self != .conflictCopy }
  }

  private func damage(_ file: URL, _ damage: Damage, with next: URL) throws {
    var bytes = [UInt8](try Data(contentsOf: file))
    switch damage {
    case .flippedHeader: bytes[70] ^= 4
    case .flippedBody: bytes[bytes.count - 9] ^= 4
    case .cut: bytes.removeLast(7)
    case .emptied: bytes = []
    case .grown: bytes += [1, 2, 3]
    case .swapped: bytes = [UInt8](try Data(contentsOf: next))
    case .noSegment: bytes = Array("A letter, and no segment at all.".utf8)
    case .missing: return try FileManager.default.removeItem(at: file)
    case .link:
      try FileManager.default.removeItem(at: file)
      return try FileManager.default.createSymbolicLink(at: file, withDestinationURL: next)
    case .pipe:
      try FileManager.default.removeItem(at: file)
      try #require(mkfifo(file.path, 0o600) == 0)
      return
    case .conflictCopy:
      let name = file.deletingPathExtension().lastPathComponent + " (conflicted copy).segment"
      return try FileManager.default.moveItem(at: file, to: segments.appendingPathComponent(name))
    }
    try Data(bytes).write(to: file)
  }

  /// H-27, H-28, H-29, H-32: the run before it is merged, and all that others wrote; whoever has the data writes it anew, and
  /// the rest comes.
  @Test(arguments: Damage.allCases) func damageKeepsNothingElseBack(kind: Damage) async throws {
    let own = try await fill()
    let good = try Data(contentsOf: own[1])
    try damage(own[1], kind, with: own[2])

    let report = try await b.replicator.pull()
    #expect(report.transactions == 2)
    #expect(report.unread.map(\.path) == (kind.isThere ? [own[1].path] : []))
    #expect(report.gaps.map(\.sequences) == [2...2])
    #expect(!report.isComplete)
    #expect(try await b.notes().keys.sorted() == ["n0", "o"])
    #expect(try await b.naiveDump() == Dump(b.magic))
    // It is said until it is mended, and changes nothing.
    let again = try await b.replicator.pull()
    #expect(again.transactions == 0)
    #expect((again.unread, again.gaps) == (report.unread, report.gaps))
    // Who has a part of it sends nothing of the rest, and mends nothing.
    #expect(try await b.replicator.push() == PushReport())

    #expect(try await a.replicator.push().segments == 1)
    #expect(try Data(contentsOf: own[1]) == good)
    #expect(try FileManager.default.attributesOfItem(atPath: own[1].path)[.type] as? FileAttributeType == .typeRegular)
    #expect(try doubts().isEmpty)
    let rest = try await b.replicator.pull()
    #expect(rest.transactions == 2)
    #expect(rest.isComplete)
    try await settle([a, b, other])
    try await expectEqual([a, b, other])
  }

  /// S-6: nothing is taken of a file whose fault lies behind its transactions, also by who takes these one by one.
  @Test func aFileIsCheckedToItsEndBeforeAnythingIsTakenOfIt() async throws {
    try await a.magic.update(contentsOf: (0..<3).map { Note("n\($0)", "title") })
    try await a.magic.update(Note("n3", "title"))
    try await a.replicator.push()
    let file = try #require(try files().first)
    world.advance(5)
    try await other.magic.update(Note("o", "of another"))
    try await other.replicator.push()

    let good = [UInt8](try Data(contentsOf: file))
    var header = try SegmentHeader(good)
    let body = try Zlib.inflate(good[SegmentHeader.length...], to: header.bodyLength) + [0]
    let stored = try Zlib.deflate(body)
    (header.bodyLength, header.storedLength, header.storedChecksum) = (body.count, stored.count, Zlib.checksum(stored[...]))
    var writer = ByteWriter()
    header.encode(to: &writer)
    try Data(writer.bytes + stored).write(to: file)

    let history = try MagicHistory(path: folder["remote"].path)
    #expect(try await history.statistics().transactions == 1)
    let built = folder["built"]
    let report = try await history.rebuild(into: built)
    #expect(report.read.unread.map(\.path) == [file.path])
    #expect(try await MagicData(path: built).object(of: Note.self).map(\.id) == ["o"])
    #expect(try await b.replicator.pull().transactions == 1)
  }

  /// M-9: what is damaged is mended by whoever holds it, under the name of who wrote it.
  @Test func anyoneWhoHoldsItMendsIt() async throws {
    let own = try await fill()
    try await b.replicator.pull()
    let good = try Data(contentsOf: own[0])
    try damage(own[0], .flippedBody, with: own[1])
    // It counts still, so nobody sees it but who needs it.
    #expect(try await b.replicator.sync().push == PushReport())
    let late = try Replica(folder["late"], folder["remote"], world)
    #expect(try await late.replicator.pull().unread.map(\.path) == [own[0].path])
    #expect(try doubts() == [own[0].lastPathComponent])
    #expect(try await late.notes().keys.sorted() == ["o"])
    #expect(try await b.replicator.push().segments == 1)
    #expect(try Data(contentsOf: own[0]).count == good.count)
    #expect(try doubts().isEmpty)
    try await late.replicator.pull()
    try await expectEqual([b, late])
  }

  /// A damaged file that was cut by others' rules is replaced as a whole.
  @Test func aDamagedFileIsReplacedUnderItsOwnName() async throws {
    for number in 0..<3 { try await a.magic.update(Note("n\(number)", "x")) }
    try await a.replicator.push()
    let file = try #require(try files().first)
    let good = try Data(contentsOf: file)
    try await a.magic.update(Note("later", "x"))
    try damage(file, .cut, with: file)
    try await a.replicator.push()
    #expect(try files().count == 2)
    #expect(try Data(contentsOf: file) == good)
  }

  /// Who doubts may be wrong: a file that is whole stays, and so does one whose content nobody here can tell.
  @Test func aDoubtIsNoProof() async throws {
    let own = try await fill()
    try FileManager.default.createDirectory(at: folder["remote/doubts"], withIntermediateDirectories: false)
    let foreign = try #require(try files().first { !own.contains($0) })
    for name in [own[1].lastPathComponent, foreign.lastPathComponent, "a letter", "..segment", ".hidden"] {
      try Data().write(to: folder["remote/doubts/\(name)"])
    }
    let before = try FileManager.default.attributesOfItem(atPath: own[1].path)[.systemFileNumber] as? Int
    #expect(try await a.replicator.push() == PushReport())
    #expect(try FileManager.default.attributesOfItem(atPath: own[1].path)[.systemFileNumber] as? Int == before)
    #expect(try doubts() == ["..segment", ".hidden", "a letter", foreign.lastPathComponent].sorted())
  }

  @Test func onlyHolesAreFilled() async throws {
    let own = try await fill()
    for file in [own[0], own[2]] { try FileManager.default.removeItem(at: file) }
    let report = try await a.replicator.push()
    #expect((report.segments, report.transactions) == (2, 2))
    #expect(try await b.replicator.pull().transactions == 4)
  }

  /// H-28: it makes no difference when a late file comes, nor that a copy of it was written meanwhile.
  @Test func aLateFileIsTakenWhenItComes() async throws {
    let own = try await fill()
    let late = folder["late"]
    try FileManager.default.moveItem(at: own[0], to: late)
    let report = try await b.replicator.pull()
    #expect(report.gaps.map(\.sequences) == [1...1])
    #expect(try await b.notes().keys.sorted() == ["o"])
    try FileManager.default.moveItem(at: late, to: own[0])
    #expect(try await b.replicator.pull().isComplete)
    try await a.replicator.pull()
    try await expectEqual([a, b])
  }

  /// A clone of what can be read is a replica like any other.
  @Test func whatWasMergedInPartGoesOnElsewhere() async throws {
    let own = try await fill()
    try damage(own[1], .flippedBody, with: own[2])
    try await b.replicator.pull()
    try await b.magic.update(Note("b", "meanwhile"))
    let far = try Replica(folder["far"], folder["hub2"], world)
    let second = MagicReplicator(b.magic, remote: FolderRemote(folder["hub2"]))
    try await second.sync()
    try await far.replicator.sync()
    #expect(try await far.notes().keys.sorted() == ["b", "n0", "o"])
    try await a.replicator.push()
    try await settle([b])
    try await second.sync()
    try await far.replicator.pull()
    try await settle([a, b])
    try await expectEqual([a, b, far])
  }
}
