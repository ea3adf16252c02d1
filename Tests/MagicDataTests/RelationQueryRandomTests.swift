import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// Random conditions over relations, told by SQL and by Swift, with and without indexes, while objects are missing.
@Suite struct RelationQueryRandomTests {
  @Test(arguments: seeds(8)) func queriesOverRelationsAgreeWithSwift(seed: UInt64) async throws {
    var chance = Seeded(seed)
    let magic = try await MagicData(type: seed % 2 == 0 ? .memory : .temporary)
    var shelf = Shelves(&chance)
    try await shelf.save(in: magic)
    for _ in 0..<3 {
      for _ in 0..<60 {
        let term = Term.random(depth: 3, &chance)
        let expected = shelf.works.filter { term.swift($0, shelf) }.map(\.title)
        var query = magic.query(of: Work.self).where(term.sql)
        let text = "MAGIC_SEED=\(seed) \(term.text)"
        #expect(try await query.all().map(\.title) == expected, "\(text)")
        #expect(try await query.count() == expected.count, "\(text)")
        var streamed: [String] = []
        for try await work in query.stream() { streamed.append(work.title) }
        #expect(streamed == expected, "\(text)")
        query = query.sorted(by: \.author.name).limit(5)
        #expect(try await query.all().map(\.title) == shelf.sorted(expected).prefix(5).map { $0 }, "\(text)")
      }
      try await shelf.forget(in: magic, &chance)
    }
    try await magic.close()
  }
}

/// What was saved, as plain values.
private struct Shelves {
  struct PlainWork {
    let title: String
    let pages: Int
    let author: Int
    let editor: Int?
    let tags: Set<Int>
    let order: [Int]
  }

  var works: [PlainWork] = []
  /// Ages and weights; `nil` for those that were removed.
  var writers: [Int?]
  var tags: [Int?]
  static let names = ["a", "b", "c", "d", "e", "f"]

  init(_ chance: inout Seeded) {
    writers = Shelves.names.map { _ in chance.below(4) }
    tags = Shelves.names.map { _ in chance.below(4) }
    for number in 0..<chance.pick([5, 60]) {
      works.append(
        PlainWork(
          title: "\(number)", pages: chance.below(4), author: chance.below(6),
          editor: chance.below(2) == 0 ? nil : chance.below(6),
          tags: Set((0..<chance.below(3)).map { _ in chance.below(6) }),
          order: (0..<chance.below(4)).map { _ in chance.below(6) }))
    }
  }

  func save(in magic: MagicData) async throws {
    let writers = zip(Shelves.names, writers).map { name, age in
      let writer = Writer(name, age: age ?? 0)
      writer.nick = name
      return writer
    }
    let tags = zip(Shelves.names, tags).map { Tag($0, weight: $1 ?? 0) }
    try await magic.update(
      contentsOf: works.map { plain in
        let work = Work(plain.title, writers[plain.author], pages: plain.pages)
        work.editor = plain.editor.map { writers[$0] }
        work.tags = MagicalSet(plain.tags.map { tags[$0] })
        work.order = plain.order.map { tags[$0] }
        return work
      })
  }

  mutating func forget(in magic: MagicData, _ chance: inout Seeded) async throws {
    let (writer, tag) = (chance.below(6), chance.below(6))
    (writers[writer], tags[tag]) = (nil, nil)
    try await magic.query(of: Writer.self).where { $0.name == Shelves.names[writer] }.remove()
    try await magic.query(of: Tag.self).where { $0.name == Shelves.names[tag] }.remove()
    guard chance.below(2) == 0 else { return }
    try await magic.store.write { db in
      for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'magic_%_%'")
      where ["Work", "Writer", "Tag", "City"].contains(where: { name.hasPrefix("magic_\($0)_") }) {
        try db.execute(sql: "DROP INDEX \"\(name)\"")
      }
    }
  }

  /// By the author's name, with those that have none first.
  func sorted(_ titles: [String]) -> [String] {
    let works = Dictionary(uniqueKeysWithValues: works.map { ($0.title, $0) })
    func key(_ title: String) -> Int { works[title].flatMap { writers[$0.author] == nil ? nil : $0.author } ?? -1 }
    return titles.enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }.map(\.element)
  }
}

private struct Term {
  let text: String
  let sql: (MagicFields<Work>) -> MagicPredicate
  let swift: (Shelves.PlainWork, Shelves) -> Bool

  static func random(depth: Int, _ chance: inout Seeded) -> Term {
    guard depth > 0, chance.below(4) > 0 else { return leaf(&chance) }
    let left = random(depth: depth - 1, &chance)
    if chance.below(4) == 0 {
      return Term(text: "!(\(left.text))", sql: { !left.sql($0) }, swift: { !left.swift($0, $1) })
    }
    let right = random(depth: depth - 1, &chance)
    return chance.below(2) == 0
      ? Term(
        text: "(\(left.text) && \(right.text))", sql: { left.sql($0) && right.sql($0) },
        swift: { left.swift($0, $1) && right.swift($0, $1) })
      : Term(
        text: "(\(left.text) || \(right.text))", sql: { left.sql($0) || right.sql($0) },
        swift: { left.swift($0, $1) || right.swift($0, $1) })
  }

  private static func leaf(_ chance: inout Seeded) -> Term {
    let (number, name) = (chance.below(4), chance.below(6))
    let text = Shelves.names[name]
    func held(_ tags: some Sequence<Int>, _ shelf: Shelves) -> [Int] { tags.filter { shelf.tags[$0] != nil } }
    func age(_ writer: Int?, _ shelf: Shelves) -> Int? { writer.flatMap { shelf.writers[$0] } }
    func shown(_ writer: Int?, _ shelf: Shelves) -> Int? { age(writer, shelf) == nil ? nil : writer }
    let leaves: [Term] = [
      Term(text: "title \(number)", sql: { $0.title == "\(number)" }, swift: { work, _ in work.title == "\(number)" }),
      Term(text: "pages > \(number)", sql: { $0.pages > number }, swift: { work, _ in work.pages > number }),
      Term(
        text: "author \(text)", sql: { $0.author.name == text }, swift: { $0.author == name && $1.writers[name] != nil }),
      Term(
        text: "author is \(text)", sql: { $0.author == Writer(text) }, swift: { $0.author == name && $1.writers[name] != nil }),
      Term(
        text: "author's nick < \(text)", sql: { $0.author.nick < text },
        swift: { $1.writers[$0.author] != nil && $0.author < name }),
      Term(
        text: "author's age \(number)", sql: { $0.author.age == number }, swift: { age($0.author, $1) == number }),
      Term(
        text: "editor's age != \(number)", sql: { $0.editor.age != number }, swift: { age($0.editor, $1) != number }),
      Term(text: "no editor", sql: { $0.editor == nil }, swift: { age($0.editor, $1) == nil }),
      Term(text: "no nick", sql: { $0.editor.nick == nil }, swift: { age($0.editor, $1) == nil }),
      Term(
        text: "one age", sql: { $0.author.age == $0.editor.age }, swift: { age($0.author, $1) == age($0.editor, $1) }),
      Term(
        text: "one nick", sql: { $0.author.nick == $0.editor.nick },
        swift: { shown($0.author, $1) == shown($0.editor, $1) }),
      Term(
        text: "nick is name", sql: { $0.editor.nick == $0.editor.name }, swift: { _, _ in true }),
      Term(
        text: "age < pages", sql: { $0.author.age < $0.pages },
        swift: { work, shelf in age(work.author, shelf).map { $0 < work.pages } ?? false }),
      Term(
        text: "tag \(text)", sql: { $0.tags.contains { $0.name == text } }, swift: { held($0.tags, $1).contains(name) }),
      Term(
        text: "tag of \(number) but \(text)", sql: { $0.tags.contains { $0.weight == number && $0.name != text } },
        swift: { work, shelf in held(work.tags, shelf).contains { shelf.tags[$0] == number && $0 != name } }),
      Term(
        text: "order all \(number)", sql: { $0.order.allSatisfy { $0.weight >= number } },
        swift: { work, shelf in held(work.order, shelf).allSatisfy { (shelf.tags[$0] ?? 0) >= number } }),
      Term(text: "no tags", sql: { $0.tags.isEmpty }, swift: { held($0.tags, $1).isEmpty }),
      Term(
        text: "\(number) in order", sql: { $0.order.count == number }, swift: { held($0.order, $1).count == number }),
      Term(
        text: "> \(number) tags", sql: { $0.tags.count > number }, swift: { held($0.tags, $1).count > number }),
    ]
    return chance.pick(leaves)
  }
}
