import Foundation
import MagicData
import TestSupport
import Testing

/// What `init()` leaves in a property is for new objects.
@Suite(.timeLimit(.minutes(15)), .serialized) struct DefaultTests {
  struct Theme: MagicObject {
    @PrimaryMagicValue var name: String
    @MagicValue var size: Int = 12
    init() {}
    init(_ name: String) { self.name = name }
  }

  struct Settings: MagicObject {
    @MagicValue var volume: Int = 5
    @OptionMagicValue var theme: Theme?
    init() {}
  }

  struct Person: MagicObject {
    nonisolated(unsafe) static let plain = Theme("plain")

    @PrimaryMagicValue var id: String
    @MagicValue var name: String = ""
    @MagicValue var joined: Date = Date()
    @MagicValue var token: UUID = UUID()
    @MagicValue var settings: Settings = Settings()
    @MagicValue var theme: Theme = Person.plain
    @MagicValue var themes: [Theme] = [Theme("a"), Theme("b")]
    @MagicValue var later: AsyncMagical<Settings> = AsyncMagical(value: Settings())

    init() {}

    init(_ id: String, _ name: String) {
      self.init()
      self.id = id
      self.name = name
    }
  }

  private let folder: TemporaryFolder
  private let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func person() async throws -> Person { try await magic.object(of: Person.self, primary: "p") }

  /// L-7: nor one that is another each time, nor objects, of which no more are made.
  @Test(arguments: [false, true]) func whatIsHeldKeepsWhatWasNotSet(isBlocking: Bool) async throws {
    let first = Person("p", "one")
    first.settings.volume = 9
    first.settings.theme = Theme("dark")
    first.theme = Theme("light")
    try await magic.update(first)
    let before = try await person()
    let counts = (try await magic.count(of: Settings.self), try await magic.count(of: Theme.self))
    let second = Person("p", "two")
    if isBlocking { try magic.blocking.update(second) } else { try await magic.update(second) }
    try await magic.update(contentsOf: [Person("p", "three")])
    let after = try await person()
    #expect(after.name == "three" && after.joined == before.joined && after.token == before.token)
    #expect(after.settings.volume == 9 && after.settings.theme?.name == "dark" && after.theme.name == "light")
    #expect(after.themes.map(\.name) == ["a", "b"])
    #expect(try await magic.count(of: Settings.self) == counts.0)
    #expect(try await magic.count(of: Theme.self) == counts.1)
    // What the app sets is set, before the save and after it.
    let third = Person("p", "four")
    (third.joined, third.settings.volume, third.themes) = (Date(timeIntervalSinceReferenceDate: 7), 3, [Theme("c")])
    third.theme = Person.plain
    try await magic.update(third)
    let now = try await person()
    #expect(now.joined == third.joined && now.settings.volume == 3 && now.themes.map(\.name) == ["c"])
    #expect(now.theme.name == "plain" && now.token == before.token)
  }

  @Test func aNewObjectHasItsDefaults() async throws {
    try await magic.update(Person("p", "one"))
    let person = try await person()
    #expect(person.settings.volume == 5 && person.theme.name == "plain" && person.themes.map(\.name) == ["a", "b"])
    #expect(try await person.later.get().volume == 5)
    #expect(try await magic.count(of: Settings.self) == 2)
  }

  private struct Named: MagicObject {
    @PrimaryMagicValue var id: UUID
    @MagicValue var volume: Int = 5
    init() {}
  }

  private struct User: MagicObject {
    @PrimaryMagicValue var name: String
    @MagicValue var age: Int = 0
    @MagicValue var settings: Named = Named()
    init() {}
    init(_ name: String) { self.name = name }
  }

  /// A default object's own primary value comes when it is asked for, which is not set by the app.
  @Test func aDefaultObjectWithAPrimaryValueOverwritesNothing() async throws {
    let first = User("a")
    first.settings.volume = 9
    try await magic.update(first)
    let second = User("a")
    try await magic.update(second)
    #expect(second.settings.id != first.settings.id)
    second.age = 5
    try await magic.update(second)
    let stored = try await magic.object(of: User.self, primary: "a")
    #expect(stored.age == 5 && stored.settings.volume == 9 && stored.settings.id == first.settings.id)
    #expect(try await magic.count(of: Named.self) == 1)
    let third = User("a")
    let other = Named()
    other.id = UUID()
    third.settings = other
    try await magic.update(third)
    #expect(try await magic.object(of: User.self, primary: "a").settings.id == other.id)
  }

  private struct Author: MagicObject {
    @MagicValue var name: String = ""
    @MagicValue var born: Date
    init() { born = Date() }
  }

  private struct Book: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var title: String = ""
    @MagicValue var author: Author = Author()
    init() {}
  }

  /// J-28: a number means the object that has it.
  @Test func aDefaultObjectOverwritesNothingOfAnObjectWithANumber() async throws {
    let first = Book()
    first.author.name = "A"
    try await magic.update(first)
    let second = Book()
    (second.id, second.title) = (1, "T")
    try await magic.update(second)
    second.title = "U"
    try await magic.update(second)
    let stored = try await magic.object(of: Book.self, primary: 1)
    #expect(stored.title == "U" && stored.author.name == "A")
    #expect(try await magic.count(of: Author.self) == 1)
  }

  @Test func ofTwoInOneCallTheSecondOverwritesNothing() async throws {
    let people = [Person("q", "one"), Person("q", "two")]
    people[0].settings.volume = 9
    try await magic.update(contentsOf: people)
    #expect(try await magic.count(of: Settings.self) == 2)
    people[1].name = "three"
    try await magic.update(people[1])
    let stored = try await magic.object(of: Person.self, primary: "q")
    #expect(stored.name == "three" && stored.settings.volume == 9)
    #expect(try await magic.count(of: Settings.self) == 2)
  }

  private final class Parent: MagicObject {
    @PrimaryMagicValue var name: String
    @OptionMagicValue var child: Child?
    init() {
      child = Child()
      child?.parent = self
    }
  }

  private final class Child: MagicObject {
    @OptionMagicValue var parent: Parent?
    @MagicValue var age: Int = 1
    init() {}
  }

  @Test func defaultObjectsMayHoldEachOther() async throws {
    let first = Parent()
    first.name = "p"
    first.child?.age = 7
    try await magic.update(first)
    let second = Parent()
    second.name = "p"
    try await magic.update(second)
    #expect(try await magic.object(of: Parent.self, primary: "p").child?.age == 7)
    try await magic.update(Parent())
    #expect(try await magic.count(of: Child.self) == 2)
  }

  private struct Player: MagicObject {
    @OptionMagicValue var game: Game?
    @MagicValue var score: Int = 0
    init() {}
  }

  private struct Game: MagicObject {
    @PrimaryMagicValue var name: String
    @MagicValue var players: MagicalSet<Player> = [Player(), Player()]
    init() {}
  }

  @Test func defaultMembersMayBeOfATypeThatLeadsBack() async throws {
    let game = Game()
    game.name = "chess"
    let player = try #require(game.players.first)
    player.score = 3
    #expect(!game.players.insert(player) && game.players.count == 2)
    try await magic.update(game)
    #expect(try await magic.object(of: Game.self, primary: "chess").players.map(\.score).sorted() == [0, 3])
  }

  private struct Shot: MagicObject {
    @PrimaryMagicValue var id: String
    @ReverseMagicValue(\Roll.$shots) var rolls: AsyncReverseMagicSet<Roll>
    /// For who saves in an `init()`.
    nonisolated(unsafe) static var database: MagicData?
    init() {}
  }

  private struct Roll: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var shots: MagicalSet<Shot>
    init() { _ = try? Shot.database?.blocking.update(Shot()) }
  }

  @Test func anInitialiserMaySaveWhatLeadsBack() async throws {
    Shot.database = magic
    defer { Shot.database = nil }
    try await magic.update(Shot())
    #expect(try await magic.count(of: Shot.self) >= 2)
  }

  private enum Older {
    struct Person: MagicObject {
      @PrimaryMagicValue var id: String
      init() {}
    }
  }

  private enum Newer {
    struct Person: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var settings: Settings = Settings()
      @MagicValue var author: Author = Author()
      @OptionMagicValue var name: String?
      init() {}
    }
  }

  /// What an older object shows is stored by nobody who sets something else.
  @Test func whatIsNotSetInADefaultObjectIsNotStored() async throws {
    let old = Older.Person()
    old.id = "p"
    try await magic.update(old)
    let reopened = try await MagicData(path: folder["db"])
    let (a, b) = (
      try await reopened.object(of: Newer.Person.self, primary: "p"),
      try await reopened.object(of: Newer.Person.self, primary: "p")
    )
    b.author.name = "B"
    try await reopened.update(b)
    a.name = "x"
    try await reopened.update(a)
    let stored = try await reopened.object(of: Newer.Person.self, primary: "p")
    #expect(stored.author.name == "B" && stored.name == "x")
    #expect(try await reopened.count(of: Author.self) == 1)
    #expect(try await reopened.count(of: Settings.self) == 0)
  }

  /// What an older object shows is another's from the beginning.
  @Test func anOlderObjectIsSavedAsAnotherWithWhatItShows() async throws {
    let old = Older.Person()
    old.id = "p"
    try await magic.update(old)
    let reopened = try await MagicData(path: folder["db"])
    let person = try await reopened.object(of: Newer.Person.self, primary: "p")
    person.id = "q"
    try await reopened.update(person)
    #expect(try await reopened.object(of: Newer.Person.self, primary: "q").settings.volume == Settings().volume)
    #expect(try await reopened.count(of: Settings.self) == 1)
  }

  /// A default object that an older object shows is stored with what is set in it.
  @Test func whatIsSetInADefaultObjectIsStored() async throws {
    let old = Older.Person()
    old.id = "p"
    try await magic.update(old)
    let reopened = try await MagicData(path: folder["db"])
    let fetched = try await reopened.object(of: Newer.Person.self, primary: "p")
    try await reopened.update(fetched)
    #expect(try await reopened.count(of: Settings.self) == 0)
    fetched.settings.volume = 7
    try await reopened.update(fetched)
    #expect(try await reopened.object(of: Newer.Person.self, primary: "p").settings.volume == 7)
    #expect(try await reopened.count(of: Settings.self) == 1)
    // By itself first, as well.
    let other = Older.Person()
    other.id = "q"
    try await magic.update(other)
    let second = try await reopened.object(of: Newer.Person.self, primary: "q")
    second.settings.volume = 8
    try await reopened.update(second.settings)
    try await reopened.update(second)
    #expect(try await reopened.object(of: Newer.Person.self, primary: "q").settings.volume == 8)
    #expect(try await reopened.count(of: Settings.self) == 2)
  }

  private struct Essay: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String = ""
    @MagicValue var made: UUID = UUID()
    @MagicValue var stars: Int = 0
    @MagicValue var themes: [Theme] = []
  }

  private struct Poster: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var title: String = ""
    @MagicValue var cover: MagicAsset<String> = MagicAsset(value: UUID().uuidString)
  }

  /// L-7: what a database has held is set, though it is equal to a default: a remove makes a default of nothing.
  @Test(arguments: [false, true]) func whatWasRemovedIsNoDefault(isRolledBack: Bool) async throws {
    let made = Essay(title: "one")
    made.id = "p"
    try await magic.update(made)
    let fetched = try await magic.object(of: Essay.self, primary: "p")
    try await magic.remove(fetched)
    let other = Essay(title: "two", stars: 5)
    (other.id, other.themes) = ("p", [Theme("a")])
    try await magic.update(other)
    if isRolledBack {
      struct Stop: Error {}
      let magic = magic
      await #expect(throws: Stop.self) {
        try await magic.transaction { tx in
          try await tx.update(fetched)
          throw Stop()
        }
      }
    }
    try await magic.update(fetched)
    let stored = try await magic.object(of: Essay.self, primary: "p")
    #expect(stored.title == "one" && stored.made == made.made && stored.stars == 0 && stored.themes.isEmpty)
  }

  /// L-7.
  @Test func aContentThatIsAnotherOneEachTimeIsForNewObjects() async throws {
    let first = Poster(title: "one")
    first.id = "p"
    try await magic.update(first)
    let second = Poster(title: "two")
    second.id = "p"
    try await magic.update(second)
    let stored = try await magic.object(of: Poster.self, primary: "p")
    #expect(stored.title == "two" && stored.cover.value == first.cover.value)
    let third = Poster()
    (third.id, third.cover) = ("p", MagicAsset(value: "set"))
    try await magic.update(third)
    #expect(try await magic.object(of: Poster.self, primary: "p").cover.value == "set")
  }

  private struct Entry: MagicObject {
    /// A day, a setting: equal in instances that are made one after the other, and another one later.
    nonisolated(unsafe) static var today = 1

    @PrimaryMagicValue var id: String
    @MagicValue var name: String = ""
    @MagicValue var day: Int = Entry.today
    @MagicValue var rank: Int = 3
  }

  /// L-7: and what a memberwise `init` is given is set, where the default is the same each time.
  @Test(arguments: [false, true]) func aDefaultThatIsAnotherOneLaterOverwritesNothing(isBlocking: Bool) async throws {
    Entry.today = 1
    let first = Entry(name: "one", rank: 7)
    first.id = "e"
    try await magic.update(first)
    Entry.today = 2
    let second = Entry()
    (second.id, second.name) = ("e", "two")
    if isBlocking { try magic.blocking.update(second) } else { try await magic.update(second) }
    #expect(try await magic.object(of: Entry.self, primary: "e").day == 1)
    let third = Entry(name: "three", rank: 8)
    third.id = "e"
    try await magic.update(contentsOf: [third])
    let stored = try await magic.object(of: Entry.self, primary: "e")
    #expect(stored.name == "three" && stored.day == 1 && stored.rank == 8)
    // As it was when the type was met first, and set all the same.
    let fourth = Entry()
    (fourth.id, fourth.day) = ("e", 2)
    try await magic.update(fourth)
    #expect(try await magic.object(of: Entry.self, primary: "e").day == 2)
    // A new object has it.
    let other = Entry()
    other.id = "f"
    try await magic.update(other)
    #expect(try await magic.object(of: Entry.self, primary: "f").day == 2)
  }

  private final class Alarm: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var day: Int = Entry.today
    @MagicValue var rank: Int = 3
    init() {}
    init(rank: Int) { _rank = MagicValue(wrappedValue: rank) }
  }

  @Test func aClassMayHaveADefaultThatIsAnotherOneLater() async throws {
    Entry.today = 1
    let first = Alarm()
    first.id = "a"
    try await magic.update(first)
    Entry.today = 2
    let second = Alarm(rank: 5)
    second.id = "a"
    try await magic.update(second)
    let stored = try await magic.object(of: Alarm.self, primary: "a")
    #expect(stored.day == 1 && stored.rank == 5)
  }

  private struct Visit: MagicObject {
    @MagicValue var day: Int = Entry.today
    @MagicValue var volume: Int = 5
    init() {}
  }

  private struct Account: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var name: String = ""
    @MagicValue var visit: Visit = Visit()
    @MagicValue var visits: [Visit] = [Visit(), Visit()]
    init() {}
  }

  /// L-7: in a default object as well, which is taken for what it is until something is set in it.
  @Test func aDefaultObjectWithAValueThatIsAnotherOneLaterOverwritesNothing() async throws {
    Entry.today = 1
    let first = Account()
    first.id = "a"
    first.visit.volume = 9
    try await magic.update(first)
    Entry.today = 2
    let second = Account()
    (second.id, second.name) = ("a", "two")
    try await magic.update(second)
    var stored = try await magic.object(of: Account.self, primary: "a")
    #expect(stored.name == "two" && stored.visit.volume == 9 && stored.visit.day == 1)
    #expect(stored.visits.map(\.day) == [1, 1])
    #expect(try await magic.count(of: Visit.self) == 3)
    let third = Account()
    third.id = "a"
    third.visit.volume = 4
    try await magic.update(third)
    stored = try await magic.object(of: Account.self, primary: "a")
    #expect(stored.visit.volume == 4 && stored.visit.day == 2 && stored.visits.map(\.day) == [1, 1])
  }

  private enum Mood {
    /// A setting that there may be, or not.
    nonisolated(unsafe) static var now: String?
  }

  private struct Page: MagicObject {
    @OptionMagicValue var mood: String? = Mood.now
    @MagicValue var number: Int = 1
    @MagicValue var code: UUID = UUID()
    init() {}
  }

  private struct Diary: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var name: String = ""
    @OptionMagicValue var mood: String? = Mood.now
    @OptionMagicValue var note: String? = nil
    @MagicValue var page: Page = Page()
    @OptionMagicValue var last: Page? = Mood.now == nil ? nil : Page()
    @MagicValue var pages: [Page] = Mood.now == nil ? [] : [Page()]
    @OptionMagicValue var more: [Page]? = nil
  }

  /// L-7: a default that is nil when its type is met, and a value later, is one all the same, in a default object as well.
  @Test func aDefaultThatIsNilAtFirstOverwritesNothing() async throws {
    Mood.now = nil
    let first = Diary(note: "n")
    (first.id, first.mood) = ("d", "calm")
    first.page.mood = "dull"
    first.last = Page()
    first.last?.number = 3
    first.pages = [Page(), Page()]
    first.more = [Page()]
    try await magic.update(first)
    Mood.now = "merry"
    let second = Diary(name: "two")
    second.id = "d"
    try await magic.update(second)
    var stored = try await magic.object(of: Diary.self, primary: "d")
    #expect(stored.name == "two" && stored.mood == "calm" && stored.note == "n" && stored.page.mood == "dull")
    #expect(stored.last?.number == 3 && stored.pages.count == 2 && stored.more?.count == 1)
    #expect(try await magic.count(of: Page.self) == 5)
    // What is set is, and what a memberwise `init` is given where the default is always nil.
    let third = Diary(note: "m", more: [])
    (third.id, third.mood) = ("d", "merry")
    third.page.number = 8
    try await magic.update(third)
    stored = try await magic.object(of: Diary.self, primary: "d")
    #expect(stored.note == "m" && stored.mood == "merry" && stored.page.number == 8 && stored.page.mood == "merry")
    #expect(stored.last?.number == 3 && stored.pages.count == 2 && stored.more == nil)
    // A new object has all of them.
    let other = Diary()
    other.id = "e"
    try await magic.update(other)
    stored = try await magic.object(of: Diary.self, primary: "e")
    #expect(stored.mood == "merry" && stored.last?.mood == "merry" && stored.pages.map(\.mood) == ["merry"])
  }

  private struct Sheet: MagicObject {
    @OptionMagicValue var mood: String? = Mood.now
    @MagicValue var number: Int = 1
    init() {}
  }

  private struct Booklet: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var name: String = ""
    @OptionMagicValue var mood: String? = Mood.now
    @MagicValue var sheet: Sheet = Sheet()
    @OptionMagicValue var last: Sheet? = Mood.now == nil ? nil : Sheet()
    @MagicValue var sheets: [Sheet] = Mood.now == nil ? [] : [Sheet(), Sheet()]
  }

  /// L-7: nor one that is nil later.
  @Test func aDefaultThatIsNilLaterOverwritesNothing() async throws {
    Mood.now = "merry"
    defer { Mood.now = nil }
    let first = Booklet()
    (first.id, first.mood) = ("b", "calm")
    first.sheet.number = 2
    try await magic.update(first)
    Mood.now = nil
    let second = Booklet(name: "two")
    second.id = "b"
    try await magic.update(second)
    let stored = try await magic.object(of: Booklet.self, primary: "b")
    #expect(stored.name == "two" && stored.mood == "calm" && stored.sheet.number == 2 && stored.sheet.mood == "merry")
    #expect(stored.last?.mood == "merry" && stored.sheets.count == 2)
    #expect(try await magic.count(of: Sheet.self) == 4)
  }

  private struct Point: MagicObject {
    nonisolated(unsafe) static var made = 0

    static func zero() -> Int {
      made += 1
      return 0
    }

    @PrimaryMagicValue var number: Int
    @MagicValue var x: Int = Point.zero()
    @MagicValue var y: Int = 0
    @OptionMagicValue var name: String? = nil
  }

  /// An `init()` is the app's, with what it does beside: it is called where it matters, and not for each object that differs
  /// from its defaults.
  @Test func aSaveMakesNoInstanceForEachThatItSaves() async throws {
    try await magic.update(Point())
    let points = (1...1_000).map { Point(y: $0, name: "p") }
    var made = Point.made
    // With numbers from the database they are nobody else's.
    try await magic.update(contentsOf: points)
    for number in 1...10 { try await magic.update(Point(y: number, name: "q")) }
    #expect(Point.made == made + 10)
    for name in ["r", "s"] {
      let held = (1...1_000).map { number in
        let point = Point(y: number + name.count, name: name)
        point.number = 10_000 + number
        return point
      }
      made = Point.made
      try await magic.update(contentsOf: held)
      #expect(Point.made < made + 200)
    }
    #expect(try await magic.object(of: Point.self, primary: 10_001).name == "s")
  }

  private struct Label: MagicObject {
    @PrimaryMagicValue var id: String
    @OptionMagicValue var tags: [String]?
    @OptionMagicValue var stars: Int?
    init() {}

    init(_ id: String, _ tags: [String]?, _ stars: Int?) {
      self.id = id
      self.tags = tags
      self.stars = stars
    }
  }

  /// L-7: what is nil, and stays nil because there is nothing to change in it.
  @Test func aChangeOfNothingSetsNothing() async throws {
    try await magic.update(Label("l", ["a"], 2))
    let second = Label()
    second.id = "l"
    second.tags?.append("b")
    second.stars? += 1
    try await magic.update(second)
    let stored = try await magic.object(of: Label.self, primary: "l")
    #expect(stored.tags == ["a"] && stored.stars == 2)
    // Nil that is set is.
    try await magic.update(Label("l", nil, nil))
    let empty = try await magic.object(of: Label.self, primary: "l")
    #expect(empty.tags == nil && empty.stars == nil)
  }

  /// What an optional value is changed with may be read of it.
  @Test func anOptionalValueIsThereWhileItIsChanged() async throws {
    struct Stop: Error {}
    func fail(_ tags: inout [String]) throws {
      tags.append("failed")
      throw Stop()
    }
    try await magic.update(Label("l", ["a"], 2))
    let label = try await magic.object(of: Label.self, primary: "l")
    label.tags?.append("\(label.tags?.count ?? 0)")
    label.stars? += label.stars ?? 0
    #expect(throws: Stop.self) { try fail(&label.tags!) }
    try await magic.update(label)
    let stored = try await magic.object(of: Label.self, primary: "l")
    #expect(stored.tags == ["a", "1", "failed"] && stored.stars == 4)
  }
}
