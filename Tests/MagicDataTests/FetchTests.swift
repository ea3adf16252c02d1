import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// What a fetch makes of rows, whichever way it goes: instances put together of their rows, others made by `init()`, part by
/// part.
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

  struct Halves: MagicObject {
    @MagicValue var left: String
    @MagicValue var right: String
    @OptionMagicValue var data: Data?
    init() {}
    init(_ number: Int) { (left, right) = ("left \(number)", "right \(number)") }
    init(right one: Halves, left other: Halves) {
      _left = one._right
      _right = other._left
    }
    init(left one: Halves, right other: Halves) {
      _left = one._left
      _right = other._right
    }
  }

  final class Witness {}

  struct Link: MagicalCodable {
    var chain: Chain?
    var witness: Witness?
    enum CodingKeys: CodingKey { case chain }
  }

  /// May hold another one by a value.
  struct Chain: MagicObject {
    @MagicValue var text: String
    @OptionMagicValue var next: Link?
    init() { text = "link" }
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

  // MARK: Instances that share memory

  /// Who changes, saves, removes or rolls back some of the instances of a fetch does so with these alone.
  @Test(arguments: seeds(8)) func instancesOfOneFetchStandApart(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let count = 60
    try await magic.update(contentsOf: (0..<count).map(Row.init))
    var rows = try await magic.object(of: Row.self)
    // What each instance shows, and what its object has.
    var (shown, stored) = (rows.map(\.text), rows.map { Optional($0.text) })
    for step in 0..<400 {
      let number = chance.below(count)
      switch chance.below(7) {
      case 0, 1:
        shown[number] = "step \(step)"
        rows[number].text = shown[number]
      case 2:
        try await magic.update(rows[number])
        stored[number] = shown[number]
      case 3:
        let some = (0..<count).filter { _ in chance.below(4) == 0 }
        try await magic.update(contentsOf: some.map { rows[$0] })
        for number in some { stored[number] = shown[number] }
      case 4:
        guard stored[number] != nil else { continue }
        try await magic.remove(rows[number])
        stored[number] = nil
      case 5:
        // Set before the rollback or within, a value stays set.
        let (row, neighbour, text) = (rows[number], rows[(number + 1) % count], "step \(step), rolled back")
        shown[number] = text
        try? await magic.transaction { transaction in
          row.text = text
          try await transaction.update(contentsOf: [row, neighbour])
          throw CancellationError()
        }
      default:
        // From another fetch, which has other neighbours.
        guard stored[number] != nil else { continue }
        let others = try await magic.query(of: Row.self).where { $0.number >= number }.limit(1 + chance.below(20)).all()
        rows[number] = try #require(others.first)
        shown[number] = try #require(stored[number])
      }
      #expect(rows.map(\.text) == shown)
    }
    try await magic.update(contentsOf: rows)
    #expect(try await magic.object(of: Row.self).map(\.text) == shown)
    #expect(rows.compactMap { magic.zIndex(of: $0) }.count == count)
    #expect(Set(rows.compactMap { magic.zIndex(of: $0) }).count == count)
  }

  /// Of texts that are long and of others, whatever of the rest is still there.
  @Test func oneOfManyInstancesOutlivesTheOthers() async throws {
    let rows = (0..<200).map(Row.init)
    for (number, row) in rows.enumerated() where number % 3 == 0 { row.text = String(repeating: "\(number),", count: number) }
    try await magic.update(contentsOf: rows)
    for step in [1, 5, 16, 17, 199] {
      let kept = try await magic.object(of: Row.self).enumerated().filter { $0.offset % step == 0 }.map(\.element)
      #expect(kept.map(\.text) == rows.enumerated().filter { $0.offset % step == 0 }.map(\.element.text))
      kept[0].text = "kept"
      try await magic.update(kept[0])
      #expect(try await magic.object(of: Row.self, primary: 0).text == "kept")
      rows[0].text = "after step \(step)"
      try await magic.update(rows[0])
    }
  }

  /// A row of which an instance cannot be put together comes among others: it has to be read by its type.
  @Test(arguments: [0, 1, 2, 20, 39]) func aRowWithBytes(number: Int) async throws {
    let all = (0..<40).map(Halves.init)
    all[number].data = Data([1, 2])
    try await magic.update(contentsOf: all)
    let fetched = try await magic.object(of: Halves.self)
    #expect(fetched.map(\.right) == all.map(\.right))
    #expect(fetched.map(\.data) == all.map(\.data))
    #expect(fetched.map { magic.zIndex(of: $0) } == all.map { magic.zIndex(of: $0) })
    for half in fetched { half.left = "changed" }
    try await magic.update(contentsOf: fetched)
    #expect(try await magic.object(of: Halves.self).allSatisfy { $0.left == "changed" })
  }

  /// The same where all others share their memory.
  @Test(arguments: [0, 1, 2, 20, 39]) func aRowWithAValueThatIsNoneOfItsTypes(number: Int) async throws {
    let all = (0..<40).map { _ in Sheet() }
    for (number, sheet) in all.enumerated() { sheet.text = "sheet \(number)" }
    try await magic.update(contentsOf: all)
    let zIndex = try #require(magic.zIndex(of: all[number]))
    try await magic.store.write { db in
      try db.execute(sql: "UPDATE Sheet SET isOpen = 7 WHERE z_index = ?", arguments: [zIndex])
    }
    let fetched = try await magic.object(of: Sheet.self)
    #expect(fetched.map(\.text) == all.map(\.text))
    #expect(fetched.allSatisfy { $0.isOpen })
    for sheet in fetched { sheet.size = 3 }
    try await magic.update(contentsOf: fetched)
    #expect(try await magic.query(of: Sheet.self).where { $0.size == 3 }.count() == 40)
  }

  @Test func instancesOfOneFetchThatHoldEachOtherByAValueGo() async throws {
    try await magic.update(contentsOf: (0..<20).map { _ in Chain() })
    weak var witness: Witness?
    do {
      let chains = try await magic.object(of: Chain.self)
      let made = Witness()
      for (chain, next) in zip(chains, chains.dropFirst()) { chain.next = Link(chain: next, witness: made) }
      witness = made
      #expect(chains[3].next?.chain?.text == "link")
    }
    #expect(witness == nil)
  }

  /// An instance that is made of the wrappers of two.
  @Test func wrappersOfNeighboursAreNoInstanceOfOne() async throws {
    try await magic.update(contentsOf: (0..<40).map(Halves.init))
    let fetched = try await magic.object(of: Halves.self)
    for (one, other) in zip(fetched, fetched.dropFirst()) {
      let crossed = Halves(right: one, left: other)
      #expect(crossed.left == one.right && crossed.right == other.left)
      let error = await #expect(throws: MagicDataError.self) { try await magic.update(crossed) }
      #expect(error?.code == .model)
      let mixed = Halves(left: one, right: other)
      mixed.right = "of both"
      #expect(other.right == "of both")
      // It is the object that its first wrapper belongs to.
      #expect(magic.zIndex(of: mixed) == magic.zIndex(of: one))
    }
  }
}
