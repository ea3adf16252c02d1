import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// History that is given up changes nothing else (L-15, L-16, L-23, H-14, H-16).
@Suite struct CompactionTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String) throws -> Replica { try Replica(folder[name], folder["remote"], world) }

  private func rename(_ replica: Replica, _ count: Int) async throws {
    let note = try await replica.magic.object(of: Note.self, primary: "n")
    for number in 0..<count {
      note.title = "title \(number)"
      try await replica.magic.update(note)
    }
  }

  @Test func aFieldThatWasUpdatedOftenCostsAboutOneUpdate() async throws {  // H-16
    let a = try replica("a")
    let notes = (0..<20_000).map { Note("n", "title \($0)") }
    try await a.magic.update(Note("n", "first"))
    for note in notes.prefix(2_000) { try await a.magic.update(note) }
    let before = try await (Dump(a.magic), a.magic.digest(), a.frontier())
    let planned = try await a.magic.compact(isDryRun: true)
    #expect(try await a.magic.statistics().entries == 2_001)
    let report = try await a.magic.compact()
    #expect(planned.keptEntries == report.keptEntries)
    #expect(report.entries == 2_001)
    #expect(report.keptEntries == 2)
    #expect(report.keptBytes < 200)
    #expect(report.newFileBytes < report.fileBytes / 2)
    #expect(try await Dump(a.magic) == before.0)
    #expect(try await a.magic.digest() == before.1)
    #expect(try await a.frontier() == before.2)
    #expect(try await DatabaseCheck(a.magic).faults == [])
    // A second time nothing is left to do.
    #expect(try await a.magic.compact().entries == 0)
    // It goes on as ever.
    try await rename(a, 3)
    #expect(try await a.frontier()[a.frontier().replicas[0]] == 2_004)
    #expect(try await a.magic.compact().keptEntries == 2)
    #expect(try await a.magic.object(of: Note.self, primary: "n").title == "title 2")
    #expect(try await DatabaseCheck(a.magic).faults == [])
  }

  @Test func historyStaysUntilEverybodyHasIt() async throws {  // L-16, H-14
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 5)
    try await a.replicator.push()
    try await b.replicator.pull()
    try await b.magic.update(Note("m", "of b"))
    try await b.replicator.push()
    try await a.replicator.pull()
    try await rename(a, 5)
    try await a.replicator.push()
    // b has said that it has the first 6 of a's transactions.
    #expect(try await a.magic.compact().entries == 7)
    #expect(try await a.magic.statistics().entries == 3 + 5)
    try await b.replicator.sync()
    #expect(try await a.magic.compact().entries == 0)
    try await a.replicator.sync()
    #expect(try await a.magic.compact().entries == 8)
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  @Test func everythingMayBeKept() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 3)
    try await a.replicator.sync()
    #expect(try await a.magic.compact(keeping: .seconds(Int64.max)).entries == 0)
    #expect(try await a.magic.compact().entries > 0)
  }

  @Test func aSilentReplicaHoldsHistoryUntilItIsExpired() async throws {  // H-15, L-21
    let (a, b) = (try replica("a"), try replica("b"))
    try await b.magic.update(Note("n", "first"))
    try await b.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/acks"])
    try await a.replicator.sync()
    try await rename(a, 9)
    let other = try await b.magic.statistics().replica
    let held = try await a.magic.compact()
    #expect(held.waitsFor == [other])
    #expect(held.entries == 0)
    #expect(try await a.replicator.expire(String(other.prefix(6))) == other)
    let freed = try await a.magic.compact()
    #expect(freed.waitsFor == [])
    #expect(freed.entries == 10)
    // It comes back, loses nothing, and is waited for again.
    try await a.replicator.push()
    let note = try await b.magic.object(of: Note.self, primary: "n")
    note.mood = "late"
    try await b.magic.update(note)
    try await settle([b, a])
    try await expectEqual([a, b])
    #expect(try await a.notes()["n"]?.mood == "late")
    try await rename(a, 1)
    #expect(try await a.magic.compact().waitsFor == [])
    #expect(try await a.magic.statistics().entries > 3)
    // Nobody expires himself, or whom nobody knows.
    await #expect(throws: MagicDataError.self) { try await b.replicator.expire(other) }
    await #expect(throws: MagicDataError.self) { try await a.replicator.expire("0000") }
  }

  @Test func recentHistoryIsKept() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 9)
    world.advance(100_000)
    try await rename(a, 5)
    let report = try await a.magic.compact(keeping: .seconds(60))
    #expect(report.entries == 10)
    #expect(try await a.magic.statistics().entries == 2 + 5)
  }

  /// A late edit by who did not know of a remove brings the object back with everything, also where its history was given up (L-6, L-17, H-11).
  @Test func aLateEditFindsEverythingOfARemovedObject() async throws {
    let (a, b, c) = (try replica("a"), try replica("b"), try replica("c"))
    let note = Note("n", "title")
    note.mood = "calm"
    try await a.magic.update(note)
    try await settle([a, b, c])
    try await a.magic.remove(Note("n", ""))
    try await a.replicator.push()
    try await b.replicator.sync()
    // c is silent.
    try await a.replicator.expire(c.magic.statistics().replica)
    try await a.magic.compact()
    try await b.replicator.pull()
    try await b.magic.compact()
    world.advance(1_000)
    let late = try await c.magic.object(of: Note.self, primary: "n")
    late.title = "late"
    try await c.magic.update(late)
    try await settle([c, a, b])
    try await expectEqual([a, b, c])
    #expect(try await a.notes()["n"]?.mood == "calm")
    #expect(try await b.notes()["n"]?.title == "late")
  }

  @Test func observersThatFellBehindGoOn() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("n", "first"))
    var changes = try await a.magic.changes().makeAsyncIterator()
    try await rename(a, 10)
    try await a.magic.compact()
    try await a.magic.update(Note("m", "after"))
    var last: MagicChanges?
    while last?.objects.first?.primary != .text("m") { last = try await changes.next() }
    #expect(last?.origin == .local)
  }
}
