import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

private struct Member: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  init() {}
  init(_ id: String) {
    self.id = id
    self.name = id
  }
}

private struct Sheet: MagicObject {
  @MagicValue var text: String
  init() {}
  init(_ text: String) { self.text = text }
}

private struct Club: MagicObject {
  @PrimaryMagicValue var name: String
  @MagicValue var founded: Int = 0
  @OptionMagicValue var head: Member?
  @MagicValue var members: MagicalSet<Member> = []
  @MagicValue var sheets: [Sheet] = []
  @MagicValue var byRole: [String: Sheet] = [:]
  @OptionMagicValue var itself: Club?
  @MagicValue var clubs: MagicalSet<Club> = []
  init() {}
  init(_ name: String) { self.name = name }
}

/// What instances with relations write: what was changed in them since they were fetched, and nothing else (L-7).
@Suite struct RelationEditTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func club(_ name: String = "c") async throws -> Club {
    try await magic.object(of: Club.self, primary: name)
  }

  private func sheets() async throws -> [String] { try await club().sheets.map(\.text) }

  private func stored(_ sheet: String) async throws -> Sheet {
    try #require(try await magic.object(of: Sheet.self).first { $0.text == sheet })
  }

  private func transactions() async throws -> Int {
    try await magic.store.read { db in
      var count = 0
      try JournalReader(db).forEachTransaction { _ in count += 1 }
      return count
    }
  }

  /// J-17: what comes back may hold somebody who is unknown here, and gets a z index in the midst of a transaction that gives
  /// others.
  @Test func noNewObjectGetsTheZIndexOfOneThatIsUnknown() async throws {
    let club = Club("c")
    club.members = [Member("unknown")]
    try await magic.update(club)
    let held = try await self.club()
    try await magic.remove(club)
    // As if it had never come.
    try await magic.store.write { db in try db.execute(sql: "DELETE FROM Member") }
    try await magic.transaction { tx in
      try await tx.update(Member("a"))
      held.founded = 1_900
      try await tx.update(held)
      try await tx.update(Member("b"))
      let other = Club("other")
      other.members = [Member("c"), Member("d")]
      try await tx.update(other)
    }
    #expect(try await faultyPlaces(magic) == [])
    #expect(try await self.club().members.isEmpty)
    #expect(try await Set(self.club("other").members.map(\.id)) == ["c", "d"])
    // It takes the place that was kept for it.
    try await magic.update(Member("unknown"))
    #expect(try await self.club().members.map(\.id) == ["unknown"])
    #expect(try await faultyPlaces(magic) == [])
  }

  /// Whatever it holds was looked for, or saved, in the same transaction: new objects, known ones, those that were removed
  /// meanwhile, and those of a copy of the file, where other objects have their z indexes.
  @Test func aNewOwnerHoldsWhatItWasGiven() async throws {
    try await magic.update(contentsOf: [Member("known"), Member("gone")])
    try await magic.update(Sheet("known"))
    try await magic.close()
    try copyUnnoticed(folder["db"], to: folder["copy"])
    let (magic, copy) = (try await MagicData(path: folder["db"]), try await MagicData(path: folder["copy"]))
    for name in ["other", "another"] {
      try await copy.update(Member(name + " of the copy"))
      try await copy.update(Sheet(name + " of the copy"))
    }
    try await magic.update(Member("elsewhere"))
    try await magic.update(Sheet("elsewhere"))
    for place in [copy, magic] {
      let known = try await place.object(of: Member.self, primary: "known")
      let gone = try await place.object(of: Member.self, primary: "gone")
      let elsewhere = try await magic.object(of: Member.self, primary: "elsewhere")
      let sheet = try #require(try await place.object(of: Sheet.self).first { $0.text == "known" })
      let far = try #require(try await magic.object(of: Sheet.self).first { $0.text == "elsewhere" })
      try await place.remove(place.object(of: Member.self, primary: "gone"))
      let club = Club("c")
      let new = Sheet("new")
      club.head = elsewhere
      club.members = [known, gone, elsewhere, Member("new")]
      club.sheets = [new, far, sheet, new, far]
      club.byRole = ["a": far, "b": new, "c": far, "d": sheet]
      club.clubs = [Club("inner"), club]
      try await place.update(contentsOf: [club, Club("last")])
      let stored = try await place.object(of: Club.self, primary: "c")
      #expect(stored.head?.id == "elsewhere")
      #expect(Set(stored.members.map(\.id)) == ["known", "gone", "elsewhere", "new"])
      #expect(stored.sheets.map(\.text) == ["new", "elsewhere", "known", "new", "elsewhere"])
      #expect(stored.byRole.mapValues(\.text) == ["a": "elsewhere", "b": "new", "c": "elsewhere", "d": "known"])
      #expect(Set(stored.clubs.map(\.name)) == ["inner", "c"])
      #expect(try await Dump(place) == NaiveFold(journalOf: place).dump)
      #expect(try await faultyPlaces(place) == [])
    }
  }

  /// Two copies of the file of which nobody has noticed that they are two (L-11): what both hold has other z indexes in each,
  /// and instances go from one to the other.
  private func twins() async throws -> (original: MagicData, copy: MagicData) {
    try await magic.update(Club("c"))
    try await magic.close()
    try copyUnnoticed(folder["db"], to: folder["copy"])
    return (try await MagicData(path: folder["db"]), try await MagicData(path: folder["copy"]))
  }

  private func expectInOrder(_ magic: MagicData, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump, sourceLocation: sourceLocation)
    #expect(try await faultyPlaces(magic) == [], sourceLocation: sourceLocation)
  }

  /// L-7: `m` stands elsewhere in the copy, and where it stood is another object.
  @Test func whatIsSavedInACopyOfTheFileStaysInItsSet() async throws {
    let (original, copy) = try await twins()
    for name in ["other", "another", "m"] { try await copy.update(Member(name)) }
    let m = try await copy.object(of: Member.self, primary: "m")
    let other = try await copy.object(of: Member.self, primary: "other")
    let there = try await copy.object(of: Club.self, primary: "c")
    there.members = [m, other]
    try await copy.update(there)
    let here = try await original.object(of: Club.self, primary: "c")
    here.members = [Member("m")]
    try await original.update(here)

    let club = try await original.object(of: Club.self, primary: "c")
    let member = try #require(club.members.first)
    member.name = "edited"
    club.members.insert(Member("n"))
    try await copy.update(club)
    let stored = try await copy.object(of: Club.self, primary: "c")
    #expect(Set(stored.members.map(\.id)) == ["m", "other", "n"])
    #expect(stored.members.first(where: { $0.id == "m" })?.name == "edited")
    try await expectInOrder(copy)
  }

  /// What is made in the copy gets the z index that another object has in the original.
  @Test func whatIsMadeInACopyOfTheFileTakesThePlaceOfNobody() async throws {
    let (original, copy) = try await twins()
    let here = try await original.object(of: Club.self, primary: "c")
    let old = Member("old")
    here.head = old
    here.members = [old]
    here.sheets = [Sheet("old")]
    here.byRole = ["role": Sheet("former")]
    try await original.update(here)

    let club = try await original.object(of: Club.self, primary: "c")
    let new = Member("new")
    club.head = new
    club.members.insert(new)
    club.sheets = [Sheet("first")]
    club.byRole = ["role": Sheet("second")]
    try await copy.update(club)
    let stored = try await copy.object(of: Club.self, primary: "c")
    #expect(stored.head?.id == "new")
    #expect(stored.members.map(\.id) == ["new"])
    #expect(stored.sheets.map(\.text) == ["first"])
    #expect(stored.byRole.mapValues(\.text) == ["role": "second"])
    try await expectInOrder(copy)
  }

  /// L-7: what is hidden in the array of the object that has the z index in the copy is none of its own.
  @Test func whatIsSavedInACopyOfTheFileTakesNothingFromAnotherObject() async throws {
    let (original, copy) = try await twins()
    try await original.update(Club("d"))
    let other = Club("x")
    other.sheets = [Sheet("shown"), Sheet("gone")]
    try await copy.update(contentsOf: [other, Club("d")])
    let gone = try #require(try await copy.object(of: Sheet.self).first { $0.text == "gone" })
    try await copy.query(of: Sheet.self).where { $0.text == "gone" }.remove()

    let club = try await original.object(of: Club.self, primary: "d")
    club.sheets = [Sheet("own")]
    try await copy.update(club)
    gone.text = "back"
    try await copy.update(gone)
    #expect(try await copy.object(of: Club.self, primary: "d").sheets.map(\.text) == ["own"])
    #expect(try await copy.object(of: Club.self, primary: "x").sheets.map(\.text) == ["shown", "back"])
    try await expectInOrder(copy)
  }

  @Test func aStaleInstanceWithACycleTakesOutNothingThatOthersPutIn() async throws {
    let club = Club("c")
    club.clubs = [Club("a")]
    try await magic.update(club)
    let (stale, other) = (try await self.club(), try await self.club())
    other.clubs.insert(Club("b"))
    try await magic.update(other)
    stale.clubs.insert(stale)
    try await magic.update(stale)
    #expect(Set(try await self.club().clubs.map(\.name)) == ["a", "b", "c"])
  }

  @Test func anObjectThatIsSetToWhatItWasWritesNothing() async throws {
    let club = Club("c")
    club.head = Member("m")
    try await magic.update(club)
    let (stale, other) = (try await self.club(), try await self.club())
    let before = try await transactions()
    stale.head = stale.head
    stale.itself = nil
    try await magic.update(stale)
    #expect(try await transactions() == before)
    stale.head = stale.head
    stale.itself = nil
    other.head = Member("n")
    other.itself = other
    try await magic.update(other)
    stale.founded = 1
    try await magic.update(stale)
    #expect(try await self.club().head?.id == "n")
    #expect(try await self.club().itself?.name == "c")
    // An instance made anew is told apart from the row.
    let anew = Club("c")
    anew.head = try await magic.object(of: Member.self, primary: "n")
    anew.itself = anew
    let unchanged = try await transactions()
    try await magic.update(anew)
    #expect(try await transactions() == unchanged)
    anew.head = nil
    try await magic.update(anew)
    #expect(try await self.club().head == nil)
  }

  /// L-8: what is hidden can be given up all the same.
  @Test func anObjectThatIsGoneCanBeSetToNil() async throws {
    let club = Club("c")
    club.head = Member("m")
    try await magic.update(club)
    let stale = try await magic.object(of: Member.self, primary: "m")
    try await magic.remove(try await magic.object(of: Member.self, primary: "m"))
    let lacking = try await self.club()
    lacking.head = nil
    try await magic.update(lacking)
    stale.name = "back"
    try await magic.update(stale)
    #expect(try await self.club().head == nil)
  }

  // MARK: Hidden in an array

  private func make(_ sheets: [Sheet]) async throws {
    let club = Club("c")
    club.sheets = sheets
    try await magic.update(club)
  }

  private func bringBack(_ stale: Sheet) async throws {
    stale.text += "!"
    try await magic.update(stale)
  }

  @Test func aMemberThatIsRemovedMeanwhileStandsInAnArrayOnce() async throws {
    try await make([Sheet("1"), Sheet("2")])
    let (held, stale) = (try await club(), try await stored("1"))
    try await magic.remove(try await stored("1"))
    held.sheets.append(Sheet("3"))
    try await magic.update(held)
    #expect(try await sheets() == ["2", "3"])
    try await bringBack(stale)
    #expect(try await sheets() == ["1!", "2", "3"])
  }

  @Test func aMemberThatIsBackBeforeAnArrayIsWrittenStaysInIt() async throws {
    try await make([Sheet("1"), Sheet("2")])
    let stale = try await stored("1")
    try await magic.remove(try await stored("1"))
    let held = try await club()
    held.sheets.append(Sheet("3"))
    try await magic.update(held)
    try await bringBack(stale)
    held.sheets.append(Sheet("4"))
    try await magic.update(held)
    #expect(try await sheets() == ["1!", "2", "3", "4"])
  }

  @Test func hiddenMembersOfAnArrayKeepTheirPlaces() async throws {
    let (one, two, three) = (Sheet("1"), Sheet("2"), Sheet("3"))
    let hidden = Sheet("h")
    try await make([one, hidden, one, two, hidden, three])
    let stale = try await stored("h")
    try await magic.remove(try await stored("h"))
    let held = try await club()
    #expect(held.sheets.map(\.text) == ["1", "1", "2", "3"])
    held.sheets.remove(at: 2)
    held.sheets.append(Sheet("4"))
    try await magic.update(held)
    try await bringBack(stale)
    #expect(try await sheets() == ["1", "h!", "1", "h!", "3", "4"])
  }

  // MARK: Removed members

  @Test func aRemovedMemberIsNotMadeAgainByItsOwner() async throws {
    let club = Club("c")
    club.sheets = [Sheet("1"), Sheet("2")]
    club.members = [Member("m"), Member("n")]
    club.byRole = ["a": club.sheets[0]]
    try await magic.update(club)
    let held = try await self.club()
    try await magic.remove(held.sheets[0])
    try await magic.remove(held.members[0])
    held.founded = 1
    try await magic.update(held)
    #expect(try await magic.object(of: Sheet.self).map(\.text) == ["2"])
    #expect(try await magic.object(of: Member.self).count == 1)
    #expect(try await self.club().founded == 1)
  }

  /// J-9: what is set in it is wanted, whoever removed it.
  @Test func aRemovedMemberThatIsEditedInItsOwnerIsSavedAgain() async throws {
    let club = Club("c")
    club.members = [Member("m"), Member("n")]
    try await magic.update(club)
    let held = try await self.club()
    let member = try #require(held.members.first { $0.id == "m" })
    try await magic.remove(magic.object(of: Member.self, primary: "m"))
    member.name = "edited"
    try await magic.update(held)
    #expect(try await magic.object(of: Member.self, primary: "m").name == "edited")
    #expect(try await self.club().members.count == 2)
  }

  /// What another database knows by now is that one's, and its owner here was not changed in it.
  @Test func aMemberThatWasSavedElsewhereIsNotSavedAnewByItsOwner() async throws {
    let club = Club("c")
    club.sheets = [Sheet("1")]
    club.members = [Member("m")]
    try await magic.update(club)
    let other = try await MagicData(type: .memory)
    let held = try await self.club()
    try await other.update(held.sheets[0])
    for member in held.members { try await other.update(member) }
    let member = try await magic.object(of: Member.self, primary: "m")
    member.name = "newer"
    try await magic.update(member)
    held.founded = 1
    try await magic.update(held)
    #expect(try await magic.object(of: Sheet.self).count == 1)
    #expect(try await magic.object(of: Member.self, primary: "m").name == "newer")
    let after = try await self.club()
    #expect((after.founded, after.sheets.count, after.members.count) == (1, 1, 1))
  }

  @Test func aRemovedMemberCanBeTakenOut() async throws {
    let club = Club("c")
    club.members = [Member("m"), Member("n")]
    club.sheets = [Sheet("1"), Sheet("2")]
    try await magic.update(club)
    let (stale, staleSheet) = (try await magic.object(of: Member.self, primary: "m"), try await stored("1"))
    let held = try await self.club()
    let member = try #require(held.members.first { $0.id == "m" })
    try await magic.remove(member)
    try await magic.remove(held.sheets[0])
    held.members.remove(member)
    held.sheets.remove(at: 0)
    try await magic.update(held)
    stale.name = "back"
    try await magic.update(stale)
    try await bringBack(staleSheet)
    #expect(try await self.club().members.map(\.id) == ["n"])
    #expect(try await sheets() == ["2"])
  }

  @Test func aMemberThatWasSavedElsewhereCanBeTakenOut() async throws {
    let club = Club("c")
    club.byRole = ["a": Sheet("1"), "b": Sheet("2")]
    club.clubs = [Club("d")]
    try await magic.update(club)
    let other = try await MagicData(type: .memory)
    try await other.update(Sheet("0"))
    let held = try await self.club()
    for sheet in held.byRole.values { try await other.update(sheet) }
    for club in held.clubs { try await other.update(club) }
    held.byRole["b"] = nil
    held.clubs.removeAll()
    try await magic.update(held)
    #expect(try await self.club().byRole.mapValues(\.text) == ["a": "1"])
    #expect(try await self.club().clubs.isEmpty)
  }

  private struct Vague: MagicObject {
    @PrimaryMagicValue var name: String
    @MagicValue var count: Int = 0
    @OptionMagicValue var members: MagicalSet<Member>?
    @OptionMagicValue var sheets: [String: Sheet]?
    init() {}
    init(_ name: String) { self.name = name }
  }

  /// J-22: a set without elements is no value, and a journal that had one could not be read.
  @Test func whatHasNoObjectsIsNoValueInAnyEntry() async throws {
    try await magic.update(Vague("v"))
    let stale = try await magic.object(of: Vague.self, primary: "v")
    try await magic.remove(Vague("v"))
    stale.count = 1
    try await magic.update(stale)
    let other = try await MagicData(type: .memory)
    let fetched = try await magic.object(of: Vague.self, primary: "v")
    try await other.update(fetched)
    fetched.members = nil
    fetched.sheets = [:]
    fetched.name = "w"
    try await magic.update(fetched)
    for magic in [magic, other] { #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic)) }
  }

  // MARK: Transactions

  /// J-9: also before anything of this replica is in the journal.
  @Test func aRemoveOfTheOpenTransactionIsOnesOwn() async throws {
    try await magic.transaction { transaction in
      try await transaction.update(Member("m"))
      let seen = try await transaction.object(of: Member.self, primary: "m")
      try await transaction.remove(Member("m"))
      try await transaction.update(seen)
    }
    #expect(try await magic.object(of: Member.self).map(\.name) == ["m"])
  }

  /// J-2, J-9: what the transaction wrote before it removed the object is as good as what others wrote before it.
  @Test func whatWasWrittenBeforeARemoveOfTheSameTransactionComesBackWithTheObject() async throws {
    let new = Club("c")
    new.sheets = [Sheet("one")]
    new.members = [Member("old")]
    try await magic.update(new)
    let (first, second) = (try await club(), try await club())
    try await magic.transaction { [first, second] transaction in
      first.founded = 1
      first.members = [Member("m")]
      try await transaction.update(first)
      await #expect(throws: CancellationError.self) {
        try await transaction.transaction { inner in
          try await inner.remove(second)
          throw CancellationError()
        }
      }
      try await transaction.remove(try await transaction.object(of: Club.self, primary: "c"))
      first.sheets = [Sheet("two")]
      try await transaction.update(first)
    }
    let found = try await club()
    #expect(found.founded == 1)
    #expect(found.members.map(\.id) == ["m"])
    #expect(found.sheets.map(\.text) == ["two"])
    #expect(try await faultyPlaces(magic) == [])
  }

  /// M-4: of an object that the transaction itself made again nothing of before shines through.
  @Test(arguments: [false, true]) func whatWasMadeAgainIsWhole(isOneTransaction: Bool) async throws {
    let first = Club("c")
    (first.founded, first.head, first.members) = (1, Member("h"), [Member("one"), Member("two")])
    try await magic.update(first)
    let (stale, other) = (try await club(), try await club())
    stale.sheets = [Sheet("late")]
    if isOneTransaction {
      try await magic.transaction { [other, stale] transaction in
        try await transaction.remove(other)
        let second = Club("c")
        second.members = [Member("three")]
        try await transaction.update(second)
        try await transaction.remove(try await transaction.object(of: Club.self, primary: "c"))
        try await transaction.update(stale)
      }
    } else {
      try await magic.remove(other)
      let second = Club("c")
      second.members = [Member("three")]
      try await magic.update(second)
      try await magic.remove(try await club())
      try await magic.update(stale)
    }
    let found = try await club()
    #expect(found.founded == 0)
    #expect(found.head == nil)
    #expect(found.members.map(\.id) == ["three"])
    #expect(found.sheets.map(\.text) == ["late"])
    #expect(try await faultyPlaces(magic) == [])
  }

  /// V-7: else nobody could read it, and replication would stop.
  @Test func anArrayThatNoReaderTakesIsRefused() async throws {
    struct Crowd: MagicObject {
      @MagicValue var people: [Member] = []
      init() {}
    }
    let crowd = Crowd()
    let member = Member(String(repeating: "m", count: 100_000))
    crowd.people = Array(repeating: member, count: 340)
    await #expect { try await magic.update(crowd) } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
    crowd.people.removeLast(10)
    try await magic.update(crowd)
    #expect(try await magic.object(of: Crowd.self).map(\.people.count) == [330])
  }

  @Test func objectsThatManyShareAreSavedOnce() async throws {
    let (head, sheet) = (Member("m"), Sheet("1"))
    let clubs = (0..<1_500).map { number in
      let club = Club("c\(number)")
      club.head = head
      club.sheets = [sheet]
      return club
    }
    for number in 1..<1_500 { clubs[number].itself = clubs[number - 1] }
    try await magic.update(contentsOf: clubs)
    #expect(try await magic.object(of: Club.self).count == 1_500)
    #expect(try await magic.object(of: Sheet.self).count == 1)
    #expect(try await transactions() == 1)
    let last = try await magic.object(of: Club.self, primary: "c1499")
    #expect(last.itself?.itself?.name == "c1497")
    #expect(try await faultyPlaces(magic) == [])
  }

  /// H-35: of an object's members too.
  @MainActor @Test func aMemberThatIsPutInDuringASaveIsSavedNext() async throws {
    enum Shared {
      @MainActor static let club = Club("c")
    }
    let club = Shared.club
    club.sheets = [Sheet("1")]
    try await magic.update(club)
    club.members.insert(Member("a"))
    club.sheets.append(Sheet("2"))
    // Runs when the save gives up the main actor.
    let other = Task { @MainActor in
      Shared.club.members.insert(Member("b"))
      Shared.club.members.removeAll { $0.id == "a" }
      Shared.club.sheets.remove(at: 0)
      Shared.club.head = Member("h")
    }
    try await magic.update(club)
    await other.value
    try await magic.update(club)
    let fetched = try await self.club()
    #expect(fetched.members.map(\.id) == ["b"])
    #expect(fetched.sheets.map(\.text) == ["2"])
    #expect(fetched.head?.id == "h")
    let before = try await transactions()
    try await magic.update(club)
    #expect(try await transactions() == before)
  }

  @Test func aRollbackInTheMiddleLeavesWhatInstancesKnow() async throws {
    struct Stop: Error {}
    let club = Club("c")
    club.members = [Member("a")]
    club.sheets = [Sheet("1")]
    try await magic.update(club)
    let held = try await self.club()
    try? await magic.transaction { transaction in
      held.members.insert(Member("b"))
      try await transaction.update(held)
      try? await transaction.transaction { transaction in
        held.members.removeAll { $0.id == "a" }
        held.sheets.append(Sheet("2"))
        try await transaction.update(held)
        try await transaction.remove(held)
        try await transaction.update(held)
        throw Stop()
      }
      held.sheets.append(Sheet("3"))
      try await transaction.update(held)
      throw Stop()
    }
    // Others write in between, under z indexes that were given before.
    try await magic.update(Sheet("other"))
    try await magic.update(held)
    let fetched = try await self.club()
    #expect(fetched.members.map(\.id) == ["b"])
    #expect(fetched.sheets.map(\.text) == ["1", "2", "3"])
    #expect(try await magic.object(of: Sheet.self).map(\.text).sorted() == ["1", "2", "3", "other"])
    #expect(try await faultyPlaces(magic) == [])
  }

  // MARK: Changing in place

  @Test func aChangeThatThrowsLeavesTheProperty() async throws {
    struct Stop: Error {}
    let club = Club("c")
    club.sheets = [Sheet("1"), Sheet("2")]
    try await magic.update(club)
    #expect(throws: Stop.self) { try club.sheets.removeAll { _ in throw Stop() } }
    #expect(club.sheets.map(\.text) == ["1", "2"])
    func change(_ sheets: inout [Sheet]) throws {
      sheets.removeLast()
      throw Stop()
    }
    #expect(throws: Stop.self) { try change(&club.sheets) }
    try await magic.update(club)
    #expect(try await sheets() == ["1"])
  }

  /// Also where what was fetched has given way to something else, on a thread with a small stack.
  @Test func aChainThatWasTakenApartIsNoDeeperThanOne() async throws {
    var first: Club? = nil
    for number in 0..<10_000 {
      let club = Club("c\(number)")
      club.itself = first
      first = club
    }
    try await magic.update(#require(first))
    var rest = first
    while let club = rest {
      rest = club.itself
      club.itself = nil
    }
    // Held by nobody else once it is handed over.
    nonisolated(unsafe) var last = [try #require(first)]
    first = nil
    await withCheckedContinuation { continuation in
      let thread = Thread {
        last.removeAll()
        continuation.resume()
      }
      thread.stackSize = 1 << 18
      thread.start()
    }
  }
}
