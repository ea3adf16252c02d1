import Foundation
import MagicData
import TestSupport
import Testing

private struct Person: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  @MagicValue var age: Int = 0
  @OptionMagicValue var mood: String?
  @OptionMagicValue var friend: Person?
  @MagicValue var pages: MagicalSet<Leaf> = []
  @MagicValue var index: [String: Leaf] = [:]

  init() {}

  init(_ id: String, _ name: String) {
    self.id = id
    self.name = name
  }
}

/// Without a primary value.
private struct Leaf: MagicObject {
  @MagicValue var text: String
  @OptionMagicValue var next: Leaf?
  @MagicValue var others: MagicalSet<Leaf> = []

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

private struct Ticket: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String
  @OptionMagicValue var parent: Ticket?
  @MagicValue var related: MagicalSet<Ticket> = []

  init() {}

  init(_ title: String) {
    self.title = title
  }
}

private enum Old {
  struct Page: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String

    init() {}
  }
}

private enum New {
  struct Page: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String
    @OptionMagicValue var author: String?
    @MagicValue var leaves: MagicalSet<Leaf> = []

    init() {}
  }
}

/// Three databases that are written apart and exchanged by `magic-sync` end equal, and as the rules say (Protocol/merge.md).
@Suite(.timeLimit(.minutes(15))) struct MergeTests {
  let fixture: ReplayFixture
  private let names = ["a", "b", "c"]

  init() throws {
    fixture = try ReplayFixture()
  }

  /// One person that all have, with whom that one holds.
  private func share() async throws {
    try await fixture.work("a") { magic in
      let (person, leaf) = (Person("p", "first"), Leaf("first"))
      (person.mood, person.friend) = ("calm", Person("q", "friend"))
      person.pages = [leaf]
      person.index = ["first": leaf]
      try await magic.update(person)
    }
    try settle()
  }

  private func settle(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try fixture.settle("a", "b", "c", sourceLocation: sourceLocation)
  }

  private func edit(_ name: String, _ body: (Person) -> Void) async throws {
    try await fixture.work(name) { magic in
      let person = try await magic.object(of: Person.self, primary: "p")
      body(person)
      try await magic.update(person)
    }
  }

  private func remove(from name: String) async throws {
    try await fixture.work(name) { magic in try await magic.remove(magic.object(of: Person.self, primary: "p")) }
  }

  private func expectEach(_ body: (Person) -> Void) async throws {
    for name in names {
      try await fixture.work(name) { magic in body(try await magic.object(of: Person.self, primary: "p")) }
    }
  }

  private func people(_ name: String) async throws -> [String] {
    var ids: [String] = []
    try await fixture.work(name) { magic in ids = try await magic.object(of: Person.self).map(\.id).sorted() }
    return ids
  }

  // MARK: Fields

  @Test func fieldsEditedApartBothSurvive() async throws {
    try await share()
    try await edit("a") { $0.name = "by a" }
    try await edit("b") { $0.age = 5 }
    try await edit("c") { $0.mood = "glad" }
    try settle()
    try await expectEach { person in #expect((person.name, person.age, person.mood) == ("by a", 5, "glad")) }
  }

  @Test(arguments: ["a", "b", "c"]) func onOneFieldTheLaterWriteWins(last: String) async throws {
    try await share()
    for name in names.filter({ $0 != last }) + [last] { try await edit(name) { $0.name = "by \(name)" } }
    try settle()
    try await expectEach { person in #expect(person.name == "by \(last)") }
  }

  /// H-1, M-1: of one moment, whoever syncs first.
  @Test(arguments: [["a", "b", "c"], ["c", "a", "b"]]) func tiesEndTheSameEverywhere(order: [String]) async throws {
    try await share()
    for name in names {
      let magic = try fixture.open(name)
      let person = try await magic.object(of: Person.self, primary: "p")
      person.name = "by \(name)"
      try await magic.update(person)
      try await magic.close()
    }
    for name in order { try fixture.sync(name) }
    try settle()
    let changes = try fixture.json("history", fixture.path("a"), "Person", "p", "--field", "name").events("change")
    let ties = Array(changes.suffix(3))
    #expect(Set(ties.texts("time")).count == 1, "\(changes)")
    let winner = try #require(ties.first { $0["outcome"] as? String == "current" })
    #expect(winner["replica"] as? String == ties.texts("replica").max())
    try await expectEach { person in #expect(winner["value"] as? String == "\"\(person.name)\"") }
  }

  // MARK: Removes

  /// H-11.
  @Test(arguments: [true, false]) func aRemoveAgainstAnEditTheLaterWins(removeIsLater: Bool) async throws {
    try await share()
    if !removeIsLater { try await remove(from: "a") }
    try await edit("b") { $0.name = "edited" }
    if removeIsLater { try await remove(from: "a") }
    try settle()
    for name in names { #expect(try await people(name) == (removeIsLater ? ["q"] : ["p", "q"])) }
    guard !removeIsLater else { return }
    // Brought back with everything as it was.
    try await expectEach { person in
      #expect((person.name, person.age, person.mood) == ("edited", 0, "calm"))
      #expect(person.friend?.name == "friend")
      #expect(person.pages.map(\.text) == ["first"])
      #expect(person.index.mapValues(\.text) == ["first": "first"])
    }
  }

  /// H-12, H-13: what was there before the remove does not shine through, also if it comes later; what is set afterwards does.
  @Test func removedAndMadeAgainHasOnlyItsNewValues() async throws {
    try await share()
    try await edit("b") { $0.mood = "glad" }
    try await remove(from: "a")
    try await fixture.work("a") { magic in try await magic.update(Person("p", "second")) }
    // By one who has not heard of it.
    try await edit("c") { $0.age = 7 }
    try settle()
    try await expectEach { person in
      #expect((person.name, person.age, person.mood) == ("second", 7, nil))
      #expect(person.friend == nil)
      #expect(person.pages.isEmpty)
      #expect(person.index.isEmpty)
    }
  }

  @Test func removedOnBothSidesIsRemoved() async throws {
    try await share()
    for name in ["a", "c"] { try await remove(from: name) }
    try settle()
    for name in names { #expect(try await people(name) == ["q"]) }
    // And can be made again.
    try await fixture.work("b") { magic in try await magic.update(Person("p", "again")) }
    try settle()
    try await expectEach { person in #expect((person.name, person.mood) == ("again", nil)) }
  }

  @Test func removeAllSparesWhatItDidNotKnow() async throws {
    try await share()
    try await fixture.work("b") { magic in try await magic.update(Person("before", "made apart")) }
    try await fixture.work("a") { magic in try await magic.removeAll(of: Person.self) }
    try await fixture.work("c") { magic in try await magic.update(Person("after", "made apart")) }
    try settle()
    for name in names { #expect(try await people(name) == ["after", "before"]) }
  }

  // MARK: Relations

  /// H-19: made at the same moment, with the same values, under the same z indexes.
  @Test func objectsWithoutAPrimaryValueKeepApartAndKeepTheirLinks() async throws {
    for name in names {
      let magic = try fixture.open(name)
      let leaf = Leaf("from \(name)")
      leaf.next = Leaf("same")
      try await magic.update(leaf)
      try await magic.close()
    }
    try settle()
    // Each links its own to another's, and edits what that one holds.
    for (name, other) in [("a", "b"), ("b", "c"), ("c", "a")] {
      try await fixture.work(name) { magic in
        let leaves = try await magic.object(of: Leaf.self)
        #expect(leaves.map(\.text).sorted() == ["from a", "from b", "from c", "same", "same", "same"])
        let (own, others) = (
          try #require(leaves.first { $0.text == "from \(name)" }), try #require(leaves.first { $0.text == "from \(other)" })
        )
        let next = try #require(others.next)
        next.text = "next of \(other)"
        try await magic.update(next)
        own.others = [others]
        try await magic.update(own)
      }
    }
    try settle()
    for name in names {
      try await fixture.work(name) { magic in
        let leaves = try await magic.object(of: Leaf.self)
        #expect(leaves.count == 6)
        for (own, other) in [("a", "b"), ("b", "c"), ("c", "a")] {
          let leaf = try #require(leaves.first { $0.text == "from \(own)" })
          #expect(leaf.next?.text == "next of \(own)")
          #expect(leaf.others.map(\.text) == ["from \(other)"])
          #expect(leaf.others.first?.next?.text == "next of \(other)")
        }
      }
    }
  }

  /// L-7.
  @Test func whatBothSidesPutIntoASetOrDictionaryIsInIt() async throws {
    try await share()
    for name in ["a", "b"] {
      try await edit(name) { person in
        person.pages.insert(Leaf("by \(name)"))
        person.index[name] = Leaf("by \(name)")
        person.index["both"] = Leaf("by \(name)")
      }
    }
    try await edit("c") { person in
      person.pages.removeAll { $0.text == "first" }
      person.index["first"] = nil
    }
    try settle()
    try await expectEach { person in
      #expect(person.pages.map(\.text).sorted() == ["by a", "by b"])
      #expect(person.index.mapValues(\.text) == ["a": "by a", "b": "by b", "both": "by b"])
    }
  }

  /// L-8, H-17: the folder brings the later file first.
  @Test func anObjectMayArriveBeforeWhatItRefersTo() async throws {
    try await share()
    let first = try fixture.segments("remote")
    try await fixture.work("b") { magic in
      let person = try await magic.object(of: Person.self, primary: "p")
      person.mood = "glad"
      let holder = Person("r", "holder")
      (holder.friend, holder.pages) = (person.friend, person.pages)
      try await magic.update(holder)
      try await magic.update(person)
    }
    try fixture.sync("b")
    let later = fixture.folder["later"]
    try FileManager.default.createDirectory(at: later, withIntermediateDirectories: false)
    func aside(_ file: String) -> String { later.appendingPathComponent(URL(fileURLWithPath: file).lastPathComponent).path }
    for file in first { try FileManager.default.moveItem(atPath: file, toPath: aside(file)) }
    let clone = try Tool.sync.run("clone", fixture.path("remote"), fixture.path("late"))
    // Who wrote it has said that it is there.
    #expect(clone.status == 3 && clone.errors.contains("are missing"), "\(clone.errors)")
    // What lacks a value that it needs is not shown, and what is not there is nil.
    #expect(try await people("late") == ["r"])
    try await fixture.work("late") { magic in
      let holder = try await magic.object(of: Person.self, primary: "r")
      #expect(holder.friend == nil)
      #expect(holder.pages.isEmpty)
      holder.name = "edited meanwhile"
      try await magic.update(holder)
    }
    for file in first { try FileManager.default.moveItem(atPath: aside(file), toPath: file) }
    try fixture.settle("late", "a", "b", "c")
    for name in names + ["late"] {
      try await fixture.work(name) { magic in
        let holder = try await magic.object(of: Person.self, primary: "r")
        #expect((holder.name, holder.friend?.name) == ("edited meanwhile", "friend"))
        #expect(holder.pages.map(\.text) == ["first"])
        #expect(try await magic.object(of: Person.self, primary: "p").mood == "glad")
      }
    }
  }

  // MARK: Automatic numbers

  /// M-16 to M-20.
  @Test func numbersThatAllHandOutEndTheSame() async throws {
    func write(_ round: Int) async throws {
      for name in names {
        try await fixture.work(name) { magic in
          let (parent, child) = (Ticket("parent \(name) \(round)"), Ticket("child \(name) \(round)"))
          child.parent = parent
          child.related = [parent, child]
          try await magic.update(child)
        }
      }
      try settle()
    }
    func expectSame(rounds: Int) async throws -> [String: Int] {
      var shown: [[String: Int]] = []
      for name in names {
        try await fixture.work(name) { magic in
          let tickets = try await magic.object(of: Ticket.self)
          shown.append(Dictionary(uniqueKeysWithValues: tickets.map { ($0.title, $0.number) }))
          for ticket in tickets where ticket.title.hasPrefix("child") {
            let parent = ticket.title.replacing("child", with: "parent")
            #expect(ticket.parent?.title == parent)
            #expect(Set(ticket.related.map(\.title)) == [ticket.title, parent])
          }
        }
      }
      #expect(Set(shown).count == 1, "\(shown)")
      #expect(shown[0].count == 6 * rounds)
      #expect(Set(shown[0].values).count == 6 * rounds)
      return shown[0]
    }
    try await write(1)
    let first = try await expectSame(rounds: 1)
    // The oldest keep what they were given.
    #expect(Set(first.filter { $0.value <= 2 }.keys) == ["parent a 1", "child a 1"])
    try await write(2)
    let second = try await expectSame(rounds: 2)
    #expect(second.filter { $0.key.hasSuffix("1") } == first)
    #expect(Set(second.filter { $0.value <= 4 }.keys) == ["parent a 1", "child a 1", "parent a 2", "child a 2"])
  }

  // MARK: Versions of an app

  private func expectPage(_ title: String) async throws {
    for name in ["b", "c"] {
      try await fixture.work(name) { magic in
        let page = try await magic.object(of: New.Page.self, primary: "p")
        #expect((page.title, page.author) == (title, "Ann"))
        #expect(page.leaves.map(\.text) == ["leaf"])
      }
    }
  }

  /// H-22, H-23: `a` has the older app.
  @Test func anOlderAppsEditsLoseNothingOfANewField() async throws {
    func edit(_ title: String) async throws {
      try await fixture.work("a") { magic in
        let page = try await magic.object(of: Old.Page.self, primary: "p")
        page.title = title
        try await magic.update(page)
      }
    }
    try await fixture.work("b") { magic in
      let page = New.Page()
      (page.id, page.title, page.author) = ("p", "first", "Ann")
      page.leaves = [Leaf("leaf")]
      try await magic.update(page)
    }
    try fixture.settle("b", "a", "c")
    try await edit("second")
    try settle()
    try await expectPage("second")
    // What it brings back has them as well.
    try await fixture.work("c") { magic in try await magic.remove(magic.object(of: New.Page.self, primary: "p")) }
    try await edit("third")
    try settle()
    try await expectPage("third")
  }

  /// H-22, L-10: the relay's app has no model of it, and is between two folders.
  @Test func aTypeThatNobodyKnowsIsKeptForwardedAndReadLater() async throws {
    try await fixture.work("a") { magic in
      let person = Person("p", "first")
      person.friend = Person("q", "friend")
      person.pages = [Leaf("first")]
      try await magic.update(person)
    }
    try fixture.sync("a")
    #expect(try fixture.sync("relay").output.contains("made the database"))
    try await fixture.write("a note", to: "relay", id: "n")
    for remote in ["remote", "far"] { try fixture.sync("relay", remote) }
    try fixture.sync("c", "far")
    try await edit("c") { person in
      person.name = "edited"
      person.pages.insert(Leaf("second"))
    }
    for (name, remote) in [("c", "far"), ("relay", "far"), ("relay", "remote"), ("a", "remote")] {
      try fixture.sync(name, remote)
    }
    try fixture.expectEqual(["a", "relay", "c"])
    // Its app learns the model.
    for name in ["a", "relay", "c"] {
      try await fixture.work(name) { magic in
        let person = try await magic.object(of: Person.self, primary: "p")
        #expect((person.name, person.friend?.name) == ("edited", "friend"))
        #expect(person.pages.map(\.text).sorted() == ["first", "second"])
      }
      #expect(try await fixture.titles(name) == ["a note"])
    }
    try await edit("relay") { $0.age = 9 }
    for (name, remote) in [("relay", "remote"), ("relay", "far"), ("a", "remote"), ("c", "far")] {
      try fixture.sync(name, remote)
    }
    try fixture.expectEqual(["a", "relay", "c"])
    for name in ["a", "c"] {
      try await fixture.work(name) { magic in
        let person = try await magic.object(of: Person.self, primary: "p")
        #expect(person.age == 9)
      }
    }
  }
}
