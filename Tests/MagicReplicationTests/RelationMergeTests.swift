import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Relations on their way from one replica to another.
@Suite struct RelationMergeTests {
  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
  }

  private func expectSound() async throws {
    try await expectEqual([a, b])
    for replica in [a, b] { #expect(try await faultyPlaces(replica.magic) == []) }
  }

  private func person(_ replica: Replica, _ id: String = "p") async throws -> Person {
    try await replica.magic.object(of: Person.self, primary: id)
  }

  @Test func anObjectThatRefersToItselfArrivesWhole() async throws {
    let person = Person("p", "one")
    person.friend = person
    person.friends = [person]
    try await a.magic.update(person)
    try await settle([a, b])
    try await expectSound()
    #expect(try await self.person(b).friend?.name == "one")
    // Folded anew, since an older write comes after a later one.
    let (left, right) = (try await self.person(a), try await self.person(b))
    left.name = "left"
    try await a.magic.update(left)
    world.advance(5)
    right.name = "right"
    try await b.magic.update(right)
    try await settle([a, b])
    try await expectSound()
    for replica in [a, b] {
      #expect(try await self.person(replica).friend?.name == "right")
      #expect(try await self.person(replica).friends.map(\.name) == ["right"])
    }
  }

  /// H-17, J-24, J-25.
  @Test func anObjectTakesThePlaceThatWasKeptForIt() async throws {
    let (one, two) = (Person("p", "one"), Person("q", "two"))
    one.friend = two
    two.friends = [one]
    one.pages = [Leaf("1")]
    try await a.magic.update(one)
    try await a.magic.remove(try await person(a, "q"))
    try await settle([a, b])
    try await expectSound()
    #expect(try await person(b).friend == nil)
    // Somebody else's write takes no place that is kept.
    try await b.magic.update(Person("r", "three"))
    world.advance(5)
    try await b.magic.update(Person("q", "again"))
    try await settle([b, a])
    try await expectSound()
    for replica in [a, b] { #expect(try await person(replica).friend?.name == "again") }
  }

  /// `b`'s instance of a person that both had, and that `a` has removed since.
  private func removedByOthers() async throws -> Person {
    try await settle([a, b])
    let seen = try await person(b, "q")
    world.advance(5)
    try await a.magic.remove(try await person(a, "q"))
    try await settle([a, b])
    world.advance(5)
    return seen
  }

  /// J-9: however often an instance is saved that nobody changed.
  @Test func membersThatWereSetToWhatTheyWereBringNothingBack() async throws {
    let new = Person("q", "two")
    (new.friend, new.friends) = (Person("p", "one"), [Person("r", "three")])
    try await a.magic.update(new)
    let seen = try await removedByOthers()
    seen.friend = seen.friend
    seen.friends = seen.friends
    for _ in 0..<3 { try await b.magic.update(seen) }
    try await settle([b, a])
    try await expectSound()
    #expect(try await !b.magic.has(of: Person.self, primary: "q"))
  }

  /// J-9: what was set in it counts, also if that waits for an object that holds it in its turn.
  @Test func aRelationThatClosesACircleBringsItsObjectBack() async throws {
    try await a.magic.update(Person("q", "two"))
    let seen = try await removedByOthers()
    let new = Person("n", "new")
    new.friend = seen
    seen.friends = [new]
    try await b.magic.update(new)
    try await settle([b, a])
    try await expectSound()
    for replica in [a, b] {
      #expect(try await person(replica, "n").friend?.name == "two")
      #expect(try await person(replica, "q").friends.map(\.name) == ["new"])
    }
  }

  private enum First {
    struct Topic: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var x: MagicalSet<Person>?
      init() {}
    }
  }

  private enum Second {
    struct Topic: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var x: String?
      init() {}
    }
  }

  /// M-14, H-24: a write to a set whose name a text had won shows the set's older elements too.
  @Test(arguments: [0, 1, 2]) func aSetThatWinsItsNameBackShowsAllItsElements(way: Int) async throws {
    // Each app has stored something under the name before it hears of the other's.
    let own = Second.Topic()
    (own.id, own.x) = ("own", "text")
    try await b.magic.update(own)
    let topic = First.Topic()
    (topic.id, topic.x) = ("t", [Person("p", "1"), Person("q", "2")])
    try await a.magic.update(topic)
    try await settle([a, b])
    world.advance(5)
    let text = Second.Topic()
    (text.id, text.x) = ("t", "text")
    try await b.magic.update(text)
    try await settle([b, a])
    try await expectSound()
    world.advance(5)
    let fetched = try await a.magic.object(of: First.Topic.self, primary: "t")
    #expect(fetched.x == nil)
    fetched.x = [Person("r", "3")]
    switch way {
    case 0: try await a.magic.update(fetched)
    case 1:
      let anew = First.Topic()
      (anew.id, anew.x) = ("t", fetched.x)
      try await a.magic.update(anew)
    default:
      try await a.magic.transaction { transaction in
        try await transaction.update(fetched)
        fetched.x?.insert(Person("s", "4"))
        try await transaction.update(fetched)
      }
    }
    #expect(try await a.naiveDump() == Dump(a.magic))
    let shown = try await a.magic.object(of: First.Topic.self, primary: "t").x?.map(\.name).sorted()
    #expect(shown == ["1", "2", "3"] + (way == 2 ? ["4"] : []))
    try await settle([a, b])
    try await expectSound()
    #expect(try await b.magic.object(of: Second.Topic.self, primary: "t").x == nil)
  }

  /// H-18: what somebody removes goes by itself. What stood in it, or refers to it, stays on all sides, also what the other
  /// could not know.
  @Test func aRemoveTakesNothingElseAlong() async throws {
    let owner = Person("p", "owner")
    (owner.pages, owner.friend) = ([Leaf("page")], Person("q", "friend"))
    try await a.magic.update(owner)
    try await settle([a, b])
    let left = try await person(a)
    left.pages.append(Leaf("another"))
    try await a.magic.update(left)
    let shelf = Shelf(1, Leaf("of the shelf"))
    shelf.first.owner = left
    try await a.magic.update(shelf)
    world.advance(5)
    try await b.magic.remove(person(b))
    try await settle([a, b])
    try await expectSound()
    for replica in [a, b] {
      #expect(try await replica.magic.object(of: Person.self).map(\.name) == ["friend"])
      #expect(try await Set(replica.magic.object(of: Leaf.self).map(\.text)) == ["page", "another", "of the shelf"])
      #expect(try await replica.magic.object(of: Shelf.self, primary: 1).first.owner == nil)
    }
    // Nor does what the remote has no room for, or does not take.
    try FileManager.default.removeItem(at: folder["remote/segments"])
    try Data().write(to: folder["remote/segments"])
    try await a.magic.update(Leaf("later"))
    let before = try await Dump(a.magic)
    await #expect(throws: MagicDataError.self) { try await a.replicator.sync() }
    #expect(try await Dump(a.magic) == before)
  }

  /// J-4.
  @Test func aTransactionOfManyRowsArrivesWhole() async throws {
    for replica in [a, b] {
      try await replica.magic.transaction { transaction in
        let leaves = (0..<700).map { Leaf("leaf \($0) \(String(repeating: "x", count: $0))") }
        try await transaction.update(contentsOf: leaves)
        try? await transaction.transaction { transaction in
          for leaf in leaves[..<300] {
            leaf.next = leaf
            try await transaction.update(leaf)
          }
          throw CancellationError()
        }
        for leaf in leaves.reversed() where leaf.text.count % 3 == 0 {
          leaf.count = 7
          leaf.others = [leaves[0], leaf]
          try await transaction.update(leaf)
        }
        for leaf in leaves[600...] { try await transaction.remove(leaf) }
        for leaf in leaves[650...] { try await transaction.update(leaf) }
      }
      try await replica.magic.update(Person("p", "between"))
      #expect(try await replica.naiveDump() == Dump(replica.magic))
    }
    try await settle([a, b])
    try await expectSound()
    #expect(try await a.magic.object(of: Leaf.self).count == 1_300)
    // Runs of two replicas that alternate.
    for _ in 0..<5 {
      for replica in [a, b] {
        world.advance(1)
        let leaf = try #require(try await replica.magic.object(of: Leaf.self).randomElement())
        leaf.count += 1
        try await replica.magic.update(leaf)
        try await replica.replicator.sync()
      }
    }
    try await settle([a, b])
    try await expectSound()
    let newcomer = try Replica(folder["c"], folder["remote"], world)
    try await newcomer.replicator.pull()
    try await expectEqual([a, b, newcomer])
  }
}
