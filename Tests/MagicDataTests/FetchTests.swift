import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// What a fetch makes of rows, whichever way it goes: instances put together of their rows, others made by `init()`, part by part.
@Suite struct FetchTests {
  /// Nothing but wrappers.
  struct Sheet: MagicObject {
    @PrimaryMagicValue var id: UUID
    @MagicValue var text: String
    @MagicValue var size: Double = 2
    @MagicValue var isOpen: Bool = true
    @OptionMagicValue var date: Date?
    @OptionMagicValue var count: Int? = 7
    init() {}
  }

  /// With a property of its own.
  struct Noted: MagicObject {
    @MagicValue var text: String
    var note = "made by init"
    init() { text = "nothing" }
  }

  /// With properties of its own where no wrapper needs the place.
  struct Flagged: MagicObject {
    @MagicValue var text: String
    var isFirst = true
    @MagicValue var size: Int
    var isLast = true
    init() {}
  }

  final class Shared: MagicObject {
    @MagicValue var text: String
    var notes: [String] = []
    required init() { notes.append("made by init") }
  }

  struct Row: MagicObject {
    @PrimaryMagicValue var number: Int
    @MagicValue var text: String
    init() {}
    init(_ number: Int) {
      self.number = number
      text = "the text of row number \(number)"
    }
  }

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  @Test func valuesComeBackAsTheyWereAndAsTheirDefaults() async throws {
    let (plain, set) = (Sheet(), Sheet())
    plain.text = ""
    set.text = "a text that is longer than fifteen bytes"
    set.size = -0.0
    set.isOpen = false
    set.date = Date(timeIntervalSinceReferenceDate: 1.5)
    set.count = 9
    for sheet in [plain, set] { try await magic.update(sheet) }
    for sheets in [try await magic.object(of: Sheet.self), try await magic.query(of: Sheet.self).where { $0.size < 9 }.all()] {
      let (first, second) = (sheets[0], sheets[1])
      #expect((first.id, first.text, first.size, first.isOpen) == (plain.id, "", 2, true))
      #expect(first.date == nil && first.count == 7)
      #expect((second.id, second.text, second.isOpen) == (set.id, set.text, false))
      #expect(second.size.bitPattern == (-0.0).bitPattern)
      #expect(second.date == set.date && second.count == 9)
    }
  }

  /// An instance that was put together is one that can be changed, saved, removed and saved again, as any other.
  @Test func aFetchedInstanceIsItsObject() async throws {
    let sheet = Sheet()
    sheet.text = "one"
    let zIndex = try await magic.update(sheet)
    let fetched = try await magic.object(of: Sheet.self, primary: sheet.id)
    #expect(magic.zIndex(of: fetched) == zIndex)
    let copy = fetched
    copy.text = "two"
    #expect(fetched.text == "two" && sheet.text == "one")
    #expect(try await magic.update(fetched) == zIndex)
    #expect(try await magic.object(of: Sheet.self).map(\.text) == ["two"])
    try await magic.remove(fetched)
    #expect(magic.zIndex(of: fetched) == nil)
    #expect(try await magic.update(fetched) == zIndex)
    #expect(try await magic.object(of: Sheet.self).map(\.text) == ["two"])
    await #expect(throws: MagicDataError.self) {
      try await magic.transaction { transaction in
        let inner = try await transaction.object(of: Sheet.self)[0]
        inner.text = "three"
        try await transaction.update(inner)
        throw MagicDataError(.failed, "on purpose")
      }
    }
    #expect(try await magic.object(of: Sheet.self).map(\.text) == ["two"])
  }

  @Test func propertiesOfTheAppsOwnAreMadeForEachInstance() async throws {
    for text in ["one", "two"] {
      let (noted, shared) = (Noted(), Shared())
      (noted.text, shared.text) = (text, text)
      try await magic.update(noted)
      try await magic.update(shared)
    }
    #expect(
      try await magic.object(of: Noted.self).map { "\($0.text), \($0.note)" } == ["one, made by init", "two, made by init"])
    for _ in 0..<9 {
      let flagged = Flagged()
      (flagged.text, flagged.size) = ("three", 3)
      try await magic.update(flagged)
    }
    #expect(
      try await magic.object(of: Flagged.self).allSatisfy { $0.isFirst && $0.isLast && $0.text == "three" && $0.size == 3 })
    let shared = try await magic.object(of: Shared.self)
    #expect(shared.map(\.notes) == [["made by init"], ["made by init"]])
    #expect(shared.map(\.text) == ["one", "two"])
  }

  /// Rows come in parts of some hundred.
  @Test(arguments: [0, 1, 511, 512, 513, 1_024, 1_500]) func allRowsComeOnceAndInOrder(count: Int) async throws {
    try await magic.update(contentsOf: (0..<count).map(Row.init))
    #expect(try await magic.object(of: Row.self).map(\.number) == Array(0..<count))
    #expect(try await magic.query(of: Row.self).sorted(by: \.number, .descending).all().map(\.number) == (0..<count).reversed())
    #expect(try await magic.object(of: Row.self).allSatisfy { $0.text == "the text of row number \($0.number)" })
  }

  /// M-6, in each way to read: what is incomplete is passed over, and the rows around it come.
  @Test func incompleteRowsArePassedOver() async throws {
    try await magic.update(contentsOf: (0..<1_100).map(Row.init))
    try await magic.store.write { db in try db.execute(sql: "UPDATE Row SET text = NULL WHERE number % 512 = 0") }
    let shown = (0..<1_100).filter { $0 % 512 != 0 }
    #expect(try await magic.object(of: Row.self).map(\.number) == shown)
    #expect(try await magic.query(of: Row.self).where { $0.number < 2_000 }.all().map(\.number) == shown)
    #expect(try await magic.query(of: Row.self).limit(2).all().map(\.number) == [1, 2])
    #expect(try await magic.query(of: Row.self).count() == shown.count)
    await #expect(throws: MagicDataError.self) { try await magic.object(of: Row.self, primary: 512) }
    #expect(try magic.blocking.object(of: Row.self).map(\.number) == shown)
  }

  /// A cancelled fetch gives all objects or an error, and never some of them.
  @Test func aCancelledFetchIsWholeOrFails() async throws {
    try await magic.update(contentsOf: (0..<3_000).map(Row.init))
    for round in 0..<20 {
      let task = Task { [magic] in try await magic.object(of: Row.self).count }
      for _ in 0..<round { await Task.yield() }
      task.cancel()
      switch await task.result {
      case .success(let count): #expect(count == 3_000)
      case .failure(let error): #expect(error is CancellationError)
      }
    }
  }
}
