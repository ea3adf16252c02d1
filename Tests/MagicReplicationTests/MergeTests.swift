import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

@Suite struct MergeTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  /// One note that both replicas have.
  private func share(_ note: Note = Note("n", "first")) async throws {
    note.mood = "calm"
    try await a.magic.update(note)
    try await settle([a, b])
  }

  private func note(_ replica: Replica) async throws -> Note {
    try await replica.magic.object(of: Note.self, primary: "n")
  }

  /// M-2.
  @Test func fieldsEditedApartBothSurvive() async throws {
    try await share()
    let (left, right) = (try await note(a), try await note(b))
    left.title = "left"
    right.stars = 5
    try await a.magic.update(left)
    try await b.magic.update(right)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await note(a).title == "left")
    #expect(try await note(a).stars == 5)
    #expect(try await note(a).mood == "calm")
  }

  /// L-4, M-1.
  @Test func onOneFieldTheLaterWriteWins() async throws {
    try await share()
    let (left, right) = (try await note(a), try await note(b))
    right.title = "earlier"
    try await b.magic.update(right)
    world.advance(5)
    left.title = "later"
    try await a.magic.update(left)
    try await settle([b, a])
    try await expectEqual([a, b])
    #expect(try await note(b).title == "later")
  }

  /// H-1, L-4, C-6, M-1: the same stamp on two replicas.
  @Test func tiesEndTheSameEverywhere() async throws {
    try await share()
    let (left, right) = (try await note(a), try await note(b))
    left.title = "left"
    right.title = "right"
    try await a.magic.update(left)
    try await b.magic.update(right)
    try await settle([a, b])
    try await expectEqual([a, b])
  }

  /// H-11, L-4, M-3.
  @Test(arguments: [true, false]) func aRemoveAgainstAnEditTheLaterWins(removeIsLater: Bool) async throws {
    try await share()
    let (left, right) = (try await note(a), try await note(b))
    left.title = "edited"
    if removeIsLater {
      try await a.magic.update(left)
      world.advance(5)
      try await b.magic.remove(right)
    } else {
      try await b.magic.remove(right)
      world.advance(5)
      try await a.magic.update(left)
    }
    try await settle([a, b])
    try await expectEqual([a, b])
    let notes = try await b.notes()
    #expect((notes["n"] == nil) == removeIsLater)
    if let note = notes["n"] {
      // Brought back with everything as it was.
      #expect(note.title == "edited")
      #expect(note.mood == "calm")
    }
  }

  /// H-12: what was there before the remove does not shine through.
  @Test func removedAndMadeAgainHasOnlyItsNewValues() async throws {
    try await share()
    let gone = try await note(a)
    try await a.magic.remove(gone)
    world.advance(5)
    try await a.magic.update(Note("n", "second"))
    // Of b's edit, older than the remove, nothing is left either.
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await note(b).title == "second")
    #expect(try await note(b).mood == nil)
  }

  /// L-6: the base of a revival is the latest remove, not the first.
  @Test func removedAndMadeAgainTwiceHasOnlyItsLastValues() async throws {
    try await share()
    for mood in ["second", nil] {
      world.advance(5)
      try await a.magic.remove(try await note(a))
      world.advance(5)
      let again = Note("n", "again")
      if let mood { again.mood = mood }
      try await a.magic.update(again)
    }
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await note(b).mood == nil)
  }

  /// H-13, M-3.
  @Test func removedOnBothSidesIsRemoved() async throws {
    try await share()
    try await a.magic.remove(try await note(a))
    world.advance(5)
    try await b.magic.remove(try await note(b))
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.notes().isEmpty)
  }

  /// H-13, M-3, K-2: of two removes the later one holds for who knows of neither, and hears of both through the other, also
  /// when the earlier one was given up.
  @Test(arguments: [false, true]) func theLaterOfTwoRemovesHoldsForAThird(isCompacted: Bool) async throws {
    let (side, c) = (Replica(b.magic, folder["side"]), try Replica(folder["c"], folder["side"], world))
    try await share()
    for replica in [side, c, side, b, a] { try await replica.replicator.sync() }
    let edited = try await note(c)
    world.advance(10)
    try await a.magic.remove(try await note(a))
    world.advance(5)
    edited.title = "edited in between"
    try await c.magic.update(edited)
    world.advance(5)
    try await b.magic.remove(try await note(b))
    try await a.replicator.push()
    try await b.replicator.sync()
    if isCompacted {
      try await side.replicator.expire(c.magic.statistics().replica)
      for replica in [b, a, b, a] { try await replica.replicator.sync() }
      for replica in [a, b] { #expect(try await replica.magic.compact().entries > 0) }
    }
    try await side.replicator.push()
    try await c.replicator.sync()
    #expect(try await c.notes().isEmpty)
    for _ in 0..<4 {
      for replica in [side, b, a, c] { try await replica.replicator.sync() }
    }
    try await expectEqual([a, b, c])
    #expect(try await a.notes().isEmpty)
    for replica in [a, b, c] { #expect(try await DatabaseCheck(replica.magic).faults == []) }
  }

  @Test func removeAllSparesWhatItDidNotKnow() async throws {
    try await share()
    try await b.magic.update(Note("new", "made apart"))
    world.advance(5)
    try await a.magic.removeAll(of: Note.self)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.notes().keys.sorted() == ["new"])
  }

  /// H-20, L-2, J-6.
  @Test func madeOnBothSidesWithOnePrimaryValueIsOneObject() async throws {
    try await a.magic.update(Note("n", "from a"))
    world.advance(5)
    let note = Note("n", "from b")
    note.mood = "glad"
    try await b.magic.update(note)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.notes().count == 1)
    #expect(try await self.note(a).title == "from b")
    #expect(try await self.note(a).mood == "glad")
  }

  /// H-19, L-2, J-7: z indexes are local.
  @Test func objectsWithoutAPrimaryValueKeepApart() async throws {
    try await a.magic.update(Event("a"))
    try await b.magic.update(Event("b"))
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await Set(a.magic.object(of: Event.self).map(\.text)) == ["a", "b"])
    let event = try #require(try await b.magic.object(of: Event.self).first { $0.text == "a" })
    event.weight = 2
    try await b.magic.update(event)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.magic.object(of: Event.self).count == 2)
  }

  /// L-7: a stale instance writes only what was set in it.
  @Test func aStaleInstanceDoesNotOverwriteWhatWasMerged() async throws {
    try await share()
    let stale = try await note(a)
    let fresh = try await note(b)
    fresh.title = "merged"
    try await b.magic.update(fresh)
    try await settle([b, a])
    stale.stars = 3
    try await a.magic.update(stale)
    #expect(try await note(a).title == "merged")
    #expect(try await note(a).stars == 3)
  }

  @Test func savingAnUnchangedInstanceDoesNotUndoARemoveFromElsewhere() async throws {
    try await share()
    let stale = try await note(a)
    try await b.magic.remove(try await note(b))
    try await settle([b, a])
    try await a.magic.update(stale)
    #expect(try await a.notes().isEmpty)
    // But a change does, and brings back what the object had before it was removed.
    stale.stars = 4
    try await a.magic.update(stale)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await note(b).stars == 4)
    #expect(try await note(b).mood == "calm")
  }

  /// H-12, M-4: what an instance shows from before the object was made anew stays away.
  @Test func aRevivalBringsNothingBackThatIsVoid() async throws {
    try await share()
    let stale = try await note(a)
    try await a.magic.remove(try await note(a))
    world.advance(5)
    try await a.magic.update(Note("n", "second"))
    try await a.magic.remove(try await note(a))
    stale.stars = 4
    try await a.magic.update(stale)
    try await settle([a, b])
    try await expectEqual([a, b])
    let note = try await note(b)
    #expect((note.title, note.stars, note.mood) == ("second", 4, nil))
  }

  /// H-25, H-36: what came from another replica is no write of one's own, and a sync of nothing writes nothing.
  @Test func atRestNothingIsWritten() async throws {
    try await share()
    let before = try folder.contents().filter { $0.key.hasPrefix("remote") }
    for replica in [a, b, a, b] {
      let (pull, push) = try await replica.replicator.sync()
      #expect(pull == PullReport())
      #expect(push == PushReport())
    }
    #expect(try folder.contents().filter { $0.key.hasPrefix("remote") } == before)
  }

  @Test func aDatabaseInMemorySyncsToo() async throws {
    try await share()
    let memory = MagicData(store: try Store(.memory, world.surroundings()))
    try await memory.update(Note("m", "from memory"))
    let replicator = MagicReplicator(memory, remote: FolderRemote(folder["remote"]))
    try await replicator.push()
    try await replicator.sync()
    try await settle([a, b])
    try await expectEqual([a, b])
    let dump = try await Dump(a.magic)
    #expect(try await Dump(memory) == dump)
    #expect(dump.objects.count == 2)
  }

  /// L-26, F-11: what brought nothing, since it was damaged, binds a database to nothing.
  @Test func anExchangeOfNothingLeavesADatabaseFreeToJoinAnother() async throws {
    try await share()
    let segment = try #require(try FileManager.default.contentsOfDirectory(atPath: folder["remote/segments"].path).first)
    let file = folder["remote/segments/\(segment)"]
    try Data(Data(contentsOf: file).dropLast(3)).write(to: file)
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.magic.update(Note("c", "mine"))
    #expect(try await c.replicator.pull().unread.count == 1)
    let elsewhere = try Replica(folder["d"], folder["elsewhere"], world)
    try await elsewhere.magic.update(Note("d", "theirs"))
    try await elsewhere.replicator.push()
    try await MagicReplicator(c.magic, remote: FolderRemote(folder["elsewhere"])).sync()
    #expect(try await c.notes().keys.sorted() == ["c", "d"])
  }

  /// L-26, H-10, F-11 (H-18: what a remote refuses costs nobody anything here).
  @Test func twoSettledDataSetsAreNotMixed() async throws {
    try await share()
    let other = try Replica(folder["c"], folder["elsewhere"], world)
    try await other.magic.update(Note("x", "other data"))
    try await other.replicator.sync()
    let stray = MagicReplicator(other.magic, remote: FolderRemote(folder["remote"]))
    await #expect(throws: MagicDataError.self) { try await stray.sync() }
    await #expect(throws: MagicDataError.self) { try await stray.push() }
    await #expect(throws: MagicDataError.self) { try await stray.pull() }
    #expect(try await other.notes().keys.sorted() == ["x"])
    #expect(try await a.replicator.pull() == PullReport())
  }

  /// H-24, L-10: two apps of one name with another kind for a field; rows do not depend on who came first.
  @Test func aFieldOfAnotherKindIsKeptBesideTheFirst() async throws {
    enum First {
      struct Person: MagicObject {
        @PrimaryMagicValue var id: String
        @OptionMagicValue var age: Int?
        init() {}
      }
    }
    enum Second {
      struct Person: MagicObject {
        @PrimaryMagicValue var id: String
        @OptionMagicValue var age: String?
        init() {}
      }
    }
    let one = First.Person()
    (one.id, one.age) = ("p", 5)
    try await a.magic.update(one)
    world.advance(5)
    let two = Second.Person()
    (two.id, two.age) = ("p", "six")
    try await b.magic.update(two)
    try await settle([a, b])
    try await expectEqual([a, b])
    #expect(try await a.magic.object(of: First.Person.self, primary: "p").age == nil)
    #expect(try await b.magic.object(of: Second.Person.self, primary: "p").age == "six")
  }
}
