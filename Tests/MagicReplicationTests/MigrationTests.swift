import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

/// Replica `a` has the older app, `b` the newer one.
@Suite struct MigrationTests {
  enum Old {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @OptionMagicValue var stars: Int?

      init() {}

      init(_ id: String, _ title: String) {
        self.id = id
        self.title = title
      }
    }
  }

  enum New {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var heading: String
      @OptionMagicValue var stars: String?
      @MagicValue var colour: String
      @OptionMagicValue var author: String?

      init() {}

      static func createMigrations() -> [MagicMigration] {
        [
          .renamed("title", to: \Page.$heading),
          .converted("stars", from: Int.self, to: \Page.$stars) { String(repeating: "*", count: $0) },
          .filled(\Page.$colour, with: "white"),
        ]
      }
    }
  }

  let folder: TemporaryFolder
  let world = World()
  let a: Replica
  let b: Replica

  init() throws {
    folder = try TemporaryFolder()
    a = try Replica(folder["a"], folder["remote"], world)
    b = try Replica(folder["b"], folder["remote"], world)
  }

  private func old(_ id: String = "p") async throws -> Old.Page {
    try await a.magic.object(of: Old.Page.self, primary: id)
  }

  private func new(_ id: String = "p") async throws -> New.Page {
    try await b.magic.object(of: New.Page.self, primary: id)
  }

  private func settle() async throws {
    world.advance(5)
    try await MagicReplicationTests.settle([a, b])
    try await expectEqual([a, b])
  }

  /// L-10: whoever wrote later, under whichever name.
  @Test func bothAppsSeeTheLaterWriteOfARenamedValue() async throws {
    try await a.magic.update(Old.Page("p", "first"))
    try await settle()
    #expect(try await new().heading == "first")

    let (left, right) = (try await old(), try await new())
    left.title = "old app, earlier"
    try await a.magic.update(left)
    world.advance(5)
    right.heading = "new app, later"
    try await b.magic.update(right)
    try await settle()
    #expect(try await old().title == "new app, later")
    #expect(try await new().heading == "new app, later")

    right.heading = "new app, earlier"
    try await b.magic.update(right)
    world.advance(5)
    left.title = "old app, later"
    try await a.magic.update(left)
    try await settle()
    #expect(try await old().title == "old app, later")
    #expect(try await new().heading == "old app, later")
  }

  /// The older app requires `title`, and the newer one has no such property.
  @Test func anObjectThatTheNewerAppMakesIsShownByTheOlder() async throws {
    try await a.magic.update(Old.Page("p", "first"))
    let page = New.Page()
    (page.id, page.heading, page.colour) = ("q", "second", "red")
    try await b.magic.update(page)
    try await settle()
    #expect(try await a.magic.object(of: Old.Page.self).map(\.title).sorted() == ["first", "second"])
    #expect(try await b.magic.object(of: New.Page.self).map(\.heading).sorted() == ["first", "second"])
  }

  /// H-24: each app reads what was last written in its own kind, the newer one in the former kind as well.
  @Test func aConvertedValueFollowsTheLaterWrite() async throws {
    let page = Old.Page("p", "first")
    page.stars = 2
    try await a.magic.update(page)
    try await settle()
    let right = try await new()
    #expect(right.stars == "**")
    right.stars = "many"
    try await b.magic.update(right)
    try await settle()
    #expect(try await old().stars == nil)
    #expect(try await new().stars == "many")
    page.stars = 3
    try await a.magic.update(page)
    try await settle()
    #expect(try await old().stars == 3)
    #expect(try await new().stars == "***")
    page.stars = nil
    try await a.magic.update(page)
    try await settle()
    #expect(try await new().stars == nil)
  }

  /// H-23, H-25: an edit by the older app leaves what it does not know, and a fill-in reaches nobody.
  @Test func aNewerAppsFieldsSurviveAnOlderAppsEdit() async throws {
    try await a.magic.update(Old.Page("p", "first"))
    try await settle()
    let right = try await new()
    right.author = "Ann"
    try await b.magic.update(right)
    try await settle()
    let left = try await old()
    left.title = "second"
    try await a.magic.update(left)
    try await settle()
    let page = try await new()
    #expect((page.heading, page.author, page.colour) == ("second", "Ann", "white"))
    let stored = try await Dump(a.magic)
    #expect(try await stored == b.naiveDump())
    #expect(stored.objects.values.first?["colour text"] == nil)
  }

  /// H-22: the older app comes to a data set that only newer ones have written so far (H-21: an object that lacks what a type needs holds nothing up).
  @Test func theOlderAppReadsADataSetOfTheNewer() async throws {
    let page = New.Page()
    (page.id, page.heading, page.colour) = ("p", "first", "red")
    try await b.magic.update(page)
    try await settle()
    #expect(try await old().title == "first")
    let left = try await old()
    left.title = "second"
    left.stars = 1
    try await a.magic.update(left)
    try await settle()
    let right = try await new()
    #expect((right.heading, right.stars, right.colour) == ("second", "*", "red"))
  }
}
