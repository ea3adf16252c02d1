import Foundation
import MagicData
import TestSupport
import Testing

private struct Bill: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var text: String = ""
  @OptionMagicValue var corrects: Bill?

  init() {}

  init(_ text: String) {
    self.text = text
  }

  init(_ number: Int, _ text: String) {
    self.number = number
    self.text = text
  }
}

private final class Chore: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var isDone: Bool = false

  init() {}
}

private enum Plain {
  struct Note: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var text: String = ""
    init() {}
  }
}

/// The same, as a later version of the app has it.
private enum Typed {
  struct NoteID: RawRepresentable, MagicalPrimary, Equatable {
    var rawValue: Int
  }

  struct Note: MagicObject {
    @PrimaryMagicValue var id: NoteID
    @MagicValue var text: String = ""
    init() {}
  }
}

/// A plain value that is kept as a `Bill`.
private struct BillValue: MagicConvertible, Equatable {
  var number: Int?
  var text: String

  init(_ number: Int?, _ text: String) {
    (self.number, self.text) = (number, text)
  }

  init(_ model: Bill) {
    self.init(model.number, model.text)
  }

  func makeModel() -> Bill {
    let model = Bill(text)
    if let number { model.number = number }
    return model
  }
}

/// What instances know of the numbers that the database gives, through each face.
@Suite struct NumberInstanceTests {
  struct Stop: Error {}

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func bills() async throws -> [Int: String] {
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    return Dictionary(uniqueKeysWithValues: try await magic.object(of: Bill.self).map { ($0.number, $0.text) })
  }

  @Test func anInstanceKnowsItsZIndex() async throws {
    let bill = Bill("first")
    #expect(magic.zIndex(of: bill) == nil)
    let zIndex = try await magic.update(bill)
    #expect(magic.zIndex(of: bill) == zIndex)
    #expect(magic.zIndex(of: try await magic.object(of: Bill.self, primary: 1)) == zIndex)
    bill.number = 7
    #expect(magic.zIndex(of: bill) == nil)
  }

  /// J-27: a number that one database gave may be any object's in another, so there the instance is a new object.
  @Test func anInstanceBelongsToTheDatabaseThatItWasLastSavedIn() async throws {
    let other = try await MagicData(type: .memory)
    try await other.update(contentsOf: [Bill("theirs"), Bill("theirs, too")])
    let bill = Bill("mine")
    try await magic.update(bill)
    try await other.update(bill)
    #expect(bill.number == 3)
    #expect(magic.zIndex(of: bill) == nil && other.zIndex(of: bill) == 3)
    try await magic.update(bill)
    #expect(try await bills() == [1: "mine", 2: "mine"])
    #expect(other.zIndex(of: bill) == nil)
  }

  /// J-27, J-28: a primary value of the app's own type shows the number that its object has, or gets.
  @Test func aTypeOfTheAppsOwnShowsTheNumbersThatDatabasesGive() async throws {
    try await magic.update(Plain.Note())
    let later = try await MagicData(path: folder["db"])
    let note = try await later.object(of: Typed.Note.self, primary: Typed.NoteID(rawValue: 1))
    try await later.remove(note)
    note.text = "back"
    try await later.update(note)
    #expect(note.id.rawValue == 1)
    note.text = "edited"
    try await later.update(note)
    try await MagicData(path: folder["other"]).update(Plain.Note())
    let other = try await MagicData(path: folder["other"])
    await #expect(throws: Stop.self) {
      try await other.transaction { tx in
        try await tx.update(note)
        #expect(note.id.rawValue == 2)
        throw Stop()
      }
    }
    #expect(note.id.rawValue == 1)
    note.text = "edited again"
    try await later.update(note)
    #expect(try await later.object(of: Typed.Note.self).map(\.text) == ["edited again"])
    try await other.update(note)
    #expect(note.id.rawValue == 2)
    note.text = "theirs"
    try await other.update(note)
    let theirs = try await other.object(of: Typed.Note.self)
    #expect(theirs.map(\.id.rawValue) == [1, 2])
    #expect(theirs.map(\.text) == ["", "theirs"])
    #expect(try await Dump(later) == NaiveFold(journalOf: later).dump)
    #expect(try await Dump(other) == NaiveFold(journalOf: other).dump)
  }

  // MARK: What is rolled back

  @Test func aNumberThatWasTakenBackIsAnothersLater() async throws {
    let undone = Bill("undone")
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(undone)
        throw Stop()
      }
    }
    // To print it in the error's handler does not stop the program.
    #expect(undone.number == 1)
    try await magic.update(Bill("another"))
    await #expect { try await magic.remove(undone) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
    try await magic.update(undone)
    #expect(undone.number == 2)
    #expect(try await bills() == [1: "another", 2: "undone"])
  }

  @Test func whatWasFetchedOfAnObjectThatNeverWasIsNobody() async throws {
    var ghost: Bill?
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(Bill("undone"))
        ghost = try await tx.object(of: Bill.self, primary: 1)
        throw Stop()
      }
    }
    try await magic.update(Bill("another"))
    let bill = try #require(ghost)
    bill.text = "after all"
    try await magic.update(bill)
    #expect(try await bills() == [1: "another", 2: "after all"])
  }

  @Test func whatWasFetchedOfAnObjectThatStaysMeansIt() async throws {
    try await magic.update(Bill("before"))
    var fetched: [Bill] = []
    try await magic.transaction { tx in
      try await tx.update(Bill("within"))
      try? await tx.transaction { tx in
        fetched = try await tx.object(of: Bill.self)
        try await tx.update(Bill("undone"))
        fetched.append(try await tx.object(of: Bill.self, primary: 3))
        throw Stop()
      }
    }
    for bill in fetched { bill.text += ", edited" }
    try await magic.update(contentsOf: fetched)
    #expect(try await bills() == [1: "before, edited", 2: "within, edited", 3: "undone, edited"])
  }

  @Test func aRemovedInstanceIsItsObjectAgainAfterARollback() async throws {
    let bill = Bill("kept")
    try await magic.update(bill)
    try await magic.remove(bill)
    await #expect(throws: Stop.self) {
      try await magic.transaction { tx in
        try await tx.update(bill)
        throw Stop()
      }
    }
    #expect(try await bills() == [:])
    try await magic.update(bill)
    #expect(try await bills() == [1: "kept"])
    try await magic.remove(bill)
    try await magic.remove(bill)
    bill.number = 5
    try await magic.update(bill)
    #expect(try await bills() == [5: "kept"])
  }

  @Test func whatWasMadeAndRemovedAtOnceComesBackAsItself() async throws {
    let bill = Bill("kept")
    try await magic.transaction { tx in
      try await tx.update(bill)
      try await tx.remove(bill)
    }
    try await magic.update(Bill("another"))
    try await magic.update(bill)
    #expect(bill.number == 1)
    #expect(try await bills() == [1: "kept", 2: "another"])
  }

  // MARK: What is saved at once

  @Test func whatIsSetInOneCallIsGivenToNoneOfIt() async throws {
    let (first, second) = (Place(), Place())
    let (one, four) = (Place(), Place())
    (one.number, four.number) = (1, 4)
    try await magic.update(contentsOf: [first, one, second, four])
    #expect([first, one, second, four].map(\.number) == [5, 1, 6, 4])
    #expect(try await magic.count(of: Place.self) == 4)
  }

  /// The part is saved first; the number that is set in the whole is not its.
  @Test func whatIsSetInAGraphIsGivenToNoneOfIt() async throws {
    let bill = Bill(1, "set")
    bill.corrects = Bill("given")
    try await magic.update(bill)
    #expect(bill.corrects?.number == 2)
    #expect(try await bills() == [1: "set", 2: "given"])
    #expect(try await magic.object(of: Bill.self, primary: 1).corrects?.text == "given")
  }

  @Test func anInstanceAndItsCopyAreOneObject() async throws {
    let place = Place()
    let copy = place
    try await magic.update(contentsOf: [place, copy, place])
    #expect(copy.number == 1)
    let bill = Bill("shared")
    let (left, right) = (Bill("left"), Bill("right"))
    (left.corrects, right.corrects) = (bill, bill)
    try await magic.update(contentsOf: [bill, left, bill, right])
    #expect(try await bills() == [1: "shared", 2: "left", 3: "right"])
    let fetched = try await magic.object(of: Bill.self)
    fetched[1].corrects?.text = "seen by both"
    #expect(fetched[2].corrects?.text == "seen by both")
  }

  @Test func aFailedCallGivesNoNumbers() async throws {
    let (bill, other) = (Bill("fine"), Bill(Int.max >> 2, "the last number"))
    await #expect { try await magic.update(contentsOf: [bill, other]) } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
    #expect(try await bills() == [:])
    try await magic.update(bill)
    #expect(try await bills() == [1: "fine"])
  }

  @Test func modelsMayBeClasses() async throws {
    let chore = Chore()
    try await magic.update(chore)
    chore.isDone = true
    try await magic.update(chore)
    #expect(chore.number == 1)
    #expect(try await magic.object(of: Chore.self, primary: 1).isDone)
  }

  // MARK: Look-ups

  @Test func anUnknownNumberIsNotFound() async throws {
    for number in [1, 0, -1, .min, .max] {
      await #expect { try await magic.object(of: Bill.self, primary: number) } throws: {
        ($0 as? MagicDataError)?.code == .notFound
      }
    }
    let bill = Bill("gone")
    try await magic.update(bill)
    try await magic.remove(bill)
    for number in [2, 1, 0, -1, .min, .max] {
      await #expect { try await magic.object(of: Bill.self, primary: number) } throws: {
        ($0 as? MagicDataError)?.code == .notFound
      }
      #expect(try await !magic.has(of: Bill.self, primary: number))
    }
    await #expect { try await magic.remove(Bill(2, "never")) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
    await #expect { try await magic.remove(Bill("unset")) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
  }

  @Test func numbersSetByHandMayBeAny() async throws {
    for number in [-3, 0, .min, .max] { try await magic.update(Bill(number, "set")) }
    try await magic.update(Bill("given"))
    #expect(try await bills() == [-3: "set", 0: "set", .min: "set", .max: "set", 1: "given"])
    let below = magic.query(of: Bill.self).where { $0.number < 1 }.sorted(by: \.number)
    #expect(try await below.all().map(\.number) == [.min, -3, 0])
    #expect(try await below.remove() == 3)
    #expect(try await magic.query(of: Bill.self).sorted(by: \.number, .descending).all().map(\.number) == [.max, 1])
  }

  // MARK: Faces

  @Test func theBlockingFaceGivesNumbers() async throws {
    let magic = magic
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let bill = Bill("first")
            try magic.blocking.update(bill)
            #expect(bill.number == 1)
            let many = (0..<1_500).map { _ in Place() }
            try magic.blocking.update(contentsOf: many)
            #expect(many.map(\.number) == Array(1...1_500))
            let undone = Bill("undone")
            #expect(throws: Stop.self) {
              try magic.blocking.transaction { tx in
                try tx.update(Bill("undone too"))
                try tx.update(undone)
                #expect(undone.number == 3)
                throw Stop()
              }
            }
            try magic.blocking.update(Bill("second"))
            try magic.blocking.update(undone)
            #expect(undone.number == 3)
            #expect(try magic.blocking.object(of: Bill.self, primary: 2).text == "second")
            try magic.blocking.remove(bill)
          })
      }
    }
    #expect(try await bills() == [2: "second", 3: "undone"])
  }

  @Test func plainValuesMayBeWithoutNumbers() async throws {
    let values = magic.values(of: BillValue.self)
    try await values.save(BillValue(nil, "first"))
    try await values.save(contentsOf: [BillValue(nil, "second"), BillValue(9, "set"), BillValue(nil, "third")])
    #expect(
      try await values.fetchAll() == [
        BillValue(1, "first"), BillValue(10, "second"), BillValue(9, "set"), BillValue(11, "third"),
      ])
    var first = try #require(try await values.fetch(primary: 1))
    first.text = "edited"
    try await values.save(first)
    #expect(try await values.fetchFirst(where: { $0.number == 1 }) == first)
    try await values.delete(first)
    #expect(try await values.fetch(primary: 1) == nil)
    #expect(try await values.count() == 3)
    await #expect { try await values.delete(BillValue(nil, "second")) } throws: {
      ($0 as? MagicDataError)?.code == .notSaved
    }
  }

  @Test func nobodyGetsTheNumberOfAnother() async throws {
    // Two databases on one file are as two processes: nothing but the file is common to them.
    let databases = [magic, try await MagicData(path: folder["db"])]
    let numbers = try await withThrowingTaskGroup(of: [Int].self) { group in
      for task in 0..<6 {
        let magic = databases[task % 2]
        group.addTask {
          var numbers: [Int] = []
          for step in 0..<20 {
            let bill = Bill("\(task)")
            if step % 3 == 0 {
              try await magic.transaction { tx in try await tx.update(bill) }
            } else {
              try await magic.update(bill)
            }
            if step % 4 == 0 { try await magic.remove(bill) }
            numbers.append(bill.number)
          }
          return numbers
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(numbers.sorted() == Array(1...120))
    #expect(try await bills().count == 90)
  }
}
