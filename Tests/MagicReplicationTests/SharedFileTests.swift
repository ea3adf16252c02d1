import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// An app that knows its types from before, and a second opening of its file, such as `magic-sync`, that merges what another
/// app wrote.
@Suite struct SharedFileTests {
  private enum App {
    struct Person: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var age: Int?
      @MagicValue var friends: MagicalSet<Person> = []
      @OptionMagicValue var name: String?
      init() {}
      init(_ id: String) { self.id = id }
    }
  }

  /// Of the same names, and of other kinds.
  private enum OtherApp {
    struct Person: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var age: String?
      @OptionMagicValue var friends: String?
      @MagicValue var pets: MagicalSet<Person> = []
      init() {}
      init(_ id: String) { self.id = id }
    }
  }

  let folder: TemporaryFolder
  let world = World()
  let app: Replica
  let tool: Replica
  let other: Replica

  init() throws {
    folder = try TemporaryFolder()
    app = try Replica(folder["a"], folder["remote"], world)
    tool = try Replica(folder["a"], folder["remote"], world)
    other = try Replica(folder["b"], folder["remote"], world)
  }

  private func person() async throws -> App.Person { try await app.magic.object(of: App.Person.self, primary: "p") }

  /// An object of which the app knows the type, and of which the tool then merges values of other kinds.
  private func merged() async throws {
    let person = App.Person("p")
    person.age = 5
    person.friends = [App.Person("friend")]
    try await app.magic.update(person)
    world.advance(5)
    let same = OtherApp.Person("p")
    (same.age, same.friends, same.pets) = ("six", "nobody", [OtherApp.Person("cat")])
    try await other.magic.update(same)
    try await settle([tool, other])
    world.advance(5)
  }

  private func expectWhole() async throws {
    try await expectEqual([app])
    #expect(try await faultyPlaces(app.magic) == [])
    try await settle([tool, other])
    try await expectEqual([app, tool, other])
  }

  @Test func whatAnotherProcessMergesIsShown() async throws {
    try await merged()
    #expect(try await person().age == nil)
    #expect(try await person().friends.isEmpty)
    try await expectWhole()
  }

  enum Face: CaseIterable {
    case call, many, transaction, blocking
  }

  /// J-16, M-14: whatever was written in the other kind gives way to the later write.
  @Test(arguments: Face.allCases) func aSaveEmptiesTheRivalThatAnotherProcessMerged(_ face: Face) async throws {
    try await merged()
    let person = try await person()
    (person.age, person.friends) = (7, [App.Person("new friend")])
    switch face {
    case .call: try await app.magic.update(person)
    case .many: try await app.magic.update(contentsOf: [person])
    case .transaction: try await app.magic.transaction { try await $0.update(person) }
    case .blocking: try app.magic.blocking.transaction { try $0.update(person) }
    }
    try await expectWhole()
    #expect(try await self.person().age == 7)
    #expect(try await self.person().friends.map(\.id).sorted() == ["friend", "new friend"])
    #expect(try await other.magic.object(of: OtherApp.Person.self, primary: "p").age == nil)
  }

  /// J-25: also from a table of links that this process has not heard of.
  @Test(arguments: [0, 1, 2]) func aRemoveTakesLinksAwayThatAnotherProcessMerged(way: Int) async throws {
    try await merged()
    switch way {
    case 0: try await app.magic.remove(try await person())
    case 1: try await app.magic.removeAll(of: App.Person.self)
    default: try await app.magic.query(of: App.Person.self).where { $0.id == "p" }.remove()
    }
    try await expectWhole()
  }
}
