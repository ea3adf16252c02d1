import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// Random predicates and orders, told by SQL and by Swift over all objects.
@Suite struct QueryRandomTests {
  @Test(arguments: seeds(12)) func queriesAgreeWithSwift(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let pools = Pools(isOrdinary: seed % 3 == 0)
    let magic = try await MagicData(type: seed % 4 == 1 ? .memory : .temporary)
    let made = (0..<chance.pick([3, 40, 400])).map { Odd.random($0, pools, &chance) }
    try await magic.update(contentsOf: made)
    if seed % 3 == 1 { try await forgetDefaults(magic, &chance) }
    let all = try await magic.object(of: Odd.self)
    try #require(all.count == made.count)
    // The same answers without the indexes.
    for isIndexed in [true, false] {
      if !isIndexed { try await dropIndexes(magic) }
      for _ in 0..<120 {
        let term = Term.random(depth: 3, pools, &chance)
        let keys = (0..<chance.below(3)).map { _ in SortKey.random(&chance) }
        try await check(magic, all, term, keys, &chance, "MAGIC_SEED=\(seed) \(term.text) by \(keys.map(\.text))")
      }
    }
    try await magic.close()
  }

  private func check(
    _ magic: MagicData, _ all: [Odd], _ term: Term, _ keys: [SortKey], _ chance: inout Seeded, _ text: String
  ) async throws {
    var query = magic.query(of: Odd.self).where(term.sql)
    for key in keys { query = query.then(by: key.path, key.isDescending ? .descending : .ascending) }
    let found = all.filter(term.swift)
    var expected = found.enumerated().sorted { left, right in
      for key in keys {
        let (a, b) = (key.value(left.element), key.value(right.element))
        if a != b { return key.isDescending ? b < a : a < b }
      }
      return left.offset < right.offset
    }.map(\.element.number)
    #expect(try await query.count() == found.count, "\(text)")
    let offset = chance.pick([0, 0, 1, 5])
    let limit = chance.pick([nil, nil, 0, 1, 10])
    if offset > 0 { query = query.offset(offset) }
    if let limit { query = query.limit(limit) }
    expected = Array(expected.dropFirst(offset).prefix(limit ?? .max))
    #expect(try await query.all().map(\.number) == expected, "\(text) \(offset) \(limit ?? -1)")
    #expect(try await query.count() == expected.count, "\(text) \(offset) \(limit ?? -1)")
    #expect(try await query.first()?.number == expected.first, "\(text)")
    if chance.below(4) == 0 {
      try await checkAggregates(query, expected.map { all[$0] }, "\(text) \(offset) \(limit ?? -1)")
    }
    var streamed: [Int] = []
    for try await odd in query.stream() { streamed.append(odd.number) }
    #expect(streamed == expected, "\(text) \(offset) \(limit ?? -1)")
  }

  private func checkAggregates(_ query: MagicQuery<Odd>, _ odds: [Odd], _ text: String) async throws {
    func isNear(_ left: Double?, _ right: Double?) -> Bool {
      guard let left, let right, left.isFinite, right.isFinite else {
        return left == right || left?.isNaN == true && right?.isNaN == true
      }
      return abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }
    #expect(try await query.min(of: \.int) == odds.map(\.int).min(), "\(text)")
    #expect(try await query.max(of: \.perhapsInt) == odds.compactMap(\.perhapsInt).max(), "\(text)")
    #expect(try await query.min(of: \.ratio) == odds.map(\.ratio).filter { !$0.isNaN }.min(), "\(text)")
    #expect(try await query.max(of: \.perhapsDouble) == odds.compactMap(\.perhapsDouble).filter { !$0.isNaN }.max(), "\(text)")
    #expect(try await query.max(of: \.text).map { Bytes($0) } == odds.map { Bytes($0.text) }.max(), "\(text)")
    #expect(try await query.min(of: \.mood).map { Bytes($0) } == odds.compactMap { $0.mood.map { Bytes($0) } }.min(), "\(text)")
    for path in [\Odd.int, \Odd.count] {
      let sum = odds.reduce(Decimal(0)) { $0 + Decimal($1[keyPath: path]) }
      if Decimal(Int.min)...Decimal(Int.max) ~= sum {
        #expect(try await Decimal(query.sum(of: path)) == sum, "\(text)")
      } else {
        await #expect { try await query.sum(of: path) } throws: { ($0 as? MagicDataError)?.code == .value }
      }
      let average = odds.isEmpty ? nil : Double(truncating: sum / Decimal(odds.count) as NSDecimalNumber)
      #expect(try await isNear(query.average(of: path), average), "\(text)")
    }
    for path in [\Odd.double, \Odd.level] {
      let sum = odds.reduce(0) { $0 + $1[keyPath: path] }
      #expect(try await isNear(query.sum(of: path), sum), "\(text)")
      #expect(try await isNear(query.average(of: path), odds.isEmpty ? nil : sum / Double(odds.count)), "\(text)")
    }
  }

  /// As if the objects had been stored before the type had these properties.
  private func forgetDefaults(_ magic: MagicData, _ chance: inout Seeded) async throws {
    for column in ["count", "word", "ratio", "level", "mood"] {
      let remainder = chance.below(4)
      try await magic.store.write { db in try db.execute(sql: "UPDATE Odd SET \(column) = NULL WHERE number % 4 = \(remainder)")
      }
    }
  }

  private func dropIndexes(_ magic: MagicData) async throws {
    try await magic.store.write { db in
      for name in try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'magic_Odd_%'")
      {
        try db.execute(sql: "DROP INDEX \"\(name)\"")
      }
    }
  }
}

/// A text by its bytes (L-3).
private struct Bytes: Comparable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: Bytes, right: Bytes) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
  static func < (left: Bytes, right: Bytes) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
}

/// A value as it sorts: nil first, NaN last, -0.0 as 0.0.
private enum Sorted: Comparable {
  case none
  case int(Int)
  case double(Double)
  case nan
  case text(Bytes)

  init(_ number: Int?) { self = number.map { .int($0) } ?? .none }
  init(_ number: Double?) { self = number.map { $0.isNaN ? .nan : .double($0) } ?? .none }
  init(_ text: String?) { self = text.map { .text(Bytes($0)) } ?? .none }
}

private struct SortKey {
  let text: String
  let path: PartialKeyPath<Odd>
  let value: (Odd) -> Sorted
  let isDescending: Bool

  static func random(_ chance: inout Seeded) -> SortKey {
    let all: [(String, PartialKeyPath<Odd>, (Odd) -> Sorted)] = [
      ("int", \.int, { Sorted($0.int) }), ("text", \.text, { Sorted($0.text) }), ("other", \.other, { Sorted($0.other) }),
      ("double", \.double, { Sorted($0.double) }), ("float", \.float, { Sorted(Double($0.float)) }),
      ("flag", \.flag, { Sorted($0.flag ? 1 : 0) }), ("date", \.date, { Sorted($0.date.timeIntervalSinceReferenceDate) }),
      ("uuid", \.uuid, { Sorted($0.uuid.uuidString) }), ("genre", \.genre, { Sorted($0.genre.rawValue) }),
      ("perhapsInt", \.perhapsInt, { Sorted($0.perhapsInt) }), ("perhapsText", \.$perhapsText, { Sorted($0.perhapsText) }),
      ("perhapsDouble", \.perhapsDouble, { Sorted($0.perhapsDouble) }), ("grade", \.grade, { Sorted($0.grade?.rawValue) }),
      ("count", \.count, { Sorted($0.count) }), ("word", \.word, { Sorted($0.word) }), ("ratio", \.ratio, { Sorted($0.ratio) }),
      ("level", \.level, { Sorted($0.level) }), ("mood", \.mood, { Sorted($0.mood) }),
      ("number", \.number, { Sorted($0.number) }),
    ]
    let (text, path, value) = chance.pick(all)
    let isDescending = chance.below(2) == 0
    return SortKey(text: text + (isDescending ? " desc" : ""), path: path, value: value, isDescending: isDescending)
  }
}

private struct Pools: Sendable {
  let ints = [Int.min, -3, 0, 1, 3, 7, 40, Int.max]
  let doubles: [Double]
  let texts = [
    "", "a", "ab", "a\0b", "a\0", "b", "B", "é", "e\u{301}", "e", "👩", "👩‍👩‍👧", "\u{10ffff}", "a%_'\"", "z",
    "5BD1E995-27D4-4B2F-9B97-F4A7C15A0001",
  ]
  let uuids = (0..<4).map { UUID(uuid: (UInt8($0) << 6, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)) }

  init(isOrdinary: Bool) {
    let ordinary = [-Double.infinity, -2.5, -1, 0, 1.5, 2, 1e300, .infinity]
    doubles = isOrdinary ? ordinary : ordinary + [-0.0, .nan]
  }
}

extension Odd {
  fileprivate static func random(_ number: Int, _ pools: Pools, _ chance: inout Seeded) -> Odd {
    let odd = Odd()
    odd.number = number
    odd.int = chance.pick(pools.ints)
    odd.text = chance.pick(pools.texts)
    odd.other = chance.pick(pools.texts)
    odd.double = chance.pick(pools.doubles)
    odd.float = Float(chance.pick(pools.doubles))
    odd.flag = chance.below(2) == 0
    odd.date = Date(timeIntervalSinceReferenceDate: chance.pick(pools.doubles))
    odd.uuid = chance.pick(pools.uuids)
    odd.data = Data(chance.pick(pools.texts).utf8)
    odd.genre = chance.pick([.novel, .poems, .essay])
    odd.only = .one
    odd.shape = chance.pick([.round, .square])
    if chance.below(3) > 0 { odd.perhapsInt = chance.pick(pools.ints) }
    if chance.below(3) > 0 { odd.perhapsText = chance.pick(pools.texts) }
    if chance.below(3) > 0 { odd.perhapsDouble = chance.pick(pools.doubles) }
    if chance.below(3) > 0 { odd.grade = chance.pick([.poor, .fair, .good]) }
    if chance.below(2) > 0 { odd.count = chance.pick(pools.ints) }
    if chance.below(2) > 0 { odd.word = chance.pick(pools.texts) }
    if chance.below(2) > 0 { odd.ratio = chance.pick(pools.doubles) }
    if chance.below(2) > 0 { odd.level = chance.pick(pools.doubles) }
    if chance.below(2) > 0 { odd.mood = chance.pick(pools.texts) }
    return odd
  }
}

/// A predicate, told in both ways.
private struct Term {
  let text: String
  let sql: (MagicFields<Odd>) -> MagicPredicate
  let swift: (Odd) -> Bool

  init(_ text: String, _ sql: @escaping (MagicFields<Odd>) -> MagicPredicate, _ swift: @escaping (Odd) -> Bool) {
    self.text = text
    self.sql = sql
    self.swift = swift
  }

  static func random(depth: Int, _ pools: Pools, _ chance: inout Seeded) -> Term {
    guard depth > 0, chance.below(4) > 0 else { return leaf(pools, &chance) }
    let left = random(depth: depth - 1, pools, &chance)
    switch chance.below(5) {
    case 0:
      return Term("!(\(left.text))", { !left.sql($0) }, { !left.swift($0) })
    case 1, 2:
      let right = random(depth: depth - 1, pools, &chance)
      return Term("(\(left.text) && \(right.text))", { left.sql($0) && right.sql($0) }, { left.swift($0) && right.swift($0) })
    default:
      let right = random(depth: depth - 1, pools, &chance)
      return Term("(\(left.text) || \(right.text))", { left.sql($0) || right.sql($0) }, { left.swift($0) || right.swift($0) })
    }
  }

  private static func leaf(_ pools: Pools, _ chance: inout Seeded) -> Term {
    switch chance.below(8) {
    case 0: number(pools, &chance)
    case 1: real(pools, &chance)
    case 2: otherReal(pools, &chance)
    case 3: string(pools, &chance)
    case 4: optional(pools, &chance)
    case 5: standing(pools, &chance)
    case 6: pair(&chance)
    default: other(pools, &chance)
    }
  }

  private static func number(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (a, b) = (chance.pick(pools.ints), chance.pick(pools.ints))
    let (low, high) = (min(a, b), max(a, b))
    return chance.pick([
      Term("int == \(a)", { $0.int == a }, { $0.int == a }), Term("int != \(a)", { $0.int != a }, { $0.int != a }),
      Term("int < \(a)", { $0.int < a }, { $0.int < a }), Term("int <= \(a)", { $0.int <= a }, { $0.int <= a }),
      Term("int > \(a)", { $0.int > a }, { $0.int > a }), Term("int >= \(a)", { $0.int >= a }, { $0.int >= a }),
      Term("int in \(low)..<\(high)", { (low..<high).contains($0.int) }, { (low..<high).contains($0.int) }),
      Term("int in \(low)...\(high)", { (low...high).contains($0.int) }, { (low...high).contains($0.int) }),
      Term("int in [\(a), \(b)]", { [a, b].contains($0.int) }, { [a, b].contains($0.int) }),
      Term("int == number", { $0.int == $0.number }, { $0.int == $0.number }),
      Term("number < \(a)", { $0.number < a }, { $0.number < a }),
    ])
  }

  private static func real(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (a, b) = (chance.pick(pools.doubles), chance.pick(pools.doubles))
    let (low, high) = (a.isNaN || b.isNaN ? 0 : min(a, b), a.isNaN || b.isNaN ? 1 : max(a, b))
    return chance.pick([
      Term("double == \(a)", { $0.double == a }, { $0.double == a }),
      Term("double != \(a)", { $0.double != a }, { $0.double != a }),
      Term("double < \(a)", { $0.double < a }, { $0.double < a }),
      Term("double <= \(a)", { $0.double <= a }, { $0.double <= a }),
      Term("double > \(a)", { $0.double > a }, { $0.double > a }),
      Term("double >= \(a)", { $0.double >= a }, { $0.double >= a }),
      Term("double in \(low)...\(high)", { (low...high).contains($0.double) }, { (low...high).contains($0.double) }),
      Term("double in \(low)..<\(high)", { (low..<high).contains($0.double) }, { (low..<high).contains($0.double) }),
      Term("double in [\(a), \(b)]", { $0.double.isIn([a, b]) }, { [a, b].contains($0.double) }),
      Term("double < ratio", { $0.double < $0.ratio }, { $0.double < $0.ratio }),
      Term("double == level", { $0.double == $0.level }, { $0.double == $0.level }),
      Term("double != ratio", { $0.double != $0.ratio }, { $0.double != $0.ratio }),
      Term("level >= ratio", { $0.level >= $0.ratio }, { $0.level >= $0.ratio }),
    ])
  }

  private static func otherReal(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let a = chance.pick(pools.doubles)
    let (f, d) = (Float(a), Date(timeIntervalSinceReferenceDate: a))
    return chance.pick([
      Term("float == \(a)", { $0.float == f }, { $0.float == f }), Term("float < \(a)", { $0.float < f }, { $0.float < f }),
      Term("float >= \(a)", { $0.float >= f }, { $0.float >= f }),
      Term("date == \(a)", { $0.date == d }, { $0.date == d }), Term("date > \(a)", { $0.date > d }, { $0.date > d }),
      Term(
        "perhapsDouble < \(a)", { $0.perhapsDouble < a }, { object in object.perhapsDouble.map { $0 < a } ?? false }),
      Term(
        "perhapsDouble >= \(a)", { $0.perhapsDouble >= a }, { object in object.perhapsDouble.map { $0 >= a } ?? false }),
      Term("perhapsDouble != \(a)", { $0.perhapsDouble != a }, { $0.perhapsDouble != a }),
      Term("perhapsDouble == nil", { $0.perhapsDouble == nil }, { $0.perhapsDouble == nil }),
    ])
  }

  private static func string(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (a, b) = (chance.pick(pools.texts), chance.pick(pools.texts))
    let (x, y) = (Bytes(a), Bytes(b))
    return chance.pick([
      Term("text == \(a.debugDescription)", { $0.text == a }, { Bytes($0.text) == x }),
      Term("text != \(a.debugDescription)", { $0.text != a }, { Bytes($0.text) != x }),
      Term("text < \(a.debugDescription)", { $0.text < a }, { Bytes($0.text) < x }),
      Term("other >= \(a.debugDescription)", { $0.other >= a }, { Bytes($0.other) >= x }),
      Term(
        "text in [\(a.debugDescription), \(b.debugDescription)]", { [a, b].contains($0.text) },
        { [x, y].contains(Bytes($0.text)) }),
      Term("text prefix \(a.debugDescription)", { $0.text.hasPrefix(a) }, { $0.text.utf8.starts(with: a.utf8) }),
      Term("other contains \(a.debugDescription)", { $0.other.contains(a) }, { $0.other.hasBytes(a) }),
      Term("other suffix \(a.debugDescription)", { $0.other.hasSuffix(a) }, { $0.other.hasLastBytes(a) }),
      Term("other equals \(a.debugDescription) in any case", { $0.other.equals(a, options: .caseInsensitive) }) {
        Bytes($0.other.lowercased().precomposedStringWithCanonicalMapping)
          == Bytes(a.lowercased().precomposedStringWithCanonicalMapping)
      },
      Term("text == other", { $0.text == $0.other }, { Bytes($0.text) == Bytes($0.other) }),
      Term("text <= other", { $0.text <= $0.other }, { Bytes($0.text) <= Bytes($0.other) }),
    ])
  }

  private static func optional(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (a, t) = (chance.pick(pools.ints), chance.pick(pools.texts))
    return chance.pick([
      Term("perhapsInt == nil", { $0.perhapsInt == nil }, { $0.perhapsInt == nil }),
      Term("perhapsInt != nil", { $0.perhapsInt != nil }, { $0.perhapsInt != nil }),
      Term("perhapsInt == \(a)", { $0.perhapsInt == a }, { $0.perhapsInt == a }),
      Term("perhapsInt != \(a)", { $0.perhapsInt != a }, { $0.perhapsInt != a }),
      Term("perhapsInt > \(a)", { $0.perhapsInt > a }, { object in object.perhapsInt.map { $0 > a } ?? false }),
      Term("perhapsInt <= \(a)", { $0.perhapsInt <= a }, { object in object.perhapsInt.map { $0 <= a } ?? false }),
      Term("perhapsText == \(t.debugDescription)", { $0.perhapsText == t }, { $0.perhapsText.map(Bytes.init) == Bytes(t) }),
      Term("perhapsText != \(t.debugDescription)", { $0.perhapsText != t }, { $0.perhapsText.map(Bytes.init) != Bytes(t) }),
      Term(
        "perhapsText prefix \(t.debugDescription)", { $0.perhapsText.hasPrefix(t) },
        { $0.perhapsText?.utf8.starts(with: t.utf8) ?? false }),
      Term(
        "perhapsText contains \(t.debugDescription)", { $0.perhapsText.contains(t) }, { $0.perhapsText?.hasBytes(t) ?? false }),
      Term(
        "perhapsText suffix \(t.debugDescription)", { $0.perhapsText.hasSuffix(t) },
        { $0.perhapsText?.hasLastBytes(t) ?? false }),
    ])
  }

  /// Two properties, of which one or both may be nil.
  private static func pair(_ chance: inout Seeded) -> Term {
    chance.pick([
      Term("perhapsInt == int", { $0.perhapsInt == $0.int }, { $0.perhapsInt == $0.int }),
      Term("int != perhapsInt", { $0.int != $0.perhapsInt }, { $0.int != $0.perhapsInt }),
      Term(
        "perhapsInt < count", { $0.perhapsInt < $0.count }, { object in object.perhapsInt.map { $0 < object.count } ?? false }),
      Term("int >= perhapsInt", { $0.int >= $0.perhapsInt }, { object in object.perhapsInt.map { object.int >= $0 } ?? false }),
      Term(
        "perhapsText == mood", { $0.perhapsText == $0.mood }, { $0.perhapsText.map(Bytes.init) == $0.mood.map(Bytes.init) }),
      Term("mood != text", { $0.mood != $0.text }, { $0.mood.map(Bytes.init) != Bytes($0.text) }),
      Term("perhapsText <= mood", { $0.perhapsText <= $0.mood }) { object in
        guard let text = object.perhapsText, let mood = object.mood else { return false }
        return Bytes(text) <= Bytes(mood)
      },
      Term("perhapsDouble == ratio", { $0.perhapsDouble == $0.ratio }, { $0.perhapsDouble == $0.ratio }),
      Term("perhapsDouble is itself", { $0.perhapsDouble == $0.$perhapsDouble }) { object in
        object.perhapsDouble.map { !$0.isNaN } ?? true
      },
      Term(
        "level > perhapsDouble", { $0.level > $0.perhapsDouble },
        { object in object.perhapsDouble.map { object.level > $0 } ?? false }),
    ])
  }

  private static func standing(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (a, d, t) = (chance.pick(pools.ints), chance.pick(pools.doubles), chance.pick(pools.texts))
    let x = Bytes(t)
    return chance.pick([
      Term("count == \(a)", { $0.count == a }, { $0.count == a }), Term("count < \(a)", { $0.count < a }, { $0.count < a }),
      Term("count != \(a)", { $0.count != a }, { $0.count != a }),
      Term("count in [\(a), 3]", { [a, 3].contains($0.count) }, { [a, 3].contains($0.count) }),
      Term("word == \(t.debugDescription)", { $0.word == t }, { Bytes($0.word) == x }),
      Term("word >= \(t.debugDescription)", { $0.word >= t }, { Bytes($0.word) >= x }),
      Term("word prefix \(t.debugDescription)", { $0.word.hasPrefix(t) }, { $0.word.utf8.starts(with: t.utf8) }),
      Term("word contains \(t.debugDescription)", { $0.word.contains(t) }, { $0.word.hasBytes(t) }),
      Term("word suffix \(t.debugDescription) in any case", { $0.word.hasSuffix(t, options: .caseInsensitive) }) {
        $0.word.lowercased().precomposedStringWithCanonicalMapping.hasLastBytes(
          t.lowercased().precomposedStringWithCanonicalMapping)
      },
      Term("word < text", { $0.word < $0.text }, { Bytes($0.word) < Bytes($0.text) }),
      Term("ratio == \(d)", { $0.ratio == d }, { $0.ratio == d }), Term("ratio <= \(d)", { $0.ratio <= d }, { $0.ratio <= d }),
      Term("ratio > \(d)", { $0.ratio > d }, { $0.ratio > d }), Term("level < \(d)", { $0.level < d }, { $0.level < d }),
      Term("level in [\(d), 0]", { [d, 0].contains($0.level) }, { [d, 0].contains($0.level) }),
      Term("mood == nil", { $0.mood == nil }, { $0.mood == nil }),
      Term("mood == \(t.debugDescription)", { $0.mood == t }, { $0.mood.map(Bytes.init) == x }),
      Term("mood != \(t.debugDescription)", { $0.mood != t }, { $0.mood.map(Bytes.init) != x }),
    ])
  }

  private static func other(_ pools: Pools, _ chance: inout Seeded) -> Term {
    let (u, t) = (chance.pick(pools.uuids), chance.pick(pools.texts))
    let grade: Grade = chance.pick([.poor, .fair, .good])
    return chance.pick([
      Term("flag", { $0.flag.magicPredicate }, { $0.flag }), Term("!flag", { !$0.flag }, { !$0.flag }),
      Term("uuid == \(u)", { $0.uuid == u }, { $0.uuid == u }), Term("uuid != \(u)", { $0.uuid != u }, { $0.uuid != u }),
      Term("data == \(t.debugDescription)", { $0.data == Data(t.utf8) }, { $0.data == Data(t.utf8) }),
      Term("genre == poems", { $0.genre == .poems }, { $0.genre == .poems }),
      Term("genre in [novel, essay]", { $0.genre.isIn([.novel, .essay]) }, { [.novel, .essay].contains($0.genre) }),
      Term("genre > novel", { $0.genre > .novel }, { $0.genre.rawValue > Genre.novel.rawValue }),
      Term("only == one", { $0.only == .one }, { $0.only == .one }),
      Term("shape == round", { $0.$shape == .round }, { $0.shape == .round }),
      Term("shape != round", { $0.shape != .round }, { $0.shape != .round }),
      Term("grade == \(grade)", { $0.grade == grade }, { $0.grade == grade }),
      Term("grade != \(grade)", { $0.grade != grade }, { $0.grade != grade }),
      Term(
        "grade <= \(grade)", { $0.grade <= grade }, { object in object.grade.map { $0.rawValue <= grade.rawValue } ?? false }),
    ])
  }
}

extension String {
  fileprivate func hasLastBytes(_ part: String) -> Bool { Array(utf8.suffix(part.utf8.count)) == Array(part.utf8) }

  fileprivate func hasBytes(_ part: String) -> Bool {
    let (text, part) = (Array(utf8), Array(part.utf8))
    return part.count <= text.count && (0...(text.count - part.count)).contains { Array(text[$0..<($0 + part.count)]) == part }
  }
}
