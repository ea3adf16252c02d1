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

  @Test func aTransactionIsCountedOnceAlsoWhenItWasCompacted() async throws {
    let a = try replica("a")
    try await a.magic.update(contentsOf: (0..<1_000).map { Note("\($0)", "title \($0)") })
    #expect(try await a.magic.statistics().transactions == 1)
    try await a.magic.compact()
    #expect(try await a.magic.statistics().transactions == 1)
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

  @Test func historyStaysUntilEverybodyHasIt() async throws {  // L-16, H-14, K-5
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

  private func floor(_ replica: Replica) async throws -> NamedFrontier {
    try await replica.magic.store.read { db in try JournalReader(db).floor() }
  }

  /// Of the replica's own.
  private func name(_ sequence: UInt64, _ replica: Replica) async throws -> TransactionName? {
    try await replica.magic.store.read { db in
      try JournalReader(db).name(at: sequence, of: try DatabaseState(db).replica)
    }
  }

  /// K-1: a name is known at its end and above it, and it never falls.
  @Test func theFloorRisesAndNeverFalls() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 9)
    #expect(try await floor(a).isEmpty)
    let last = try #require(try await name(10, a))
    #expect(try await name(3, a) != nil)
    try await a.magic.compact()
    let low = try await floor(a)
    let own = try #require(low.replicas.first)
    #expect(low.replicas.count == 1)
    #expect(low[own] == NamedFrontier.End(sequence: 10, name: last))
    #expect(try await name(10, a) == last)
    #expect(try await name(3, a) == nil)
    // Nothing above it is dropped, and nobody lowers it: neither who asks for more history than is left, nor who has
    // acknowledged nothing.
    world.advance(100_000)
    try await rename(a, 5)
    try await a.magic.compact(keeping: .seconds(60))
    #expect(try await floor(a) == low)
    #expect(try await a.magic.statistics().entries == 2 + 5)
    for sequence in 11...15 { #expect(try await name(UInt64(sequence), a) != nil) }
    try await b.magic.update(Note("b", "of b"))
    try await b.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/acks"])
    try await a.replicator.pull()
    #expect(try await a.magic.compact().waitsFor.count == 1)
    #expect(try await floor(a) == low)
    try await settle([a, b])
    try await a.magic.compact()
    let high = try await floor(a)
    #expect(high.replicas.count == 2)
    #expect(high[own]?.sequence == 15)
    try await expectEqual([a, b])
  }

  /// J-32: what is kept stands where it stood, so places that lead to it stay. Rows without anything are gone.
  @Test func whatIsKeptStandsWhereItStood() async throws {
    let a = try replica("a")
    func numbers(_ sql: String) async throws -> [Int64] {
      try await a.magic.store.read { db in try Int64.fetchAll(db, sql: sql) }
    }
    try await a.magic.update(contentsOf: [Note("n", "first"), Note("m", "stays")])
    let note = try await a.magic.object(of: Note.self, primary: "n")
    note.stars = 1
    try await a.magic.update(note)
    try await rename(a, 9)
    let places = try await numbers("SELECT magic_last FROM Note ORDER BY z_index")
    #expect(try await numbers("SELECT id FROM magic_journal ORDER BY id") == Array(1...11))
    try await a.magic.compact()
    #expect(try await numbers("SELECT magic_last FROM Note ORDER BY z_index") == places)
    // The entry of m, what was set of n alone, and what was set last.
    #expect(try await numbers("SELECT id FROM magic_journal ORDER BY id") == [1, 2, 11])
    // Of the first entry in the first row there is its place.
    let first = "SELECT hex(substr(data, 1, 1)) = '00' AND length(data) > 1 FROM magic_journal WHERE id = 1"
    #expect(try await numbers(first) == [1])
    // A run of what is kept has no address.
    #expect(try await numbers("SELECT count(*) FROM magic_run WHERE sequence <> -first") == [0])
    // The next transaction has the next number, though it begins a run.
    try await rename(a, 1)
    #expect(try await numbers("SELECT max(id) FROM magic_journal") == [12])
    #expect(try await numbers("SELECT sequence FROM magic_run WHERE sequence > 0") == [12])
    #expect(try await DatabaseCheck(a.magic).faults == [])
  }

  /// What a replica says of itself in the folder.
  private func acknowledgement(_ replica: String) -> URL { folder["remote/acks/\(replica).json"] }

  /// K-7: it is written by a push that has something to say, or after a day. What cannot be read, or is another's, keeps the
  /// floor down and nothing else.
  @Test func anAcknowledgementIsSaidOnceAndReadIfItCanBe() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await a.replicator.push()
    let id = try await a.magic.statistics().replica
    let file = acknowledgement(id)
    let first = try Data(contentsOf: file)
    world.advance(80_000_000)
    try await a.replicator.push()
    #expect(try Data(contentsOf: file) == first)
    world.advance(10_000_000)
    try await a.replicator.push()
    let whole = try Data(contentsOf: file)
    #expect(whole != first)
    let another = String(decoding: whole, as: UTF8.self).replacing(
      "\"replica\":\"\(id)\"", with: "\"replica\":\"\(String(repeating: "0", count: 32))\"")
    for damaged in [Data(), whole.dropLast(7), Data(another.utf8)] {
      #expect(damaged != whole)
      try damaged.write(to: file)
      #expect(try await b.replicator.pull().isComplete)
      #expect(try await b.notes()["n"]?.title == "first")
      let report = try await b.magic.compact()
      #expect(report.waitsFor == [id])
      #expect(report.entries == 0)
    }
    try whole.write(to: file)
    try await b.replicator.pull()
    let report = try await b.magic.compact()
    #expect(report.waitsFor == [])
    #expect(report.entries == 1)
  }

  enum Forgery: CaseIterable {
    /// Another transaction at an address that is held.
    case another
    /// More of the database's own than it has.
    case moreOfTheOwn
    /// More of somebody else's than the database has.
    case moreOfOthers
  }

  /// K-8: what is acknowledged counts as far as it is held here, and by its name. What shows a fork keeps the floor where it
  /// is.
  @Test(arguments: Forgery.allCases) func anAcknowledgementCountsByItsNames(forgery: Forgery) async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 3)
    try await a.replicator.push()
    try await b.magic.update(Note("b", "of b"))
    try await b.replicator.sync()
    let (own, other) = (try await a.magic.statistics().replica, try await b.magic.statistics().replica)
    var said = String(decoding: try Data(contentsOf: acknowledgement(other)), as: UTF8.self)
    let (replica, last) = forgery == .moreOfOthers ? (other, "0000000000000001") : (own, "0000000000000004")
    // In what it says of itself.
    let start = try #require(said.range(of: "\"\(other)\":{")).upperBound
    let end = try #require(said[start...].range(of: "\"\(replica)\":\"\(last)."))
    if forgery == .another {
      // The last digit of its tag.
      let digit = said.index(end.upperBound, offsetBy: 23)
      said.replaceSubrange(digit...digit, with: said[digit] == "0" ? "1" : "0")
    } else {
      said.replaceSubrange(end, with: "\"\(replica)\":\"0000000000000009.")
    }
    try Data(said.utf8).write(to: acknowledgement(other))
    try await a.replicator.pull()
    if forgery == .moreOfOthers {
      #expect(try await a.magic.compact().entries == 5)
      return
    }
    await #expect { try await a.magic.compact() } throws: { ($0 as? MagicDataError)?.code == .fork }
    #expect(try await floor(a).isEmpty)
    #expect(try await a.magic.statistics().entries == 5)
    // It says so itself, and later.
    world.advance(10)
    try await b.magic.update(Note("c", "of b"))
    try await b.replicator.sync()
    try await a.replicator.pull()
    #expect(try await a.magic.compact().entries == 6)
  }

  /// K-5.
  @Test func everythingMayBeKept() async throws {
    let a = try replica("a")
    try await a.magic.update(Note("n", "first"))
    try await rename(a, 3)
    try await a.replicator.sync()
    #expect(try await a.magic.compact(keeping: .seconds(Int64.max)).entries == 0)
    #expect(try await a.magic.compact().entries > 0)
  }

  @Test func aSilentReplicaHoldsHistoryUntilItIsExpired() async throws {  // H-15, L-21, K-8, K-9
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
    // What nobody has seen of what it wrote itself stays until it has.
    let unsent = try await a.magic.compact(isDryRun: true)
    #expect(unsent.unsent == 9 && unsent.waitsFor == [])
    #expect(try await a.magic.compact().keptEntries == 1)
    try await a.replicator.push()
    let freed = try await a.magic.compact()
    #expect(freed.waitsFor == [] && freed.unsent == 0)
    #expect(freed.entries == 10 && freed.behind == [:])
    // It comes back, loses nothing, and is waited for again.
    try await a.replicator.push()
    let note = try await b.magic.object(of: Note.self, primary: "n")
    note.mood = "late"
    try await b.magic.update(note)
    try await settle([b, a])
    try await expectEqual([a, b])
    #expect(try await a.notes()["n"]?.mood == "late")
    try await rename(a, 1)
    let late = try await a.magic.compact()
    #expect(late.waitsFor == [] && Array(late.behind.keys) == [other])
    #expect(try await a.magic.statistics().entries > 3)
    // Nobody expires himself, or whom nobody knows.
    await #expect(throws: MagicDataError.self) { try await b.replicator.expire(other) }
    await #expect(throws: MagicDataError.self) { try await a.replicator.expire("0000") }
  }

  /// K-9: `status` lists also whom the database has not heard of.
  @Test func whoIsKnownToTheRemoteAloneIsExpired() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await a.replicator.sync()
    try await b.replicator.pull()
    try await b.magic.update(Note("m", "second"))
    try await b.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/acks"])
    let other = try await b.magic.statistics().replica
    // Who has exchanged nothing yet is of another data set, and says nothing here.
    let newcomer = try replica("c")
    await #expect { try await newcomer.replicator.expire(other) } throws: { ($0 as? MagicDataError)?.code == .notFound }
    #expect(!FileManager.default.fileExists(atPath: folder["remote/acks"].path))
    #expect(try await a.replicator.status().peers.contains { $0.replica == other })
    #expect(try await a.replicator.expire(other) == other)
    try await a.replicator.sync()
    #expect(try await a.magic.compact().waitsFor == [])
    try await settle([b, a])
    try await expectEqual([a, b])
  }

  /// K-5.
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

  /// K-2, K-3: entries that come to more than a mebibyte are read twice, and others held for the second look.
  @Test func asMuchIsKeptOfALongHistoryAsOfAShortOne() async throws {
    var kept: [[Int]] = []
    for length in [1, 300_000] {
      let remote = folder["remote-\(length)"]
      let a = try Replica(folder["a-\(length)"], remote, world)
      func write(_ numbers: Range<Int>, stars: Int? = nil) async throws {
        for number in numbers {
          let note = Note("n", "\(number)" + String(repeating: "x", count: length))
          if let stars { note.stars = stars }
          try await a.magic.update(note)
        }
      }
      let note = Note("n", "first")
      note.mood = "calm"
      try await a.magic.update(contentsOf: [note, Note("short", "stays")])
      try await write(1..<4)
      try await a.magic.remove(Note("n", ""))
      try await write(4..<6)
      try await write(6..<7, stars: 3)
      try await write(7..<10)
      world.advance(100_000)
      try await write(10..<13)
      let before = try await (Dump(a.magic), a.magic.digest())
      let planned = try await a.magic.compact(keeping: .seconds(60), isDryRun: true)
      let report = try await a.magic.compact(keeping: .seconds(60))
      #expect((planned.entries, planned.keptEntries) == (report.entries, report.keptEntries))
      #expect(planned.keptBytes == report.keptBytes)
      kept.append([report.entries, report.keptEntries])
      #expect(try await a.magic.statistics().entries == report.keptEntries + 3)
      #expect(try await Dump(a.magic) == before.0)
      #expect(try await a.magic.digest() == before.1)
      #expect(try await DatabaseCheck(a.magic).faults == [])
      #expect(try await a.replicator.push().checkpoints == 1)
      let b = try Replica(folder["b-\(length)"], remote, world)
      #expect(try await b.replicator.pull().checkpoints == 1)
      try await expectEqual([a, b])
    }
    #expect(kept[0][0] == 2 + 3 + 1 + 6)
    #expect(kept[0] == kept[1])
  }

  /// A late edit by who did not know of a remove brings the object back with everything, also where its history was given up
  /// (L-6, L-17, H-11, K-4).
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

  /// However many rows of the journal it has, and each of them counts its own once it was compacted.
  @Test func whatIsLeftOfATransactionComesAtOnce() async throws {
    let a = try replica("a")
    var changes = try await a.magic.changes().makeAsyncIterator()
    let notes = (0..<1_000).map { Note("\($0)", "first") }
    try await a.magic.update(contentsOf: notes)
    for note in notes[100..<300] { note.title = "second" }
    try await a.magic.update(contentsOf: notes[100..<300])
    try await a.magic.update(Note("last", "first"))
    try await a.magic.compact()
    try await a.magic.update(Note("after", "first"))
    var counts: [Int] = []
    var objects: Set<MagicChanges.Primary> = []
    while !objects.contains(.text("after")) {
      let next = try #require(try await changes.next())
      counts.append(next.objects.count)
      objects.formUnion(next.objects.compactMap(\.primary))
    }
    #expect(counts.count == 4 && counts[1...] == [200, 1, 1])
    #expect(objects.count == 1_002)
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
