import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct MigrationTests {
  enum Old {
    struct Note: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var title: String
      @MagicValue var stars: Int
      @OptionMagicValue var mood: String?

      init() {}
    }
  }

  enum New {
    struct Note: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var heading: String
      @MagicValue var stars: Double
      @MagicValue var colour: String
      @OptionMagicValue var feeling: String?

      init() {}

      static func createMigrations() -> [MagicMigration] {
        [
          .renamed("title", to: \Note.$heading),
          .renamed("mood", to: \Note.$feeling),
          .converted("stars", from: Int.self, to: \Note.$stars) { Double($0) / 2 },
          .filled(\Note.$colour, with: "white"),
        ]
      }
    }
  }

  private enum Before {
    struct Album: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var photos: MagicalSet<Photo> = []
      @OptionMagicValue var later: AsyncMagical<[Photo]>?
      init() {}
    }
    struct Photo: MagicObject {
      @PrimaryMagicValue var id: String
      init() {}
    }
  }

  private enum After {
    struct Album: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var photos: MagicalSet<Photo> = []
      @OptionMagicValue var later: AsyncMagical<[Photo]>?
      @OptionMagicValue var place: String?
      @MagicValue var stars: Int = 3
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Album.stars)] }
      init() {}
    }
    struct Photo: MagicObject {
      @PrimaryMagicValue var id: String
      @OptionMagicValue var camera: String?
      @ReverseMagicValue(\Album.$photos) var albums: AsyncReverseMagicSet<Album>
      init() {}
    }
  }

  /// What asks without writing needs none of the new columns.
  @Test func relationsAreCountedBeforeANewColumnIsMade() async throws {
    let (album, photo) = (Before.Album(), Before.Photo())
    (album.id, photo.id) = ("a", "p")
    (album.photos, album.later) = ([photo], AsyncMagical(value: [photo]))
    try await magic.update(album)
    let reopened = try await MagicData(path: folder["db"])
    let fetched = try await reopened.object(of: After.Photo.self, primary: "p")
    #expect(fetched.albums.count == 1)
    #expect(fetched.albums == fetched.albums && fetched.albums != [])
    let again = try await MagicData(path: folder["db"])
    try await again.transaction { tx in
      let album = try await tx.object(of: After.Album.self, primary: "a")
      let count = try album.later?.count
      #expect(count == 1)
    }
    #expect(try await reopened.object(of: After.Album.self).map(\.stars) == [3])
    #expect(fetched.albums.count == 1)
  }

  let folder: TemporaryFolder
  let magic: MagicData

  /// With what the older app has stored: one note.
  init() async throws {
    folder = try TemporaryFolder()
    let note = Old.Note()
    (note.id, note.title, note.stars, note.mood) = ("n", "Milk", 5, "calm")
    let old = try await MagicData(path: folder["db"])
    try await old.update(note)
    try await old.close()
    magic = try await MagicData(path: folder["db"])
  }

  private func entries() async throws -> Int {
    try await magic.store.read { db in
      var count = 0
      try JournalReader(db).forEachTransaction { count += $0.entries.count }
      return count
    }
  }

  /// What the file says of its tables, and of the types and fields in them, row by row.
  private func catalogue() async throws -> [String] {
    try await magic.store.read { db in
      try [
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master ORDER BY rowid", "SELECT * FROM magic_type ORDER BY id",
        "SELECT * FROM magic_field ORDER BY type, id",
      ].flatMap { sql in try Row.fetchAll(db, sql: sql).map(\.description) }
    }
  }

  private func columns() async throws -> [String] {
    try await magic.store.read { db in try db.columns(in: "Note").map(\.name) }
  }

  /// H-25: reading through migrations writes nothing, nor does saving what was read.
  @Test func whatMigrationsShowIsNotJournaled() async throws {
    let note = try await magic.object(of: New.Note.self, primary: "n")
    #expect(note.heading == "Milk")
    #expect(note.feeling == "calm")
    #expect(note.stars == 2.5)
    #expect(note.colour == "white")
    try await magic.update(note)
    (note.heading, note.stars) = ("Milk", 2.5)
    try await magic.update(note)
    let made = New.Note()
    (made.id, made.heading, made.stars) = ("n", "Milk", 2.5)
    made.colour = "red"
    try await magic.update(made)
    #expect(try await entries() == 2)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    let stored = try await #require(Dump(magic).objects.values.first)
    #expect(
      stored == [
        "title text": .text("Milk"), "mood text": .text("calm"), "stars integer": .integer(5), "colour text": .text("red"),
      ])
  }

  /// J-9, J-12: a revival carries what was written, which is neither what a migration shows nor a default.
  @Test(arguments: [false, true]) func whatMigrationsShowIsNotRevived(inTransaction: Bool) async throws {
    enum Newer {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        @MagicValue var stars: Double
        @MagicValue var colour: String
        @MagicValue var pages: Int = 1
        @OptionMagicValue var mood: String?
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.converted("stars", from: Int.self, to: \Note.$stars) { Double($0) / 2 }, .filled(\Note.$colour, with: "white")]
        }
      }
    }
    let stale = try await magic.object(of: Newer.Note.self, primary: "n")
    #expect((stale.stars, stale.colour, stale.pages) == (2.5, "white", 1))
    stale.mood = "glad"
    let same = try await magic.object(of: Newer.Note.self, primary: "n")
    if inTransaction {
      try await magic.transaction { transaction in
        try await transaction.remove(same)
        try await transaction.update(stale)
      }
    } else {
      try await magic.remove(same)
      try await magic.update(stale)
    }
    let stored = try await #require(Dump(magic).objects.values.first)
    #expect(stored == ["title text": .text("Milk"), "mood text": .text("glad"), "stars integer": .integer(5)])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    #expect(try await magic.object(of: Newer.Note.self, primary: "n").stars == 2.5)
  }

  /// J-12: what is shown in place of a value that is not stored is written over nobody's.
  @Test func whatMigrationsShowIsWrittenOverNoOtherObject() async throws {
    let red = New.Note()
    (red.id, red.heading, red.stars, red.colour) = ("red", "Red", 1, "red")
    try await magic.update(red)
    let note = try await magic.object(of: New.Note.self, primary: "n")
    #expect(note.colour == "white")
    note.id = "red"
    try await magic.update(note)
    let found = try await magic.object(of: New.Note.self, primary: "red")
    #expect((found.heading, found.stars, found.colour) == ("Milk", 2.5, "red"))
    note.colour = "white"
    try await magic.update(note)
    #expect(try await magic.object(of: New.Note.self, primary: "red").colour == "white")
  }

  @Test func whatIsSetIsStoredUnderTheFirstNameAndTheOwnKind() async throws {
    let note = try await magic.object(of: New.Note.self, primary: "n")
    (note.heading, note.stars, note.colour, note.feeling) = ("Oats", 0.5, "white", nil)
    try await magic.update(note)
    let again = try await magic.object(of: New.Note.self)[0]
    #expect(again.heading == "Oats")
    #expect(again.stars == 0.5)
    #expect(again.feeling == nil)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    let stored = try await #require(Dump(magic).objects.values.first)
    #expect(stored == ["title text": .text("Oats"), "stars real": .real(0.5), "colour text": .text("white")])
    #expect(try await columns() == ["z_index", "id", "magic_last", "title", "stars", "mood", "stars~2", "colour"])
  }

  @Test func aQueryKnowsNamesAndFilledValues() async throws {
    let red = New.Note()
    (red.id, red.heading, red.stars, red.colour) = ("o", "Oats", 1, "red")
    try await magic.update(red)
    func headings(_ query: MagicQuery<New.Note>) async throws -> [String] { try await query.all().map(\.heading) }
    let notes = magic.query(of: New.Note.self)
    #expect(try await headings(notes.where { $0.heading == "Milk" }) == ["Milk"])
    #expect(try await headings(notes.where { $0.colour == "white" }) == ["Milk"])
    #expect(try await headings(notes.where { $0.colour != "white" }) == ["Oats"])
    #expect(try await headings(notes.sorted(by: \.colour)) == ["Oats", "Milk"])
    #expect(try await headings(notes.sorted(by: \.heading, .descending)) == ["Oats", "Milk"])
  }

  @Test func aFilledValueHasToBeSetInANewObject() async throws {
    let note = New.Note()
    (note.heading, note.stars) = ("Oats", 1)
    await #expect { try await magic.update(note) } throws: {
      ($0 as? MagicDataError)?.code == .unsetValue && "\($0)".contains("Note.colour")
    }
  }

  /// The database that only the new app knows has the first names as well.
  @Test func aDatabaseOfTheNewAppIsReadByTheOld() async throws {
    let fresh = try await MagicData(path: folder["fresh"])
    let note = New.Note()
    (note.id, note.heading, note.stars, note.colour) = ("n", "Oats", 1, "red")
    try await fresh.update(note)
    let columns = try await fresh.store.read { db in try db.columns(in: "Note").map(\.name) }
    #expect(columns == ["z_index", "id", "magic_last", "title", "stars", "colour", "mood", "stars~2"])
    enum Older {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        init() {}
      }
    }
    let old = try await MagicData(path: folder["fresh"])
    #expect(try await old.object(of: Older.Note.self).map(\.title) == ["Oats"])
  }

  /// L-8: what cannot be converted counts as not arrived.
  @Test func whatCannotBeConvertedIsKeptAndNotShown() async throws {
    struct Odd: Error {}
    enum Strict {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var stars: String
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.converted("stars", from: Int.self, to: \Note.$stars) { _ in throw Odd() }]
        }
      }
    }
    enum Lenient {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @OptionMagicValue var stars: String?
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.converted("stars", from: Int.self, to: \Note.$stars) { _ in throw Odd() }]
        }
      }
    }
    #expect(try await magic.object(of: Strict.Note.self).isEmpty)
    await #expect { try await magic.object(of: Strict.Note.self, primary: "n") } throws: {
      ($0 as? MagicDataError)?.code == .value && "\($0)".contains("stars")
    }
    let lenient = try await MagicData(path: folder["db"])
    let note = try await lenient.object(of: Lenient.Note.self, primary: "n")
    #expect(note.stars == nil)
    try await lenient.update(note)
    #expect(try await entries() == 1)
    note.stars = "five"
    try await lenient.update(note)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    #expect(try await lenient.object(of: Lenient.Note.self, primary: "n").stars == "five")
  }

  @Test func aKindThatChangedTwiceIsReadFromEach() async throws {
    enum Last {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var stars: String
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [
            .converted("stars", from: Int.self, to: \Note.$stars) { "\($0)/10" },
            .converted("stars", from: Double.self, to: \Note.$stars) { "\($0)/5" },
          ]
        }
      }
    }
    let second = New.Note()
    (second.id, second.heading, second.stars, second.colour) = ("o", "Oats", 1.5, "red")
    try await magic.update(second)
    let last = try await MagicData(path: folder["db"])
    #expect(try await last.object(of: Last.Note.self).map(\.stars) == ["5/10", "1.5/5"])
    #expect(try await last.has(of: Last.Note.self, primary: "o"))
  }

  @Test func aValueThatIsRenamedAndConvertedKeepsItsFirstName() async throws {
    enum Both {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var rating: String
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.converted("stars", from: Int.self, to: \Note.$rating) { "\($0)" }]
        }
      }
    }
    let note = try await magic.object(of: Both.Note.self, primary: "n")
    #expect(note.rating == "5")
    note.rating = "six"
    try await magic.update(note)
    #expect(try await magic.object(of: Both.Note.self).map(\.rating) == ["six"])
    #expect(try await columns() == ["z_index", "id", "magic_last", "title", "stars", "mood", "stars~2"])
  }

  /// The file is as it was: no table, no column, no index and no fact of the schema is made for it.
  @Test func aChangeThatIsNotDeclaredIsAnErrorAndChangesNothing() async throws {
    enum Kind {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @OptionMagicValue var stars: String?
        @OptionMagicValue var feeling: String?
        init() {}
      }
    }
    enum Required {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var heading: String
        init() {}
      }
    }
    let (before, dump) = (try await catalogue(), try await Dump(magic))
    #expect(before.contains { $0.contains("Note") })
    for _ in 0..<2 {
      await #expect { try await magic.object(of: Kind.Note.self) } throws: { error in
        (error as? MagicDataError)?.code == .model
          && ["Note.stars", "column stars", "table Note", "integer", "text", "createMigrations()"].allSatisfy(
            "\(error)".contains)
      }
    }
    let other = try await MagicData(path: folder["db"])
    await #expect { try await other.update(Required.Note()) } throws: { error in
      (error as? MagicDataError)?.code == .model
        && ["Note.heading", "column heading", "table Note", "createMigrations()"].allSatisfy("\(error)".contains)
    }
    #expect(try await catalogue() == before)
    #expect(try await Dump(magic) == dump)
    #expect(try await entries() == 1)
    let old = try await MagicData(path: folder["db"])
    #expect(try await old.object(of: Old.Note.self).map(\.title) == ["Milk"])
  }

  /// A name that is new and may be lacking says nothing of one that is gone. What it was named before is there, and shown once
  /// it is declared.
  @Test func aNewNameOfWhatMayBeLackingShowsNothingOfTheOldOneUntilItIsDeclared() async throws {
    enum Undeclared {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var heading: String = "none"
        @OptionMagicValue var feeling: String?
        init() {}
      }
    }
    let undeclared = try await magic.object(of: Undeclared.Note.self, primary: "n")
    #expect((undeclared.heading, undeclared.feeling) == ("none", nil))
    try await magic.close()
    let note = try await MagicData(path: folder["db"]).object(of: New.Note.self, primary: "n")
    #expect((note.heading, note.feeling) == ("Milk", "calm"))
  }

  /// A required value that the file knows of already, as a newer app that came before brought it, hides what lacks it until it
  /// is filled.
  @Test func aRequiredValueThatAnotherAppBroughtHidesWhatLacksItUntilItIsFilled() async throws {
    enum Required {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        @MagicValue var colour: String
        init() {}
      }
    }
    enum Older {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        init() {}
      }
    }
    enum Filled {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        @MagicValue var colour: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.filled(\Note.$colour, with: "white")] }
      }
    }
    let (note, older) = (Required.Note(), Older.Note())
    (note.id, note.title, note.colour) = ("m", "Oats", "red")
    (older.id, older.title) = ("n", "Milk")
    for save: (MagicData) async throws -> Void in [{ try await $0.update(note) }, { try await $0.update(older) }] {
      let first = try await MagicData(path: folder["fresh"])
      try await save(first)
      try await first.close()
    }
    let second = try await MagicData(path: folder["fresh"])
    #expect(try await second.object(of: Required.Note.self).map(\.id) == ["m"])
    #expect(try await second.count(of: Required.Note.self) == 1)
    try await second.close()
    let filled = try await MagicData(path: folder["fresh"])
    #expect(try await filled.query(of: Filled.Note.self).sorted(by: \.id).all().map(\.colour) == ["red", "white"])
  }

  /// L-10: a file knows a value's name and kind, and not who requires it. What lacks it is as what has not arrived (L-8).
  @Test func anOptionalValueThatIsRequiredHidesWhatLacksItUntilItIsSetOrFilled() async throws {
    enum Required {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var mood: String
        init() {}
      }
    }
    enum Filled {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var mood: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.filled(\Note.$mood, with: "none")] }
      }
    }
    let note = Old.Note()
    (note.id, note.title, note.stars) = ("o", "Oats", 1)
    try await magic.update(note)
    let (required, filled) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["db"]))
    #expect(try await required.object(of: Required.Note.self).map(\.id) == ["n"])
    #expect(try await required.count(of: Required.Note.self) == 1)
    #expect(try await filled.object(of: Filled.Note.self).map(\.mood) == ["calm", "none"])
    note.mood = "glad"
    try await magic.update(note)
    #expect(try await required.object(of: Required.Note.self).map(\.mood) == ["calm", "glad"])
  }

  /// H-23: what an app does not declare, and does not know, stays. So a removed value needs no step; one guards its name.
  @Test func whatIsRemovedStaysForOtherApps() async throws {
    enum Short {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var title: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.removed("mood"), .removed("stars")] }
      }
    }
    let note = try await magic.object(of: Short.Note.self, primary: "n")
    note.title = "Oats"
    try await magic.update(note)
    let old = try await MagicData(path: folder["db"])
    let same = try await old.object(of: Old.Note.self, primary: "n")
    #expect((same.title, same.stars, same.mood) == ("Oats", 5, "calm"))
  }

  @Test func declarationsThatContradictEachOtherAreErrors() async throws {
    enum Reused {
      struct Note: MagicObject {
        @MagicValue var mood: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.removed("mood")] }
      }
    }
    enum Twice {
      struct Note: MagicObject {
        @MagicValue var title: String
        @MagicValue var heading: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.renamed("title", to: \Note.$heading)] }
      }
    }
    enum Names {
      struct Note: MagicObject {
        @MagicValue var heading: String
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.renamed("title", to: \Note.$heading), .renamed("name", to: \Note.$heading)]
        }
      }
    }
    enum Same {
      struct Note: MagicObject {
        @MagicValue var day: Double
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.converted("day", from: Date.self, to: \Note.$day) { $0.timeIntervalSince1970 }]
        }
      }
    }
    enum Other {
      struct Note: MagicObject {
        @MagicValue var heading: String
        init() {}
        static func createMigrations() -> [MagicMigration] { [.renamed("title", to: \New.Note.$heading)] }
      }
    }
    enum Related {
      struct Album: MagicObject {
        @MagicValue var notes: [New.Note]
        init() {}
        static func createMigrations() -> [MagicMigration] { [.filled(\Album.$notes, with: [])] }
      }
    }
    func expect<Object: MagicObject>(_ type: Object.Type, _ words: String) async {
      do {
        try await magic.removeAll(of: type)
        Issue.record("\(String(reflecting: type)) was accepted")
      } catch {
        #expect((error as? MagicDataError)?.code == .model)
        #expect("\(error)".contains(words))
      }
    }
    await expect(Reused.Note.self, "the removed mood")
    await expect(Twice.Note.self, "title and heading are both stored as title")
    await expect(Names.Note.self, "first name")
    await expect(Same.Note.self, "cannot be told apart")
    await expect(Other.Note.self, "another type")
    await expect(Related.Album.self, "which are not filled in")
  }

  /// Two values that trade their names: each keeps its own.
  @Test func namesCanBeTraded() async throws {
    enum Traded {
      struct Note: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var mood: String
        @OptionMagicValue var title: String?
        init() {}
        static func createMigrations() -> [MagicMigration] {
          [.renamed("title", to: \Note.$mood), .renamed("mood", to: \Note.$title)]
        }
      }
    }
    let note = try await magic.object(of: Traded.Note.self, primary: "n")
    #expect((note.mood, note.title) == ("Milk", "calm"))
  }

  /// What cannot be converted is not said to be.
  @Test func anotherKindOfObjectsIsRefusedByName() async throws {
    struct Tag: MagicObject {
      @PrimaryMagicValue var id: String
      init() {}
    }
    enum First {
      struct Owner: MagicObject {
        @OptionMagicValue var one: Tag?
        init() {}
      }
    }
    enum Second {
      struct Owner: MagicObject {
        @OptionMagicValue var one: New.Note?
        init() {}
      }
    }
    let owner = First.Owner()
    owner.one = Tag()
    let first = try await MagicData(path: folder["owners"])
    try await first.update(owner)
    try await first.close()
    let second = try await MagicData(path: folder["owners"])
    await #expect {
      try await second.object(of: Second.Owner.self)
    } throws: { error in
      (error as? MagicDataError)?.code == .model && !"\(error)".contains("createMigrations()")
        && ["Owner.one", "of Tag", "of Note", "another name"].allSatisfy("\(error)".contains)
    }
  }

  /// The primary values stand in another column than the property that is to be one.
  @Test func anotherPropertyAsThePrimaryValueIsRefused() async throws {
    enum Taken {
      struct Note: MagicObject {
        @PrimaryMagicValue var title: String
        init() {}
      }
    }
    let before = try await magic.statistics().entries
    await #expect {
      try await magic.object(of: Taken.Note.self)
    } throws: { error in
      (error as? MagicDataError)?.code == .model && "\(error)".contains("Note.title") && "\(error)".contains("id")
    }
    #expect(try await magic.statistics().entries == before)
  }
}
