import Foundation
import GRDB
import MagicData
import MagicJournal
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

  let (folder, world, a, b): (TemporaryFolder, World, Replica, Replica)

  init() throws {
    (folder, world, a, b) = try twoReplicas()
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

  private enum One {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var related: Page?
      @MagicValue var pages: MagicalSet<Page> = []
      @OptionMagicValue var cover: MagicAsset<String>?
    }
  }

  private enum Many {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var related: MagicalSet<Page> = []
      @OptionMagicValue var pages: Page?
      @OptionMagicValue var cover: Page?
    }
  }

  private enum Numbered {
    struct Page: MagicObject {
      @PrimaryMagicValue var id: Int
      @MagicValue var related: [Page] = []
      @OptionMagicValue var pages: Page?
    }
  }

  /// H-21, H-24, J-5, M-7: a property that is one object to one app, many to another, and an asset to a third: tables, indexes
  /// and triggers of all have room in one file.
  @Test func relationsOfEveryKindMayHaveOneName() async throws {
    let (one, many, numbered) = (One.Page(), Many.Page(), Numbered.Page())
    (one.id, one.cover) = ("one", .init(value: "cover"))
    (one.related, one.pages) = (one, [one])
    many.id = "many"
    (many.related, many.pages, many.cover) = ([many], many, many)
    numbered.id = 1
    (numbered.related, numbered.pages) = ([numbered, numbered], numbered)
    try await a.magic.update(one)
    try await b.magic.update(many)
    try await settle()
    let c = try Replica(folder["c"], folder["remote"], world)
    try await c.magic.update(numbered)
    try await MagicReplicationTests.settle([a, b, c])
    try await expectEqual([a, b, c])
    #expect(try await a.magic.object(of: One.Page.self, primary: "one").pages.map(\.id) == ["one"])
    #expect(try await b.magic.object(of: Many.Page.self, primary: "many").cover?.id == "many")
    #expect(try await c.magic.object(of: Numbered.Page.self, primary: 1).related.map(\.id) == [1, 1])
    for replica in [a, b, c] { #expect(try await DatabaseCheck(replica.magic).faults == []) }
  }

  /// J-16, S-7: what shows of several values of one name is undone to what showed before, and everybody can read how.
  @Test func aConversionIsUndone() async throws {
    let page = Old.Page("p", "first")
    page.stars = 3
    try await a.magic.update(page)
    try await settle()
    let converted = try await new()
    converted.stars = "many"
    try await b.magic.update(converted)
    var selection = UndoSelection()
    let sequence = try await b.frontier()[b.magic.store.read { db in try DatabaseState(db).replica }]
    selection.transactions = [try MagicMoment("\(sequence)")]
    try await b.magic.undo(b.magic.undoing(selection))
    #expect(try await new().stars == "***")
    try await settle()
    #expect(try await old().stars == 3)
    let late = try Replica(folder["late"], folder["remote"], world)
    #expect(try await late.replicator.pull().isComplete)
    #expect(try await late.magic.digest() == a.magic.digest())
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

  /// H-22, J-14: the older app comes to a data set that only newer ones have written so far (H-21: an object that lacks what a
  /// type needs holds nothing up). Also where the newer one has written a value that the older one has in another kind.
  @Test(arguments: [nil, "many"], [false, true])
  func theOlderAppReadsADataSetOfTheNewer(stars: String?, isCompacted: Bool) async throws {
    let page = New.Page()
    (page.id, page.heading, page.colour, page.stars) = ("p", "first", "red", stars)
    try await b.magic.update(page)
    if isCompacted {
      try await b.replicator.sync()
      try await b.replicator.compact()
    }
    try await settle()
    #expect(try await old().title == "first")
    #expect(try await old().stars == nil)
    let left = try await old()
    left.title = "second"
    left.stars = 1
    try await a.magic.update(left)
    try await settle()
    let right = try await new()
    #expect((right.heading, right.stars, right.colour) == ("second", "*", "red"))
  }

  /// H-32: what SQL put into a row where no such value can be is not written to a journal that nobody could read.
  @Test(arguments: ["stars = 4.5", "stars = 'five'", "title = x'00'"]) func whatNoFieldHoldsIsNotJournaled(fault: String)
    async throws
  {
    let page = Old.Page("p", "first")
    page.stars = 3
    try await a.magic.update(page)
    _ = try await a.magic.store.write { db in try db.execute(sql: "UPDATE Page SET \(fault)") }
    let dump = try await Dump(a.magic)
    #expect(try await DatabaseCheck(a.magic).faults.count == 1)
    await #expect { _ = try await a.magic.repair(.tables) } throws: { ($0 as? MagicDataError)?.code == .value }
    #expect(try await Dump(a.magic) == dump)
    #expect(try await a.magic.repair(.journal) == 1)
    #expect(try await DatabaseCheck(a.magic).faults == [])
    try await settle()
    #expect(try await new().heading == "first")
  }
}
