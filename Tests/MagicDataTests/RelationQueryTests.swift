import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

@Suite struct RelationQueryTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func titles(_ query: MagicQuery<Work>) async throws -> [String] {
    let found = try await query.all().map(\.title)
    #expect(try await query.count() == found.count)
    #expect(try magic.blocking.all(query).map(\.title) == found)
    var streamed: [String] = []
    for try await work in query.stream() { streamed.append(work.title) }
    #expect(streamed == found)
    return found
  }

  /// W and A have cities, B has none; Sea has an editor, and Moon too, with a nick.
  private func shelf() async throws -> MagicQuery<Work> {
    let (w, a, b) = (Writer("W", age: 60), Writer("A", age: 20), Writer("B", age: 40))
    (w.home, a.home) = (City("Rome"), City("Oslo"))
    a.nick = "al"
    w.isLiving = true
    w.score = .nan
    let (x, y, z) = (Tag("x"), Tag("y", weight: 5), Tag("z", weight: 9))
    y.maker = w
    let works = [Work("Sand", w, pages: 500), Work("Sea", w, pages: 200), Work("Moon", a), Work("Sun", b), Work("Star", b)]
    works[1].editor = b
    works[2].editor = a
    works[0].tags = [x, y]
    works[1].tags = [y]
    works[2].order = [x, z, x]
    works[3].named = ["a": x, "b": z]
    works[4].later.set([z])
    works[3].agent = AsyncMagical(value: w)
    works[0].notes = [z]
    try await magic.update(contentsOf: works)
    works[0].sequel = works[1]
    works[1].sequel = works[2]
    try await magic.update(contentsOf: works)
    return magic.query(of: Work.self)
  }

  // MARK: One object

  @Test func aPropertyOfAnObjectIsAskedFor() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.author.name == "W" }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.$author.$name == "W" && $0.pages > 300 }) == ["Sand"])
    #expect(try await titles(query.where { $0.author.name.equals("w", options: .caseInsensitive) }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author.age > 30 && $0.author.age < 50 }) == ["Sun", "Star"])
    #expect(try await titles(query.where { $0.author.age > 50 || $0.author.name == "A" }) == ["Sand", "Sea", "Moon"])
    #expect(try await titles(query.where { $0.author.isLiving }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author.nick.hasPrefix("a") }) == ["Moon"])
    #expect(try await titles(query.where { ["A", "B"].contains($0.author.name) }) == ["Moon", "Sun", "Star"])
    #expect(try await titles(query.where { (20...40).contains($0.author.age) && $0.title.contains("o") }) == ["Moon"])
    #expect(try await titles(query.where { $0.editor.name == "B" }) == ["Sea"])
    #expect(try await titles(query.where { $0.agent.name == "W" }) == ["Sun"])
    #expect(try await titles(query.where { $0.$agent.name == "W" }) == ["Sun"])
    #expect(try await titles(query.where { $0.sequel.author.name == "W" }) == ["Sand"])
    #expect(try await titles(query.where { $0.sequel.sequel.title == "Moon" }) == ["Sand"])
    // Computed properties that hand a stored one on.
    #expect(try await titles(query.where { $0.authorName == "A" }) == ["Moon"])
    #expect(try await titles(query.where { $0.writer.name == "A" && $0.writer.home.name == "Oslo" }) == ["Moon"])
  }

  @Test func severalRelationsAreFollowed() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.author.home.name == "Rome" }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author.home == nil }) == ["Sun", "Star"])
    #expect(try await titles(query.where { $0.sequel.author.home.name != "Rome" }) == ["Sea", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.sequel.sequel.author.home.name == "Oslo" }) == ["Sand"])
  }

  /// As `work.editor?.nick` is nil in Swift.
  @Test func behindNoObjectIsNil() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.editor == nil }) == ["Sand", "Sun", "Star"])
    #expect(try await titles(query.where { $0.editor != nil }) == ["Sea", "Moon"])
    #expect(try await titles(query.where { $0.editor.name != "B" }) == ["Sand", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.editor != nil && $0.editor.name != "B" }) == ["Moon"])
    #expect(try await titles(query.where { !($0.editor.age > 30) }) == ["Sand", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.editor.nick == nil }) == ["Sand", "Sea", "Sun", "Star"])
    #expect(try await titles(query.where { $0.editor.nick != nil }) == ["Moon"])
    #expect(try await titles(query.where { $0.editor.nick < "b" }) == ["Moon"])
    #expect(try await titles(query.where { !($0.editor.nick < "b") }) == ["Sand", "Sea", "Sun", "Star"])
    #expect(try await titles(query.where { !(!($0.editor.nick < "b")) }) == ["Moon"])
    #expect(try await titles(query.where { $0.sequel.isIn([]) }) == [])
    #expect(try await titles(query.where { $0.sequel.tags.isEmpty }) == ["Sea"])
    #expect(try await titles(query.where { $0.sequel.tags.count == 0 }) == ["Sea"])
    #expect(try await titles(query.where { $0.sequel.tags.count < 5 }) == ["Sand", "Sea"])
  }

  @Test func twoPropertiesAreComparedOverRelations() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.author.age < $0.pages }).count == 5)
    #expect(try await titles(query.where { $0.author.name == $0.editor.name }) == ["Moon"])
    #expect(try await titles(query.where { $0.editor.name < $0.author.name }) == ["Sea"])
    // Two that are not there are equal, as nil is to nil.
    #expect(try await titles(query.where { $0.editor.age == $0.agent.age }) == ["Sand", "Star"])
    // NaN is not.
    #expect(try await titles(query.where { $0.author.score == $0.author.score }) == ["Moon", "Sun", "Star"])
  }

  @Test func anObjectIsAskedFor() async throws {
    let query = try await shelf()
    let writers = try await magic.object(of: Writer.self)
    let w = try #require(writers.first { $0.name == "W" })
    let rome = try #require(try await magic.query(of: City.self).where { $0.name == "Rome" }.first())
    #expect(try await titles(query.where { $0.author == w }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author != w }) == ["Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.author == w && $0.pages > 300 }) == ["Sand"])
    #expect(try await titles(query.where { $0.author == Writer("A") }) == ["Moon"])
    #expect(try await titles(query.where { $0.author == Writer("nobody") }) == [])
    #expect(try await titles(query.where { $0.author.home == rome }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author.home != City("never saved") }).count == 5)
    #expect(try await titles(query.where { $0.author.isIn([w, Writer("A")]) }) == ["Sand", "Sea", "Moon"])
    #expect(try await titles(query.where { writers.contains($0.editor) }) == ["Sea", "Moon"])
    #expect(try await titles(query.where { $0.sequel == Work("Moon", w) }) == ["Sea"])
    #expect(try await magic.query(of: City.self).where { $0 == rome }.count() == 1)
    #expect(try await magic.query(of: City.self).where { $0 != rome }.all().map(\.name) == ["Oslo"])
    let nobody: Writer? = nil
    #expect(try await titles(query.where { $0.editor == nobody }) == ["Sand", "Sun", "Star"])
    #expect(try await query.where { $0.author == w }.remove() == 2)
    #expect(try await titles(query) == ["Moon", "Sun", "Star"])
  }

  /// J-27: a number that one database gave may be any object's in another.
  @Test func anObjectWithAnAutomaticNumberIsItselfAlone() async throws {
    struct Item: MagicObject {
      @PrimaryMagicValue var number: Int
      @MagicValue var name: String
      @OptionMagicValue var part: Item?
      init() {}
      init(_ name: String) { self.name = name }
    }
    let other = try await MagicData(path: folder["other"])
    let (mine, theirs, whole) = (Item("mine"), Item("theirs"), Item("whole"))
    whole.part = mine
    try await magic.update(whole)
    try await other.update(theirs)
    let query = magic.query(of: Item.self)
    #expect(try await query.where { $0.part == mine }.all().map(\.name) == ["whole"])
    #expect(try await query.where { $0 == mine }.all().map(\.name) == ["mine"])
    #expect(theirs.number == mine.number)
    #expect(try await query.where { $0.part == theirs }.count() == 0)
    #expect(try await query.where { $0.part == Item("unsaved") }.count() == 0)
    let number = mine.number
    #expect(try await query.where { $0.part.number == number }.count() == 1)
    try await magic.remove(mine)
    #expect(try await query.where { $0.part == mine }.count() == 0)
    #expect(try await query.where { $0.part == nil }.all().map(\.name) == ["whole"])
  }

  // MARK: Several objects

  @Test func membersAreAskedFor() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.tags.contains { $0.name == "y" } }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.$tags.contains { $0.weight > 1 } }) == ["Sand", "Sea"])
    // One member of both kinds, or one of each.
    #expect(try await titles(query.where { $0.tags.contains { $0.name == "x" && $0.weight == 5 } }) == [])
    #expect(
      try await titles(query.where { $0.tags.contains { $0.name == "x" } && $0.tags.contains { $0.weight == 5 } }) == ["Sand"])
    #expect(try await titles(query.where { !$0.tags.contains { $0.name == "x" } }) == ["Sea", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.tags.contains { $0.name != "x" } }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.order.contains { $0.name == "z" } }) == ["Moon"])
    #expect(try await titles(query.where { $0.named.contains { $0.name == "z" } }) == ["Sun"])
    #expect(try await titles(query.where { $0.later.contains { $0.name == "z" } }) == ["Star"])
    #expect(try await titles(query.where { $0.notes.contains { $0.name == "z" } }) == ["Sand"])
    #expect(try await titles(query.where { $0.allTags.contains { $0.name == "z" } }) == ["Moon"])
    #expect(try await titles(query.where { $0.tags.contains { $0.maker.home.name == "Rome" } }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.sequel.tags.contains { $0.name == "y" } }) == ["Sand"])
    #expect(try await titles(query.where { $0.tags.contains { $0.name == "x" } || $0.pages == 200 }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.tags.allSatisfy { $0.weight == 5 } }) == ["Sea", "Moon", "Sun", "Star"])
  }

  @Test func membersAreCounted() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.tags.isEmpty }) == ["Moon", "Sun", "Star"])
    #expect(try await titles(query.where { !$0.tags.isEmpty }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.tags.count == 2 }) == ["Sand"])
    #expect(try await titles(query.where { $0.tags.count != 2 && $0.order.count == 0 }) == ["Sea", "Sun", "Star"])
    #expect(try await titles(query.where { $0.order.count >= 3 }) == ["Moon"])
    #expect(try await titles(query.where { $0.named.count > 1 || $0.later.count == 1 }) == ["Sun", "Star"])
    #expect(try await titles(query.where { $0.notes.isEmpty }).count == 4)
    let x = try #require(try await magic.query(of: Tag.self).where { $0.name == "x" }.first())
    #expect(try await titles(query.where { $0.tags.contains(x) }) == ["Sand"])
    #expect(try await titles(query.where { $0.order.contains(x) || $0.named.contains(x) }) == ["Moon", "Sun"])
    #expect(try await titles(query.where { $0.tags.contains(Tag("x")) }) == [])
  }

  /// A query learns which property it means from one that holds examples, and not every key has one.
  @Test func aDictionaryIsAskedForWhateverItsKeysAre() async throws {
    let (full, oslo) = (Deck("full"), City("Oslo"))
    full.byID = [UUID(): oslo]
    full.byFlag = [true: oslo]
    full.byData = [Data([1]): oslo]
    full.byList = [[1, 2]: oslo]
    full.bySet = [["a"]: oslo]
    full.bySuit = [.spades: oslo]
    full.byRank = [.ace: oslo]
    full.byMove = [.by(3, isFast: true): oslo]
    full.bySpot = [Spot(x: 1, id: UUID(), suit: .hearts): oslo]
    full.byCode = [Code("code"): oslo]
    full.perhaps = [UUID(): oslo]
    full.later.set([UUID(): oslo])
    full.laterPerhaps = AsyncMagical(value: [.stay: oslo])
    try await magic.update(contentsOf: [full, Deck("none")])
    let query = magic.query(of: Deck.self)
    let asked: [MagicQuery<Deck>] = [
      query.where { $0.byID.count == 1 }, query.where { $0.byFlag.count > 0 }, query.where { $0.byData.count == 1 },
      query.where { $0.byList.count == 1 }, query.where { $0.bySet.count == 1 }, query.where { $0.bySuit.count == 1 },
      query.where { $0.byRank.count == 1 }, query.where { $0.byMove.count == 1 }, query.where { $0.bySpot.count == 1 },
      query.where { $0.byCode.count == 1 }, query.where { $0.perhaps.count == 1 }, query.where { $0.later.count == 1 },
      query.where { $0.laterPerhaps.count == 1 }, query.where { !$0.byID.isEmpty && !$0.byCode.isEmpty },
      query.where { $0.byID.contains(oslo) && $0.bySpot.contains(oslo) },
      query.where { $0.byMove.contains { $0.name == "Oslo" } && $0.later.contains { $0.name == "Oslo" } },
      query.where { $0.handedOn.count == 1 && $0.codesHandedOn.count == 1 },
    ]
    for (number, query) in asked.enumerated() { #expect(try await query.all().map(\.id) == ["full"], "\(number)") }
    let refused: [(MagicQuery<Deck>, String)] = [
      (query.where { $0.ofTrue.isEmpty }, "byFlag"), (query.where { $0.near.isEmpty }, "bySpot"),
      (query.where { $0.oneSpot.isEmpty }, "bySpot"), (query.where { $0.longCodes.isEmpty }, "byCode"),
      (query.where { $0.listOrOne.isEmpty }, "list"), (query.where { $0.firstByID.name == "Oslo" }, "byID"),
    ]
    for (number, (query, name)) in refused.enumerated() {
      await #expect("\(number)") { try await query.count() } throws: { error in
        (error as? MagicDataError)?.code == .query && "\(error)".contains("worked out from \(name)")
      }
    }
  }

  // MARK: What is not there

  /// L-8: the link stays, the object is not shown.
  @Test func aRemovedObjectIsAsNone() async throws {
    let query = try await shelf()
    try await magic.remove(Writer("W"))
    #expect(try await titles(query).count == 5)
    #expect(try await titles(query.where { $0.author.name == "W" }) == [])
    #expect(try await titles(query.where { $0.author.name != "W" }).count == 5)
    #expect(try await titles(query.where { !($0.author.name == "W") && $0.author != nil }) == ["Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.author == nil }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author == Writer("W") }) == [])
    #expect(try await titles(query.where { $0.author.age == 60 || $0.author.age == 20 }) == ["Moon"])
    #expect(try await titles(query.sorted(by: \.author.name)) == ["Sand", "Sea", "Moon", "Sun", "Star"])
    try await magic.query(of: Tag.self).where { $0.name == "y" }.remove()
    #expect(try await titles(query.where { $0.tags.isEmpty }) == ["Sea", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.tags.count == 1 }) == ["Sand"])
    #expect(try await titles(query.where { $0.tags.contains { $0.weight > 0 } }) == ["Sand"])
    // It is back in its relations.
    try await magic.update(Writer("W", age: 61))
    #expect(try await titles(query.where { $0.author.age == 61 }) == ["Sand", "Sea"])
  }

  /// M-6: an object that has not arrived as a whole.
  @Test func anIncompleteObjectIsAsNone() async throws {
    let query = try await shelf()
    try await magic.store.write { db in
      try db.execute(sql: "UPDATE Tag SET name = NULL WHERE weight = 9; UPDATE City SET name = NULL WHERE name = 'Rome'")
    }
    #expect(try await titles(query.where { $0.author.home.size == 0 }) == ["Moon"])
    #expect(try await titles(query.where { $0.author.home == nil }) == ["Sand", "Sea", "Sun", "Star"])
    #expect(try await titles(query.where { $0.order.count == 2 }) == ["Moon"])
    #expect(try await titles(query.where { $0.notes.isEmpty }).count == 5)
    #expect(try await titles(query.where { $0.named.contains { $0.weight == 9 } }) == [])
  }

  /// NULL where a default stands, behind a relation.
  @Test func aDefaultStandsForWhatIsNotStored() async throws {
    let query = try await shelf()
    try await magic.store.write { db in try db.execute(sql: "UPDATE Writer SET age = NULL, score = NULL WHERE name = 'W'") }
    #expect(try await titles(query.where { $0.author.age == 30 }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { $0.author.score == 0 }).count == 5)
    #expect(try await titles(query.sorted(by: \.author.age)) == ["Moon", "Sand", "Sea", "Sun", "Star"])
  }

  @Test func aTypeThatWasNeverStoredHasNoObjects() async throws {
    struct Leaf: MagicObject {
      @MagicValue var name: String
      init() {}
    }
    struct Branch: MagicObject {
      @MagicValue var length: Int = 1
      @OptionMagicValue var leaf: Leaf?
      @MagicValue var leaves: MagicalSet<Leaf> = []
      init() {}
    }
    #expect(try await magic.query(of: Branch.self).where { $0.leaf.name == "x" }.all().isEmpty)
    try await magic.update(Branch())
    let again = try await MagicData(path: folder["db"])
    let query = again.query(of: Branch.self)
    #expect(try await query.where { $0.leaf.name == "x" }.count() == 0)
    #expect(try await query.where { $0.leaf.name != "x" }.count() == 1)
    #expect(try await query.where { $0.leaf == nil && $0.leaves.isEmpty && $0.leaves.count == 0 }.count() == 1)
    #expect(try await query.where { $0.leaves.contains { $0.name == "x" } }.count() == 0)
    #expect(try await query.sorted(by: \.leaf?.name).all().count == 1)
  }

  /// A property that another version stored before the reference was added.
  @Test func whatAMigrationFillsInIsSeenBehindARelation() async throws {
    enum Old {
      struct Owner: MagicObject {
        @PrimaryMagicValue var id: Int
        init() {}
      }
    }
    struct Owner: MagicObject {
      @PrimaryMagicValue var id: Int
      @MagicValue var kind: String
      init() {}
      static func createMigrations() -> [MagicMigration] { [.filled(\Owner.$kind, with: "old")] }
    }
    struct Thing: MagicObject {
      @PrimaryMagicValue var id: Int
      @OptionMagicValue var owner: Owner?
      init() {}
    }
    let old = Old.Owner()
    old.id = 7
    try await magic.update(old)
    try await magic.close()
    let newer = try await MagicData(path: folder["db"])
    let (thing, other) = (Thing(), Thing())
    (thing.id, other.id) = (1, 2)
    thing.owner = try await newer.object(of: Owner.self, primary: 7)
    try await newer.update(contentsOf: [thing, other])
    #expect(try await newer.query(of: Thing.self).where { $0.owner.kind == "old" }.all().map(\.id) == [1])
    #expect(try await newer.query(of: Thing.self).where { $0.owner.kind != "old" }.all().map(\.id) == [2])
  }

  // MARK: Order

  @Test func objectsAreSortedByThoseThatTheyHold() async throws {
    let query = try await shelf()
    #expect(try await titles(query.sorted(by: \.author.name)) == ["Moon", "Sun", "Star", "Sand", "Sea"])
    #expect(try await titles(query.sorted(by: \.author.$age, .descending)) == ["Sand", "Sea", "Sun", "Star", "Moon"])
    #expect(try await titles(query.sorted(by: \.authorName).then(by: \.pages)) == ["Moon", "Sun", "Star", "Sea", "Sand"])
    #expect(try await titles(query.sorted(by: \.editor?.name)) == ["Sand", "Sun", "Star", "Moon", "Sea"])
    #expect(try await titles(query.sorted(by: \.author.home?.name).limit(3)) == ["Sun", "Star", "Moon"])
    // NaN last.
    #expect(try await titles(query.sorted(by: \.author.score)) == ["Moon", "Sun", "Star", "Sand", "Sea"])
  }

  // MARK: In a transaction

  @Test func aTransactionSeesItsOwnRelations() async throws {
    let magic = magic
    _ = try await shelf()
    try await magic.transaction { tx in
      try await tx.update(Work("New", Writer("N")))
      #expect(try await tx.query(of: Work.self).where { $0.author.name == "N" }.all().map(\.title) == ["New"])
      #expect(try await magic.query(of: Work.self).where { $0.author.name == "N" }.count() == 0)
      #expect(try await tx.query(of: Work.self).where { $0.tags.contains { $0.name == "y" } }.remove() == 2)
    }
    #expect(try await magic.query(of: Work.self).where { $0.author == Writer("N") }.count() == 1)
  }

  // MARK: Refused

  @Test func whatTheDatabaseCannotTellIsRefused() async throws {
    let query = try await shelf()
    let refused: [(MagicQuery<Work>, String)] = [
      (query.where { $0.shout == "W" }, "worked out from author"),
      (query.where { $0.tagCount == 2 }, "worked out from tags"),
      (query.where { $0.firstTag.name == "x" }, "worked out from order"),
      (query.where { $0.someTags.contains { $0.name == "x" } }, "worked out from order"),
      (query.where { work in work.tags.contains { $0.name == "x" && work.title == "Sand" } }, "within the braces"),
      (query.where { work in work.tags.contains { _ in work.author.name == "W" } }, "within the braces"),
      (query.where { work in work.tags.contains { $0.name == work.title } }, "within the braces"),
      (query.sorted(by: \.author), "leads to objects"),
      (query.sorted(by: \.tags), "leads to objects"),
      (query.sorted(by: \.tags.count), "worked out from tags"),
      (query.sorted(by: \.author.name.count), "worked out from author"),
    ]
    for (number, (query, reason)) in refused.enumerated() {
      await #expect("\(number)") { try await _ = query.all() } throws: { error in
        (error as? MagicDataError)?.code == .query && "\(error)".contains(reason)
      }
    }
  }
}

private enum Suit: String, Codable { case hearts, spades }
private enum Rank: Int, Codable, Magical {
  case ace = 100
  case two
}
private enum Move: Codable, Hashable {
  case by(Int, isFast: Bool)
  case stay
}
private struct Spot: Codable, Hashable {
  var x: Int
  var id: UUID
  var suit: Suit
}

/// Takes no example.
private struct Code: Codable, Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
    guard text.utf8.count == 4 else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "a code has four letters"))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// Objects by keys of all kinds.
private struct Deck: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var byID: [UUID: City] = [:]
  @MagicValue var byFlag: [Bool: City] = [:]
  @MagicValue var byData: [Data: City] = [:]
  @MagicValue var byList: [[Int]: City] = [:]
  @MagicValue var bySet: [Set<String>: City] = [:]
  @MagicValue var bySuit: [Suit: City] = [:]
  @MagicValue var byRank: [Rank: City] = [:]
  @MagicValue var byMove: [Move: City] = [:]
  @MagicValue var bySpot: [Spot: City] = [:]
  @MagicValue var byCode: [Code: City] = [:]
  @OptionMagicValue var perhaps: [UUID?: City]?
  @MagicValue var later: AsyncMagical<[UUID: City]> = AsyncMagical(value: [:])
  @OptionMagicValue var laterPerhaps: AsyncMagical<[Move: City]>?
  @MagicValue var list: [City] = []

  init() {}
  init(_ id: String) { self.id = id }

  var handedOn: [UUID: City] { byID }
  var codesHandedOn: [Code: City] { byCode }
  var ofTrue: [Bool: City] { byFlag.filter(\.key) }
  var near: [Spot: City] { bySpot.filter { $0.key.x < 5 } }
  var oneSpot: [Spot: City] { Dictionary(uniqueKeysWithValues: bySpot.prefix(1).map { ($0.key, $0.value) }) }
  var longCodes: [Code: City] { byCode.filter { $0.key.text.utf8.count > 3 } }
  var listOrOne: [City] { list.isEmpty ? [City("none")] : list }
  var firstByID: City { byID.values.first! }
}
