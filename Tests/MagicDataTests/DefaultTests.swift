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
    @MagicValue var token: UUID
    @MagicValue var settings: Settings = Settings()
    @MagicValue var theme: Theme = Person.plain
    @MagicValue var themes: [Theme] = [Theme("a"), Theme("b")]
    @MagicValue var later: AsyncMagical<Settings> = AsyncMagical(value: Settings())

    init() { token = UUID() }

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
      init() {}
    }
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
  }
}
