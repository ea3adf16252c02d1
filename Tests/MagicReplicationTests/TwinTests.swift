import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import Synchronization
import TestSupport
import Testing

/// Databases that were copied, or put back from a backup, with a replica id that another has or had: nothing is lost, and no
/// address is given twice (L-11, L-12, H-7, H-8).
@Suite struct TwinTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func open(_ name: String, _ remote: String = "remote") throws -> Replica {
    try Replica(folder[name], folder[remote], world)
  }

  private func write(_ title: String, by replica: Replica) async throws {
    world.advance(5)
    try await replica.magic.update(Note(title, title))
  }

  private func id(_ replica: Replica) async throws -> String {
    try await replica.magic.store.read { db in try DatabaseState(db).replica.description }
  }

  /// A database with one note in the remote and one that is not, closed.
  private func makeOriginal() async throws -> String {
    let original = try open("a")
    try await write("sent", by: original)
    try await original.replicator.push()
    try await write("unsent", by: original)
    let id = try await id(original)
    try await original.magic.close()
    return id
  }

  /// J-30: the mark beside a file is not that of its copy.
  @Test func aCopyIsAReplicaOfItsOwn() async throws {
    let id = try await makeOriginal()
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy"))
    #expect(try await self.id(original) == id)
    #expect(try await self.id(copy) != id)
    try await write("first", by: original)
    try await write("second", by: copy)
    try await settle([original, copy])
    try await expectEqual([original, copy])
    #expect(try await Set(copy.notes().keys) == ["sent", "unsent", "first", "second"])
    // Objects of the one are none of the other.
    let note = try #require(try await original.notes()["sent"])
    note.stars = 3
    try await copy.magic.update(note)
    #expect(try await copy.notes()["sent"]?.stars == 3)
  }

  /// J-30: the mark beside a file has room for as many transactions as never come to anything.
  @Test func whoRollsBackKeepsItsID() async throws {
    struct Stop: Error {}
    let id = try await makeOriginal()
    for _ in 0..<2 {
      let replica = try open("a")
      for _ in 0..<40 {
        await #expect(throws: Stop.self) {
          try await replica.magic.transaction { tx in
            try await tx.update(Note("never", "never"))
            throw Stop()
          }
        }
      }
      #expect(try await self.id(replica) == id)
      try await write("kept", by: replica)
      #expect(try await self.id(replica) == id)
      try await replica.magic.close()
    }
  }

  /// A copy that could not become a replica of its own yet, since somebody else was writing to it when it was opened.
  private func openBusyCopy() async throws -> Replica {
    try FileManager.default.copyItem(at: folder["a"], to: folder["copy"])
    let other = try DatabaseQueue(path: folder["copy"].appendingPathComponent("default.sqlite3").path)
    let copy = try await other.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN IMMEDIATE")
      let copy = try open("copy")
      try db.execute(sql: "ROLLBACK")
      return copy
    }
    try other.close()
    return copy
  }

  /// J-30: a copy that could not become a replica of its own yet does so with its first write; one that is taken back changes
  /// nothing of that.
  @Test func aCopyThatRollsBackIsStillACopy() async throws {
    struct Stop: Error {}
    let id = try await makeOriginal()
    let copy = try await openBusyCopy()
    await #expect(throws: Stop.self) {
      try await copy.magic.transaction { tx in
        try await tx.update(Note("never", "never"))
        throw Stop()
      }
    }
    try await copy.magic.close()
    let again = try open("copy")
    try await write("of the copy", by: again)
    #expect(try await self.id(again) != id)
  }

  /// J-30, H-34: what SQLite has rolled back by itself is not taken for committed with what is committed next.
  @Test func aCopyThatFindsNoRoomIsStillACopy() async throws {
    let id = try await makeOriginal()
    let copy = try await openBusyCopy()
    #expect(try await self.id(copy) == id)
    try await copy.magic.store.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages + 20)")
    }
    await #expect {
      try await copy.magic.update(Note("no room", String(repeating: "x", count: 400_000)))
    } throws: {
      ($0 as? MagicDataError)?.code == .full
    }
    // This gives the room back, and is committed.
    try await copy.magic.store.write { db in _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = 1000000") }
    #expect(copy.magic.store.takeReplicaChange() == nil)
    try await write("of the copy", by: copy)
    let fresh = try await self.id(copy)
    #expect(fresh != id)
    let change = copy.magic.store.takeReplicaChange()
    #expect(change?.fresh.description == fresh && change?.former.description == id)
    let original = try open("a")
    try await write("of the original", by: original)
    try await settle([original, copy])
    try await expectEqual([original, copy])
    #expect(try await Set(original.notes().keys) == ["sent", "unsent", "of the copy", "of the original"])
  }

  /// J-30: a database that was put back and has only merged since the backup has given no address twice: it keeps its id, says
  /// what it holds, and takes what it lacks.
  @Test func whoHasOnlyMergedSinceItsBackupKeepsItsID() async throws {
    let id = try await makeOriginal()
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    let other = try open("other")
    try await write("of the other", by: other)
    try await settle([other])
    let used = try open("a")
    try await settle([used, other])
    try await used.magic.close()
    try putBack(folder["backup"], into: folder["a"])
    let restored = try open("a")
    #expect(try await restored.notes()["of the other"] == nil)
    try await write("after", by: restored)
    try await restored.replicator.push()
    try await settle([restored, other])
    try await expectEqual([restored, other])
    #expect(try await self.id(restored) == id)
  }

  /// J-30: whatever its path, it is the same file.
  @Test func aDatabaseThatIsMovedOrOpenedAgainKeepsItsID() async throws {
    let id = try await makeOriginal()
    try FileManager.default.moveItem(at: folder["a"], to: folder["moved"])
    for title in ["1", "2"] {
      let moved = try open("moved")
      let beside = try open("moved")
      try await write(title, by: moved)
      try await write(title + " beside", by: beside)
      #expect(try await [self.id(moved), self.id(beside)] == [id, id])
      try await moved.magic.close()
      try await beside.magic.close()
    }
    // A transaction that is rolled back leaves the old token in the file.
    struct Stop: Error {}
    let replica = try open("moved")
    for _ in 0..<2 {
      await #expect(throws: Stop.self) {
        try await replica.magic.transaction { tx in
          try await tx.update(Note("no", "no"))
          throw Stop()
        }
      }
    }
    try await replica.magic.close()
    #expect(try await self.id(open("moved")) == id)
  }

  /// J-30: the token tells a file from what it was before.
  @Test(arguments: [false, true]) func whatWasPutBackTakesAnotherID(isPushed: Bool) async throws {
    let id = try await makeOriginal()
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    let used = try open("a")
    try await write("later", by: used)
    if isPushed { try await used.replicator.push() }
    try await used.magic.close()
    try putBack(folder["backup"], into: folder["a"])
    let restored = try open("a")
    #expect(try await self.id(restored) != id)
    try await write("after", by: restored)
    try await restored.replicator.sync()
    #expect(try await (restored.notes()["later"] != nil) == isPushed)
    let other = try open("other")
    try await other.replicator.pull()
    try await expectEqual([restored, other])
  }

  /// Two branches, one of which has a floor above the other's files, which a service has carried into its folder.
  private func makeFilesBelowTheFloor() async throws -> (original: Replica, copy: Replica, carried: [String]) {
    _ = try await makeOriginal()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy", "side"))
    for number in 0..<2 {
      try await write("first \(number)", by: original)
      try await write("second \(number)", by: copy)
      for replica in [original, copy] { try await replica.replicator.push() }
    }
    try await write("last", by: original)
    try await original.replicator.push()
    try await original.magic.compact()
    let others = try Set(segments(of: "side")).subtracting(segments(of: "remote"))
    for name in others {
      try FileManager.default.copyItem(at: folder["side/segments/" + name], to: folder["remote/segments/" + name])
    }
    return (original, copy, others.sorted())
  }

  /// F-7: below the floor no names are left, and files that contradict each other there keep nothing else back.
  @Test func filesMayDifferBelowTheFloor() async throws {
    let (original, copy, _) = try await makeFilesBelowTheFloor()
    let moved = Replica(copy.magic, folder["remote"])
    for _ in 0..<3 {
      for replica in [original, moved] { try await replica.replicator.sync() }
    }
    let late = try open("late")
    try await late.replicator.pull()
    #expect(try await late.notes().count == 7)
    for replica in [original, moved] { #expect(try await Dump(replica.magic) == Dump(late.magic)) }
  }

  /// K-18: files that are not of what a floor stands for are not given up with it.
  @Test func compactionLeavesABranchThatNobodyHasTaken() async throws {
    let (original, copy, others) = try await makeFilesBelowTheFloor()
    try await copy.magic.close()
    let (before, carried) = (try names(in: "remote"), try names(in: "side"))
    try await original.replicator.compact()
    let left = try names(in: "remote")
    #expect(left.count < before.count)
    // What is everybody's may go, if only in part.
    #expect(!others.isEmpty && carried.subtracting(left).count <= 2)
    #expect(left.count >= 2)
  }

  /// Of the transactions in a remote's segments.
  private func names(in remote: String) throws -> Set<TransactionName> {
    try segments(of: remote).reduce(into: []) { names, segment in
      let bytes = [UInt8](try Data(contentsOf: folder["\(remote)/segments/" + segment]))
      names.formUnion(try Segment(bytes).transactions.map(\.name))
    }
  }

  private func segments(of remote: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder["\(remote)/segments"].path)
  }

  /// J-31: what the mark cannot tell shows in the remote: the copy moves what it wrote under the id.
  @Test(arguments: [0, 1, 3]) func anUnnoticedCopyLeavesTheID(writes: Int) async throws {
    let id = try await makeOriginal()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy"))
    #expect(try await self.id(copy) == id)
    for number in 0..<2 { try await write("first \(number)", by: original) }
    for number in 0..<writes { try await write("second \(number)", by: copy) }
    try await original.replicator.sync()
    var events = copy.replicator.events.makeAsyncIterator()
    try await copy.replicator.sync()
    guard case .becameReplica(let fresh, let former) = await events.next() else {
      Issue.record("it was not told")
      return
    }
    #expect(try await fresh == self.id(copy))
    #expect(fresh != id && former == id)
    try await write("after", by: copy)
    let late = try open("late")
    try await settle([original, copy, late])
    try await expectEqual([original, copy, late])
    #expect(try await late.notes().count == 2 + 2 + writes + 1)
    #expect(try await self.id(original) == id)
    // It is over: nothing moves any more, and nobody takes another id.
    #expect(try await copy.replicator.push() == PushReport())
    #expect(try await fresh == self.id(copy))
    #expect(try await DatabaseCheck(copy.magic).faults == [])
  }

  /// An object without a primary value in the original, which is closed.
  private func addEvent() async throws {
    let original = try open("a")
    world.advance(5)
    try await original.magic.update(Event("held"))
    try await original.magic.close()
  }

  /// Changes an object of the copy, which is opened again, and removes it.
  private func expectHeld(_ event: Event) async throws {
    let again = try open("copy")
    event.text = "changed"
    world.advance(5)
    try await again.magic.update(event)
    #expect(try await again.magic.object(of: Event.self).map(\.text) == ["changed"])
    try await again.magic.remove(event)
    #expect(try await again.magic.object(of: Event.self).isEmpty)
    try await again.magic.close()
  }

  /// J-31: under another id it is the same file, and what an app holds is an object of it.
  @Test func whatAnAppHoldsIsTheSameObjectUnderAnotherID() async throws {
    let id = try await makeOriginal()
    try await addEvent()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy"))
    let events = try await copy.magic.object(of: Event.self)
    try await write("first", by: original)
    try await write("second", by: copy)
    try await original.replicator.sync()
    try await copy.replicator.sync()
    #expect(try await self.id(copy) != id)
    try await copy.magic.close()
    try await expectHeld(try #require(events.first))
  }

  /// J-30: also where a copy could not become a replica of its own when it was opened.
  @Test func whatIsHeldOfABusyCopyIsItsObject() async throws {
    let id = try await makeOriginal()
    try await addEvent()
    let copy = try await openBusyCopy()
    let events = try await copy.magic.object(of: Event.self)
    #expect(try await self.id(copy) == id)
    try await write("of the copy", by: copy)
    #expect(try await self.id(copy) != id)
    try await copy.magic.close()
    try await expectHeld(try #require(events.first))
  }

  /// J-31: put back so that nothing tells, with less than the remote has, and written to.
  @Test(arguments: [0, 2]) func anUnnoticedBackupComesToWhatItLost(writes: Int) async throws {
    _ = try await makeOriginal()
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    let used = try open("a")
    try await write("later", by: used)
    try await used.replicator.push()
    try await used.magic.close()
    try putBack(folder["backup"], into: folder["a"], unnoticed: true)
    let restored = try open("a")
    for number in 0..<writes { try await write("after \(number)", by: restored) }
    try await restored.replicator.push()
    try await restored.replicator.pull()
    #expect(try await restored.notes()["later"] != nil)
    let other = try open("other")
    try await settle([restored, other])
    try await expectEqual([restored, other])
    #expect(try await other.notes().count == 3 + writes)
  }

  enum Backup: CaseIterable {
    /// From before its first exchange, from after it, and the same with a bundle that was pushed in between.
    case unsettled, settled, bundled
  }

  /// K-5: put back so that nothing tells, written to, and compacted before it meets what it has lost, of which only a segment
  /// or a checkpoint is left.
  @Test(arguments: Backup.allCases, [(false, false), (false, true), (true, false), (true, true)])
  func anUnnoticedBackupGivesUpNothingUncompared(backup: Backup, how: (lostIsCompacted: Bool, alone: Bool)) async throws {
    let original = try open("a")
    try await write("first", by: original)
    if backup != .unsettled { try await original.replicator.push() }
    try await write("second", by: original)
    try await original.magic.close()
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    let used = try open("a")
    for number in 0..<3 { try await write("later \(number)", by: used) }
    try await used.replicator.push()
    if how.lostIsCompacted { try await used.replicator.compact() }
    try await used.magic.close()
    try putBack(folder["backup"], into: folder["a"], unnoticed: true)
    let restored = try open("a")
    for number in 0..<6 { try await write("after \(number)", by: restored) }
    if backup == .bundled {
      let carried = FolderRemote(folder["bundle"], isForTheTime: true)
      try await MagicReplicator(restored.magic, remote: carried).push()
    }
    if how.alone { try await restored.magic.compact() } else { try await restored.replicator.compact() }
    try await restored.replicator.sync()
    try await restored.replicator.compact()
    let other = try open("other")
    try await settle([restored, other])
    try await expectEqual([restored, other])
    #expect(try await other.notes().count == 11)
    #expect(try await DatabaseCheck(restored.magic).faults == [])
  }

  /// K-5: what was given up before the first exchange, and a first exchange that broke off, make nobody take another id.
  @Test func whoCompactsBeforeTheFirstExchangeKeepsItsID() async throws {
    let a = try open("a")
    for number in 0..<5 { try await write("note \(number)", by: a) }
    try await a.magic.compact()
    let id = try await id(a)
    try await a.replicator.push()
    // As if it had ended before it said what it has.
    try await a.magic.store.write { db in try db.execute(sql: "DELETE FROM magic_member") }
    try await write("more", by: a)
    for _ in 0..<2 {
      try await a.replicator.push()
      try await write("again", by: a)
      try await a.magic.compact()
    }
    try await a.replicator.sync()
    #expect(try await self.id(a) == id)
  }

  /// Writes to an original and a copy that nothing told, the one's to `remote`, the other's to `side`.
  private func makeBranches() async throws -> (original: Replica, copy: Replica) {
    _ = try await makeOriginal()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy", "side"))
    for number in 0..<2 { try await write("first \(number)", by: original) }
    for number in 0..<3 { try await write("second \(number)", by: copy) }
    try await original.replicator.push()
    try await copy.replicator.push()
    return (original, copy)
  }

  /// L-11, J-3, J-33: who holds the one branch and meets the other closes the id, and holds both.
  @Test func aThirdHoldsBothBranches() async throws {
    let (original, copy) = try await makeBranches()
    let id = try await id(original)
    let third = try open("third", "side")
    try await third.replicator.pull()
    let other = MagicReplicator(third.magic, remote: FolderRemote(folder["remote"]))
    var events = other.events.makeAsyncIterator()
    try await other.sync()
    guard case .closed(id) = await events.next() else {
      Issue.record("it was not told")
      return
    }
    #expect(try await Set(third.notes().keys) == ["sent", "unsent", "first 0", "first 1", "second 0", "second 1", "second 2"])
    // Both folders have all, and nobody moves anything any more.
    try await third.replicator.sync()
    for _ in 0..<2 {
      for replicator in [other, third.replicator] {
        let (pull, push) = try await replicator.sync()
        #expect((pull, push.transactions) == (PullReport(), 0))
      }
    }
    // The writers hear of it, and go on under other ids.
    try await original.replicator.sync()
    try await copy.replicator.sync()
    #expect(try await self.id(original) != id)
    #expect(try await self.id(copy) != id)
    try await write("after", by: original)
    try await write("after too", by: copy)
    for _ in 0..<3 {
      for replica in [original, copy] { try await replica.replicator.sync() }
      for replicator in [other, third.replicator] { try await replicator.sync() }
    }
    let late = try open("late")
    try await late.replicator.pull()
    let dump = try await Dump(third.magic)
    for replica in [original, copy, late] { #expect(try await Dump(replica.magic) == dump) }
    #expect(try await late.notes().count == 9)
    // Whoever reads the folder without a database meets no branch of what was closed.
    let applied = try await MagicData(type: .temporary)
    let report = try await applied.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    #expect(report.read.unread.isEmpty)
    #expect(try await applied.object(of: Note.self).count == 9)
    for replica in [original, copy, third, late] {
      #expect(try await replica.naiveDump() == dump)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    #expect(try await FolderRemote(folder["remote"]).compact().segments > 0)
  }

  /// M-21, J-33: what a checkpoint brings of a branch that was not held is news, whatever was held of the other one under the
  /// same root.
  @Test func whatACheckpointBringsOfAnotherBranchIsAConflict() async throws {
    let (original, _) = try await makeBranches()
    try await write("first 2", by: original)
    try await original.replicator.push()
    let third = try open("third")
    try await third.replicator.pull()
    world.advance(5)
    try await third.magic.update(Note("second 0", "third's"))
    let both = try open("both", "side")
    try await both.replicator.pull()
    let other = MagicReplicator(both.magic, remote: FolderRemote(folder["remote"]))
    for _ in 0..<2 {
      try await other.sync()
      try await other.compact()
    }
    let report = try await third.replicator.pull()
    #expect((report.checkpoints, report.conflicts) == (1, 1), "\(report)")
    #expect(try await third.notes()["second 0"]?.title == "third's")
    #expect(try await third.naiveDump() == Dump(third.magic))
  }

  /// Puts segments of `side` into `remote`.
  private func carrySegments(changing: (inout Data) -> Void = { _ in }) throws -> [URL] {
    try segments(of: "side").map { name in
      var data = try Data(contentsOf: folder["side/segments/" + name])
      changing(&data)
      let file = folder["remote/segments/" + name]
      try data.write(to: file)
      return file
    }
  }

  /// F-7, J-3: of two branches the shorter one may end where no header of the other's speaks of. Who reads the folder without a
  /// database does not leave it out without a word.
  @Test func aBranchWithinAnothersRunIsAFork() async throws {
    _ = try await makeBranches()
    let carried = try carrySegments()
    #expect(carried.count == 1)
    let remote = FolderRemote(folder["remote"])
    // Both were read, so there is nothing to verify.
    #expect { _ = try FolderCheck(remote) } throws: {
      guard let error = $0 as? MagicDataError else { return false }
      return error.code == .fork && !error.message.contains("verify") && error.message.contains("of a new clone")
    }
    await #expect { try await remote.compact() } throws: { ($0 as? MagicDataError)?.code == .fork }
    let report = try await JournalSource.folder(remote).forEachEntry(LogSelection()) { _, _, _ in }
    #expect(report.unread.map(\.code) == [.fork])
    // Who syncs tells the two apart, and loses nothing.
    let third = try open("third")
    for _ in 0..<2 { try await third.replicator.sync() }
    #expect(try await third.notes().count == 7)
    let check = try FolderCheck(remote)
    #expect((check.gaps, check.damaged) == ([], []))
  }

  /// F-10: a file that cannot be read shows no fork, and what it covers is read in its place.
  @Test func aDamagedFileAroundAnotherIsNoFork() async throws {
    _ = try await makeBranches()
    let carried = try carrySegments { $0[$0.count - 1] ^= 0xff }
    let check = try FolderCheck(FolderRemote(folder["remote"]))
    #expect((check.damaged.count, check.transactions, check.gaps) == (carried.count, 4, []))
  }

  /// F-10: of many files that contradict others and cannot be read each is named, and none is a fork.
  @Test func damagedFilesThatContradictOthersAreAllNamed() async throws {
    _ = try await makeOriginal()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy", "side"))
    for number in 0..<4 {
      try await write("first \(number)", by: original)
      try await write("second \(number)", by: copy)
      for replica in [original, copy] { try await replica.replicator.push() }
    }
    let carried = try carrySegments { $0[$0.count - 1] ^= 0xff }
    #expect(carried.count == 4)
    let check = try FolderCheck(FolderRemote(folder["remote"]))
    #expect((check.damaged.count, check.transactions, check.gaps) == (carried.count, 6, []))
    let third = try open("third")
    _ = try await third.replicator.pull()
    #expect(try await Set(third.notes().keys) == Set(original.notes().keys))
  }

  /// J-33: what lies beyond a closing is not missing, and the last of what is everybody's is shown as any other.
  @Test func whatLiesBeyondAClosingIsNotMissing() async throws {
    let (original, _) = try await makeBranches()
    let id = try await id(original)
    for number in 2..<4 {
      try await write("first \(number)", by: original)
      try await original.replicator.push()
    }
    let third = try open("third", "side")
    try await third.replicator.pull()
    try await MagicReplicator(third.magic, remote: FolderRemote(folder["remote"])).sync()
    let check = try FolderCheck(FolderRemote(folder["remote"]))
    #expect((check.gaps, check.damaged) == ([], []))
    var selection = LogSelection()
    (selection.replicas, selection.limit) = ([id], 1)
    let shown = Mutex<[UInt64]>([])
    let report = try await JournalSource.folder(FolderRemote(folder["remote"])).forEachEntry(selection) { _, transaction, _ in
      shown.withLock { $0.append(transaction.sequence) }
    }
    #expect((report.unread, report.gaps) == ([], []))
    #expect(shown.withLock { $0 } == [2])
  }

  /// F-10, J-33: who has not heard that an id is closed goes on under it. What of that nobody has taken yet is no part of what
  /// is shown without a database, which is said; and it waits to be pulled.
  @Test func whatNobodyHasTakenOfAClosedIdIsSaid() async throws {
    let (original, copy) = try await makeBranches()
    let third = try open("third", "side")
    try await third.replicator.pull()
    let remote = FolderRemote(folder["remote"])
    let other = MagicReplicator(third.magic, remote: remote)
    try await other.sync()
    let before = try segments(of: "side")
    try await write("late", by: copy)
    try await copy.replicator.push()
    let late = try Set(segments(of: "side")).subtracting(before)
    try #require(late.count == 1)
    for name in late {
      try FileManager.default.copyItem(at: folder["side/segments/" + name], to: folder["remote/segments/" + name])
    }
    func rebuilt() async throws -> (report: RebuildReport, notes: Int) {
      let magic = try await MagicData(type: .temporary)
      let report = try await magic.rebuild(from: [.folder(remote)], RebuildPlan())
      return (report, try await magic.object(of: Note.self).count)
    }
    let (lacking, notes) = try await rebuilt()
    #expect(notes == 7)
    #expect(lacking.read.unread.map(\.code) == [.fork] && !lacking.holdsAll, "\(lacking)")
    #expect(lacking.read.unread.allSatisfy { file in late.contains { file.path.hasSuffix($0) } }, "\(lacking)")
    let check = try FolderCheck(remote)
    #expect(check.damaged.isEmpty && check.gaps.count == 1, "\(check)")
    let waiting = try await other.status()
    #expect(waiting.inBranches == 1 && !waiting.isInStep)
    // Once somebody has taken it, it stands under another id.
    try await other.sync()
    #expect(try await other.status().inBranches == 0)
    let (whole, all) = try await rebuilt()
    #expect(all == 8)
    #expect(whole.read.isComplete, "\(whole)")
    #expect(try FolderCheck(remote).gaps.isEmpty)
    // Also where a checkpoint stands for it, beside all files of the branch.
    for name in try Set(segments(of: "side")).subtracting(segments(of: "remote")) {
      try FileManager.default.copyItem(at: folder["side/segments/" + name], to: folder["remote/segments/" + name])
    }
    for _ in 0..<3 {
      for magic in [original.magic, copy.magic, third.magic] { try await MagicReplicator(magic, remote: remote).sync() }
    }
    try await other.compact()
    let (kept, left) = try await rebuilt()
    #expect(left == 8)
    #expect(kept.read.isComplete, "\(kept)")
  }

  /// F-22: who has not taken a branch that ends where its id was closed deletes no content that it alone names.
  @Test func contentsOfABranchThatNobodyHasTakenStay() async throws {
    let replica = try #require(ReplicaID(try await makeOriginal()))
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy, third) = try (open("a"), open("copy", "side"), open("third"))
    world.advance(5)
    try await copy.magic.update(Photo("p", "x"))
    try await copy.replicator.push()
    try await write("first", by: original)
    for _ in 0..<2 {
      try await settle([original, third])
      for replica in [original, third] { try await replica.magic.compact() }
    }
    let floor = try await third.magic.store.read { db in try JournalReader(db).floor()[replica]?.sequence }
    try #require(floor == 3)
    try await third.magic.store.write { [store = third.magic.store] db in try store.close([replica: 3], db) }
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder["side"].path)
    where name.hasSuffix(".segment") || name.hasPrefix("assets/") && name.utf8.count > 64 {
      let file = folder["remote/" + name]
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: folder["side/" + name], to: file)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -40 * 86_400)], ofItemAtPath: file.path)
    }
    #expect(try await third.replicator.compact().folder.contents == 0)
    try await third.replicator.pull()
    #expect(try await third.magic.object(of: Photo.self, primary: "p").content?.load() == "x")
  }

  /// K-6, J-31: what another process has moved to another id meanwhile is not acknowledged where it was, but with the next
  /// push.
  @Test func whatWasMovedMeanwhileIsNotAcknowledged() async throws {
    let a = try open("a")
    for number in 0..<3 { try await write("note \(number)", by: a) }
    try await a.replicator.push()
    let pushed = try await a.magic.store.read { db in
      let journal = JournalIndex(db)
      return try journal.named(journal.frontier())
    }
    try await a.magic.store.write { [store = a.magic.store] db in
      try store.leaveReplica(from: 2, withFloor: false, db)
    }
    let fresh = try await id(a)
    func acknowledged() async throws -> NamedFrontier? {
      try await a.magic.store.read { db in
        try MemberReplica.all(db).first { $0.replica.description == fresh }?.acknowledged?.frontier
      }
    }
    let remote = FolderRemote(folder["remote"])
    #expect(try await remote.acknowledge(pushed, for: a.magic))
    #expect(try await acknowledged() == nil)
    #expect(!FileManager.default.fileExists(atPath: folder["remote/acks/\(fresh).json"].path))
    let moved = try await a.magic.store.read { db in
      let journal = JournalIndex(db)
      return try journal.named(journal.frontier())
    }
    #expect(try await remote.acknowledge(moved, for: a.magic))
    #expect(try await acknowledged() == moved)
    #expect(FileManager.default.fileExists(atPath: folder["remote/acks/\(fresh).json"].path))
  }

  /// J-33, H-32: many ids may be closed at once. Of one of which nothing is held that is remembered, and nothing else.
  @Test func idsOfWhichNothingIsHeldAreClosedAtOnce() async throws {
    let (a, b) = (try open("a"), try open("b"))
    for number in 0..<3 { try await write("note \(number)", by: b) }
    try await write("of a", by: a)
    try await settle([a, b])
    func counts() async throws -> [Int] {
      try await a.magic.store.read { db in
        let replicas = try Int.fetchOne(db, sql: "SELECT count(*) FROM magic_replica") ?? 0
        return [try Branches(db).closings.count, replicas]
      }
    }
    let before = try await counts()
    let dataSet = try await a.magic.store.read { db in try DatabaseState(db).dataSet.description }
    let (writer, other) = (ReplicaID(9, 9).description, try await id(b))
    var closed = [other: "0000000000000001"]
    for number in 0..<3_000 { closed[ReplicaID(7, UInt64(number)).description] = "0000000000000005" }
    let said = closed.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
    let file = """
      {"format":1,"dataSet":"\(dataSet)","replica":"\(writer)","acknowledged":{},"expired":{},"closed":{\(said)}}
      """
    try Data(file.utf8).write(to: folder["remote/acks/\(writer).json"])
    try await a.replicator.pull()
    // What was held of the one goes on under an id of its own.
    #expect(try await counts() == [before[0] + 3_001, before[1] + 1])
    #expect(try await a.notes().count == 4)
    #expect(try await DatabaseCheck(a.magic).faults == [])
  }

  /// K-18: what a dry run cannot tell before the branches are told apart it says, and a sync sees to it.
  @Test func aDryRunSaysThatBranchesComeFirst() async throws {
    let (original, copy) = try await makeBranches()
    try await MagicReplicator(copy.magic, remote: FolderRemote(folder["third"])).push()
    let third = MagicReplicator(copy.magic, remote: FolderRemote(folder["remote"]))
    let before = try folder.contents()
    await #expect {
      try await third.compact(isDryRun: true)
    } throws: {
      ($0 as? MagicDataError)?.code == .fork && "\($0)".contains("sync, and try again")
    }
    #expect(try folder.contents() == before)
    try await third.sync()
    try await original.replicator.sync()
    try await third.sync()
    #expect(try await third.compact(isDryRun: true).folder.segments > 0)
  }

  /// K-7: acknowledgements that cannot be listed keep nothing back, and are told.
  @Test(.enabled(if: geteuid() != 0)) func whoCannotListAcknowledgementsIsTold() async throws {
    let original = try open("a")
    try await write("sent", by: original)
    try await original.replicator.push()
    let acks = folder["remote/acks"].path
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: acks)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: acks) }
    let late = try open("late")
    for count in [1, 0] {
      let report = try await late.replicator.pull()
      #expect(report.transactions == count)
      #expect(report.unread.map(\.path) == [acks])
    }
    // What may be a branch's is not taken for the data set's own.
    let applied = try await MagicData(type: .temporary)
    let rebuilt = try await applied.rebuild(from: [.folder(FolderRemote(folder["remote"]))], RebuildPlan())
    #expect(rebuilt.read.unread.map(\.path) == [acks])
    #expect(rebuilt.isOwnDataSet)
    #expect(try await applied.object(of: Note.self).count == 1)
    #expect(try FolderCheck(FolderRemote(folder["remote"])).damaged.count == 1)
    await #expect { try await FolderRemote(folder["remote"]).compact() } throws: {
      ($0 as? MagicDataError)?.code == .notAllowed
    }
  }

  /// F-10: a branch is held as far as it can be read.
  @Test(arguments: [false, true]) func whatLeadsToADamagedFileOfABranchIsHeld(isFollowed: Bool) async throws {
    let (original, _) = try await makeBranches()
    let id = try await id(original)
    let segments = folder["remote/segments"]
    func files() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: segments.path).filter { $0.hasPrefix(id) })
    }
    let before = try files()
    try await write("first 2", by: original)
    try await original.replicator.push()
    let file = segments.appendingPathComponent(try #require(files().subtracting(before).first))
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count - 9] ^= 1
    try bytes.write(to: file)
    if isFollowed {
      // Pushed from elsewhere, or the damaged one would be written anew.
      let rest = folder["rest"]
      try FileManager.default.copyItem(at: folder["remote"], to: rest)
      let kept = try FileManager.default.contentsOfDirectory(atPath: segments.path)
      try await write("first 3", by: original)
      try await original.replicator.push()
      try FileManager.default.removeItem(at: file)
      try FileManager.default.copyItem(at: rest.appendingPathComponent("segments/\(file.lastPathComponent)"), to: file)
      #expect(try FileManager.default.contentsOfDirectory(atPath: segments.path).count == kept.count + 1)
    }
    let third = try open("third", "side")
    try await third.replicator.pull()
    let pull = try await MagicReplicator(third.magic, remote: FolderRemote(folder["remote"])).pull()
    #expect(!pull.isComplete && pull.unread.map(\.code) == [.damaged], "\(pull)")
    #expect(try await Set(third.notes().keys).isSuperset(of: ["first 0", "first 1", "second 0", "second 2"]))
    #expect(try await third.notes()["first 2"] == nil)
  }

  /// A push alone does so as well.
  @Test func aPushMeetsABranch() async throws {
    _ = try await makeBranches()
    let third = try open("third", "side")
    try await third.replicator.pull()
    let other = MagicReplicator(third.magic, remote: FolderRemote(folder["remote"]))
    #expect(try await other.push().transactions == 3)
    try await other.pull()
    #expect(try await third.notes().count == 7)
  }

  /// A branch of a branch: a copy of the copy.
  @Test func aCopyOfACopyIsAThirdBranch() async throws {
    let (_, copy) = try await makeBranches()
    try await copy.magic.close()
    try copyUnnoticed(folder["copy"], to: folder["second"])
    let (one, two) = try (open("copy", "side"), open("second", "elsewhere"))
    try await write("of the copy", by: one)
    try await write("of the copy's copy", by: two)
    try await one.replicator.push()
    try await two.replicator.push()
    let third = try open("third", "elsewhere")
    for place in ["elsewhere", "side", "remote", "side", "elsewhere", "remote"] {
      try await MagicReplicator(third.magic, remote: FolderRemote(folder[place])).sync()
    }
    #expect(try await third.notes().count == 9)
    let digest = try await third.magic.digest()
    for place in ["remote", "side", "elsewhere"] {
      let late = try open("late \(place)", place)
      try await late.replicator.pull()
      #expect(try await late.magic.digest() == digest)
      let (pull, push) = try await MagicReplicator(third.magic, remote: FolderRemote(folder[place])).sync()
      #expect((pull, push.transactions) == (PullReport(), 0))
    }
  }

  /// L-20: what is below a floor has no names, so nothing of the other branch counts as held.
  @Test func aBranchIsMetBelowTheFloor() async throws {
    _ = try await makeOriginal()
    let alone = try open("a")
    try await alone.replicator.push()
    try await alone.magic.close()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let (original, copy) = try (open("a"), open("copy"))
    try await write("first", by: original)
    try await original.magic.compact()
    try await write("second", by: copy)
    try await copy.replicator.push()
    try await settle([original, copy])
    let late = try open("late")
    try await late.replicator.pull()
    #expect(try await Set(late.notes().keys) == ["sent", "unsent", "first", "second"])
    let dump = try await Dump(late.magic)
    for replica in [original, copy] { #expect(try await Dump(replica.magic) == dump) }
    for replica in [original, copy, late] { #expect(try await DatabaseCheck(replica.magic).faults == []) }
  }

  /// J-3: the end of a checkpoint is compared with a file that goes on beyond it, whoever takes both at once.
  @Test func aFileThatReachesBeyondACheckpointIsComparedWithItsEnd() async throws {
    var (a, b) = try (open("a"), open("b"))
    for number in 1...5 { try await write("\(number)", by: a) }
    for _ in 0..<2 {
      try await settle([a, b])
      for replica in [b, a] { try await replica.replicator.compact() }
    }
    let id = try await id(a)
    try await a.magic.close()
    try FileManager.default.copyItem(at: folder["a"], to: folder["backup"])
    try FileManager.default.copyItem(at: folder["remote"], to: folder["side"])
    a = try open("a")
    for number in 6...10 { try await write("\(number)", by: a) }
    for _ in 0..<2 {
      try await settle([a, b])
      try await b.replicator.compact()
    }
    let segments = folder["remote/segments"]
    #expect(try FileManager.default.contentsOfDirectory(atPath: segments.path).allSatisfy { !$0.hasPrefix(id) })
    try await a.magic.close()
    try putBack(folder["backup"], into: folder["a"], unnoticed: true)
    a = try open("a", "side")
    for number in 6...13 { try await write("branch \(number)", by: a) }
    try await a.replicator.push()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder["side/segments"].path) where name.hasPrefix(id) {
      try? FileManager.default.copyItem(at: folder["side/segments/\(name)"], to: segments.appendingPathComponent(name))
    }
    let c = try open("c")
    let first = try await c.replicator.pull()
    #expect(!first.isComplete && !first.gaps.isEmpty, "\(first)")
    #expect(try await Set(c.notes().keys) == Set((1...10).map(String.init)))
    // With the branch's own machine all have everything.
    a = try open("a")
    b = try open("b")
    for _ in 0..<2 { for replica in [a, b, c] { _ = try? await replica.replicator.sync() } }
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    #expect(try await c.notes().count == 18)
  }

  /// K-20: both have given up the history that would show where they part.
  @Test func branchesMeetThatWereCompacted() async throws {
    let (original, copy) = try await makeBranches()
    for (place, replica) in [("remote", original), ("side", copy)] {
      let other = try open("other \(place)", place)
      try await other.replicator.sync()
      for _ in 0..<2 {
        try await replica.replicator.compact()
        try await other.replicator.sync()
      }
      #expect(try await other.magic.compact().keptEntries > 0)
    }
    for place in ["remote", "side", "remote", "side"] {
      for name in ["other side", "other remote"] {
        try await MagicReplicator(open(name).magic, remote: FolderRemote(folder[place])).sync()
      }
    }
    try await original.replicator.sync()
    try await copy.replicator.sync()
    let dump = try await Dump(original.magic)
    #expect(try await original.notes().count == 7)
    for replica in try [copy, open("other side"), open("other remote")] {
      #expect(try await Dump(replica.magic) == dump)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    for place in ["remote", "side"] {
      let late = try open("late \(place)", place)
      try await late.replicator.pull()
      #expect(try await Dump(late.magic) == dump)
      let (pull, push) = try await MagicReplicator(copy.magic, remote: FolderRemote(folder[place])).sync()
      #expect((pull, push.transactions, push.checkpoints) == (PullReport(), 0, 0))
    }
  }

  /// L-20: of a branch that was compacted no names are left to tell that another begins with it.
  @Test(arguments: [0, 1, 3]) func aBranchOfACompactedBranchIsHeld(writes: Int) async throws {
    let (_, copy) = try await makeBranches()
    try await copy.magic.close()
    try copyUnnoticed(folder["copy"], to: folder["second"])
    let (one, two) = try (open("copy", "side"), open("second", "elsewhere"))
    for number in 0..<2 { try await write("of the copy \(number)", by: one) }
    for number in 0..<writes { try await write("of the copy's copy \(number)", by: two) }
    try await one.replicator.push()
    try await two.replicator.push()
    let third = try open("third")
    try await third.replicator.pull()
    try await MagicReplicator(third.magic, remote: FolderRemote(folder["side"])).sync()
    #expect(try await third.magic.compact().keptEntries > 0)
    for _ in 0..<2 {
      for place in ["elsewhere", "remote", "side"] {
        try await MagicReplicator(third.magic, remote: FolderRemote(folder[place])).sync()
      }
    }
    #expect(try await third.notes().count == 7 + 2 + writes)
    #expect(try await DatabaseCheck(third.magic).faults == [])
    for place in ["remote", "side", "elsewhere"] {
      let late = try open("late \(place)", place)
      try await late.replicator.pull()
      #expect(try await late.magic.digest() == third.magic.digest())
      let (pull, push) = try await MagicReplicator(third.magic, remote: FolderRemote(folder[place])).sync()
      #expect((pull, push.transactions) == (PullReport(), 0))
    }
  }

  /// K-14: what a checkpoint covers by its numbers is compared with it, whatever else the own floor has ends of.
  @Test(arguments: [false, true]) func aBranchIsNotCoveredByNumbers(isKept: Bool) async throws {
    let (original, copy) = try await makeBranches()
    for number in 2..<5 { try await write("first \(number)", by: original) }
    #expect(try await original.magic.compact().keptEntries > 0)
    let third = try open("third", "side")
    try await third.replicator.pull()
    try await write("third", by: third)
    for replica in [third, copy, third] { try await replica.replicator.sync() }
    let floor = try await third.magic.store.read { db in try JournalReader(db).floor() }
    #expect(floor.isEmpty)
    if !isKept { try await write("second 3", by: copy) }
    #expect(try await third.magic.compact().keptEntries > 0)
    if !isKept {
      try await copy.replicator.push()
      try await third.replicator.pull()
    }
    // The checkpoint alone, and the third's transaction from elsewhere.
    let fresh = FolderRemote(folder["fresh"])
    try await MagicReplicator(original.magic, remote: fresh).push()
    let id = try await id(third)
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder["side/segments"].path)
    where name.contains(id) && name.hasSuffix(".segment") {
      let file = folder["fresh/segments/\(name)"]
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: folder["side/segments/\(name)"], to: file)
    }
    let reader = try open("reader", "fresh")
    try await reader.replicator.sync()
    #expect(try await Set(reader.notes().keys).isSuperset(of: ["first 4", "third"]))
    for _ in 0..<2 {
      try await MagicReplicator(third.magic, remote: fresh).sync()
      try await reader.replicator.sync()
    }
    #expect(try await reader.notes().count == (isKept ? 11 : 12))
    let dump = try await Dump(third.magic)
    #expect(try await Dump(reader.magic) == dump)
    for replica in [third, reader] { #expect(try await DatabaseCheck(replica.magic).faults == []) }
    let (pull, push) = try await MagicReplicator(third.magic, remote: fresh).sync()
    #expect((pull, push.transactions, push.checkpoints) == (PullReport(), 0, 0))
  }

  /// K-14: of two that come at once neither covers the other by its numbers.
  @Test func checkpointsThatComeTogetherAreCompared() async throws {
    let (original, copy) = try await makeBranches()
    for number in 2..<5 { try await write("first \(number)", by: original) }
    let both = FolderRemote(folder["both"])
    var third: [Replica] = []
    for (place, writer) in [("remote", original), ("side", copy)] {
      let replica = try open("third \(place)", place)
      try await replica.replicator.sync()
      try await write("of \(place)", by: replica)
      for each in [replica, writer, replica] { try await each.replicator.sync() }
      #expect(try await replica.magic.compact().keptEntries > 0)
      let fresh = folder["fresh \(place)"]
      try await MagicReplicator(replica.magic, remote: FolderRemote(fresh)).push()
      for path in try FileManager.default.subpathsOfDirectory(atPath: fresh.path)
      where path == "magicdata.json" || path.hasSuffix(".checkpoint") {
        let file = folder["both/\(path)"]
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        guard !FileManager.default.fileExists(atPath: file.path) else { continue }
        try FileManager.default.copyItem(at: fresh.appendingPathComponent(path), to: file)
      }
      third.append(replica)
    }
    // The one has what the other wrote, but for what that had of the branch.
    let (one, name) = (third[0], try await id(third[1]))
    for path in try segments(of: "side") where path.contains(name) {
      let file = folder["fresh remote/segments/\(path)"]
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: folder["side/segments/\(path)"], to: file)
    }
    try await MagicReplicator(one.magic, remote: FolderRemote(folder["fresh remote"])).pull()
    #expect(try await one.notes().count == 9)
    // A false one of them leaves nothing in what the other comes to, and not even an end in its floor.
    let names = try FileManager.default.contentsOfDirectory(atPath: folder["both/checkpoints"].path).sorted()
    for (number, name) in names.enumerated() {
      let place = "forged \(number)"
      try FileManager.default.copyItem(at: folder["both"], to: folder[place])
      try forgeDigest(of: folder["\(place)/checkpoints/\(name)"])
      let wary = try open("wary \(number)", place)
      let report = try await wary.replicator.pull()
      #expect(report.checkpoints == 1 && report.unread.map(\.code) == [.damaged])
      let (floor, expired) = try await wary.magic.store.read { db in
        (try JournalReader(db).floor(), try MemberReplica.all(db).filter { $0.expired != nil })
      }
      #expect(try floor == checkpointHeader(of: folder["both/checkpoints/\(names[1 - number])"]).floor)
      #expect(expired.isEmpty)
    }
    let late = try open("late", "both")
    #expect(try await late.replicator.pull().checkpoints == 2)
    #expect(try await late.notes().count == 12)
    // Nor where the one that is not covered comes last, after one that keeps nothing.
    let files = names.map { folder["both/checkpoints/\($0)"] }
    var headers = try files.map { try checkpointHeader(of: $0) }
    let twin = try await original.magic.store.read { db in try DatabaseState(db).replica }
    let higher = headers[0].floor[twin]?.sequence ?? 0 > headers[1].floor[twin]?.sequence ?? 0 ? 0 : 1
    let (kept, lower) = (headers[higher], headers[1 - higher])
    let end = try #require(kept.floor[twin])
    var (number, empty) = (UInt64(0), CheckpointHeader?.none)
    while empty == nil {
      number += 1
      var floor = kept.floor
      floor[Identifier(number, 8)] = .init(sequence: 1, name: end.name)
      headers[higher] = .init(dataSet: kept.dataSet, writer: kept.writer, digest: kept.digest, floor: floor)
      guard headers[higher].name < lower.name else { continue }
      for other: UInt64 in 1...1_000 where empty == nil {
        var floor = NamedFrontier()
        floor[Identifier(other, 9)] = .init(sequence: 1, name: end.name)
        let header = CheckpointHeader(dataSet: kept.dataSet, writer: kept.writer, digest: Digest().identifier, floor: floor)
        if headers[higher].name < header.name, header.name < lower.name { empty = header }
      }
    }
    try FileManager.default.copyItem(at: folder["both"], to: folder["three"])
    try FileManager.default.removeItem(at: folder["three/checkpoints/\(names[higher])"])
    try (Data(headers[higher].bytes) + Data(contentsOf: files[higher]).dropFirst(kept.bytes.count))
      .write(to: folder["three/checkpoints/\(headers[higher].name).checkpoint"])
    let middle = try #require(empty)
    try Data(middle.bytes + CheckpointEnd(entries: 0, parts: 0).bytes)
      .write(to: folder["three/checkpoints/\(middle.name).checkpoint"])
    let last = try open("last", "three")
    #expect(try await last.replicator.pull().checkpoints == 3)
    #expect(try await Dump(last.magic) == Dump(late.magic))
    var ends: [Set<ReplicaID>] = []
    for replica in [late, last] {
      ends.append(Set(try await replica.magic.store.read { db in try JournalReader(db).floor() }.replicas))
    }
    #expect(ends[0].count > Set(kept.floor.replicas + lower.floor.replicas).count)
    #expect(ends[1].isSuperset(of: ends[0]))
    for replica in [late, one, late, one] { try await MagicReplicator(replica.magic, remote: both).sync() }
    #expect(try await Dump(one.magic) == Dump(late.magic))
    for replica in [one, late] {
      #expect(try await DatabaseCheck(replica.magic).faults == [])
      let (pull, push) = try await MagicReplicator(replica.magic, remote: both).sync()
      #expect((pull, push.transactions, push.checkpoints) == (PullReport(), 0, 0))
    }
  }

  /// Who hears of a closing after the branch has come as what a checkpoint keeps of it.
  @Test func aCompactedBranchIsHeldBesideItsTransactions() async throws {
    let (original, _) = try await makeBranches()
    let note = try #require(try await original.notes()["first 1"])
    for stars in 1...3 {
      world.advance(5)
      note.stars = stars
      try await original.magic.update(note)
    }
    try await original.replicator.push()
    let reader = try open("reader")
    try await reader.replicator.pull()
    let third = try open("third", "side")
    try await third.replicator.pull()
    let other = MagicReplicator(third.magic, remote: FolderRemote(folder["remote"]))
    try await other.sync()
    world.advance(5)
    let theirs = try #require(try await third.notes()["first 1"])
    theirs.stars = 9
    try await third.magic.update(theirs)
    try await other.sync()
    #expect(try await other.compact().database.keptEntries > 0)
    try await other.sync()
    for _ in 0..<2 { try await reader.replicator.pull() }
    #expect(try await Dump(reader.magic) == Dump(third.magic))
    try await reader.replicator.sync()
    try await other.sync()
    #expect(try await Dump(reader.magic) == Dump(third.magic))
    #expect(try await DatabaseCheck(reader.magic).faults == [])
    let late = try open("late")
    try await late.replicator.pull()
    #expect(try await late.magic.digest() == third.magic.digest())
  }

  /// H-3, C-2, C-3: who leaves an id, or has it closed, writes on above what it wrote under it, though its own clock is behind
  /// that.
  @Test(arguments: [false, true]) func theClockIsKeptWhereAnIDIsLeft(isClosed: Bool) async throws {
    let id = try await makeOriginal()
    try copyUnnoticed(folder["a"], to: folder["copy"])
    let original = try open("a")
    try await write("first", by: original)
    try await original.replicator.push()
    func lastStamp(_ replica: Replica) async throws -> Stamp {
      try await replica.magic.store.read { db in try DatabaseState(db).lastStamp }
    }
    func edit(_ title: String, by replica: Replica) async throws {
      let note = try #require(try await replica.notes()["sent"])
      note.title = title
      try await replica.magic.update(note)
    }
    let ahead = try Replica(folder["copy"], folder["side"], world, skew: 50 * 60_000)
    try await edit("ahead", by: ahead)
    let before = try await lastStamp(ahead)
    #expect(before.milliseconds == world.milliseconds + 50 * 60_000)
    try await ahead.magic.close()
    let copy = try open("copy", isClosed ? "side" : "remote")
    #expect(try await self.id(copy) == id)
    var all = [original, copy]
    if isClosed {
      let third = try open("third", "side")
      all += [Replica(third.magic, folder["remote"]), third]
      try await copy.replicator.push()
      try await third.replicator.pull()
      for replica in all.dropFirst(2) { try await replica.replicator.sync() }
    }
    try await copy.replicator.sync()
    #expect(try await self.id(copy) != id)
    world.advance(10)
    try await edit("later", by: copy)
    #expect(try await lastStamp(copy) > before)
    for _ in 0..<3 {
      for replica in all { try await replica.replicator.sync() }
    }
    for replica in all {
      #expect(try await replica.notes()["sent"]?.title == "later")
      #expect(try await replica.naiveDump() == Dump(replica.magic))
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
  }

  /// J-32, J-33: however late somebody hears of a closing: what he holds then under both ids goes once.
  @Test func aBranchIsHeldOnce() async throws {
    let (original, copy) = try await makeBranches()
    let early = try (0..<3).map { try open("early \($0)") }
    for replica in early { try await replica.replicator.pull() }
    let third = try open("third", "side")
    try await third.replicator.pull()
    try await MagicReplicator(third.magic, remote: FolderRemote(folder["remote"])).sync()
    // They take what was moved before they hear that it was.
    for replica in early { try await replica.replicator.sync() }
    for number in 0..<3 {
      try await write("later \(number)", by: early[number])
      try await open("late \(number)").replicator.sync()
    }
    let late = try (0..<3).map { try open("late \($0)") }
    try await settle(early + late)
    try await expectEqual(early + late)
    // The id that both had, its two branches, and those who wrote later.
    #expect(try await early[0].frontier().replicas.count == 3 + 3)
    let entries = try await early[0].magic.store.read { db in
      let count = Counter()
      try JournalReader(db).forEachTransaction { _ in count.value += 1 }
      return count.value
    }
    #expect(entries == 2 + 2 + 3 + 3)
    for replica in early + late { #expect(try await DatabaseCheck(replica.magic).faults == []) }
    let status = try await early[0].replicator.status()
    #expect(status.peers.allSatisfy { $0.in == 0 && $0.out == 0 && !$0.hasGap })
    // Nobody is waited for who writes no more.
    try await original.replicator.sync()
    try await copy.replicator.sync()
    try await MagicReplicator(copy.magic, remote: FolderRemote(folder["remote"])).sync()
    for _ in 0..<2 {
      for replica in early + late + [original] { try await replica.replicator.sync() }
      try await MagicReplicator(copy.magic, remote: FolderRemote(folder["remote"])).sync()
      try await MagicReplicator(third.magic, remote: FolderRemote(folder["remote"])).sync()
    }
    let report = try await early[0].replicator.compact()
    #expect(report.database.waitsFor == [])
    #expect(report.database.keptEntries > 0)
    try await settle(early + late)
    let newcomer = try open("newcomer")
    try await newcomer.replicator.pull()
    let dump = try await Dump(early[0].magic)
    #expect(try await newcomer.notes().count == 10)
    for replica in early + late + [newcomer, original, copy, third] {
      #expect(try await Dump(replica.magic) == dump)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
  }

  /// K-7: whatever somebody says of another replica's acknowledgement: that one's own file is read by everybody.
  @Test func aTimeAtTheEndOfTimesSilencesNobody() async throws {
    let id = try await makeOriginal()
    let (original, other) = try (open("a"), open("b"))
    for replica in [original, other, original] { try await replica.replicator.sync() }
    let dataSet = try await original.magic.store.read { db in try DatabaseState(db).dataSet.description }
    let sender = String(repeating: "ab", count: 16)
    let said: [String: Any] = [
      "format": 1, "dataSet": dataSet, "replica": sender, "expired": [:],
      "acknowledged": [id: ["time": 253_402_300_799_999, "frontier": [:]] as [String: Any]],
    ]
    try JSONSerialization.data(withJSONObject: said).write(to: folder["remote/acks/\(sender).json"])
    for number in 0..<3 {
      try await write("after \(number)", by: original)
      for replica in [original, other] { try await replica.replicator.sync() }
    }
    let file = try JSONSerialization.jsonObject(with: Data(contentsOf: folder["remote/acks/\(id).json"])) as? [String: Any]
    let acknowledged = (file?["acknowledged"] as? [String: [String: Any]])?[id]
    #expect(acknowledged?["time"] as? Int64 == 253_402_300_799_999)
    try await settle([original, other])
    try await expectEqual([original, other])
  }

  /// J-33: a closing is heard of from files that anybody may have damaged, and takes nothing away.
  @Test(arguments: ["0000000000000001", "0000000000000000", "ffffffffffffffff", "1", "x", nil]) func aClosingIsHeardOf(
    last: String?
  ) async throws {
    let id = try await makeOriginal()
    let (original, other) = try (open("a"), open("b"))
    for replica in [original, other, original] { try await replica.replicator.sync() }
    let dataSet = try await original.magic.store.read { db in try DatabaseState(db).dataSet.description }
    let sender = String(repeating: "ab", count: 16)
    let closed = last.map { ["closed": [id: $0]] } ?? ["closed": "nothing"]
    let said: [String: Any] = ["format": 1, "dataSet": dataSet, "replica": sender, "acknowledged": [:], "expired": [:]]
    let bytes = try JSONSerialization.data(withJSONObject: said.merging(closed) { $1 })
    try bytes.write(to: folder["remote/acks/\(sender).json"])
    let isHeard = last?.hasPrefix("0") == true
    for _ in 0..<2 {
      for replica in [original, other] { try await replica.replicator.sync() }
    }
    #expect(try await (self.id(original) != id) == isHeard)
    try await write("after", by: original)
    try await settle([original, other])
    try await expectEqual([original, other])
    #expect(try await other.notes().count == 3)
    let late = try open("late")
    try await late.replicator.pull()
    #expect(try await late.magic.digest() == original.magic.digest())
    for replica in [original, other, late] { #expect(try await DatabaseCheck(replica.magic).faults == []) }
  }
}

/// For closures that run one after the other.
private final class Counter: @unchecked Sendable {
  var value = 0
}
