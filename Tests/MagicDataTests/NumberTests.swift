import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

private struct Invoice: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var text: String = ""
  @OptionMagicValue var corrects: Invoice?
  @MagicValue var related: MagicalSet<Invoice> = []

  init() {}

  init(_ text: String) {
    self.text = text
  }

  init(_ number: Int, _ text: String) {
    self.number = number
    self.text = text
  }
}

/// Numbers that the database gives (L-9, J-26 to J-28).
@Suite struct NumberTests {
  struct Stop: Error {}

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func place(_ name: String? = nil, _ magic: MagicData? = nil) async throws -> Int {
    let place = Place()
    place.name = name
    try await (magic ?? self.magic).update(place)
    return place.number
  }

  private func places(_ magic: MagicData? = nil) async throws -> [Int: String?] {
    let places = try await (magic ?? self.magic).object(of: Place.self)
    return Dictionary(uniqueKeysWithValues: places.map { ($0.number, $0.name) })
  }

  private func operations() async throws -> [[String]] {
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    return try await magic.store.read { db in
      var operations: [[String]] = []
      try JournalReader(db).forEachTransaction { transaction in
        operations.append(
          transaction.entries.map { entry in
            String("\(entry.operation)".prefix { $0 != "(" }) + (entry.operation.number.map { " \($0)" } ?? "")
          })
      }
      return operations
    }
  }

  @Test func numbersCountUp() async throws {
    let place = Place()
    place.name = "first"
    let zIndex = try await magic.update(place)
    #expect(place.number == 1)
    #expect(zIndex == 1)
    #expect(try await self.place("second") == 2)
    #expect(try await self.place() == 3)
    #expect(try await places() == [1: "first", 2: "second", 3: nil])
    #expect(try await operations() == [["claim 1"], ["claim 2"], ["claim 3"]])
  }

  @Test func aNumberIsAboveEveryOneThatWasSetByHand() async throws {
    let place = Place()
    place.number = 41
    try await magic.update(place)
    #expect(try await self.place() == 42)
    try await magic.remove(place)
    try await magic.update(contentsOf: [Place(60), Place(50)])
    #expect(try await self.place() == 61)
    try await magic.removeAll(of: Place.self)
    #expect(try await self.place() == 62)
    try await magic.update(Place(-7))
    #expect(try await self.place() == 63)
  }

  @Test func numbersBelowZeroBeginAtOne() async throws {
    try await magic.update(Place(-7))
    try await magic.update(Place(.min))
    #expect(try await self.place() == 1)
  }

  @Test func aNumberIsNeverGivenTwice() async throws {
    for number in 1...5 {
      let place = Place()
      try await magic.update(place)
      #expect(place.number == number)
      try await magic.remove(place)
    }
    try await magic.close()
    let again = try await MagicData(path: folder["db"])
    #expect(try await place(nil, again) == 6)
  }

  @Test func anUpdateKeepsTheNumber() async throws {
    let place = Place()
    try await magic.update(place)
    place.name = "one"
    try await magic.update(place)
    #expect(place.number == 1)
    let fetched = try await magic.object(of: Place.self, primary: 1)
    fetched.name = "another"
    try await magic.update(fetched)
    #expect(try await places() == [1: "another"])
    #expect(try await magic.has(of: Place.self, primary: 1))
    #expect(try await operations() == [["claim 1"], ["update"], ["update"]])
  }

  @Test func aNumberThatTheAppSetsMeansTheObjectThatHasIt() async throws {
    _ = try await place("given")
    let named = Place(1)
    named.name = "by number"
    try await magic.update(named)
    #expect(try await places() == [1: "by number"])
    named.name = "again"
    try await magic.update(named)
    try await magic.remove(Place(1))
    #expect(try await places() == [:])
    #expect(try await operations() == [["claim 1"], ["update"], ["update"], ["remove"]])
    // A removed object that is made again is the same one.
    try await magic.update(Place(1))
    #expect(try await places() == [1: nil])
    #expect(try await operations().last == ["revival"])
    #expect(try await self.place() == 2)
  }

  @Test func aRemovedInstanceComesBackWithItsNumber() async throws {
    let place = Place()
    place.name = "kept"
    try await magic.update(place)
    try await magic.remove(place)
    #expect(place.number == 1)
    try await magic.update(place)
    #expect(try await places() == [1: "kept"])
    #expect(try await self.place() == 2)
  }

  @Test func anInstanceWithAnotherNumberIsAnotherObject() async throws {
    let place = Place()
    place.name = "x"
    try await magic.update(place)
    place.number = 9
    try await magic.update(place)
    #expect(try await places() == [1: "x", 9: "x"])
    try await magic.remove(place)
    #expect(try await places() == [1: "x"])
    #expect(try await self.place() == 10)
  }

  @Test func theNumberOfAnotherDatabaseMeansNothingHere() async throws {
    let other = try await MagicData(path: folder["other"])
    let theirs = Place()
    theirs.name = "theirs"
    try await other.update(theirs)
    _ = try await place("ours")
    await #expect { try await magic.remove(theirs) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
    try await magic.update(theirs)
    #expect(theirs.number == 2)
    #expect(try await places() == [1: "ours", 2: "theirs"])
    #expect(try await places(other) == [1: "theirs"])
  }

  /// Whichever comes last, the number and the object that the instance is belong together.
  @MainActor @Test(arguments: 0..<20) func savesInTwoDatabasesAtOnceLeaveTheNumberOfOne(round: Int) async throws {
    let other = try await MagicData(path: folder["other"])
    for number in 0...(round % 3) { _ = try await place("\(number)") }
    let both = Place()
    both.name = "both"
    let saves = [magic, other].map { magic in Task { @MainActor in try await magic.update(both) } }
    for save in saves { _ = try await save.value }
    both.name = "changed"
    try await magic.update(both)
    let names = try await places()
    #expect(names.values.count { $0 == "changed" } == 1 && names.values.contains("0"))
    try await other.update(both)
    #expect(try await places(other).values.contains("changed"))
  }

  /// J-28: a number that the app sets means the object that has it, in a query no less than in an update.
  @Test func anObjectIsAskedForByItsNumber() async throws {
    struct Holder: MagicObject {
      @OptionMagicValue var place: Place?
      @MagicValue var places: MagicalSet<Place> = []
      init() {}
    }
    let holder = Holder()
    let place = Place()
    place.name = "x"
    (holder.place, holder.places) = (place, [place])
    try await magic.update(holder)
    #expect(place.number == 1)
    let named = Place()
    named.number = 1
    let query = magic.query(of: Holder.self)
    #expect(try await query.where { $0.place == named }.count() == 1)
    #expect(try await query.where { $0.place != named }.count() == 0)
    #expect(try await query.where { $0.places.contains(named) }.count() == 1)
    #expect(try await magic.query(of: Place.self).where { $0.isIn([named]) }.count() == 1)
  }

  @Test func whatIsRolledBackHasNoNumber() async throws {
    let (kept, undone) = (Place(), Place())
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(undone)
        #expect(undone.number == 1)
        throw Stop()
      }
    }
    try await magic.transaction { tx in
      try await tx.update(kept)
      try? await tx.transaction { tx in
        try await tx.update(undone)
        #expect(undone.number == 2)
        throw Stop()
      }
      let another = Place()
      try await tx.update(another)
      #expect(another.number == 2)
    }
    #expect(kept.number == 1)
    // Nobody has seen it, so it is given to whoever comes next.
    try await magic.update(undone)
    #expect(undone.number == 3)
    #expect(try await places().keys.sorted() == [1, 2, 3])
  }

  @Test func aNumberThatIsSetWhileItIsSavedStays() async throws {
    let place = Place()
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(place)
        place.number = 30
        throw Stop()
      }
    }
    #expect(place.number == 30)
    try await magic.update(place)
    #expect(try await places() == [30: nil])
  }

  @Test func aTransactionCountsWithWhatIsSetInIt() async throws {
    try await magic.transaction { tx in
      let (first, second, third) = (Place(), Place(), Place())
      try await tx.update(first)
      try await tx.update(Place(7))
      try await tx.update(second)
      try await tx.remove(second)
      try await tx.update(third)
      #expect([first, second, third].map(\.number) == [1, 8, 9])
    }
    #expect(try await operations() == [["claim 1", "update", "withdrawal 8", "claim 9"]])
    #expect(try await self.place() == 10)
  }

  @Test func madeRemovedAndMadeAgainIsOneClaim() async throws {
    try await magic.transaction { tx in
      let place = Place()
      place.name = "x"
      try await tx.update(place)
      try await tx.remove(place)
      try await tx.update(place)
      place.name = "y"
      try await tx.update(place)
    }
    #expect(try await places() == [1: "y"])
    #expect(try await operations() == [["claim 1"]])
  }

  @Test func manyAtOnceCountUp() async throws {
    let places = (0..<2_500).map { _ in Place() }
    try await magic.update(contentsOf: places)
    #expect(places.map(\.number) == Array(1...2_500))
    #expect(try await magic.object(of: Place.self, primary: 2_000).number == 2_000)
  }

  @Test func whenAllNumbersAreGivenASaveSaysSo() async throws {
    try await magic.update(Place(Int(Numbers.claimable.upperBound)))
    let place = Place()
    await #expect { try await magic.update(place) } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
    try await magic.remove(Place(Int(Numbers.claimable.upperBound)))
    await #expect { try await magic.update(place) } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
  }

  /// M-18: numbers in the range of hashes are as good as others, and not counted.
  @Test func numbersAboveTheClaimableDoNotCount() async throws {
    try await magic.update(Place(.max))
    try await magic.update(Place(1 << 61))
    #expect(try await self.place() == 1)
    #expect(try await places().keys.sorted() == [1, 1 << 61, .max])
  }

  @Test func relationsLeadToObjectsWithNumbers() async throws {
    let (first, second) = (Invoice("first"), Invoice("second"))
    second.corrects = first
    second.related = [first, second]
    try await magic.update(second)
    #expect(Set([first.number, second.number]) == [1, 2])
    let fetched = try await magic.object(of: Invoice.self, primary: second.number)
    #expect(fetched.corrects?.text == "first")
    #expect(fetched.corrects?.number == first.number)
    #expect(Set(fetched.related.map(\.number)) == [1, 2])
    fetched.related.remove(first)
    fetched.corrects = Invoice(9, "by hand")
    try await magic.update(fetched)
    let again = try await magic.object(of: Invoice.self, primary: second.number)
    #expect(again.related.map(\.number) == [second.number])
    #expect(again.corrects?.number == 9)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    let next = Invoice("next")
    try await magic.update(next)
    #expect(next.number == 10)
  }

  /// Two of one number in a graph are one object.
  @Test func aGraphMayNameAnObjectByItsNumber() async throws {
    try await magic.update(Invoice("first"))
    let second = Invoice("second")
    second.corrects = Invoice(1, "corrected")
    try await magic.update(second)
    #expect(try await magic.object(of: Invoice.self).map(\.text) == ["corrected", "second"])
  }

  @Test func queriesFindObjectsByTheirNumbers() async throws {
    try await magic.update(contentsOf: (1...5).map { Invoice("\($0)") })
    try await magic.update(Invoice(20, "set"))
    let query = magic.query(of: Invoice.self)
    #expect(try await query.where { $0.number > 3 }.all().map(\.text) == ["4", "5", "set"])
    #expect(try await query.sorted(by: \.number, .descending).first()?.text == "set")
    #expect(try await query.count() == 6)
    #expect(try await magic.count(of: Invoice.self) == 6)
    let second = try #require(try await query.where { $0.number == 2 }.first())
    second.text = "edited"
    try await magic.update(second)
    #expect(try await query.where { $0.number < 3 || $0.text == "set" }.remove() == 3)
    #expect(try await query.all().map(\.number) == [3, 4, 5])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    try await magic.update(Invoice("next"))
    #expect(try await query.where { $0.text == "next" }.first()?.number == 21)
  }

  @Test func changesTellTheNumber() async throws {
    var changes = try await magic.changes().makeAsyncIterator()
    let place = Place()
    let zIndex = try await magic.update(place)
    #expect(
      try await changes.next()?.objects == [
        .init(type: "Place", operation: .update, primary: .integer(1), zIndex: zIndex, fields: [])
      ])
    try await magic.transaction { tx in
      try await tx.remove(place)
      let gone = Place()
      try await tx.update(gone)
      try await tx.remove(gone)
    }
    let removes = try await changes.next()?.objects
    #expect(removes?.map(\.operation) == [.remove, .remove])
    #expect(removes?.map(\.primary) == [nil, nil])
  }

  @Test func anotherProcessCountsOn() async throws {
    let other = try await MagicData(path: folder["db"])
    #expect(try await place() == 1)
    #expect(try await place(nil, other) == 2)
    #expect(try await place() == 3)
  }

  @Test func aLookUpAndACountUseIndexes() async throws {
    _ = try await place()
    let plans = try await magic.store.read { db in
      try [
        "SELECT z_index FROM Place WHERE number = 1", "SELECT z_index FROM Place WHERE magic_birth = x'00'",
        "SELECT number FROM Place WHERE number < 9 ORDER BY number DESC LIMIT 1",
        "SELECT shown FROM magic_claim WHERE type = 1 AND shown < 9 ORDER BY shown DESC LIMIT 1",
        "SELECT object FROM magic_absent WHERE type = 1 AND object < 9 ORDER BY object DESC LIMIT 1",
      ].map {
        try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + $0).map { "\($0["detail"] as String)" }.joined(separator: "; ")
      }
    }
    for plan in plans { #expect(plan.hasPrefix("SEARCH") && !plan.contains("TEMP"), "\(plan)") }
  }
}

extension Place {
  fileprivate init(_ number: Int) {
    self.init()
    self.number = number
  }
}
