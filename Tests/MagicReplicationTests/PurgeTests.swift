import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

private struct Counted: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var text: String

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

private struct Circle: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  @MagicValue var notes: MagicalSet<Note> = []

  init() {}

  init(_ id: String, _ name: String) {
    self.id = id
    self.name = name
  }
}

/// What removed objects held goes once everybody knows that they are removed, and nothing else goes with it (K-23, K-24, L-16,
/// L-17, L-18, L-20, L-21, H-12, H-14, H-16).
@Suite struct PurgeTests {
  let folder: TemporaryFolder
  let world = World()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func replica(_ name: String, skew: Int64 = 0) throws -> Replica {
    try Replica(folder[name], folder["remote"], world, skew: skew)
  }

  /// Whether a replica's journal has a text.
  private func isFound(_ text: String, in replica: Replica) async throws -> Bool {
    try await replica.magic.store.read { db in
      try Int.fetchOne(
        db, sql: "SELECT count(*) FROM magic_journal WHERE instr(data, ?)", arguments: [Data(text.utf8)]) ?? 0
    } > 0
  }

  /// Two that have a note, which is removed, and both know it.
  private func twoWithoutTheirNote() async throws -> (a: Replica, b: Replica) {
    let (a, b) = (try replica("a"), try replica("b"))
    let note = Note("n", "what nobody is to read")
    note.mood = "gloomy"
    try await a.magic.update(contentsOf: [note, Note("m", "stays")])
    try await settle([a, b])
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    try await settle([a, b])
    return (a, b)
  }

  /// Until nothing of what was removed is left anywhere.
  private func compactAll(_ replicas: [Replica]) async throws -> [Int] {
    var purged: [Int] = []
    for _ in 0..<3 {
      for replica in replicas {
        purged.append(try await replica.replicator.compact().database.purged)
        try await settle(replicas)
      }
    }
    return purged
  }

  @Test func whatARemovedObjectHeldGoesOnceEverybodyKnows() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    let before = try await (digest: a.magic.digest(), dump: Dump(a.magic))
    #expect(try await a.magic.compact(isDryRun: true).purged == 1)
    let first = try await a.magic.compact()
    #expect(first.purged == 1)
    #expect(try await isFound("nobody is to read", in: a))
    // Nobody else knows of it yet.
    #expect(try await a.magic.compact().purged == 0)
    #expect(try await isFound("nobody is to read", in: a))
    try await settle([a, b])
    #expect(try await a.magic.compact().keptEntries == 4)
    #expect(try await b.magic.compact().purged == 0)
    for replica in [a, b] {
      #expect(try await !isFound("nobody is to read", in: replica))
      #expect(try await !isFound("gloomy", in: replica))
      #expect(try await replica.magic.digest() == before.digest)
      #expect(try await Dump(replica.magic) == before.dump)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    // It ends.
    let frontier = try await a.frontier()
    #expect(try await compactAll([a, b]) == [0, 0, 0, 0, 0, 0])
    #expect(try await a.frontier() == frontier)
    // Who comes now gets no more than that.
    let c = try replica("c")
    try await settle([a, b, c])
    try await expectEqual([a, b, c])
    #expect(try await !isFound("nobody is to read", in: c))
    // The name can be used again.
    try await c.magic.update(Note("n", "another"))
    try await settle([a, b, c])
    #expect(try await a.notes()["n"]?.title == "another")
    #expect(try await a.notes()["n"]?.mood == nil)
    try await expectEqual([a, b, c])
  }

  @Test func whatWasBornAndWhatCountsKeepItsName() async throws {  // L-2, L-9
    let (a, b) = (try replica("a"), try replica("b"))
    let (event, shelf) = (Event("what nobody is to read"), Shelf(7, Leaf("a leaf")))
    try await a.magic.update(event)
    try await a.magic.update(shelf)
    let numbers = [Counted("first"), Counted("second")]
    try await a.magic.update(contentsOf: numbers)
    try await settle([a, b])
    try await a.magic.remove(event)
    try await a.magic.remove(shelf)
    try await a.magic.remove(numbers[1])
    try await settle([a, b])
    #expect(try await compactAll([a, b]).reduce(0, +) == 3)
    #expect(try await !isFound("nobody is to read", in: a))
    #expect(try await !isFound("nobody is to read", in: b))
    // A number is given once.
    let next = Counted("third")
    try await b.magic.update(next)
    #expect(next.number == 3)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.magic.object(of: Leaf.self).count == 1)
  }

  @Test func aRevivalThatNobodyKnewOfWhenItWasPurgedIsWhole() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    // Not sent yet.
    let again = Note("n", "made again")
    again.stars = 3
    try await b.magic.update(again)
    #expect(try await a.magic.compact().purged == 1)
    try await settle([a, b])
    #expect(try await a.notes()["n"]?.title == "made again")
    #expect(try await a.notes()["n"]?.stars == 3)
    #expect(try await a.notes()["n"]?.mood == nil)
    try await expectEqual([a, b])
    #expect(try await compactAll([a, b]).reduce(0, +) == 0)
    try await expectEqual([a, b])
  }

  /// One that wrote without knowing of the remove has acknowledged that, and who compacts has not got it.
  @Test func nobodyPurgesWhoLacksWhatIsAcknowledged() async throws {
    let (a, b) = (try replica("a"), try replica("b", skew: 1_000))
    try await a.magic.update(Note("n", "first"))
    try await settle([a, b])
    let note = try await b.magic.object(of: Note.self, primary: "n")
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    try await a.replicator.push()
    note.stars = 5
    try await b.magic.update(note)
    try await b.replicator.sync()
    #expect(try await b.notes()["n"]?.stars == 5)
    // It learns what b has, and does not pull.
    let report = try await a.replicator.compact().database
    #expect(report.purged == 0)
    try await settle([a, b])
    for replica in [a, b] {
      #expect(try await replica.notes()["n"]?.title == "first")
      #expect(try await replica.notes()["n"]?.stars == 5)
    }
    #expect(try await compactAll([a, b]).reduce(0, +) == 0)
    try await expectEqual([a, b])
  }

  @Test func nobodyPurgesWhileSomebodyIsSilent() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    let c = try replica("c")
    try await c.magic.update(Note("c", "of c"))
    try await c.replicator.push()
    try FileManager.default.removeItem(at: folder["remote/acks"])
    try await a.replicator.pull()
    #expect(try await a.magic.compact().purged == 0)
    try await settle([a, b, c])
    #expect(try await a.magic.compact().purged == 1)
  }

  /// K-24: one that only ever pulled is no member, and nobody waited for it.
  @Test func whoIsNoMemberWritesWholeWhatItEdited() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    let c = try replica("c", skew: 1_000)
    let (person, friend) = (Person("p", "Ada"), Person("q", "Grace"))
    person.friends = [friend]
    person.pages = [Leaf("one"), Leaf("two")]
    try await a.magic.update(person)
    try await a.magic.update(Note("n", "first"))
    try await settle([a, b])
    try await c.replicator.pull()
    // Meanwhile it is removed, everybody who is known knows it, and what it held is given up.
    let (there, note) = (
      try await c.magic.object(of: Person.self, primary: "p"), try await c.magic.object(of: Note.self, primary: "n")
    )
    try await a.magic.remove(person)
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    try await settle([a, b])
    #expect(try await compactAll([a, b]).reduce(0, +) == 2)
    #expect(try await !isFound("Ada", in: a))
    there.name = "Ada Lovelace"
    note.stars = 4
    try await c.magic.update(there)
    try await c.magic.update(note)
    // It pushes before it has heard of anything: others hide what they know a part of.
    try await c.replicator.push()
    try await a.replicator.pull()
    #expect(try await a.notes()["n"] == nil)
    try await settle([a, b, c])
    for replica in [a, b, c] {
      let person = try await replica.magic.object(of: Person.self, primary: "p")
      #expect(person.name == "Ada Lovelace")
      #expect(person.friends.map(\.id) == ["q"])
      #expect(person.pages.map(\.text) == ["one", "two"])
      #expect(try await replica.notes()["n"]?.title == "first")
      #expect(try await replica.notes()["n"]?.stars == 4)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    try await expectEqual([a, b, c])
    #expect(try await compactAll([a, b, c]).reduce(0, +) == 0)
    try await expectEqual([a, b, c])
  }

  /// K-24: the same of one that was expired; what it wrote before the remove stays removed.
  @Test func whoWasExpiredLosesNothing() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(contentsOf: [Note("n", "first"), Note("m", "second")])
    try await settle([a, b])
    let (early, late) = (
      try await b.magic.object(of: Note.self, primary: "m"), try await b.magic.object(of: Note.self, primary: "n")
    )
    early.stars = 1
    try await b.magic.update(early)
    world.advance(1_000)
    for id in ["n", "m"] { try await a.magic.remove(try await a.magic.object(of: Note.self, primary: id)) }
    world.advance(1_000)
    late.stars = 2
    try await b.magic.update(late)
    try await a.replicator.push()
    try await a.replicator.expire(try await b.magic.statistics().replica)
    #expect(try await compactAll([a]) == [2, 0, 0])
    try await settle([a, b])
    for replica in [a, b] {
      let notes = try await replica.notes()
      #expect(notes["n"]?.title == "first")
      #expect(notes["n"]?.stars == 2)
      #expect(notes["m"] == nil)
    }
    try await expectEqual([a, b])
    _ = try await compactAll([a, b])
    try await expectEqual([a, b])
  }

  /// K-2: the same where the object was made again and removed once more: of that nothing is left but that it was, and what it
  /// knew of is given up with it.
  @Test(arguments: [false, true]) func whatWasMadeAgainAndPurgedTakesNothingFromWhoKnowsNeither(isEdited: Bool) async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    let note = Note("n", "first")
    note.mood = "x"
    try await a.magic.update(note)
    try await settle([a, b])
    let held = try await b.magic.object(of: Note.self, primary: "n")
    world.advance(1_000)
    try await a.magic.remove(note)
    world.advance(1_000)
    let again = Note("n", "again")
    try await a.magic.update(again)
    if isEdited {
      world.advance(1_000)
      again.stars = 1
      try await a.magic.update(again)
    }
    world.advance(1_000)
    try await a.magic.remove(again)
    try await a.replicator.push()
    try await a.replicator.expire(try await b.magic.statistics().replica)
    #expect(try await compactAll([a]) == [1, 0, 0])
    world.advance(1_000)
    held.stars = 9
    try await b.magic.update(held)
    try await settle([a, b])
    #expect(try await compactAll([a, b]).reduce(0, +) == 0)
    for replica in [a, b] {
      let there = try #require(try await replica.notes()["n"])
      #expect(there.title == "first")
      #expect(there.mood == "x")
      #expect(there.stars == 9)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    try await expectEqual([a, b])
  }

  /// K-2: what a revival made void stays so, whoever has compacted meanwhile: neither one with as high a base nor one with a
  /// higher takes its place, if that is void by a purge itself.
  @Test(arguments: [1, 2], [0, 2]) func whatARevivalMadeVoidStaysVoid(revivals: Int, compactions: Int) async throws {
    let (a, b, c) = (try replica("a"), try replica("b"), try replica("c"))
    let circle = Circle("o", "first")
    circle.notes = [Note("m", "a member")]
    try await a.magic.update(circle)
    try await settle([a, b, c])
    world.advance(1_000)
    try await a.magic.remove(circle)
    // c has the note in its circle still.
    try await settle([a, b])
    for _ in 0..<revivals {
      world.advance(1_000)
      let again = Circle("o", "again")
      try await a.magic.update(again)
      world.advance(1_000)
      try await a.magic.remove(again)
    }
    try await a.replicator.push()
    for replica in [b, c] { try await a.replicator.expire(try await replica.magic.statistics().replica) }
    #expect(try await a.replicator.compact().database.purged == 1)
    world.advance(1_000)
    // It knows of the first remove alone.
    let made = Circle("o", "of b")
    try await b.magic.update(made)
    world.advance(1_000)
    made.name = "of b again"
    try await b.magic.update(made)
    try await settle([a, b])
    for _ in 0..<compactions {
      #expect(try await a.replicator.compact().database.purged == 0)
      try await settle([a, b])
    }
    try await settle([a, b, c])
    for replica in [a, b, c] {
      let there = try await replica.magic.object(of: Circle.self, primary: "o")
      #expect(there.name == "of b again")
      #expect(there.notes.map(\.id) == [])
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    try await expectEqual([a, b, c])
  }

  /// Who was expired loses nothing either if its database has gone on under another id since, as on another machine (J-30), or
  /// as what is rebuilt of it.
  @Test func whoWasExpiredAndCopiedLosesNothing() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await settle([a, b])
    let held = try await b.magic.object(of: Note.self, primary: "n")
    world.advance(1_000)
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    world.advance(1_000)
    held.stars = 2
    try await b.magic.update(held)
    try await a.replicator.push()
    try await a.replicator.expire(try await b.magic.statistics().replica)
    #expect(try await compactAll([a]) == [1, 0, 0])
    try await b.magic.close()
    try FileManager.default.copyItem(at: folder["b"], to: folder["copy"])
    let copy = try replica("copy")
    try await copy.replicator.pull()
    #expect(try await copy.notes()["n"]?.title == "first")
    try await settle([a, copy])
    for replica in [a, copy] {
      #expect(try await replica.notes()["n"]?.title == "first")
      #expect(try await replica.notes()["n"]?.stars == 2)
    }
    try await expectEqual([a, copy])
  }

  /// What is written anew is below whatever others write meanwhile: a remove, or another value (K-24).
  @Test func whatIsWrittenAnewIsBelowWhatOthersWrote() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(contentsOf: [Note("n", "first"), Note("m", "second")])
    try await settle([a, b])
    let held = try await b.notes()
    world.advance(1_000)
    for id in ["n", "m"] { try await a.magic.remove(try await a.magic.object(of: Note.self, primary: id)) }
    try await a.replicator.push()
    try await a.replicator.expire(try await b.magic.statistics().replica)
    #expect(try await compactAll([a]) == [2, 0, 0])
    world.advance(1_000)
    for id in ["n", "m"] {
      held[id]?.stars = 7
      try await b.magic.update(try #require(held[id]))
    }
    // It says what it wrote, and has heard of nothing.
    try await b.replicator.push()
    world.advance(1_000)
    try await a.replicator.pull()
    // To a they have no titles, which they need.
    #expect(try await a.notes().isEmpty)
    try await a.magic.update(Note("n", "of a"))
    try await a.magic.removeAll(of: Note.self)
    try await a.magic.update(Note("n", "of a again"))
    world.advance(1_000)
    try await b.replicator.pull()
    #expect(try await b.notes()["m"]?.title == "second")
    try await settle([a, b])
    for replica in [a, b] {
      let notes = try await replica.notes()
      #expect(notes["n"]?.title == "of a again")
      #expect(notes["m"]?.title ?? "second" == "second")
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    try await expectEqual([a, b])
  }

  /// Whoever holds what was purged writes it anew, also where its writer is gone, and in whatever order purge and update come
  /// (K-24).
  @Test(arguments: [false, true]) func whoeverHoldsItWritesItAnew(purgeComesFirst: Bool) async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    let lost = try replica("lost", skew: 10_000)
    try await a.magic.update(Note("n", "first"))
    try await settle([a, b])
    try await lost.replicator.pull()
    let note = try await lost.magic.object(of: Note.self, primary: "n")
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    try await settle([a, b])
    // b holds what it was, since it compacts nothing.
    note.stars = 7
    try await lost.magic.update(note)
    let other = FolderRemote(folder["other"])
    try await MagicReplicator(lost.magic, remote: other).push()
    if purgeComesFirst {
      _ = try await a.replicator.compact()
      try await settle([a, b])
      try await MagicReplicator(b.magic, remote: other).pull()
    } else {
      try await MagicReplicator(b.magic, remote: other).pull()
      #expect(try await a.replicator.compact().database.purged == 1)
      try await settle([a, b])
    }
    try await settle([a, b])
    for replica in [a, b] {
      #expect(try await replica.notes()["n"]?.title == "first")
      #expect(try await replica.notes()["n"]?.stars == 7)
      #expect(try await DatabaseCheck(replica.magic).faults == [])
    }
    try await expectEqual([a, b])
    _ = try await compactAll([a, b])
    #expect(try await a.notes()["n"]?.title == "first")
    try await expectEqual([a, b])
  }

  /// A purge is of what was removed, also where the remove has not arrived (M-3).
  @Test func aPurgeThatComesBeforeTheRemoveRevivesNothing() async throws {
    let (a, c) = try await purgedWithoutItsRemove()
    try await settle([a, c])
    for replica in [a, c] { #expect(try await replica.notes().isEmpty) }
    try await expectEqual([a, c])
  }

  /// One that knows of a remove, and the one that made what was removed, and has got a purge of it alone.
  private func purgedWithoutItsRemove() async throws -> (a: Replica, c: Replica) {
    let (a, b, c) = (try replica("a"), try replica("b"), try replica("c"))
    let first = Note("n", "first")
    first.mood = "gloomy"
    try await c.magic.update(first)
    try await settle([a, b])
    try await c.replicator.push()
    try await settle([a, b])
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    try await settle([a, b])
    try await b.replicator.expire(try await c.magic.statistics().replica)
    #expect(try await b.magic.compact().purged == 1)
    try await b.replicator.push()
    // What a wrote is lost on its way to c.
    let own = try await a.magic.statistics().replica
    for file in try FileManager.default.contentsOfDirectory(atPath: folder["remote/segments"].path) where file.hasPrefix(own) {
      try FileManager.default.removeItem(at: folder["remote/segments/\(file)"])
    }
    try await c.replicator.pull()
    #expect(try await c.notes().isEmpty)
    return (a, c)
  }

  /// Who makes again what he knows as removed by a purge alone makes it anew (J-9).
  @Test func whatIsMadeAgainAfterAPurgeAloneIsNew() async throws {
    let (a, c) = try await purgedWithoutItsRemove()
    try await c.magic.update(Note("n", "again"))
    try await settle([a, c])
    for replica in [a, c] {
      #expect(try await replica.notes()["n"]?.title == "again")
      #expect(try await replica.notes()["n"]?.mood == nil)
    }
    try await expectEqual([a, c])
  }

  /// In as many transactions as it takes (J-20): what is written anew may be much, and one object's may take several entries.
  @Test func muchIsWrittenAnewInSeveralTransactions() async throws {
    let a = try replica("a")
    for id in ["n", "m", "o"] { try await a.magic.update(Note(id, "short")) }
    try await a.magic.removeAll(of: Note.self)
    let before = try await a.frontier()
    let (own, store) = (try #require(before.replicas.first), a.magic.store)
    try await store.write { db in
      let type = try #require(JournalReader(db).schema.types.first)
      let title = try #require(type.schema.fields.firstIndex { $0.name.text == "title" })
      let text = FieldValue(field: title, value: .text(String(repeating: "t", count: 12 << 20)))
      let purges = ["n", "n", "m", "o"].map { ObjectPurge(type: type.id, key: .primary(.text($0)), base: Stamp(1), [text]) }
      try store.write(purges, db)
    }
    // One of n, since a transaction has one entry of an object; two that fit into one; the rest.
    #expect(try await a.frontier()[own] == before[own] + 3)
  }

  /// J-9: an instance that was fetched before knows what it held.
  @Test func anInstanceOfWhatWasPurgedIsSavedWhole() async throws {
    let a = try replica("a")
    let person = Person("p", "Ada")
    person.pages = [Leaf("one")]
    try await a.magic.update(person)
    try await a.magic.update(Note("n", "first"))
    let (there, note) = (
      try await a.magic.object(of: Person.self, primary: "p"), try await a.magic.object(of: Note.self, primary: "n")
    )
    #expect(there.pages.count == 1)
    try await a.magic.remove(person)
    try await a.magic.remove(try await a.magic.object(of: Note.self, primary: "n"))
    #expect(try await a.magic.compact().purged == 2)
    #expect(try await a.magic.compact().purged == 0)
    #expect(try await !isFound("Ada", in: a))
    (there.name, note.stars) = ("Ada Lovelace", 4)
    try await a.magic.update(there)
    try await a.magic.update(note)
    #expect(try await a.notes()["n"]?.title == "first")
    #expect(try await a.notes()["n"]?.stars == 4)
    let again = try await a.magic.object(of: Person.self, primary: "p")
    #expect(again.name == "Ada Lovelace")
    #expect(again.pages.map(\.text) == ["one"])
    #expect(try await a.naiveDump() == Dump(a.magic))
    #expect(try await DatabaseCheck(a.magic).faults == [])
  }

  /// An object that holds itself, and one whose own remove is not the latest word.
  @Test func anInstanceThatHoldsItselfKeepsThat() async throws {
    let a = try replica("a")
    let person = Person("p", "Ada")
    person.friend = person
    try await a.magic.update(person)
    let there = try await a.magic.object(of: Person.self, primary: "p")
    #expect(there.friend?.id == "p")
    try await a.magic.remove(person)
    #expect(try await a.magic.compact().purged == 1)
    there.name = "Ada Lovelace"
    try await a.magic.update(there)
    let again = try await a.magic.object(of: Person.self, primary: "p")
    #expect(again.name == "Ada Lovelace")
    #expect(again.friend?.name == "Ada Lovelace")
    #expect(try await a.naiveDump() == Dump(a.magic))
    #expect(try await DatabaseCheck(a.magic).faults == [])
  }

  /// J-9: whose the remove was is known beside the purge.
  @Test func anInstanceThatNobodyChangedDoesNotUndoAnothersRemove() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    try await a.magic.update(Note("n", "first"))
    try await settle([a, b])
    let held = try #require(try await a.notes()["n"])
    try await b.magic.remove(try #require(try await b.notes()["n"]))
    try await settle([a, b])
    #expect(try await a.magic.compact().purged == 1)
    try await a.magic.update(held)
    #expect(try await a.notes().isEmpty)
  }

  @Test func whoObservesHearsOfPurgesAsOfRemoves() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    var changes = try await b.magic.changes().makeAsyncIterator()
    try await b.magic.update(Note("o", "now"))
    #expect(try await changes.next()?.objects.map(\.operation) == [.update])
    #expect(try await a.magic.compact().purged == 1)
    try await settle([a, b])
    let change = try #require(try await changes.next())
    #expect(change.objects.map(\.operation) == [.remove])
    #expect(change.objects.map(\.primary) == [.text("n")])
  }

  /// Who has all history can undo the remove.
  @Test func aRemoveIsUndoneThoughItsObjectWasPurged() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    #expect(try await a.magic.compact().purged == 1)
    try await settle([a, b])
    var selection = UndoSelection()
    selection.transactions = [try MagicMoment(transaction: "\(try await a.magic.statistics().replica):2")]
    let plan = try await b.magic.undoing(selection)
    #expect(plan.changes.map(\.kind) == [.revive])
    try await b.magic.undo(plan)
    try await settle([a, b])
    for replica in [a, b] {
      #expect(try await replica.notes()["n"]?.title == "what nobody is to read")
      #expect(try await replica.notes()["n"]?.mood == "gloomy")
    }
    try await expectEqual([a, b])
    // Undone again, nothing is left to purge twice.
    #expect(try await DatabaseCheck(b.magic).faults == [])
  }

  @Test func logsSayWhatWasPurged() async throws {
    let (a, b) = try await twoWithoutTheirNote()
    #expect(try await a.magic.compact().purged == 1)
    try await settle([a, b])
    var selection = MagicHistory.Selection()
    selection.operation = .purge
    let found = Locked<[String]>([])
    try await MagicHistory(b.magic).forEachEntry(selection) { entry in
      found.withLock { $0.append("\(entry.operation) \(entry.type) \(entry.object) \(entry.fields.count)") }
    }
    #expect(found.withLock { $0 } == ["purge Note n 0"])
  }
}
