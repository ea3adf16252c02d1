import Foundation
import GRDB
import MagicJournal
import Synchronization
import TestSupport
import Testing

@testable import MagicData

private struct Author: MagicObject {
  @PrimaryMagicValue var id: UUID
  @MagicValue var name: String
  init() {}
  init(_ name: String) { self.name = name }
}

private struct Page: MagicObject {
  @MagicValue var text: String
  init() {}
  init(_ text: String) { self.text = text }
}

private struct Volume: MagicObject {
  @PrimaryMagicValue var title: String
  @MagicValue var author: Author
  @OptionMagicValue var editor: Author?
  @MagicValue var readers: MagicalSet<Author>
  @MagicValue var pages: [Page]
  @MagicValue var index: [String: Page]
  @OptionMagicValue var notes: [Page]?

  init() {
    readers = []
    pages = []
    index = [:]
  }

  init(_ title: String, _ author: Author) {
    self.init()
    _title.wrappedValue = title
    _author.wrappedValue = author
  }
}

private struct Node: MagicObject {
  @MagicValue var number: Int
  @OptionMagicValue var next: Node?
  @MagicValue var others: MagicalSet<Node> = []
  init() {}
  init(_ number: Int) { self.number = number }
}

/// Named, so that another database can have the same.
private struct Twig: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var note: String = ""
  @OptionMagicValue var parent: Twig?
  @MagicValue var children: MagicalSet<Twig> = []
  @MagicValue var order: [Twig] = []
  init() {}
  init(_ name: String) { self.name = name }
}

private final class Wagon: MagicObject {
  @MagicValue var number: Int
  @OptionMagicValue var next: Wagon?
  init() {}

  init(_ number: Int) {
    self.number = number
  }
}

/// Holds another in one of four ways.
private protocol Circular: MagicObject {
  var position: Int { get }
  /// What it holds.
  var held: Self? { get }
  func move(to position: Int)
  func hold(_ other: Self?)
}

private struct Ring: Circular {
  @PrimaryMagicValue var number: Int
  @OptionMagicValue var next: Ring?
  @MagicValue var list: [Ring] = []
  @MagicValue var set: MagicalSet<Ring> = []
  @MagicValue var byName: [String: Ring] = [:]
  init() {}

  var position: Int { number }
  var held: Ring? { next ?? list.last ?? set.first ?? byName["b"] }

  func move(to position: Int) { number = position }

  func hold(_ ring: Ring?) {
    (next, list, set, byName) = (nil, [], [], [:])
    guard let ring else { return }
    switch number % 4 {
    case 0: next = ring
    case 1: list = [ring, ring]
    case 2: set = [ring]
    default: byName = ["a": ring, "b": ring]
    }
  }
}

private final class Hoop: Circular {
  @PrimaryMagicValue var number: Int
  @OptionMagicValue var next: Hoop?
  @MagicValue var list: [Hoop] = []
  @MagicValue var set: MagicalSet<Hoop> = []
  @MagicValue var byName: [String: Hoop] = [:]
  init() {}

  var position: Int { number }
  var held: Hoop? { next ?? list.last ?? set.first ?? byName["b"] }

  func move(to position: Int) { number = position }

  func hold(_ hoop: Hoop?) {
    (next, list, set, byName) = (nil, [], [], [:])
    guard let hoop else { return }
    switch number % 4 {
    case 0: next = hoop
    case 1: list = [hoop, hoop]
    case 2: set = [hoop]
    default: byName = ["a": hoop, "b": hoop]
    }
  }
}

/// A primary value that counts how often it is asked for.
private struct Counted: MagicalPrimary {
  static let looks = Atomic(0)
  let text: String

  init(_ text: String) { self.text = text }
  init(magicValue: Value) throws { text = try String(magicValue: magicValue) }

  static var magicKind: Value.Kind { .text }
  var magicValue: Value {
    Counted.looks.add(1, ordering: .relaxed)
    return .text(text)
  }
}

private struct Leaf: MagicObject {
  @PrimaryMagicValue var id: Counted
  init() {}
  init(_ id: String) { self.id = Counted(id) }
}

@Suite struct RelationTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func book(_ title: String = "Emma") async throws -> Volume {
    try await magic.object(of: Volume.self, primary: title)
  }

  private func entries() async throws -> [[Entry]] {
    try await magic.store.read { db in
      var entries: [[Entry]] = []
      try JournalReader(db).forEachTransaction { entries.append($0.entries) }
      return entries
    }
  }

  /// Those that stand side by side are read otherwise than those that stand far apart.
  @Test(arguments: [1, 2, 3, 40]) func ofManyOwnersEachHasItsOwnMembers(step: Int) async throws {
    let (owners, leaves) = (0..<1_500, 1_500..<3_000)
    let nodes = (0..<3_000).map(Node.init)
    func members(_ number: Int) -> Set<Int> { [1_500 + number, 1_500 + number * 7 % 1_500, 1_500 + number * number % 1_500] }
    for number in owners { nodes[number].others = MagicalSet(members(number).sorted().map { nodes[$0] }) }
    try await magic.update(contentsOf: nodes)
    let removed = Set(leaves.filter { $0 % 13 == 0 })
    try await magic.remove(contentsOf: removed.map { nodes[$0] })
    let asked = owners.filter { $0 % step == 0 }
    let found = try await magic.query(of: Node.self).where { asked.contains($0.number) }.all()
    #expect(found.map(\.number) == asked)
    for owner in found { #expect(Set(owner.others.map(\.number)) == members(owner.number).subtracting(removed)) }
  }

  private func count(_ sql: String) async throws -> Int {
    try await magic.store.read { db in try Int.fetchOne(db, sql: sql) ?? -1 }
  }

  /// J-17: what a relation names and is not there gets a z index, and the new object another.
  @Test func whatSQLDeletedAndAnInstanceNamesSharesNoZIndex() async throws {
    struct Branch: MagicObject {
      @PrimaryMagicValue var name: String
      @OptionMagicValue var next: Branch?
      init() {}
      init(_ name: String) { self.name = name }
    }
    let (gone, new) = (Branch("gone"), Branch("new"))
    try await magic.update(gone)
    _ = try await magic.store.write { db in try db.execute(sql: "DELETE FROM Branch") }
    new.next = gone
    try await magic.update(new)
    let shared = try await magic.store.read { db in
      try Int.fetchOne(db, sql: "SELECT count(*) FROM magic_absent WHERE z_index IN (SELECT z_index FROM Branch)")
    }
    #expect(shared == 0)
  }

  @Test func aGraphIsSavedAndFetchedAsAWhole() async throws {
    let (jane, anne) = (Author("Jane"), Author("Anne"))
    let book = Volume("Emma", jane)
    let (one, two) = (Page("one"), Page("two"))
    book.editor = jane
    book.readers = [jane, anne]
    book.pages = [one, two, one]
    book.index = ["a": two, "b": one, "é": two]
    #expect(try await magic.update(book) == 1)
    #expect(try await magic.object(of: Author.self).count == 2)
    #expect(try await magic.object(of: Page.self).count == 2)
    let fetched = try await self.book()
    #expect(fetched.author.name == "Jane")
    #expect(fetched.editor?.id == jane.id)
    #expect(Set(fetched.readers.map(\.name)) == ["Jane", "Anne"])
    #expect(fetched.pages.map(\.text) == ["one", "two", "one"])
    #expect(fetched.index.mapValues(\.text) == ["a": "two", "b": "one", "é": "two"])
    #expect(fetched.notes == nil)
    // One instance for each row.
    fetched.author.name = "J. A."
    #expect(fetched.editor?.name == "J. A.")
    fetched.pages[0].text = "eins"
    #expect(fetched.pages[2].text == "eins")
    #expect(fetched.index["b"]?.text == "eins")
    #expect(try await entries().map(\.count) == [5])
  }

  private func sequence() async throws -> Int? {
    try await magic.statistics().replicas.first { $0.lastSequence > 0 }.map { Int($0.lastSequence) }
  }

  /// L-7, J-10: an instance that the app made, with what the database holds.
  @Test func anArrayThatIsAsItWasWritesNothing() async throws {
    let twigs = ["a", "b", "c"].map { Twig($0) }
    func root(_ order: [Twig]) -> Twig {
      let root = Twig("root")
      root.order = order
      return root
    }
    try await magic.update(root(twigs))
    let before = try await sequence()
    try await magic.update(root([Twig("a"), Twig("b"), Twig("c")]))
    #expect(try await sequence() == before)
    try await magic.update(root([twigs[1], twigs[0], twigs[2]]))
    #expect(try await magic.object(of: Twig.self, primary: "root").order.map(\.name) == ["b", "a", "c"])
    #expect(try await sequence() != before)
    // J-22: a member that was removed is back in its place when it is made again.
    try await magic.remove(twigs[0])
    try await magic.update(root([twigs[1], twigs[2], Twig("d")]))
    #expect(try await magic.object(of: Twig.self, primary: "root").order.map(\.name) == ["b", "c", "d"])
    try await magic.update(Twig("a"))
    #expect(try await magic.object(of: Twig.self, primary: "root").order.map(\.name) == ["b", "a", "c", "d"])
  }

  /// Everything of an object from another database is set here, where it was set there, in a circle as well.
  @Test func aCircleMeetsItsObjectsInAnotherDatabase() async throws {
    let other = try await MagicData(path: folder["other"])
    let (root, child) = (Twig("root"), Twig("child"))
    (root.note, child.note) = ("one", "one")
    root.children = [child]
    root.order = [child, child]
    child.parent = root
    try await magic.update(root)
    for name in ["child", "between", "root"] {
      let twig = Twig(name)
      twig.note = "two"
      try await other.update(twig)
    }
    for name in ["root", "child"] {
      let fetched = try await magic.object(of: Twig.self, primary: name)
      try await other.update(fetched)
      #expect(fetched.note == "one")
      let here = try await other.object(of: Twig.self, primary: "root")
      #expect(here.children.map(\.name) == ["child"] && here.order.map(\.name) == ["child", "child"])
      #expect(here.note == "one" && here.children.first?.note == "one")
      #expect(here.children.first?.parent?.name == "root")
      // It knows by now what stands where.
      fetched.parent = try await other.object(of: Twig.self, primary: "between")
      try await other.update(fetched)
      #expect(try await other.object(of: Twig.self, primary: name).parent?.name == "between")
      fetched.parent = name == "child" ? here : nil
      try await other.update(fetched)
    }
  }

  /// An instance that the app made knows nothing of what the object held, and clears it all the same.
  @Test func whatAnInstanceThatMetItsObjectClearsIsCleared() async throws {
    let root = Twig("root")
    (root.parent, root.children, root.order) = (Twig("above"), [Twig("a"), Twig("b")], [Twig("c")])
    try await magic.update(root)
    let met = Twig("root")
    met.note = "met"
    try await magic.update(met)
    met.note = "again"
    try await magic.update(met)
    var stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.note == "again" && stored.parent?.name == "above" && stored.children.count == 2 && stored.order.count == 1)
    // What is put in beside what it was never shown leaves that.
    met.children.insert(Twig("d"))
    try await magic.update(met)
    stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.children.map(\.name).sorted() == ["a", "b", "d"])
    let other = Twig("root")
    try await magic.update(other)
    // What a save writes nothing of is known after it as little as before.
    other.note = "other"
    try await magic.update(other)
    (other.parent, other.children, other.order) = (nil, [], [])
    try await magic.update(other)
    stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.parent == nil && stored.children.isEmpty && stored.order.isEmpty)
  }

  /// What a transaction showed that was rolled back was never stored, and is not taken for it after a save that writes nothing
  /// of it.
  @Test func whatARolledBackTransactionShowedIsWrittenOnceItIsSet() async throws {
    struct Stop: Error {}
    let member = Twig("member")
    try await magic.update(contentsOf: [Twig("root"), member])
    var shown: Twig?
    await #expect(throws: Stop.self) {
      try await magic.transaction { transaction in
        let root = try await transaction.object(of: Twig.self, primary: "root")
        (root.parent, root.children, root.order) = (member, [member], [member])
        try await transaction.update(root)
        shown = try await transaction.object(of: Twig.self, primary: "root")
        throw Stop()
      }
    }
    let root = try #require(shown)
    root.note = "by the way"
    try await magic.update(root)
    var stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.note == "by the way" && stored.parent == nil && stored.children.isEmpty && stored.order.isEmpty)
    (root.parent, root.order) = (member, [member])
    root.children.insert(Twig("other"))
    try await magic.update(root)
    stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.parent?.name == "member" && stored.order.map(\.name) == ["member"])
    #expect(stored.children.map(\.name).sorted() == root.children.map(\.name).sorted())
  }

  /// In a list each has its place.
  @Test func membersThatBecomeEachOtherChangePlaces() async throws {
    let (root, first, second) = (Twig("root"), Twig("first"), Twig("second"))
    (root.order, root.children) = ([first, second], [first, second])
    try await magic.update(root)
    first.name = "second"
    try await magic.update(first)
    second.name = "first"
    try await magic.update(second)
    try await magic.update(root)
    let stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.order.map(\.name) == ["second", "first"] && stored.children.count == 2)
  }

  /// Also if the first save was undone in between.
  @Test func whatAnInstanceThatMetItsObjectAfterARollbackClearsIsCleared() async throws {
    struct Stop: Error {}
    let met = Twig("root")
    await #expect(throws: Stop.self) {
      try await magic.transaction { transaction in
        try await transaction.update(met)
        throw Stop()
      }
    }
    let root = Twig("root")
    (root.children, root.order) = ([Twig("a")], [Twig("c")])
    try await magic.update(root)
    try await magic.update(met)
    (met.children, met.order) = ([], [])
    try await magic.update(met)
    let stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.children.isEmpty && stored.order.isEmpty)
  }

  /// Nobody is acknowledged a relation to nothing.
  @Test func whatIsPutIntoARelationIsThere() async throws {
    try await magic.update(Author("Jane"))
    let jane = try #require(try await magic.object(of: Author.self).first)
    try await magic.removeAll(of: Author.self)
    let book = Volume("Emma", jane)
    book.readers = [jane]
    try await magic.update(book)
    let stored = try await magic.object(of: Volume.self, primary: "Emma")
    #expect(stored.author.name == "Jane" && stored.readers.map(\.name) == ["Jane"])
    // What was in a relation, and is there no more, stays as it is.
    try await magic.removeAll(of: Author.self)
    stored.editor = Author("Anne")
    try await magic.update(stored)
    #expect(try await magic.object(of: Author.self).map(\.name) == ["Anne"])
    try await magic.update(Volume("Persuasion", jane))
    #expect(try await magic.object(of: Volume.self, primary: "Emma").author.name == "Jane")
  }

  /// An owner names what it shows.
  @Test func aMemberThatBecomesAnotherObjectIsNamedAsThat() async throws {
    let root = Twig("root")
    (root.parent, root.children, root.order) = (Twig("a"), [Twig("c")], [Twig("d"), Twig("e")])
    try await magic.update(root)
    let fetched = try await magic.object(of: Twig.self, primary: "root")
    fetched.parent?.name = "b"
    fetched.children.first?.name = "f"
    fetched.order[1].name = "g"
    try await magic.update(fetched.order[1])
    try await magic.update(fetched)
    let stored = try await magic.object(of: Twig.self, primary: "root")
    #expect(stored.parent?.name == "b" && stored.children.map(\.name) == ["f"] && stored.order.map(\.name) == ["d", "g"])
    #expect(try await magic.count(of: Twig.self) == 8)
    let wagon = Wagon(1)
    wagon.next = Wagon(2)
    try await magic.update(wagon)
    let next = try #require(wagon.next)
    try await magic.remove(next)
    try await magic.update(next)
    try await magic.update(wagon)
    #expect(try await magic.object(of: Wagon.self).first { $0.number == 1 }?.next?.number == 2)
  }

  /// What was removed is not made again by the way, also if two members have become one.
  @Test func aRemovedMemberStaysAway() async throws {
    let root = Twig("root")
    let (first, second, third) = (Twig("a"), Twig("a"), Twig("c"))
    root.children = [first, second, third]
    try await magic.update(root)
    try await magic.remove(third)
    try await magic.update(root)
    #expect(try await !magic.has(of: Twig.self, primary: "c"))
    first.name = "b"
    try await magic.update(root)
    #expect(try await !magic.has(of: Twig.self, primary: "c"))
  }

  /// Two members that a save made one object go as one.
  @Test func membersThatBecameOneGoTogether() async throws {
    let root = Twig("root")
    root.children = [Twig("a"), Twig("a"), Twig("b")]
    try await magic.update(root)
    let a = try await magic.object(of: Twig.self, primary: "a")
    #expect(root.children.remove(a) != nil)
    #expect(!root.children.contains(a) && root.children.count == 1)
    try await magic.update(root)
    #expect(try await magic.object(of: Twig.self, primary: "root").children.map(\.name) == ["b"])
  }

  /// With another primary value an instance is meant as another object, saved or not.
  @Test func aSetTellsAMemberWithAnotherPrimaryValueApart() async throws {
    try await magic.update(Twig("a"))
    let (copy, original) = (
      try await magic.object(of: Twig.self, primary: "a"), try await magic.object(of: Twig.self, primary: "a")
    )
    var set: MagicalSet = [copy]
    #expect(set.contains(original))
    copy.name = "b"
    #expect(!set.contains(original) && set.contains(copy))
    set.insert(original)
    #expect(set.count == 2)
    let owner = Twig("owner")
    owner.children = set
    try await magic.update(owner)
    #expect(try await magic.object(of: Twig.self, primary: "owner").children.map(\.name).sorted() == ["a", "b"])
  }

  /// A member that is another object by now is found as that.
  @Test func aSetFindsAMemberThatHasBecomeAnotherObject() async throws {
    let (first, second) = (Twig("a"), Twig("b"))
    try await magic.update(first)
    try await magic.update(second)
    var set: MagicalSet = [first]
    #expect(!set.contains(second))
    first.name = "b"
    try await magic.update(first)
    let fetched = try await magic.object(of: Twig.self, primary: "b")
    #expect(set.contains(fetched) && set.contains(second))
    set.insert(fetched)
    #expect(set.count == 1)
    let removed = set.remove(fetched)
    #expect(removed != nil && set.isEmpty)
  }

  @Test func aSetFindsAMemberThatWasRemovedAndSavedAgain() async throws {
    let first = Twig("a")
    try await magic.update(first)
    let set: MagicalSet = [first]
    #expect(!set.contains(Twig("x")))
    try await magic.remove(first)
    first.name = "b"
    try await magic.update(first)
    #expect(set.contains(try await magic.object(of: Twig.self, primary: "b")))
  }

  /// A remove gives no set a member that it did not have: who looks for others meanwhile does not look through all of them for
  /// each.
  @Test func aSetIsNotLookedThroughAnewForEachRemove() throws {
    let (members, others) = ((0..<100).map { Leaf("\($0)") }, (100..<200).map { Leaf("\($0)") })
    try magic.blocking.update(contentsOf: members + others)
    let set = MagicalSet(members)
    #expect(!set.contains(others[0]))
    let (before, moves) = (Counted.looks.load(ordering: .relaxed), SavedMember.moves.withLock(\.self))
    try magic.blocking.transaction { transaction in
      for leaf in others where !set.contains(leaf) { try transaction.remove(leaf) }
    }
    let looks = Counted.looks.load(ordering: .relaxed) - before
    // Once more for each instance of another test that became another object meanwhile.
    #expect(looks < 5_000 + 200 * (SavedMember.moves.withLock(\.self) - moves))
    #expect(try magic.blocking.object(of: Leaf.self).count == 100)
    try magic.blocking.remove(members[0])
    #expect(set.contains(members[0]) && !set.contains(others[0]))
    members[0].id = Counted("again")
    try magic.blocking.update(members[0])
    let again = try magic.blocking.object(of: Leaf.self, primary: Counted("again"))
    #expect(set.contains(again))
  }

  @Test func anUpdateSavesTheWholeGraphBelow() async throws {
    let book = Volume("Emma", Author("Jane"))
    book.pages = [Page("one")]
    try await magic.update(book)
    let fetched = try await self.book()
    fetched.author.name = "Anne"
    fetched.pages[0].text = "eins"
    fetched.pages.append(Page("two"))
    try await magic.update(fetched)
    let again = try await self.book()
    #expect(again.author.name == "Anne")
    #expect(again.pages.map(\.text) == ["eins", "two"])
    // Nothing of it is written twice.
    let before = try await entries().count
    try await magic.update(fetched)
    try await magic.update(again)
    #expect(try await entries().count == before)
  }

  /// H-5: of the whole graph.
  @Test func anUnsetValueAnywhereStoresNothing() async throws {
    let book = Volume("Emma", Author("Jane"))
    book.pages = [Page("one"), Page()]
    await #expect { try await magic.update(book) } throws: { error in
      (error as? MagicDataError)?.code == .unsetValue && "\(error)".contains("Page.text")
    }
    #expect(try await magic.object(of: Author.self).isEmpty)
    #expect(try await entries().isEmpty)
    let lacking = Volume()
    lacking.title = "x"
    await #expect { try await magic.update(lacking) } throws: { "\($0)".contains("Volume.author") }
  }

  /// What requires the removed object is not written without one.
  @Test func anOwnerOfARemovedObjectIsNotSavedAsAnother() async throws {
    try await magic.update(Volume("Emma", Author("Jane")))
    try await magic.update(Volume("Other", Author("Anne")))
    let book = try await magic.object(of: Volume.self, primary: "Emma")
    try await magic.remove(book.author)
    book.title = "New"
    await #expect { try await magic.update(book) } throws: { ($0 as? MagicDataError)?.code == .unsetValue }
    // That one has its own.
    book.title = "Other"
    try await magic.update(book)
    #expect(try await magic.object(of: Volume.self, primary: "Other").author.name == "Anne")
    #expect(try await !magic.has(of: Volume.self, primary: "New"))
  }

  /// L-7: a set is written as what changed in it.
  @Test func twoInstancesAddToOneSet() async throws {
    let book = Volume("Emma", Author("Jane"))
    let (anne, emily, lost) = (Author("Anne"), Author("Emily"), Author("Lost"))
    book.readers = [lost]
    try await magic.update(book)
    let (one, other) = (try await self.book(), try await self.book())
    one.readers.insert(anne)
    other.readers.insert(emily)
    other.readers.removeAll { $0.name == "Lost" }
    one.index["x"] = Page("x")
    other.index["y"] = Page("y")
    try await magic.update(one)
    try await magic.update(other)
    let both = try await self.book()
    #expect(Set(both.readers.map(\.name)) == ["Anne", "Emily"])
    #expect(Set(both.index.keys) == ["x", "y"])
    // Taken out is not removed.
    #expect(try await magic.object(of: Author.self).count == 4)
    both.index["x"] = nil
    try await magic.update(both)
    #expect(try await self.book().index.mapValues(\.text) == ["y": "y"])
    #expect(try await magic.object(of: Page.self).count == 2)
  }

  @Test func aSetKnowsItsMembers() async throws {
    let (jane, anne) = (Author("Jane"), Author("Anne"))
    var set: MagicalSet<Author> = [jane, jane, anne]
    #expect(set.count == 2)
    let isAdded = set.insert(jane)
    #expect(!isAdded)
    // Not saved, and sharing no values: another object, even if the primary value is the same.
    let twin = Author("Twin")
    twin.id = jane.id
    let isTwinAdded = set.insert(twin)
    #expect(isTwinAdded)
    #expect(set.count == 3)
    let removed = set.remove(twin)
    #expect(removed?.name == "Twin")
    try await magic.update(jane)
    let fetched = try await magic.object(of: Author.self, primary: jane.id)
    fetched.name = "J."
    #expect(set.contains(fetched))
    let isFetchedAdded = set.insert(fetched)
    #expect(!isFetchedAdded)
    #expect(set.map(\.name) == ["J.", "Anne"])
    let last = set.remove(jane)
    #expect(last?.name == "J.")
    set.removeAll { $0.name == "Anne" }
    #expect(set.isEmpty)
  }

  @Test func removingAnObjectTakesItOutOfRelations() async throws {
    let (jane, anne) = (Author("Jane"), Author("Anne"))
    let book = Volume("Emma", jane)
    book.editor = anne
    book.readers = [anne, jane]
    let (one, two) = (Page("one"), Page("two"))
    book.pages = [one, two, one]
    book.index = ["a": one, "b": two]
    try await magic.update(book)
    // Without a primary value, the removed instance itself would be a new object.
    let stale = try #require(try await magic.object(of: Page.self).first { $0.text == "one" })
    try await magic.remove(anne)
    try await magic.remove(one)
    let fetched = try await self.book()
    #expect(fetched.editor == nil)
    #expect(fetched.readers.map(\.name) == ["Jane"])
    #expect(fetched.pages.map(\.text) == ["two"])
    #expect(fetched.index.mapValues(\.text) == ["b": "two"])
    // A write does not undo what is hidden: it comes back with its object.
    fetched.pages.append(Page("three"))
    fetched.readers.insert(Author("Emily"))
    try await magic.update(fetched)
    stale.text = "back"
    try await magic.update(stale)
    anne.name = "Anne B."
    try await magic.update(anne)
    let again = try await self.book()
    #expect(again.pages.map(\.text) == ["back", "two", "back", "three"])
    #expect(Set(again.readers.map(\.name)) == ["Jane", "Anne B.", "Emily"])
    #expect(again.editor?.name == "Anne B.")
  }

  /// The owner stays readable, and can be given another.
  @Test func anOwnerWhoseRequiredObjectIsGoneIsStillThere() async throws {
    let (jane, anne) = (Author("Jane"), Author("Anne"))
    try await magic.update(Volume("Emma", jane))
    try await magic.remove(jane)
    let fetched = try await book()
    #expect(fetched.title == "Emma")
    fetched.editor = anne
    try await magic.update(fetched)
    #expect(try await book().editor?.name == "Anne")
    fetched.author = anne
    try await magic.update(fetched)
    #expect(try await book().author.name == "Anne")
  }

  @Test func objectsThatHoldEachOtherAreSavedAndFetched() async throws {
    let nodes = (0..<4).map(Node.init)
    for number in 0..<4 { nodes[number].next = nodes[(number + 1) % 4] }
    nodes[0].others = [nodes[0], nodes[2]]
    try await magic.update(nodes[0])
    #expect(try await magic.object(of: Node.self).count == 4)
    #expect(try await entries().map(\.count) == [4])
    let fetched = try #require(try await magic.object(of: Node.self).first { $0.number == 0 })
    #expect(fetched.next?.next?.next?.next?.number == 0)
    #expect(Set(fetched.others.map(\.number)) == [0, 2])
    fetched.next?.next?.number = 7
    #expect(fetched.next?.next?.next?.next?.next?.next?.number == 7)
    for node in nodes { node.next = nil }
    nodes[0].others = []
    fetched.next?.next = nil
    fetched.others.removeAll()
  }

  /// Neither to save, nor to fetch, nor to let go of a long chain needs a deep stack.
  @Test func aChainOfTenThousandIsNoDeeperThanOne() async throws {
    func chain() -> Node {
      var first = Node(0)
      for number in 1..<10_000 {
        let node = Node(number)
        node.next = first
        first = node
      }
      return first
    }
    let zIndex = try await magic.update(chain())
    #expect(zIndex == 10_000)
    let all = try await magic.object(of: Node.self)
    var (length, node) = (0, all.last)
    while let next = node {
      length += 1
      node = next.next
    }
    #expect(length == 10_000)
    let last = try #require(all.last)
    last.number = -1
    try await magic.update(last)
    #expect(try await magic.object(of: Node.self).last?.number == -1)
  }

  /// The same of classes, of which the last reference lets go of all: on a thread with a small stack.
  @Test func aChainOfTenThousandClassesIsNoDeeperThanOne() async throws {
    func train() -> Wagon {
      var first = Wagon(0)
      for number in 1..<10_000 {
        let wagon = Wagon(number)
        wagon.next = first
        first = wagon
      }
      return first
    }
    // Held by nobody else once it is handed over.
    nonisolated(unsafe) var engine = [train()]
    let zIndex = try await magic.update(engine[0])
    #expect(zIndex == 10_000)
    let all = try await magic.object(of: Wagon.self)
    var (length, wagon) = (0, all.last)
    while let next = wagon {
      length += 1
      wagon = next.next
    }
    #expect(length == 10_000)
    let last = try #require(all.last)
    last.number = -1
    try await magic.update(last)
    #expect(try await magic.object(of: Wagon.self).last?.number == -1)
    await withCheckedContinuation { continuation in
      let thread = Thread {
        engine.removeAll()
        continuation.resume()
      }
      thread.stackSize = 1 << 18
      thread.start()
    }
  }

  /// Every kind of relation makes the chain, which ends where it begins; all of it on a thread with a small stack.
  @Test(arguments: [false, true]) func aRingOfTenThousandIsNoDeeperThanOne(ofClasses: Bool) async throws {
    @Sendable func passRing<Object: Circular>(of: Object.Type, _ magic: MagicData) throws {
      let count = 10_000
      let rings = (0..<count).map { _ in Object() }
      for (number, ring) in rings.enumerated() { ring.move(to: number) }
      for (number, ring) in rings.enumerated() { ring.hold(rings[(number + 1) % count]) }
      try magic.blocking.update(rings[0])
      let fetched = try magic.blocking.object(of: Object.self).sorted { $0.position < $1.position }
      #expect(fetched.map(\.position) == Array(0..<count))
      #expect(fetched[0].held?.held?.held?.held?.position == 4)
      fetched[6].hold(nil)
      // From 7 to 6, all the way round.
      try magic.blocking.update(fetched[7])
      #expect(try magic.blocking.object(of: Object.self, primary: 6).held == nil)
      for ring in rings + fetched { ring.hold(nil) }
    }
    let magic = magic
    let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(
          returning: Result { try ofClasses ? passRing(of: Hoop.self, magic) : passRing(of: Ring.self, magic) })
      }
      thread.stackSize = 1 << 19
      thread.start()
    }
    try result.get()
    #expect(try await faultyPlaces(magic) == [])
  }

  @Test func anInstanceMadeAnewReplacesWhatItSets() async throws {
    let (jane, anne) = (Author("Jane"), Author("Anne"))
    let book = Volume("Emma", jane)
    book.readers = [jane, anne]
    book.pages = [Page("one")]
    try await magic.update(book)
    let anew = Volume("Emma", anne)
    anew.readers = [anne]
    try await magic.update(anew)
    let fetched = try await self.book()
    #expect(fetched.author.name == "Anne")
    #expect(fetched.readers.map(\.name) == ["Anne"])
    // What it did not set stays.
    #expect(fetched.pages.map(\.text) == ["one"])
  }

  @Test func whatARollbackUndidIsSavedNextTime() async throws {
    struct Stop: Error {}
    let book = Volume("Emma", Author("Jane"))
    book.readers = [Author("Anne")]
    await #expect(throws: Stop.self) {
      try await magic.transaction { transaction in
        try await transaction.update(book)
        throw Stop()
      }
    }
    #expect(try await magic.object(of: Author.self).isEmpty)
    try await magic.update(book)
    book.readers.insert(Author("Emily"))
    await #expect(throws: Stop.self) {
      try await magic.transaction { transaction in
        try await transaction.update(book)
        let seen = try await transaction.object(of: Volume.self, primary: "Emma")
        #expect(seen.readers.count == 2)
        throw Stop()
      }
    }
    #expect(try await self.book().readers.count == 1)
    try await magic.update(book)
    #expect(Set(try await self.book().readers.map(\.name)) == ["Anne", "Emily"])
  }

  @Test func aGraphOfOneDatabaseIsNewInAnother() async throws {
    let book = Volume("Emma", Author("Jane"))
    book.pages = [Page("one"), Page("two")]
    book.index = ["a": book.pages[1]]
    try await magic.update(book)
    let other = try await MagicData(type: .memory)
    try await other.update(Page("other"))
    try await other.update(try await self.book())
    let fetched = try await other.object(of: Volume.self, primary: "Emma")
    #expect(fetched.author.name == "Jane")
    #expect(fetched.pages.map(\.text) == ["one", "two"])
    #expect(fetched.index["a"]?.text == "two")
  }

  @Test func relationsCanBeReadByAnySQLTool() async throws {
    let book = Volume("Emma", Author("Jane"))
    book.readers = [Author("Anne")]
    book.index = ["a": Page("one")]
    try await magic.update(book)
    let name = try await magic.store.read { db in
      try String.fetchOne(db, sql: "SELECT a.name FROM Volume b JOIN Author a ON a.z_index = b.author")
    }
    #expect(name == "Jane")
    #expect(try await count("SELECT count(*) FROM \"Volume.readers\" r JOIN Author a ON a.z_index = r.target") == 1)
    #expect(try await count("SELECT count(*) FROM \"Volume.index\" WHERE owner = 1 AND CAST(key AS TEXT) = '\"a\"'") == 1)
  }

  @Test func anObjectIsEncodedAsItsZIndex() async throws {
    struct Holder: Encodable {
      let page: Page
      let pages: [Page]
    }
    let (one, two) = (Page("one"), Page("two"))
    try await magic.update(Page("zero"))
    try await magic.update(one)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(Holder(page: one, pages: [two, one])), as: UTF8.self)
    #expect(text == #"{"page":2,"pages":[null,2]}"#)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Page.self, from: Data("2".utf8)) }
  }

  /// V-8: what is stored is read again, and an object is not.
  @Test func aCodableValueThatHoldsAnObjectIsRefused() async throws {
    struct Cover: MagicalCodable {
      var page: Page?
      var pages: [Page] = []
    }
    struct Folder: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var cover: Cover?
      @OptionMagicValue var file: MagicAsset<Cover>?
      init() {}
    }
    let saved = Page("saved")
    try await magic.update(saved)
    for cover in [Cover(page: saved), Cover(page: Page("new")), Cover(pages: [saved])] {
      let (holder, other) = (Folder(), Folder())
      holder.cover = cover
      other.file = MagicAsset(value: cover)
      await #expect { try await magic.update(holder) } throws: { error in
        (error as? MagicDataError)?.code == .value && "\(error)".contains("Folder.cover") && "\(error)".contains("holds a Page")
      }
      await #expect { try await magic.update(other) } throws: { error in
        (error as? MagicDataError)?.code == .value && "\(error)".contains("Folder.file") && "\(error)".contains("holds a Page")
      }
    }
    #expect(try await magic.count(of: Folder.self) == 0)
    let bare = Folder()
    bare.cover = Cover()
    bare.file = MagicAsset(value: Cover())
    try await magic.update(bare)
    #expect(try await magic.object(of: Folder.self).map { $0.cover?.pages.count } == [0])
  }

  @Test func relationsOfMoreThanOneLevelAreErrors() async throws {
    struct Deep: MagicObject {
      @MagicValue var pages: [[Page]]
      init() {}
    }
    struct Deeper: MagicObject {
      @MagicValue var pages: [String: [Page]]
      init() {}
    }
    let (deep, deeper) = (Deep(), Deeper())
    await #expect { try await magic.update(deep) } throws: { "\($0)".contains("Deep") && "\($0)".contains("pages") }
    await #expect { try await magic.update(deeper) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  @Test func whatIsFetchedLaterIsObjectsOrAnAsset() async throws {
    struct Text: MagicObject {
      @OptionMagicValue var text: AsyncMagical<String>?
      init() {}
    }
    struct Twice: MagicObject {
      @OptionMagicValue var pages: AsyncMagical<AsyncMagical<[Page]>>?
      init() {}
    }
    func isRefused(_ error: any Error) -> Bool {
      (error as? MagicDataError)?.code == .model && "\(error)".contains("an AsyncMagical holds objects or an asset")
    }
    await #expect { try await magic.update(Text()) } throws: { isRefused($0) }
    await #expect { try await magic.update(Twice()) } throws: { isRefused($0) }
  }

  @Test func keysThatAreEncodedAlikeAreRefused() async throws {
    struct Key: Hashable, Codable {
      var name: String
      var mark = 0
      enum CodingKeys: CodingKey { case name }
    }
    struct Keyed: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var pages: [Key: Page] = [:]
      init() {}
    }
    let keyed = Keyed()
    keyed.pages = [Key(name: "a", mark: 1): Page("one"), Key(name: "a", mark: 2): Page("two")]
    await #expect { try await magic.update(keyed) } throws: {
      ($0 as? MagicDataError)?.code == .value && "\($0)".contains("Keyed.pages")
    }
    #expect(try await magic.object(of: Page.self).isEmpty)
    keyed.pages.removeValue(forKey: Key(name: "a", mark: 1))
    try await magic.update(keyed)
    #expect(try await magic.object(of: Keyed.self)[0].pages.values.map(\.text) == ["two"])
  }

  @Test func classesHoldObjectsToo() async throws {
    final class Shelf: MagicObject {
      @PrimaryMagicValue var name: String
      @MagicValue var books: [Shelf]
      var plain = 1
      init() { books = [] }
    }
    let (top, below) = (Shelf(), Shelf())
    top.name = "top"
    below.name = "below"
    top.books = [below]
    try await magic.update(top)
    let fetched = try await magic.object(of: Shelf.self, primary: "top")
    #expect(fetched.books.map(\.name) == ["below"])
  }
}
