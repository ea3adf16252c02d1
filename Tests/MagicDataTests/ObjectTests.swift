import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct ObjectTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func transactions() async throws -> UInt64 {
    try await magic.store.read { db in
      let frontier = try JournalReader(db).frontier()
      return frontier[try DatabaseState(db).replica]
    }
  }

  private func cat(_ name: String = "Tom") async throws -> Cat {
    try await magic.object(of: Cat.self, primary: name)
  }

  @Test func copiesShareTheirValuesAndFetchedInstancesDoNot() async throws {
    let cat = Cat("Tom", 4)
    let copy = cat
    copy.weight = 5
    #expect(cat.weight == 5)
    try await magic.update(cat)
    let fetched = try await self.cat()
    fetched.weight = 6
    #expect(cat.weight == 5)
  }

  @Test func anUpdateReturnsTheZIndexAndKeepsIt() async throws {
    let cat = Cat("Tom", 4)
    #expect(try await magic.update(cat) == 1)
    #expect(try await magic.update(Cat("Kit", 1)) == 2)
    cat.weight = 5
    #expect(try await magic.update(cat) == 1)
    try await magic.remove(cat)
    #expect(try await magic.update(Cat("New", 1)) == 3)
    // The same object, made again.
    #expect(try await magic.update(Cat("Tom", 1)) == 1)
  }

  @Test func aPrimaryValueHasItsDefault() async throws {
    let (one, other) = (Everything(), Everything())
    #expect(UUID(uuidString: one.id) != nil)
    #expect(one.id == one.id)
    #expect(one.id != other.id)
    let place = Place()
    try await magic.update(place)
    #expect(place.number == 1)
  }

  @Test func anUnsetRequiredValueIsAnErrorAndStoresNothing() async throws {
    let cat = Cat()
    cat.name = "Tom"
    await #expect { try await magic.update(cat) } throws: { error in
      (error as? MagicDataError)?.code == .unsetValue && "\(error)".contains("Cat.weight")
    }
    #expect(try await magic.object(of: Cat.self).isEmpty)
    #expect(try await transactions() == 0)
  }

  @Test func defaultsAreStoredAndOptionsAreNil() async throws {
    try await magic.update(Cat("Tom", 4))
    #expect(try await cat().lives == 9)
    #expect(try await cat().owner == nil)
    let tom = try await cat()
    tom.owner = "Jon"
    try await magic.update(tom)
    #expect(try await cat().owner == "Jon")
    tom.owner = nil
    try await magic.update(tom)
    #expect(try await cat().owner == nil)
  }

  /// J-10.
  @Test func anUpdateThatChangesNothingIsNotJournaled() async throws {
    let object = try Everything.filled()
    try await magic.update(object)
    #expect(try await transactions() == 1)
    try await magic.update(object)
    try await magic.update(try await magic.object(of: Everything.self, primary: object.id))
    let same = try await magic.object(of: Everything.self, primary: object.id)
    same.set = Set([2, 3, 1])
    same.job = object.job
    same.double = -0.0
    same.text = same.text
    try await magic.update(same)
    #expect(try await transactions() == 1)
    same.double = 0
    try await magic.update(same)
    #expect(try await transactions() == 2)
  }

  /// J-8: what another instance wrote meanwhile stays.
  @Test func onlyWhatWasSetIsWritten() async throws {
    try await magic.update(Cat("Tom", 4))
    let (first, second) = (try await cat(), try await cat())
    first.weight = 5
    second.lives = 8
    try await magic.update(first)
    try await magic.update(second)
    #expect(try await cat().weight == 5)
    #expect(try await cat().lives == 8)
    // Set back to what was fetched is no change, whatever the row holds.
    second.weight = 4
    try await magic.update(second)
    #expect(try await cat().weight == 5)
  }

  @Test func anInstanceMadeAnewUpdatesByPrimaryValue() async throws {
    try await magic.update(Cat("Tom", 4))
    let tom = try await cat()
    tom.owner = "Jon"
    try await magic.update(tom)
    let anew = Cat("Tom", 5)
    try await magic.update(anew)
    #expect(try await magic.object(of: Cat.self).count == 1)
    #expect(try await cat().weight == 5)
    // It never set an owner.
    #expect(try await cat().owner == "Jon")
    anew.owner = nil
    try await magic.update(anew)
    #expect(try await cat().owner == nil)
  }

  /// J-13: a primary value cannot change.
  @Test func anotherPrimaryValueIsAnotherObject() async throws {
    try await magic.update(Cat("Tom", 4))
    let tom = try await cat()
    tom.name = "Kit"
    try await magic.update(tom)
    #expect(try await cat("Kit").weight == 4)
    #expect(try await cat("Tom").weight == 4)
  }

  /// H-35: what is set while a save is on its way is not taken for saved.
  @MainActor @Test func aValueSetDuringASaveIsSavedNext() async throws {
    enum Shared {
      @MainActor static let tom = Cat("Tom", 4)
    }
    try await magic.update(Shared.tom)
    Shared.tom.weight = 5
    // Runs when the save gives up the main actor.
    let other = Task { @MainActor in Shared.tom.weight = 6 }
    try await magic.update(Shared.tom)
    await other.value
    try await magic.update(Shared.tom)
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 6)
  }

  @Test func aRemovedObjectIsGoneAndCanBeSavedAgain() async throws {
    let tom = Cat("Tom", 4)
    try await magic.update(tom)
    try await magic.remove(tom)
    #expect(try await !magic.has(of: Cat.self, primary: "Tom"))
    await #expect { try await cat() } throws: { ($0 as? MagicDataError)?.code == .notFound }
    // Gone is gone; that is no error.
    try await magic.remove(tom)
    try await magic.update(tom)
    #expect(try await cat().weight == 4)
  }

  @Test func removingWhatWasNeverSavedIsAnError() async throws {
    await #expect { try await magic.remove(Cat("Tom", 4)) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
    await #expect { try await magic.remove(Session()) } throws: { ($0 as? MagicDataError)?.code == .notSaved }
  }

  @Test func afterRemoveAllAnInstanceCanBeSavedAgain() async throws {
    let tom = Cat("Tom", 4)
    try await magic.update(tom)
    try await magic.update(Cat("Kit", 1))
    try await magic.removeAll(of: Cat.self)
    #expect(try await magic.object(of: Cat.self).isEmpty)
    #expect(try await transactions() == 3)
    try await magic.update(tom)
    #expect(try await cat().weight == 4)
  }

  @Test func classesAreModelsToo() async throws {
    let session = Session()
    session.title = "first"
    session.isOpen = false
    try await magic.update(session)
    session.rating = 3
    try await magic.update(session)
    let fetched = try await magic.object(of: Session.self)
    #expect(fetched.map(\.title) == ["first"])
    #expect(fetched.map(\.rating) == [3])
    #expect(fetched.map(\.isOpen) == [true])
  }

  @Test func objectsWithoutAPrimaryValueAreUpdatedInPlace() async throws {
    let session = Session()
    session.title = "first"
    try await magic.update(session)
    let fetched = try #require(try await magic.object(of: Session.self).first)
    fetched.title = "second"
    try await magic.update(fetched)
    #expect(try await magic.object(of: Session.self).map(\.title) == ["second"])
    try await magic.remove(session)
    #expect(try await magic.object(of: Session.self).isEmpty)
  }

  @Test func anInstanceOfOneDatabaseIsNewInAnother() async throws {
    let other = try await MagicData(type: .memory)
    let tom = Cat("Tom", 4)
    let session = Session()
    session.title = "first"
    try await magic.update(tom)
    try await magic.update(session)
    try await other.update(try await cat())
    try await other.update(session)
    #expect(try await other.object(of: Cat.self, primary: "Tom").weight == 4)
    #expect(try await other.object(of: Session.self).map(\.title) == ["first"])
  }

  /// Two updates of one instance that overlap: the second sees what the first stored.
  @MainActor @Test func overlappingUpdatesOfOneInstanceLoseNothing() async throws {
    enum Shared {
      @MainActor static let tom = Cat("Tom", 0)
      @MainActor static let session = Session()
    }
    let magic = magic
    Shared.session.title = "one"
    for round in 0..<20 {
      var tasks: [Task<Void, any Error>] = []
      for weight in [1.0, 2, 1, 2, 3, 0] {
        Shared.tom.weight = weight
        tasks.append(
          Task { @MainActor in
            try await magic.update(Shared.tom)
            try await magic.update(Shared.session)
          })
        if round.isMultiple(of: 2) { await Task.yield() }
      }
      for task in tasks { try await task.value }
      #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == Shared.tom.weight)
    }
    #expect(try await magic.object(of: Session.self).count == 1)
  }

  /// L-7: what the app did not set is not written over what is held.
  @Test func aDefaultDoesNotOverwriteWhatIsHeld() async throws {
    let tom = Cat("Tom", 4)
    tom.lives = 5
    try await magic.update(tom)
    try await magic.update(Cat("Tom", 6))
    #expect(try await cat().weight == 6)
    #expect(try await cat().lives == 5)
    let explicit = Cat("Tom", 6)
    explicit.lives = 9
    try await magic.update(explicit)
    #expect(try await cat().lives == 9)
  }

  /// One row that holds what its type does not, among others: each object is still its own, in its place.
  @Test(arguments: ["'many'", "x'00'", "2.5"]) func aRowThatHoldsSomethingElseDisturbsNoOther(value: String) async throws {
    struct Mark: MagicObject {
      @MagicValue var text: String
      @OptionMagicValue var level: Int?
      init() {}
    }
    for text in ["a", "b", "c", "d"] {
      let mark = Mark()
      (mark.text, mark.level) = (text, 1)
      try await magic.update(mark)
    }
    try await magic.store.write { db in try db.execute(sql: "UPDATE Mark SET level = \(value) WHERE text = 'c'") }
    let marks = try await magic.query(of: Mark.self).all()
    #expect(marks.map(\.text) == ["a", "b", "c", "d"])
    #expect(marks.map(\.level) == [1, 1, nil, 1])
    #expect(try await magic.object(of: Mark.self).map(\.level) == [1, 1, nil, 1])
    for mark in marks where mark.text != "c" {
      mark.text += "!"
      try await magic.update(mark)
    }
    #expect(try await magic.object(of: Mark.self).map(\.text) == ["a!", "b!", "c", "d!"])
  }

  /// L-8: one value that this version cannot read does not hide all the others.
  @Test func anObjectWithAValueThatCannotBeReadIsKeptAndNotShown() async throws {
    enum New {
      enum Color: String, Magical { case red, purple }
      struct Paint: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var color: Color
        @OptionMagicValue var trim: Color?
        init() {}
        init(_ id: String, _ color: Color, _ trim: Color?) {
          self.id = id
          self.color = color
          self.trim = trim
        }
      }
    }
    enum Old {
      enum Color: String, Magical { case red }
      struct Paint: MagicObject {
        @PrimaryMagicValue var id: String
        @MagicValue var color: Color
        @OptionMagicValue var trim: Color?
        @OptionMagicValue var name: String?
        init() {}
      }
    }
    try await magic.update(New.Paint("a", .red, .purple))
    try await magic.update(New.Paint("b", .purple, nil))
    let older = try await MagicData(path: folder["db"])
    let shown = try await older.object(of: Old.Paint.self)
    #expect(shown.map(\.id) == ["a"])
    #expect(shown[0].trim == nil)
    await #expect { try await older.object(of: Old.Paint.self, primary: "b") } throws: {
      ($0 as? MagicDataError)?.code == .value
    }
    // An edit of something else leaves it alone.
    shown[0].name = "door"
    try await older.update(shown[0])
    #expect(try await magic.object(of: New.Paint.self, primary: "a").trim == .purple)
  }

  @Test func classesOfClassesAreErrors() async throws {
    class Animal: MagicObject {
      @PrimaryMagicValue var id: String
      required init() {}
    }
    final class Dog: Animal {
      @MagicValue var breed: String
    }
    let dog = Dog()
    dog.breed = "pug"
    await #expect { try await magic.update(dog) } throws: { ($0 as? MagicDataError)?.code == .model }
    let animal: Animal = dog
    await #expect { try await magic.update(animal) } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  private class Dated {
    @MagicValue var created: Date = Date()
    init() {}
  }

  private final class Memo: Dated, MagicObject {
    @PrimaryMagicValue var id: String
    required override init() { super.init() }
  }

  /// What no mirror of the model shows would be lost.
  @Test func propertiesOfASuperclassAreAnError() async throws {
    await #expect { try await magic.update(Memo()) } throws: {
      ($0 as? MagicDataError)?.code == .model && "\($0)".contains("Dated")
    }
  }

  @Test func anOptionalWrapperIsNoProperty() async throws {
    struct Odd: MagicObject {
      @MagicValue var text: String
      var extra: MagicValue<Int>?
      init() {}
    }
    let odd = Odd()
    odd.text = "x"
    try await magic.update(odd)
    #expect(try await magic.object(of: Odd.self).map(\.text) == ["x"])
  }

  @Test func modelsThatCannotBeStoredAreErrors() async throws {
    struct Empty: MagicObject {
      var plain = 1
      init() {}
    }
    struct Twice: MagicObject {
      @PrimaryMagicValue var one: String
      @PrimaryMagicValue var two: String
      init() {}
    }
    await #expect { try await magic.update(Empty()) } throws: { ($0 as? MagicDataError)?.code == .model }
    await #expect { try await magic.update(Twice()) } throws: { ($0 as? MagicDataError)?.code == .model }
    await #expect { try await magic.has(of: Cat.self, primary: 5) } throws: { ($0 as? MagicDataError)?.code == .model }
    await #expect { try await magic.has(of: Session.self, primary: "x") } throws: { ($0 as? MagicDataError)?.code == .model }
  }

  /// V-7, J-20: and the clock, the rows and the journal stay as they were (H-5).
  @Test func whatIsTooLargeIsRefusedWhole() async throws {
    let object = try Everything.filled()
    object.data = Data(count: Limits.valueBytes + 1)
    await #expect { try await magic.update(object) } throws: { error in
      (error as? MagicDataError)?.code == .tooLarge && "\(error)".contains("Everything.data")
    }
    object.data = Data(count: Limits.valueBytes)
    object.text = String(repeating: "x", count: Limits.valueBytes)
    let before = try await magic.store.read { db in try DatabaseState(db).lastStamp }
    await #expect { try await magic.update(object) } throws: { ($0 as? MagicDataError)?.code == .tooLarge }
    #expect(try await transactions() == 0)
    #expect(try await magic.object(of: Everything.self).isEmpty)
    #expect(try await magic.store.read { db in try DatabaseState(db).lastStamp } == before)
  }

  @Test func anObjectIsPrintedWithItsValues() {
    let printed = Printed()
    printed.id = "a"
    printed.next = printed
    #expect(
      "\(printed)"
        == #"Printed(_id: "a", _title: unset, _pages: 3, _mood: unset, _pair: unset, _next: Printed, _text: MagicAsset<String>)"#
    )
    printed.pair = Pair(left: "a", right: "b")
    #expect("\(printed)".contains(#"_pair: {"left":"a","right":"b"}"#))
    printed.mood = nil
    printed.title = "x"
    #expect("\(printed)".contains(#"_title: "x", _pages: 3, _mood: nil"#))
  }
}

private struct Pair: MagicalCodable {
  var left: String
  var right: String
}

private struct Printed: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var pages = 3
  @OptionMagicValue var mood: String?
  @OptionMagicValue var pair: Pair?
  @OptionMagicValue var next: Printed?
  @MagicValue var text: MagicAsset<String>
  init() { text = MagicAsset(value: "long") }
}
