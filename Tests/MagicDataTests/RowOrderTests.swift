import Foundation
import GRDB
import TestSupport
import Testing

@testable import MagicData

/// Rows that SQLite hands to a function come in the order that it finds them in. Fetches give theirs nevertheless.
@Suite struct RowOrderTests {
  /// SQLite reads all of it from the index of its key.
  struct Word: MagicObject {
    @PrimaryMagicValue var text: String
    init() {}
    init(_ text: String) { self.text = text }
  }

  struct Visit: MagicObject {
    @PrimaryMagicValue var number: Int
    @MagicValue var place: String
    @MagicValue var day: Int
    @MagicValue var length: Double = 1
    @OptionMagicValue var rating: Int?

    static var magicIndexes: [MagicIndex] {
      [MagicIndex(\Visit.place, \Visit.day), MagicIndex(\Visit.day), MagicIndex(\Visit.length), MagicIndex(\Visit.rating)]
    }

    init() {}
    init(_ number: Int, _ place: String, day: Int) {
      self.number = number
      self.place = place
      self.day = day
    }
  }

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  /// What has numbers without gaps, in the order in which it was made, is read along the z indexes; all else by the numbers'
  /// index, and both give the same.
  @Test func rangesOfNumbersAreReadWhateverTheirZIndexes() async throws {
    func visits(_ numbers: some Sequence<Int>) -> [Visit] { numbers.map { Visit($0, "Rome", day: $0 % 7) } }
    func expect(_ range: Range<Int>, _ gone: Set<Int> = [], isParallel: Bool, in magic: MagicData) async throws {
      let expected = (0..<1_000).filter { range.contains($0) && !gone.contains($0) }
      let gaps = try #require(magic.store.known(Visit.self)).gaps
      gaps.withLock { $0 = 0 }
      let sorted = magic.query(of: Visit.self).where { range.contains($0.number) }.sorted(by: \.number)
      #expect(try await sorted.all().map(\.number) == expected)
      #expect(try magic.blocking.transaction { tx in try tx.all(sorted).map(\.number) } == expected)
      let closed = magic.query(of: Visit.self).where { $0.number > range.lowerBound - 1 && $0.number <= range.upperBound - 1 }
      #expect(try await closed.all().map(\.number).sorted() == expected)
      #expect(gaps.withLock { $0 == 0 } == isParallel)
    }
    try await magic.update(contentsOf: visits(0..<1_000))
    #expect(try await magic.query(of: Visit.self).where { $0.number < 0 }.all().isEmpty)
    try await expect(100..<400, isParallel: true, in: magic)
    // Nothing is tried that cannot be: an end is not there.
    try await expect(900..<1_100, isParallel: true, in: magic)
    try await expect(-5_000..<200, isParallel: true, in: magic)
    try await expect(300..<5_000, isParallel: true, in: magic)
    let last = try await magic.object(of: Visit.self, primary: 250)
    try await magic.remove(last)
    try await expect(100..<400, [250], isParallel: false, in: magic)
    try await expect(251..<400, [250], isParallel: true, in: magic)
    // Back at its place; then at another one.
    try await magic.update(visits([250])[0])
    try await expect(100..<400, isParallel: true, in: magic)
    let other = try await MagicData(type: .memory)
    try await other.update(contentsOf: visits((0..<1_000).map { $0 == 300 ? 310 : $0 == 310 ? 300 : $0 }))
    try await expect(100..<400, isParallel: false, in: other)
    try await expect(320..<400, isParallel: true, in: other)
  }

  /// Whatever else has changed since the ends of a range were looked up: rows are taken for it if they have its numbers, and no
  /// other.
  @Test func numbersOfARangeFollowEachOther() async throws {
    try await magic.update(contentsOf: (1...100).map { Visit($0, "Rome", day: $0 % 7) })
    let type = try #require(magic.store.known(Visit.self))
    let primary = try #require(type.layout.primary)
    func isTaken(from number: Int64, hasBirths: Bool = false) async throws -> Bool {
      let sql = try #require(type.stored.takeRange(type.columns, hasBirths: hasBirths))
      return try await magic.store.read { db in
        try type.reads.withUnsafeBufferPointer { reads in
          let rows = FetchedRows()
          let range = ParallelRange(property: primary, firstNumber: number, firstZIndex: 1, hasBirths: hasBirths)
          var reading = RowReading(rows, type, reads, nil, in: .parallel(range))
          var statement = try SQL(db, sql)
          try statement.bind(1 as Int64)
          try statement.bind(100 as Int64)
          do {
            try RowFunction.run(&statement, db, &reading)
          } catch is RowsOutOfOrder {
            return false
          }
          return rows.count == 100 && rows.places.map(\.zIndex) == Array(1...100)
        }
      }
    }
    #expect(try await isTaken(from: 1))
    #expect(try await !isTaken(from: 0))
    #expect(try await !isTaken(from: 2))
    // One that is named by its birth has come in the meantime.
    let born = Visit()
    (born.place, born.day) = ("Rome", 1)
    try await magic.update(born)
    #expect(try await !isTaken(from: 1))
    #expect(try await isTaken(from: 1, hasBirths: true))
    try await magic.remove(born)
    #expect(try await isTaken(from: 1))
    // As when another replica has won the last one (M-17).
    try await magic.store.write { db in try db.execute(sql: "UPDATE Visit SET number = 2305843009213706297 WHERE number = 100")
    }
    #expect(try await !isTaken(from: 1))
    try await magic.store.write { db in try db.execute(sql: "UPDATE Visit SET number = NULL WHERE number > 100") }
    #expect(try await !isTaken(from: 1))
  }

  /// Their z indexes are counted: whoever saves or removes one has the object that it was read as.
  @Test(arguments: [false, true]) func objectsOfARangeOfNumbersAreThemselves(hasBirths: Bool) async throws {
    try await magic.update(
      contentsOf: (0..<200).map { number in
        let visit = hasBirths ? Visit() : Visit(number, "", day: 0)
        (visit.place, visit.day) = ("a place whose name needs memory of its own, unlike \(number)", number)
        return visit
      })
    let first = try #require(try await magic.query(of: Visit.self).sorted(by: \.number).first())
    let range = first.number + 20..<first.number + 120
    let visits = try await magic.query(of: Visit.self).where { range.contains($0.number) }.sorted(by: \.number).all()
    #expect(try #require(magic.store.known(Visit.self)).gaps.withLock { $0 } == 0)
    #expect(visits.map(\.day) == Array(20..<120))
    for visit in visits {
      #expect(try magic.zIndex(of: visit) == magic.zIndex(of: await magic.object(of: Visit.self, primary: visit.number)))
    }
    visits[7].place = "Paris"
    visits[8].rating = 3
    try await magic.update(contentsOf: visits)
    try await magic.remove(visits[9])
    let others = try await magic.object(of: Visit.self)
    #expect(others.map(\.day) == Array(0..<200).filter { $0 != 29 })
    #expect(others.filter { $0.place == "Paris" }.map(\.day) == [27])
    #expect(others.filter { $0.rating == 3 }.map(\.day) == [28])
    #expect(try await faultyPlaces(magic) == [])
  }

  /// The objects of a range, and those of their own type that they hold, whose rows are read by another statement.
  @Test(arguments: [false, true]) func objectsOfARangeHoldOthersOfTheirType(hasBirths: Bool) async throws {
    final class Node: MagicObject {
      @PrimaryMagicValue var number: Int
      @OptionMagicValue var next: Node?
      @MagicValue var others: [Node] = []
      init() {}
    }
    let nodes = (0..<200).map { number in
      let node = Node()
      if !hasBirths { node.number = number }
      return node
    }
    try await magic.update(contentsOf: nodes)
    nodes[150].next = nodes[3]
    nodes[151].others = [nodes[4], nodes[190], nodes[150]]
    try await magic.update(contentsOf: nodes)
    let range = nodes[100].number..<nodes[180].number
    let found = try await magic.query(of: Node.self).where { range.contains($0.number) }.sorted(by: \.number).all()
    #expect(try #require(magic.store.known(Node.self)).gaps.withLock { $0 } == 0)
    #expect(found.map(\.number) == nodes[100..<180].map(\.number))
    #expect(found[50].next?.number == nodes[3].number)
    #expect(found[51].others.map(\.number) == [4, 190, 150].map { nodes[$0].number })
    let third = try #require(found[50].next)
    third.next = found[0]
    try await magic.update(found[50])
    let stored = try await magic.object(of: Node.self, primary: nodes[3].number)
    #expect(stored.next?.number == nodes[100].number)
    #expect(try await magic.count(of: Node.self) == 200)
    #expect(try await faultyPlaces(magic) == [])
  }

  /// An index that has all columns has them in the order of the numbers, which is not that of the objects in between.
  @Test func numbersOfARangeThatAreOutOfOrderInBetween() async throws {
    struct Word: MagicObject {
      @PrimaryMagicValue var number: Int
      @MagicValue var text: String
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Word.number, \Word.text)] }
      init() {}
      init(_ number: Int) { (self.number, text) = (number, "word \(number)") }
    }
    try await magic.update(contentsOf: (0..<300).map { Word($0 == 100 ? 150 : $0 == 150 ? 100 : $0) })
    let query = magic.query(of: Word.self).where { (0..<300).contains($0.number) }.sorted(by: \.number)
    for word in try await query.all() { #expect(word.text == "word \(word.number)") }
    let word = try await query.all()[100]
    word.text = "a hundred"
    try await magic.update(word)
    #expect(try await magic.object(of: Word.self, primary: 100).text == "a hundred")
    #expect(try await magic.object(of: Word.self, primary: 150).text == "word 150")
  }

  private func hasOrder<Object: MagicObject>(_ type: Object.Type) throws -> Bool {
    try #require(magic.store.known(type)).disordered.withLock { $0.isEmpty }
  }

  /// In the order of their z indexes, from whatever SQLite reads them.
  @Test func allObjectsOfAnIndexThatHasAllColumns() async throws {
    let texts = ["pear", "apple", "plum", "fig", "cherry"]
    try await magic.update(contentsOf: texts.map(Word.init))
    for _ in 0..<3 {
      #expect(try await magic.object(of: Word.self).map(\.text) == texts)
      #expect(try await magic.query(of: Word.self).all().map(\.text) == texts)
      #expect(try magic.blocking.object(of: Word.self).map(\.text) == texts)
    }
    #expect(try !hasOrder(Word.self))
    try await magic.transaction { tx in
      try await tx.update(Word("banana"))
      #expect(try await tx.object(of: Word.self).map(\.text) == texts + ["banana"])
    }
  }

  /// The index says where they are by another property first.
  @Test func whatIsEqualInAnIndexOfTwo() async throws {
    var chance = Seeded(1)
    let visits = (0..<300).map { Visit($0, "place \($0 % 3)", day: Int(chance.below(40))) }
    try await magic.update(contentsOf: visits)
    let query = magic.query(of: Visit.self).where { $0.place == "place 1" }
    for _ in 0..<3 {
      #expect(try await query.all().map(\.number) == visits.filter { $0.place == "place 1" }.map(\.number))
    }
  }

  /// A range over an index comes in its order, and equals in the order of their z indexes; and so it does if the index has
  /// gone, or another one is better.
  @Test func rangesInTheOrderOfTheirIndex() async throws {
    var chance = Seeded(2)
    let visits = (0..<500).map { Visit($0, "place \($0 % 3)", day: Int(chance.below(40)) - 20) }
    for visit in visits { visit.length = Double(chance.below(9)) / 2 }
    try await magic.update(contentsOf: visits)
    func expectRanges() async throws {
      let days = magic.query(of: Visit.self).where { (-5...12).contains($0.day) }
      let byDay = visits.filter { (-5...12).contains($0.day) }.sorted { ($0.day, $0.number) < ($1.day, $1.number) }
      #expect(try await days.sorted(by: \.day).all().map(\.number) == byDay.map(\.number))
      let some = days.where { $0.place == "place 2" }.sorted(by: \.day)
      #expect(try await some.all().map(\.number) == byDay.filter { $0.place == "place 2" }.map(\.number))
      let byLength = visits.filter { $0.length >= 2 }.sorted { ($0.length, $0.number) < ($1.length, $1.number) }
      let lengths = magic.query(of: Visit.self).where { $0.length >= 2 }
      #expect(try await lengths.sorted(by: \.length).all().map(\.number) == byLength.map(\.number))
      #expect(try await lengths.all().map(\.number) == byLength.map(\.number).sorted())
      let either = magic.query(of: Visit.self).where { $0.day > 3 || $0.length > 3 }.sorted(by: \.day)
      let expected = visits.filter { $0.day > 3 || $0.length > 3 }.sorted { ($0.day, $0.number) < ($1.day, $1.number) }
      #expect(try await either.all().map(\.number) == expected.map(\.number))
    }
    try await expectRanges()
    #expect(try hasOrder(Visit.self))
    try await magic.store.write { db in try db.execute(sql: "DROP INDEX magic_Visit_day; DROP INDEX magic_Visit_length") }
    try await expectRanges()
    try await expectRanges()
    #expect(try !hasOrder(Visit.self))
  }

  /// Which rows a range has, the index tells without the rows; what else is asked is asked of these.
  @Test func whichRowsARangeHasIsAskedOfItsIndexAlone() async throws {
    try await magic.update(contentsOf: (0..<100).map { Visit($0, "Rome", day: $0 % 7) })
    func steps(_ query: MagicQuery<Visit>) async throws -> [String] {
      let (plan, (_, types)) = (query.plan, try #require(try await query.mapped(in: query.scope)))
      return try await magic.store.read { db in
        let order = try #require(types.rowOrder(plan))
        return try QueryText.taken(plan, types, in: order, db).explanation(db)
      }
    }
    let days = magic.query(of: Visit.self).where { (1..<4).contains($0.day) }
    let alone = try await steps(days.where { $0.day != 2 || $0.day > 1 }.sorted(by: \.day))
    #expect(alone.count == 1 && alone[0].contains("SEARCH Visit USING INDEX"), "\(alone)")
    let range = try await steps(days.sorted(by: \.day))
    #expect(range.count == 2 && range[0].contains("USING COVERING INDEX"), "\(range)")
    #expect(range.last?.contains("USING INTEGER PRIMARY KEY") == true, "\(range)")
  }

  /// What stands in an index where its value does not belong: a default that was never stored, NaN, -0.0.
  @Test func exceptionsAreSortedIn() async throws {
    let visits = (0..<60).map { Visit($0, "here", day: $0 % 7) }
    let lengths = [3, -0.0, 0, .nan, -1, .infinity, 0.5]
    for (number, visit) in visits.enumerated() { visit.length = lengths[number % 7] }
    try await magic.update(contentsOf: visits)
    try await magic.store.write { db in try db.execute(sql: "UPDATE Visit SET length = NULL WHERE number % 5 = 0") }
    func length(_ visit: Visit) -> Double { visit.number % 5 == 0 ? 1 : visit.length }
    let expected = visits.filter { length($0) >= -0.5 }.sorted { (length($0), $0.number) < (length($1), $1.number) }
    let query = magic.query(of: Visit.self).where { $0.length >= -0.5 }.sorted(by: \.length)
    for _ in 0..<2 { #expect(try await query.all().map(\.number) == expected.map(\.number)) }
  }

  /// A statement that fails at one of its rows fails, and the next one runs.
  @Test(arguments: [0, 31, 99]) func aRowThatCannotBeRead(number: Int) async throws {
    try await magic.update(contentsOf: (0..<100).map { _ in FetchTests.Noted() })
    try await magic.store.write { db in
      let row = "SELECT z_index FROM Noted ORDER BY z_index LIMIT 1 OFFSET \(number)"
      try db.execute(sql: "UPDATE Noted SET magic_birth = x'00' WHERE z_index = (\(row))")
    }
    for _ in 0..<2 {
      let error = await #expect(throws: MagicDataError.self) { _ = try await magic.object(of: FetchTests.Noted.self) }
      #expect(error?.code == .damaged, "\(String(describing: error))")
    }
    try await magic.transaction { tx in
      try await tx.update(Word("other"))
      await #expect(throws: MagicDataError.self) { _ = try await tx.query(of: FetchTests.Noted.self).all() }
      #expect(try await tx.object(of: Word.self).map(\.text) == ["other"])
    }
    #expect(try await magic.object(of: Word.self).map(\.text) == ["other"])
  }

  /// SQL of the app's own finds a function that does nothing.
  @Test func theFunctionTakesNothingFromOtherStatements() async throws {
    try await magic.update(Word("word"))
    let taken = try await magic.store.read { db in try Int?.fetchAll(db, sql: "SELECT magic_take(z_index, text) FROM Word") }
    #expect(taken == [nil])
    #expect(try await magic.object(of: Word.self).map(\.text) == ["word"])
  }

  /// Each connection has its own.
  @Test func databasesReadSideBySide() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask { [folder] in
          for round in 0..<6 {
            let other = try await MagicData(path: folder["other \(number)"])
            try await other.update(Word("\(number) \(round)"))
            #expect(try await other.object(of: Word.self).count == round + 1)
            try await other.close()
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
