import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// A new or long-lost replica starts from the state at a floor (L-19, L-20).
@Suite struct CheckpointTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String, _ remote: String = "remote") throws -> Replica {
    try Replica(folder[name], folder[remote], world)
  }

  private func names(_ path: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: folder[path].path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder[path].path).sorted()
  }

  private func write(_ replica: Replica, _ text: String, objects: Int = 10) async throws {
    world.advance(10)
    try await replica.magic.update(contentsOf: (0..<objects).map { Note("n\($0)", "\(text) \($0)") })
  }

  /// Two replicas with a history that both have acknowledged.
  private func twoWithHistory(_ count: Int = 20) async throws -> (Replica, Replica) {
    let (a, b) = (try replica("a"), try replica("b"))
    for number in 0..<count { try await write(a, "title \(number)") }
    try await a.magic.update(Event("first"))
    try await a.replicator.push()
    try await b.replicator.sync()
    try await b.magic.update(Note("b", "of b"))
    try await b.replicator.sync()
    try await a.replicator.sync()
    try await b.replicator.sync()
    return (a, b)
  }

  /// L-17: a checkpoint may say anything of replicas of which it has nothing, and whoever took it sends it on.
  @Test func aFloorOfManyTransactionsThatNobodyHasIsSent() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    _ = try await a.magic.store.write { db in
      for number in 1...3 {
        try db.execute(
          sql: """
            INSERT INTO magic_replica (uuid) VALUES (randomblob(16));
            INSERT INTO magic_floor (replica, sequence, stamp, tag)
              SELECT last_insert_rowid(), \((Int64(1) << 62) - 1), stamp, \(number) FROM magic_floor LIMIT 1
            """)
      }
    }
    let report = try await MagicReplicator(a.magic, remote: FolderRemote(folder["other"])).push()
    #expect(report.checkpoints == 1)
    let c = try replica("c", "other")
    #expect(try await c.replicator.pull().checkpoints == 1)
    try await expectEqual([a, c])
  }

  @Test func aNewReplicaStartsFromTheState() async throws {
    let (a, b) = try await twoWithHistory()
    let (database, remote) = try await a.replicator.compact()
    #expect(database.entries == 202)
    #expect(database.keptEntries < 25)
    #expect(remote.newSegments == 0)
    #expect(try names("remote/segments").isEmpty)
    #expect(try names("remote/checkpoints").count == 1)
    let c = try replica("c")
    let report = try await c.replicator.pull()
    #expect(report.checkpoints == 1)
    #expect(report.isComplete)
    #expect(try await c.magic.statistics().entries == database.keptEntries)
    try await expectEqual([a, b, c])
    #expect(try await DatabaseCheck(c.magic).faults == [])
    // All go on, and nobody sends again what the checkpoint stands for.
    #expect(try await b.replicator.push().segments == 0)
    for replica in [a, b, c] { try await write(replica, "later") }
    try await settle([c, b, a])
    try await expectEqual([a, b, c])
    #expect(try await b.magic.statistics().entries > 200)
    // A second one takes the place of the first.
    try await b.replicator.compact()
    #expect(try names("remote/checkpoints").count == 1)
    #expect(try names("remote/segments").isEmpty)
    let d = try replica("d")
    try await d.replicator.pull()
    try await expectEqual([a, b, c, d])
  }

  @Test func aFolderThatWasWipedIsFilledByWhoHasNoHistory() async throws {  // H-9
    let (a, b) = try await twoWithHistory()
    try await a.replicator.compact()
    try await write(a, "after")
    try FileManager.default.removeItem(at: folder["remote"])
    let report = try await a.replicator.push()
    #expect(report.checkpoints == 1)
    #expect(report.segments == 1)
    let c = try replica("c")
    try await c.replicator.pull()
    try await settle([b, a, c])
    try await expectEqual([a, b, c])
    // A quiet folder stays as it is.
    let before = try folder.contents()["remote"]
    #expect(try await a.replicator.push() == PushReport())
    #expect(try folder.contents()["remote"] == before)
  }

  @Test func whoWasOfflineForLongKeepsWhatHeWrote() async throws {  // L-20, H-14, K-13
    let (a, b) = try await twoWithHistory()
    let c = try replica("c")
    try await c.replicator.sync()
    try await write(c, "unsent", objects: 3)
    try await c.magic.remove(Note("n5", ""))
    for number in 0..<20 { try await write(a, "more \(number)") }
    try await a.magic.remove(Note("n7", ""))
    try await a.replicator.sync()
    try await b.replicator.sync()
    try await a.replicator.expire(c.magic.statistics().replica)
    try await a.replicator.compact()
    try await b.replicator.pull()
    #expect(try names("remote/segments").isEmpty)
    let report = try await c.replicator.pull()
    #expect(report.checkpoints == 1)
    try await settle([c, b, a])
    try await expectEqual([a, b, c])
    #expect(try await DatabaseCheck(c.magic).faults == [])
    // What it did while it was away counts as what it is: earlier than what others wrote later.
    #expect(try await a.notes()["n5"] != nil)
    #expect(try await c.notes()["n1"]?.title == "more 19 1")
  }

  /// K-13, C-5: one with a stamp that is held back is not taken before its time; then the clock goes above it.
  @Test func aCheckpointOfAClockFarAheadWaits() async throws {
    let hours: Int64 = 3_600_000
    let ahead = try Replica(folder["ahead"], folder["remote"], world, skew: 48 * hours)
    for number in 0..<5 { try await ahead.magic.update(Note("n", "title \(number)")) }
    try await ahead.replicator.sync()
    try await ahead.replicator.compact()
    #expect(try names("remote/segments").isEmpty)
    let b = try replica("b")
    for _ in 0..<2 {
      let report = try await b.replicator.pull()
      #expect(report.checkpoints == 0)
      #expect(report.heldBack.map { $0.aheadMilliseconds / hours } == [48])
      #expect(try await b.notes().isEmpty)
    }
    try await b.magic.update(Note("m", "of b"))
    #expect(try await b.magic.store.read { db in try DatabaseState(db).lastStamp.milliseconds } == world.milliseconds)
    world.advance(47 * hours + 1)
    #expect(try await b.replicator.pull().checkpoints == 1)
    // An hour behind, it writes above what it took.
    let note = try await b.magic.object(of: Note.self, primary: "n")
    #expect(note.title == "title 4")
    note.title = "later"
    try await b.magic.update(note)
    try await settle([b, ahead])
    try await expectEqual([b, ahead])
    #expect(try await ahead.notes()["n"]?.title == "later")
  }

  /// K-13: of the last transaction of a floor nothing may be kept, and what is written behind it is later all the same.
  @Test func theClockGoesAboveAFloorOfWhichNothingIsKept() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    let end = Stamp(UInt64(world.milliseconds + 1_800_000) << 16)
    _ = try await a.magic.store.write { db in
      try db.execute(
        sql: """
          INSERT INTO magic_replica (uuid) VALUES (randomblob(16));
          INSERT INTO magic_floor (replica, sequence, stamp, tag)
            SELECT last_insert_rowid(), 7, \(end.stored), tag FROM magic_floor LIMIT 1
          """)
    }
    #expect(try await MagicReplicator(a.magic, remote: FolderRemote(folder["other"])).push().checkpoints == 1)
    let c = try replica("c", "other")
    #expect(try await c.replicator.pull().checkpoints == 1)
    try await c.magic.update(Note("n", "of c"))
    #expect(try await c.magic.store.read { db in try DatabaseState(db).lastStamp } > end)
  }

  /// K-16: where segments and a checkpoint stand for the same, as after a compaction that was killed, the checkpoint is taken
  /// once a segment turns out to be damaged.
  @Test func aDamagedSegmentBelowAFloorHoldsNobodyBack() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    for number in 0..<3 {
      try await write(a, "title \(number)")
      try await a.replicator.push()
      if number == 0 { try await b.replicator.pull() }
    }
    let segments = folder["remote/segments"]
    try FileManager.default.copyItem(at: segments, to: folder["kept"])
    try await a.replicator.compact()
    #expect(try names("remote/segments").isEmpty)
    for name in try names("kept") {
      try FileManager.default.copyItem(at: folder["kept/\(name)"], to: segments.appendingPathComponent(name))
    }
    let second = segments.appendingPathComponent(try names("kept").sorted()[1])
    var bytes = try Data(contentsOf: second)
    bytes[bytes.count - 9] ^= 4
    try bytes.write(to: second)
    try await write(a, "later")
    try await a.replicator.push()
    let report = try await b.replicator.pull()
    #expect(report.checkpoints == 1 && report.gaps.isEmpty)
    try await expectEqual([a, b])
  }

  /// A floor that was damaged by hand is an error where it is read, and no crash.
  @Test func aFloorBelowTheFirstTransactionIsAnError() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    _ = try await a.magic.store.write { db in
      try db.execute(
        sql: """
          INSERT INTO magic_replica (uuid) VALUES (randomblob(16));
          INSERT INTO magic_floor (replica, sequence, stamp, tag)
            SELECT last_insert_rowid(), -7, stamp, tag FROM magic_floor LIMIT 1
          """)
    }
    await #expect { try await a.magic.statistics() } throws: { ($0 as? MagicDataError)?.code == .notADatabase }
    await #expect { try await a.replicator.push() } throws: { ($0 as? MagicDataError)?.code == .notADatabase }
  }

  @Test(arguments: [false, true]) func aRestoredBackupGoesOnAboveTheFloor(unnoticed: Bool) async throws {  // H-7, L-11, L-12
    let (a, b) = try await twoWithHistory(3)
    try await a.magic.close()
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    let again = try replica("a")
    for number in 0..<5 { try await write(again, "later \(number)") }
    try await again.replicator.sync()
    try await b.replicator.sync()
    try await again.replicator.compact()
    #expect(try names("remote/segments").isEmpty)
    if unnoticed { try claimMark(of: folder["copy"]) }
    let copy = try replica("copy")
    // Also when it has written as many as the other.
    for number in 0..<5 { try await write(copy, "apart \(number)") }
    try await settle([copy, b, again])
    try await expectEqual([copy, b, again])
    #expect(try await copy.notes()["n1"]?.title == "apart 4 1")
    #expect(try await DatabaseCheck(copy.magic).faults == [])
    // An id that nobody writes under keeps no history.
    if unnoticed {
      try await settle([copy, b, again])
      #expect(try await b.magic.compact().waitsFor == [])
    }
  }

  /// Names below a floor are gone; what they come to is not, and shows that what is held is not all covered: of short entries,
  /// and of those that are read twice.
  @Test(arguments: [1, 300_000])
  func whoHoldsACopysTransactionsBelowTheFloorKeepsThem(length: Int) async throws {  // L-11, L-20, L-25
    let (a, b) = try await twoWithHistory(3)
    try await a.magic.close()
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    try claimMark(of: folder["copy"])
    let copy = try replica("copy", "elsewhere")
    for number in 0..<4 { try await copy.magic.update(Note("x", "\(number)" + String(repeating: "x", count: length))) }
    try await copy.replicator.push()
    let c = try replica("c", "elsewhere")
    try await c.replicator.pull()
    let again = try replica("a")
    for number in 0..<8 { try await write(again, "later \(number)") }
    try await again.replicator.sync()
    try await b.replicator.sync()
    try await again.replicator.compact()
    let moved = MagicReplicator(c.magic, remote: FolderRemote(folder["remote"]))
    try await moved.sync()
    try await again.replicator.sync()
    let dump = try await Dump(c.magic)
    #expect(try await c.notes().keys.contains("x"))
    #expect(try await Dump(again.magic) == dump)
    #expect(try await c.naiveDump() == dump)
    #expect(try await moved.push().transactions == 0)
    #expect(try await DatabaseCheck(c.magic).faults == [])
  }

  @Test func aDamagedCheckpointIsSaidAndMended() async throws {
    let (a, _) = try await twoWithHistory(5)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let whole = try Data(contentsOf: file)
    for (damage, pushes) in [("flipped", true), ("flipped", false), ("cut", true), ("grown", false), ("emptied", false)] {
      var bytes = whole
      switch damage {
      case "flipped": bytes[whole.count / 2] ^= 1
      case "cut": bytes = whole.prefix(whole.count - 9)
      case "grown": bytes += Data([0])
      default: bytes = Data()
      }
      try bytes.write(to: file)
      let c = try replica("c-\(damage)-\(pushes)")
      // Who found it does not settle his own doubt (F-16).
      let report = try await pushes ? c.replicator.sync().pull : c.replicator.pull()
      #expect(report.unread.map(\.code) == [.damaged], "\(damage)")
      #expect(try await Dump(c.magic).objects.isEmpty)
      #expect(try FolderCheck(FolderRemote(folder["remote"])).damaged.count == 1)
      try await a.replicator.push()
      #expect(try Data(contentsOf: file).count == whole.count, "\(damage)")
      #expect(try await c.replicator.pull().isComplete, "\(damage)")
      try await expectEqual([a, c])
    }
  }

  /// H-31, F-3: while a service has not downloaded it, nobody takes what is left for all that there is.
  @Test func aCheckpointThatIsNotDownloadedIsSaid() async throws {
    let (a, _) = try await twoWithHistory(5)
    try await a.replicator.compact()
    let name = try #require(try names("remote/checkpoints").first)
    let file = folder["remote/checkpoints/\(name)"]
    try FileManager.default.moveItem(at: file, to: folder["aside"])
    try Data().write(to: folder["remote/checkpoints/.\(name).icloud"])
    let c = try replica("c")
    let report = try await c.replicator.pull()
    #expect(report.transactions == 0 && !report.isComplete)
    #expect(report.unread.map(\.code) == [.busy] && report.unread[0].message.contains("not downloaded yet"), "\(report)")
    #expect(try await !c.replicator.status().isInStep)
    try FileManager.default.moveItem(at: folder["aside"], to: file)
    // The service takes its placeholder away a little later.
    #expect(try await c.replicator.pull().isComplete)
    try await expectEqual([a, c])
    // Without the marker, it is no folder for another data set (F-8).
    try FileManager.default.removeItem(at: folder["remote/magicdata.json"])
    try FileManager.default.removeItem(at: file)
    await #expect { try await replica("d").replicator.push() } throws: { ($0 as? MagicDataError)?.code == .busy }
  }

  /// K-14: one whose bytes are whole and do not come to its digest is as damaged as others.
  @Test func aFalseCheckpointIsSaidAndKeepsNothingBack() async throws {
    let (a, _) = try await twoWithHistory(5)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    try forgeDigest(of: file)
    let e = try replica("e")
    try await e.magic.update(Note("e", "of e"))
    try await e.replicator.push()
    let c = try replica("c")
    for _ in 0..<2 {
      let report = try await c.replicator.pull()
      #expect(report.unread.map(\.code) == [.damaged])
      #expect(report.unread.first?.message.contains("does not come to what it says") == true)
      #expect(try await Set(c.notes().keys) == ["e"])
    }
    try FileManager.default.removeItem(at: file)
    try await a.replicator.push()
    #expect(try await c.replicator.pull().isComplete)
    try await a.replicator.pull()
    try await expectEqual([a, c])
  }

  /// K-19: nothing of it is handed out to who reads the folder without a database either.
  @Test func aFalseCheckpointIsShownToNobody() async throws {
    let (a, _) = try await twoWithHistory(5)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let whole = try Data(contentsOf: file)
    let kept = try await entries(of: "remote")
    #expect(kept.count > 10 && kept.report.isComplete)
    #expect(try FolderCheck(FolderRemote(folder["remote"])).damaged.isEmpty)
    try forgeDigest(of: file)
    let e = try replica("e")
    try await e.magic.update(Note("e", "of e"))
    try await e.replicator.push()
    let shown = try await entries(of: "remote")
    #expect(shown.count == 1 && shown.report.historyBegins == nil)
    #expect(shown.report.unread.map(\.path) == [file.path] && shown.report.unread.map(\.code) == [.damaged])
    #expect(shown.report.unread.first?.message.contains("does not come to what it says") == true)
    let check = try await SourceCheck(.folder(FolderRemote(folder["remote"])))
    #expect(check.database.objects == 1 && !check.isComplete)
    let files = try FolderCheck(FolderRemote(folder["remote"]))
    #expect(files.checkpoints == 0 && files.damaged.count == 1 && files.damaged.first?.contains(file.path) == true)
    // As a pull, a rebuilding holds what it could take, and is of the data set.
    let rebuilt = try replica("rebuilt")
    let report = try await rebuilt.magic.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    #expect(!report.isOwnDataSet && !report.isComplete)
    #expect(try await Set(rebuilt.notes().keys) == ["e"])
    try whole.write(to: file, options: .atomic)
    let again = try await entries(of: "remote")
    #expect(again.count == kept.count + 1 && again.report.isComplete)
  }

  private func entries(of remote: String) async throws -> (count: Int, report: MagicReadReport) {
    let count = Locked(0)
    let report = try await JournalSource.folder(FolderRemote(folder[remote])).forEachTransaction { transaction, _ in
      count.withLock { $0 += transaction.entries.count }
    }
    return (count.withLock { $0 }, report)
  }

  /// K-16: in its place comes the one below it, with what follows that, to a reader as to a pull.
  @Test func whatIsBelowAFalseCheckpointIsRead() async throws {
    let (a, b) = try await twoWithHistory(5)
    try await a.replicator.compact()
    try await write(a, "between")
    try await settle([a, b])
    try FileManager.default.copyItem(at: folder["remote"], to: folder["before"])
    try await a.replicator.compact()
    let upper = try #require(try Set(names("remote/checkpoints")).subtracting(names("before/checkpoints")).first)
    #expect(try names("before/checkpoints").count == 1)
    for place in ["checkpoints", "segments"] {
      for name in try Set(names("before/\(place)")).subtracting(names("remote/\(place)")) {
        try FileManager.default.copyItem(at: folder["before/\(place)/\(name)"], to: folder["remote/\(place)/\(name)"])
      }
    }
    try forgeDigest(of: folder["remote/checkpoints/\(upper)"])
    let rebuilt = try replica("rebuilt")
    let report = try await rebuilt.magic.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    #expect(report.read.unread.map(\.code) == [.damaged] && report.read.gaps.isEmpty && !report.isOwnDataSet)
    #expect(try await rebuilt.magic.digest() == a.magic.digest())
    let c = try replica("c")
    // A pull names what keeps something from it.
    #expect(try await c.replicator.pull().isComplete)
    try await expectEqual([a, c])
  }

  /// Of more objects than are folded at once.
  @Test func aCheckpointOfManyObjectsIsFoldedInSlices() async throws {
    let a = try replica("a")
    try await write(a, "title", objects: 17_000)
    try await write(a, "again", objects: 100)
    try await a.magic.update(Event("first"))
    try await a.replicator.push()
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let check = try FolderCheck(FolderRemote(folder["remote"]))
    #expect(check.checkpoints == 1 && check.damaged.isEmpty)
    try forgeDigest(of: file)
    #expect(try FolderCheck(FolderRemote(folder["remote"])).damaged.count == 1)
  }

  /// K-11, K-16: two that a floor has no room for together, but for ends beside others. The first is taken, and whoever took it
  /// can send it on.
  @Test func whatAFloorHasNoRoomForIsNotTaken() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let header = try checkpointHeader(of: file)
    let end = try #require(header.floor.replicas.first.flatMap { header.floor[$0] })
    for half: UInt64 in 1...2 {
      var floor = header.floor
      for number in 1...UInt64(Limits.raisedReplicas / 2) {
        floor[Identifier(half, number)] = NamedFrontier.End(sequence: 1, name: end.name)
      }
      let forged = CheckpointHeader(dataSet: header.dataSet, writer: header.writer, digest: header.digest, floor: floor)
      try (Data(forged.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count))
        .write(to: folder["remote/checkpoints/\(forged.name).checkpoint"])
    }
    let c = try replica("c")
    let report = try await c.replicator.pull()
    #expect(report.checkpoints == 1)
    #expect(report.unread.map(\.code) == [.tooLarge])
    let other = MagicReplicator(c.magic, remote: FolderRemote(folder["other"]))
    #expect(try await other.push().checkpoints == 1)
    #expect(try FolderCheck(FolderRemote(folder["other"])).damaged == [])
    #expect(try await Dump(c.magic) == Dump(a.magic))
    // One that is full by ends beside others is taken by who holds nothing.
    var full = header.floor
    for number in 1...UInt64(Limits.floorReplicas - full.count) {
      full[Identifier(3, number)] = NamedFrontier.End(sequence: 1, name: end.name)
    }
    let forged = CheckpointHeader(dataSet: header.dataSet, writer: header.writer, digest: header.digest, floor: full)
    try FileManager.default.createDirectory(at: folder["full/checkpoints"], withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: folder["remote/magicdata.json"], to: folder["full/magicdata.json"])
    try (Data(forged.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count))
      .write(to: folder["full/checkpoints/\(forged.name).checkpoint"])
    #expect(try await replica("d", "full").replicator.pull().checkpoints == 1)
  }

  /// K-5, K-20: a compaction leaves room for ends beside others.
  @Test(arguments: [0, 1]) func aCompactionFillsNoFloor(left: Int) async throws {
    let a = try replica("a")
    try await write(a, "once")
    let own = try await a.magic.store.write { db in
      try db.execute(
        sql: """
          INSERT INTO magic_member (replica, expired)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Limits.raisedReplicas - left))
            SELECT randomblob(16), 1 FROM n;
          INSERT INTO magic_replica (uuid) SELECT replica FROM magic_member;
          INSERT INTO magic_floor (replica, sequence, stamp, tag)
            SELECT r.id, 1, 1 << 30, 0 FROM magic_replica r JOIN magic_member m ON m.replica = r.uuid
          """)
      return try DatabaseState(db).replica
    }
    #expect(try await (a.magic.compact().entries > 0) == (left > 0))
    let floor = try await a.magic.store.read { db in try JournalReader(db).floor() }
    #expect(floor.count == Limits.raisedReplicas)
    #expect((floor[own] != nil) == (left > 0))
  }

  /// K-18: why nothing goes is said.
  @Test func aFolderIsNotCutBeforeACheckpointIsTaken() async throws {
    let (a, b) = try await twoWithHistory(2)
    try await b.magic.compact()
    try FileManager.default.copyItem(at: folder["remote"], to: folder["before"])
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let header = try checkpointHeader(of: file)
    var floor = header.floor
    floor[Identifier(9, 9)] = floor.replicas.first.flatMap { header.floor[$0] }
    let forged = CheckpointHeader(dataSet: header.dataSet, writer: header.writer, digest: header.digest, floor: floor)
    let place = "before/checkpoints/\(forged.name).checkpoint"
    try FileManager.default.createDirectory(at: folder["before/checkpoints"], withIntermediateDirectories: true)
    try (Data(forged.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count)).write(to: folder[place])
    let replicator = MagicReplicator(b.magic, remote: FolderRemote(folder["before"]))
    for isDryRun in [true, false] {
      let report = try await replicator.compact(isDryRun: isDryRun).folder
      #expect(report.waitsFor?.hasSuffix(place) == true, "\(report)")
      #expect(try names("before/checkpoints") == [folder[place].lastPathComponent])
    }
    try await replicator.pull()
    #expect(try await replicator.compact().folder.waitsFor == nil)
  }

  /// K-11, K-17, F-23: a floor that no reader would take is not written, and what lies above it is sent all the same.
  @Test func aFloorThatIsTooLargeKeepsNothingElseBack() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    _ = try await a.magic.store.write { db in
      try db.execute(
        sql: """
          INSERT INTO magic_replica (uuid)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Limits.floorReplicas))
            SELECT randomblob(16) FROM n;
          INSERT INTO magic_floor (replica, sequence, stamp, tag)
            SELECT r.id, 1, f.stamp, f.tag FROM magic_replica r, (SELECT stamp, tag FROM magic_floor LIMIT 1) f
            WHERE r.id NOT IN (SELECT replica FROM magic_floor)
          """)
    }
    try await write(a, "above the floor")
    let other = MagicReplicator(a.magic, remote: FolderRemote(folder["other"]))
    await #expect { try await other.push() } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
    #expect(try names("other/checkpoints") == [])
    #expect(try !names("other/segments").isEmpty)
  }

  /// K-14, K-16: many that stand for nothing that is kept, none above another.
  @Test func manyCheckpointsBesideEachOtherAreTaken() async throws {
    let (a, b) = try await twoWithHistory(2)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let header = try checkpointHeader(of: file)
    let end = try #require(header.floor.replicas.first.flatMap { header.floor[$0] })
    for number: UInt64 in 1...100 {
      var floor = NamedFrontier()
      floor[Identifier(number, 1)] = NamedFrontier.End(sequence: 1, name: end.name)
      let empty = CheckpointHeader(
        dataSet: header.dataSet, writer: header.writer, digest: Digest().identifier, floor: floor)
      try Data(empty.bytes + CheckpointEnd(entries: 0, parts: 0).bytes)
        .write(to: folder["remote/checkpoints/\(empty.name).checkpoint"])
    }
    let c = try replica("c")
    #expect(try await c.replicator.pull().checkpoints == 101)
    #expect(try await b.replicator.pull().checkpoints == 100)
    for replica in [b, c] {
      #expect(try await Dump(replica.magic) == Dump(a.magic))
      let frontier = try await replica.frontier()
      #expect((1...100).allSatisfy { frontier[Identifier($0, 1)] == 1 })
    }
  }

  @Test func aCheckpointOfAnotherDataSetIsSaidWithWhatToDo() async throws {
    let (a, _) = try await twoWithHistory(2)
    try await a.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let header = try checkpointHeader(of: file)
    let other = CheckpointHeader(dataSet: header.writer, writer: header.writer, digest: header.digest, floor: header.floor)
    try (Data(other.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count)).write(to: file)
    let damaged = try FolderCheck(FolderRemote(folder["remote"])).damaged
    #expect(damaged.contains { $0.contains("belongs to another data set") && $0.contains("Move the file away") })
  }

  /// C-5: what is kept under a floor is no way round the bound of stamps.
  @Test func aCheckpointWhoseEntriesAreLaterThanItsFloorIsDamaged() async throws {
    let hours: Int64 = 3_600_000
    let ahead = try Replica(folder["ahead"], folder["remote"], world, skew: 48 * hours)
    try await ahead.magic.update(Note("n", "later than all"))
    try await ahead.magic.update(Note("m", "later than all"))
    try await ahead.replicator.sync()
    try await ahead.replicator.compact()
    let file = folder["remote/checkpoints"].appendingPathComponent(try #require(try names("remote/checkpoints").first))
    let header = try checkpointHeader(of: file)
    var floor = NamedFrontier()
    for replica in header.floor.replicas {
      let end = try #require(header.floor[replica])
      floor[replica] = .init(sequence: end.sequence, name: TransactionName(stamp: Stamp(1 << 40), tag: end.name.tag))
    }
    let forged = CheckpointHeader(dataSet: header.dataSet, writer: header.writer, digest: header.digest, floor: floor)
    try (Data(forged.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count)).write(to: file)
    let c = try replica("c")
    let report = try await c.replicator.pull()
    #expect(report.unread.map(\.code) == [.damaged] && report.checkpoints == 0, "\(report)")
    #expect(try await c.notes().isEmpty)
    #expect(try await DatabaseCheck(c.magic).faults == [])
  }

  /// Whoever is stopped between the checkpoint and the last segment that it replaces leaves a folder from which everybody gets
  /// everything.
  @Test func eachStepOfCuttingAFolderLeavesItWhole() async throws {  // H-26, H-29
    let (a, b) = try await twoWithHistory(4)
    for number in 0..<3 {
      try await write(a, "again \(number)")
      try await a.replicator.push()
    }
    try await b.replicator.sync()
    try await a.replicator.pull()
    let segments = try names("remote/segments")
    let before = try segments.map { ($0, try Data(contentsOf: folder["remote/segments/\($0)"])) }
    try await a.replicator.compact()
    for count in 0...before.count {
      for (name, bytes) in before.suffix(count) { try bytes.write(to: folder["remote/segments/\(name)"]) }
      let c = try replica("c\(count)")
      #expect(try await c.replicator.pull().isComplete)
      try await expectEqual([a, c])
    }
    try await b.replicator.compact()
    #expect(try names("remote/segments").isEmpty)
  }

  /// K-18: nothing goes for the sake of what does not come to its digest.
  @Test func aFolderIsNotCutForAFalseCheckpoint() async throws {
    let (a, b) = try await twoWithHistory(5)
    try await b.magic.compact()
    try await write(a, "between")
    try await settle([a, b])
    try FileManager.default.copyItem(at: folder["remote"], to: folder["before"])
    try await a.replicator.compact()
    let upper = try #require(try names("remote/checkpoints").first)
    for name in try Set(names("before/segments")).subtracting(names("remote/segments")) {
      try FileManager.default.copyItem(at: folder["before/segments/\(name)"], to: folder["remote/segments/\(name)"])
    }
    try forgeDigest(of: folder["remote/checkpoints/\(upper)"])
    // What its own floor stands for it writes down itself.
    try await b.replicator.compact(keeping: .seconds(3_600))
    #expect(try names("remote/checkpoints").count == 2)
    let c = try replica("c")
    #expect(try await c.replicator.pull().isComplete)
    try await expectEqual([a, c])
  }

  @Test func twoMayCompactAtOnce() async throws {  // H-30, H-40
    let (a, b) = try await twoWithHistory(6)
    for round in 0..<4 {
      async let first = a.replicator.compact()
      async let second = b.replicator.compact()
      async let third = FolderRemote(folder["remote"]).compact()
      _ = try await (first, second, third)
      try await write(a, "a \(round)")
      try await write(b, "b \(round)", objects: 4)
      async let one = a.replicator.sync()
      async let two = b.replicator.compact()
      _ = try await (one, two)
      try await settle([a, b])
    }
    let c = try replica("c")
    #expect(try await c.replicator.pull().isComplete)
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
  }

  @Test func nothingIsTakenFromTheFolderBeforeEverybodyHasIt() async throws {  // L-16
    let (a, b) = try await twoWithHistory(4)
    try await b.magic.compact()
    try await b.replicator.push()
    try await write(a, "unseen")
    try await a.replicator.push()
    try await a.replicator.compact()
    #expect(try await b.replicator.pull().checkpoints == 0)
    try await settle([a, b])
    try await expectEqual([a, b])
  }
}

func checkpointHeader(of file: URL) throws -> CheckpointHeader {
  let whole = [UInt8](try Data(contentsOf: file))
  return try CheckpointHeader(Array(whole[..<CheckpointHeader.length(Array(whole[..<CheckpointHeader.fixedLength]))]))
}

/// Makes a checkpoint one that does not come to its digest; all its sums are right.
func forgeDigest(of file: URL) throws {
  let header = try checkpointHeader(of: file)
  let forged = CheckpointHeader(
    dataSet: header.dataSet, writer: header.writer, digest: header.writer, floor: header.floor)
  try (Data(forged.bytes) + Data(contentsOf: file).dropFirst(header.bytes.count)).write(to: file)
}
