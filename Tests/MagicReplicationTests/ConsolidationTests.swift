import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Many small pushes leave few files, and none is deleted before its content is in another (H-16, H-29, H-30).
@Suite struct ConsolidationTests {
  let folder: TemporaryFolder
  let world = World()
  let a: Replica

  init() throws {
    folder = try TemporaryFolder()
    a = try Replica(folder["a"], folder["remote"], world)
  }

  private var segments: URL { folder["remote/segments"] }

  private func files() throws -> [String: Data] {
    try FileManager.default.contentsOfDirectory(atPath: segments.path).reduce(into: [:]) {
      $0[$1] = try Data(contentsOf: segments.appendingPathComponent($1))
    }
  }

  private func push(_ count: Int, from replica: Replica? = nil) async throws {
    let replica = replica ?? a
    for number in 0..<count {
      world.advance(5)
      try await replica.magic.update(Note("n\(number % 7)", "title \(number) at \(world.milliseconds)"))
      try await replica.replicator.push()
    }
  }

  private func expectWhole(_ name: String = "newcomer", _ comment: Comment? = nil) async throws {
    let newcomer = try Replica(folder[name], folder["remote"], world)
    #expect(try await newcomer.replicator.pull().isComplete, comment)
    try await expectEqual([a, newcomer], comment)
  }

  /// F-19.
  @Test func manySmallPushesLeaveFewFiles() async throws {
    try await push(100)
    #expect(try files().count < 32)
    #expect(try FolderCheck(FolderRemote(folder["remote"])).transactions == 100)
    try await expectWhole()
    // Nothing to send, and nothing to tidy.
    let before = try files()
    try await a.replicator.push()
    #expect(try files() == before)
  }

  /// F-19.
  @Test func whatIsForwardedIsMadeFewAsWell() async throws {
    let b = try Replica(folder["b"], folder["remote"], world)
    let forward = MagicReplicator(b.magic, remote: FolderRemote(folder["other"]))
    for _ in 0..<40 {
      try await push(1)
      try await b.replicator.pull()
      try await forward.push()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["other/segments"].path).count < 20)
  }

  /// J-15, H-32: those of which one schema has no room for both stay two, and what else is there is made few.
  @Test func whatDoesNotFitOneSchemaStaysApart() async throws {
    try await push(9)
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet }
    let (replica, key) = (ReplicaID(7, 7), ObjectKey.primary(.text("wide")))
    var previous = TransactionName.none
    var wide: Set<String> = []
    for number in 1...2 {
      let fields = try (0..<600).map { TypeSchema.Field(name: try Name("f\($0) of \(number)"), kind: .integer) }
      let type = TypeSchema(name: try Name("Wide"), primary: .init(name: try Name("id"), kind: .text), fields: fields)
      var writer = SegmentWriter(
        dataSet: dataSet, writer: replica, schema: Schema(types: [type]), replica: replica, first: UInt64(number),
        previous: previous)
      previous = TransactionName(stamp: Stamp(UInt64(number)), tag: 1)
      let values = fields.indices.map { FieldValue(field: $0, value: .integer(1)) }
      writer.add(
        Transaction(
          replica: replica, sequence: UInt64(number), name: previous, root: replica,
          entries: [Entry(type: 0, key: key, operation: .update, fields: values)]))
      let (name, bytes) = try writer.finish()
      let file = "\(replica).000000000000000\(number).000000000000000\(number).\(name).segment"
      wide.insert(file)
      try Data(bytes).write(to: segments.appendingPathComponent(file))
    }
    let report = try await FolderRemote(folder["remote"]).compact()
    #expect((report.segments, report.newSegments) == (11, 3))
    #expect(try wide.isSubset(of: files().keys))
  }

  /// F-18.
  @Test func aFolderIsMadeFewOnRequest() async throws {
    let b = try Replica(folder["b"], folder["remote"], world)
    try await push(9)
    try await b.replicator.pull()
    try await push(8, from: b)
    let before = try files()
    let remote = FolderRemote(folder["remote"])
    let planned = try await remote.compact(isDryRun: true)
    #expect(try files() == before)
    let report = try await remote.compact()
    #expect(planned == report)
    #expect(report.segments == 17)
    #expect(report.newSegments == 2)
    #expect(try files().count == 2)
    try await a.replicator.pull()
    try await expectWhole()
    #expect(try await remote.compact().newSegments == 2)
  }

  /// F-18: whatever was deleted when the writer was stopped: the new file is there, and any of the old ones.
  @Test func eachStepLeavesAWholeFolder() async throws {  // H-26
    try await push(6)
    let old = try files()
    try await FolderRemote(folder["remote"]).compact()
    for count in 0...old.count {
      for (name, bytes) in old.sorted(by: { $0.key < $1.key }).prefix(count) {
        try bytes.write(to: segments.appendingPathComponent(name))
      }
      try await expectWhole("newcomer\(count)")
    }
    // And what was left is found again.
    #expect(try await FolderRemote(folder["remote"]).compact().newSegments == 1)
    try await expectWhole()
  }

  @Test func aDamagedFileIsLeftToWhoCanMendIt() async throws {
    try await push(5)
    let name = try #require(try files().keys.sorted().dropFirst(2).first)
    var bytes = try #require(try files()[name])
    bytes[bytes.count - 3] ^= 1
    try bytes.write(to: segments.appendingPathComponent(name))
    try await FolderRemote(folder["remote"]).compact()
    #expect(try files()[name] == bytes)
    let newcomer = try Replica(folder["newcomer"], folder["remote"], world)
    #expect(try await newcomer.replicator.pull().unread.count == 1)
    try await a.replicator.push()
    try await FolderRemote(folder["remote"]).compact()
    #expect(try files().count == 1)
    try await expectWhole("another")
  }

  /// A file that goes while somebody reads is looked for again (F-20).
  @Test func readersDoNotMindFilesThatGo() async throws {
    try await push(30)
    let remote = FolderRemote(folder["remote"])
    let readers = try (0..<4).map { try Replica(folder["r\($0)"], folder["remote"], world) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for reader in readers {
        group.addTask {
          let report = try await reader.replicator.pull()
          #expect(report.isComplete)
        }
      }
      group.addTask { try await remote.compact() }
      try await group.waitForAll()
    }
    try await expectEqual([a] + readers)
  }

  /// Two replicas' transactions, six each in as many files; their names.
  private func pushOfTwo() async throws -> Set<String> {
    let b = try Replica(folder["b"], folder["remote"], world)
    try await push(6)
    try await b.replicator.pull()
    try await push(6, from: b)
    let names = Set(try files().keys)
    try #require(names.count == 12)
    return names
  }

  /// The folder as who has no database reads it. Something is done to it when the first transaction is there.
  private func transactions(
    meanwhile change: @Sendable @escaping () throws -> Void
  ) async throws -> (read: [String], report: MagicReadReport) {
    let (read, report) = try await OpenJournal.read([.folder(FolderRemote(folder["remote"]))]) { journal, _ in
      var read: [String] = []
      try journal.forEachTransaction(JournalWindow()) { transaction, _ in
        if read.isEmpty { try change() }
        read.append("\(transaction.replica):\(transaction.sequence)")
      }
      return read
    }
    return (read, report)
  }

  /// F-20, for who reads without a database: what takes the place of files that go is read.
  @Test func readingsDoNotMindFilesThatGo() async throws {
    let (names, segments, joined) = (try await pushOfTwo(), segments, folder["joined/segments"])
    try FileManager.default.copyItem(at: folder["remote"], to: folder["joined"])
    #expect(try await FolderRemote(folder["joined"]).compact().newSegments == 2)
    let (read, report) = try await transactions {
      for name in try FileManager.default.contentsOfDirectory(atPath: joined.path) {
        try FileManager.default.copyItem(
          at: joined.appendingPathComponent(name), to: segments.appendingPathComponent(name))
      }
      for name in names { try FileManager.default.removeItem(at: segments.appendingPathComponent(name)) }
    }
    #expect(report.isComplete, "\(report)")
    #expect(read.count == 12 && Set(read).count == 12, "\(read)")
  }

  /// F-10: what nothing takes the place of is missing, of each replica once.
  @Test func whatGoesForGoodIsMissing() async throws {
    let (names, segments) = (try await pushOfTwo(), segments)
    let (read, report) = try await transactions {
      for name in names { try FileManager.default.removeItem(at: segments.appendingPathComponent(name)) }
    }
    // The next one of the first replica is at hand when its first one is there.
    #expect(read.count == 3, "\(read)")
    #expect(report.gaps.map(\.sequences) == [3...6, 2...6] && Set(report.gaps.map(\.replica)).count == 2, "\(report)")
  }

  /// F-20: a folder that is away, or cannot be listed, while it is read has gaps, and ends no reading.
  @Test(arguments: geteuid() == 0 ? [true] : [true, false]) func aFolderThatGoesMeanwhileHasGaps(isAway: Bool) async throws {
    let (names, segments, remote, away) = (try await pushOfTwo(), segments, folder["remote"], folder["away"])
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: segments.path) }
    let (read, report) = try await transactions {
      if isAway { return try FileManager.default.moveItem(at: remote, to: away) }
      for name in names { try FileManager.default.removeItem(at: segments.appendingPathComponent(name)) }
      try FileManager.default.setAttributes([.posixPermissions: 0o300], ofItemAtPath: segments.path)
    }
    #expect(read.count == 3, "\(read)")
    #expect(report.gaps.map(\.sequences.count).reduce(0, +) == 9 && report.unread.isEmpty, "\(report)")
  }

  /// F-20: what is open is read to its end, though another compaction has deleted it.
  @Test func aCheckpointThatGoesWhileItIsReadIsReadToItsEnd() async throws {
    for number in 0..<3 {
      world.advance(5)
      let text = String(repeating: "\(number)", count: 100_000)
      try await a.magic.update(contentsOf: (0..<30).map { Note("n\(number) \($0)", text) })
    }
    try await a.replicator.push()
    try await a.replicator.compact()
    let checkpoints = folder["remote/checkpoints"]
    let (read, report) = try await transactions {
      for name in try FileManager.default.contentsOfDirectory(atPath: checkpoints.path) {
        try FileManager.default.removeItem(at: checkpoints.appendingPathComponent(name))
      }
    }
    // Of two parts, of which the first one is in memory by then.
    #expect(read.count >= 3 && report.isComplete, "\(read) \(report)")
  }

  /// The sequences of the last so many entries of the folder.
  private func last(_ limit: Int) async throws -> (sequences: [UInt64], report: MagicReadReport) {
    var selection = LogSelection()
    selection.limit = limit
    let found = Locked<[UInt64]>([])
    let report = try await JournalSource.folder(FolderRemote(folder["remote"])).forEachEntry(selection) { _, transaction, _ in
      found.withLock { $0.append(transaction.sequence) }
    }
    return (found.withLock(\.self), report)
  }

  /// H-28: in the place of what is missing among the last ones come those before them, and nothing is said of what is far
  /// before these.
  @Test func theLastOnesThatCanBeReadAreShown() async throws {
    try await push(9)
    let names = try files().keys.sorted()
    try #require(names.count == 9)
    for index in [1, 7] { try FileManager.default.removeItem(at: segments.appendingPathComponent(names[index])) }
    let (sequences, report) = try await last(3)
    #expect(sequences == [6, 7, 9])
    #expect(report.gaps.map(\.sequences) == [8...8] && report.unread.isEmpty, "\(report)")
  }

  /// The same of what is missing behind all that is there: nothing takes its place.
  @Test func whatIsMissingAtTheEndHasNothingElseRead() async throws {
    try await push(9)
    let names = try files().keys.sorted()
    try #require(names.count == 9)
    for index in [1, 8] { try FileManager.default.removeItem(at: segments.appendingPathComponent(names[index])) }
    let (sequences, report) = try await last(3)
    #expect(sequences == [6, 7, 8])
    #expect(report.gaps.map(\.sequences) == [9...9] && report.unread.isEmpty, "\(report)")
  }

  /// F-18.
  @Test func twoMayTidyAtOnce() async throws {
    let b = try Replica(folder["b"], folder["remote"], world)
    for _ in 0..<5 {
      try await push(6)
      try await b.replicator.sync()
      async let one = FolderRemote(folder["remote"]).compact()
      async let two = FolderRemote(folder["remote"]).compact()
      async let three = b.replicator.push()
      _ = try await (one, two, three)
    }
    try await expectWhole()
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  /// F-21.
  @Test func whatKilledWritersLeftGoesAfterADay() async throws {
    try await push(2)
    let old = segments.appendingPathComponent(".\(UUID().uuidString.lowercased()).tmp")
    let recent = segments.appendingPathComponent(".\(UUID().uuidString.lowercased()).tmp")
    let others = segments.appendingPathComponent(".stfolder")
    let content = String(repeating: "0a", count: 32)
    try FileManager.default.createDirectory(at: folder["remote/assets"], withIntermediateDirectories: true)
    let part = folder["remote/assets/.\(content).part"]
    for file in [old, recent, others, part] { try Data([1, 2, 3]).write(to: file) }
    for file in [old, others, part] {
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: file.path)
    }
    let report = try await FolderRemote(folder["remote"]).compact()
    #expect(report.leftovers == 2)
    #expect(report.leftoverBytes == 6)
    #expect(!FileManager.default.fileExists(atPath: part.path))
    #expect(!FileManager.default.fileExists(atPath: old.path))
    #expect(FileManager.default.fileExists(atPath: recent.path))
    #expect(FileManager.default.fileExists(atPath: others.path))
  }
}
