import MagicJournal
import TestSupport
import Testing

@Suite struct MergeVectorTests {
  struct File: Codable {
    struct Case: Codable {
      var name: String
      var transactions: [TransactionNotation]
      var objects: [ObjectNotation]
      var digest: String
    }

    var cases: [Case]
  }

  /// L-4, L-24, M-1 to M-4, M-11, M-13 to M-20: objects and their digest.
  @Test func transactionsFoldToTheObjectsOfTheVectors() throws {
    let file = try VectorFile<File>("merge").content(orWrite: MergeVectorTests.make)
    for example in file.cases {
      var schema = Schema()
      let transactions = try example.transactions.map { try $0.transaction(&schema) }
      let folded = fold(transactions, schema)
      #expect(folded.digest(schema).description == example.digest, "\(example.name)")
      let numbers = folded.numbers(schema)
      let objects = try folded.objects.filter(\.value.isAlive).map { address, state in
        try text(ObjectNotation(address.key, state, numbers[address], of: schema.types[address.type]))
      }
      #expect(try objects.sorted() == example.objects.map(text).sorted(), "\(example.name)")
    }
  }

  /// L-23: order and repeats mean nothing.
  @Test(arguments: seeds(60)) func theFoldDependsOnTheSetAlone(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 40, purges: true)
    var chance = Seeded(seed)
    let expected = fold(history.transactions, history.schema)
    for _ in 0..<4 {
      let shuffled = (history.transactions + history.transactions.prefix(chance.below(20))).shuffled(using: &chance)
      #expect(fold(shuffled, history.schema).objects == expected.objects, "MAGIC_SEED=\(seed)")
      #expect(fold(shuffled, history.schema).digest(history.schema) == expected.digest(history.schema), "MAGIC_SEED=\(seed)")
    }
    var naive = NaiveFold()
    for transaction in history.transactions { naive.add(transaction, history.schema) }
    #expect(naive.dump == dump(expected, history.schema), "MAGIC_SEED=\(seed)")
  }

  /// M-12, L-24: other addresses and tags, a schema that knows more, and objects that are gone make no difference.
  @Test(arguments: seeds(20)) func whatIsNoDataIsNotInTheDigest(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 40, purges: true)
    let digest = fold(history.transactions, history.schema).digest(history.schema)
    let moved = history.transactions.enumerated().map { index, transaction in
      var moved = transaction
      (moved.replica, moved.sequence) = (Identifier(9, UInt64(index)), UInt64(index) + 5)
      // But for those in births.
      moved.name = TransactionName(stamp: moved.name.stamp, tag: ~moved.name.tag)
      return moved
    }
    var schema = history.schema
    schema.types[0].append(.init(name: try Name("more"), kind: .text))
    schema.types.append(TypeSchema(name: try Name("Other"), primary: nil))
    #expect(fold(moved, schema).digest(schema) == digest, "MAGIC_SEED=\(seed)")
    // Of an object without a primary value, and of one that claims a number.
    let (name, root) = (TransactionName(stamp: Stamp(1_000_000), tag: 1), Identifier(1, seed))
    let keys = (0..<UInt32(2)).map { ObjectKey.birth(Birth(transaction: name, ordinal: $0)) }
    let made = Transaction(
      replica: root, sequence: 1, name: name, root: root,
      entries: [
        Entry(type: schema.types.count - 1, key: keys[0], operation: .birth, fields: []),
        Entry(type: 2, key: keys[1], operation: .claim(number: 99), fields: []),
      ])
    var removed = made
    (removed.sequence, removed.name) = (2, TransactionName(stamp: Stamp(1_000_001), tag: 2))
    for index in removed.entries.indices { removed.entries[index].operation = .remove }
    #expect(fold(moved + [made], schema).digest(schema) != digest, "MAGIC_SEED=\(seed)")
    #expect(fold(moved + [made, removed], schema).digest(schema) == digest, "MAGIC_SEED=\(seed)")
  }

  private func fold(_ transactions: [Transaction], _ schema: Schema) -> Folded {
    var folded = Folded()
    for transaction in transactions { folded.fold(transaction, schema) }
    return folded
  }

  private func dump(_ folded: Folded, _ schema: Schema) -> Dump {
    var dump = Dump()
    let numbers = folded.numbers(schema)
    for (address, state) in folded.objects where state.isAlive {
      let type = schema.types[address.type]
      let values = state.row.filter { $0.value != .null && $0.value != .list([]) }.map {
        (Dump.column(of: type.fields[$0.field]), $0.value)
      }
      let object = Dump.Object(type: type.name.text, key: address.key)
      dump.objects[object] = Dictionary(uniqueKeysWithValues: values)
      if let number = numbers[address] { dump.objects[object]?[Dump.number] = .integer(number) }
    }
    return dump
  }

  private static func make() throws -> File {
    let names: [(String, UInt64, Int)] = [
      ("one transaction", 1, 1), ("a few", 2, 6), ("ties, removes and revivals", 3, 25), ("a longer history", 4, 60),
      ("another", 5, 60),
    ]
    var cases = [File.Case(name: "nothing", transactions: [], objects: [], digest: Digest().description)]
    for (name, seed, count) in names {
      let history = try History(seed: seed, transactions: count, purges: false)
      cases.append(try make(name, history.transactions, history.schema))
    }
    for (name, writes) in relations {
      let history = try RelationHistory(writes)
      cases.append(try make(name, history.transactions, history.schema))
    }
    for (name, writes) in numbers {
      let history = try NumberHistory(writes)
      cases.append(try make(name, history.transactions, history.schema))
    }
    for (name, writes) in purges {
      let history = try RelationHistory(writes)
      cases.append(try make(name, history.transactions, history.schema))
    }
    let history = try History(seed: 6, transactions: 60, purges: true)
    cases.append(try make("purges, among others", history.transactions, history.schema))
    return File(cases: cases)
  }

  private static func make(_ name: String, _ transactions: [Transaction], _ schema: Schema) throws -> File.Case {
    var folded = Folded()
    for transaction in transactions { folded.fold(transaction, schema) }
    let numbers = folded.numbers(schema)
    let objects = folded.objects.filter(\.value.isAlive).map {
      ObjectNotation($0.key.key, $0.value, numbers[$0.key], of: schema.types[$0.key.type])
    }
    return .init(
      name: name, transactions: transactions.map { TransactionNotation($0, schema) },
      objects: try objects.sorted { try text($0) < text($1) }, digest: folded.digest(schema).description)
  }

  private static let numbers: [(String, [NumberHistory.Write])] = [
    ("a claim", [.init(1, 1, .claim(number: 1))]),
    ("two claims of one number", [.init(2, 1, .claim(number: 1)), .init(1, 2, .claim(number: 1))]),
    (
      "three claims at one stamp",
      [.init(1, 1, .claim(number: 1)), .init(1, 2, .claim(number: 1)), .init(1, 3, .claim(number: 1))]
    ),
    ("a number set and claimed", [.init(1, 1, .claim(number: 7)), .init(2, 2, .update, of: .number(7))]),
    (
      "a number set, removed and claimed",
      [.init(1, 1, .update, of: .number(7)), .init(2, 1, .remove, of: .number(7)), .init(3, 2, .claim(number: 7))]
    ),
    (
      "a claim of an object that was removed",
      [.init(1, 1, .claim(number: 1)), .init(2, 1, .remove, of: .write(0)), .init(2, 2, .claim(number: 1))]
    ),
    (
      "the loser removed and revived",
      [
        .init(1, 1, .claim(number: 1)), .init(2, 2, .claim(number: 1)), .init(3, 2, .remove, of: .write(1)),
        .init(4, 2, .revival(base: Stamp(3)), of: .write(1)),
      ]
    ),
    ("a withdrawal", [.init(1, 1, .withdrawal(number: 1)), .init(1, 2, .claim(number: 1))]),
    ("an update whose claim has not arrived", [.init(3, 2, .update, of: .birth(1))]),
    (
      "a number set where a lost claim would go",
      [.init(1, 1, .claim(number: 1)), .init(2, 2, .update, of: .number(1)), .init(3, 3, .update, of: .hash(0))]
    ),
    ("the highest number", [.init(1, 1, .claim(number: Numbers.claimable.upperBound))]),
  ]

  private static let purges: [(String, [RelationHistory.Write])] = [
    ("a removed object, purged", [.init(1, 1, [.linksText("a")]), .init(2, 1, nil), .init(3, 1, purge: 1)]),
    (
      "purged, and revived by who knew of the remove",
      [.init(1, 1, [.linksText("a")]), .init(2, 1, nil), .init(4, 1, purge: 1), .init(3, 2, [.parent("p")], base: 2)]
    ),
    (
      "purged, and written to by who did not know of the remove",
      [.init(1, 1, [.rooms(["x": 1]), .links(["b"])]), .init(2, 1, nil), .init(4, 1, purge: 1), .init(3, 2, [.parent("p")])]
    ),
    ("a purge that arrives alone", [.init(4, 1, purge: 1)]),
    ("a purge that arrives before the remove", [.init(1, 2, [.linksText("a")]), .init(4, 1, purge: 1)]),
    (
      "what a purge leaves, below what was written since",
      [
        .init(1, 1, [.rooms(["x": 1]), .links(["b"]), .parent("p"), .agenda([1])]), .init(2, 1, nil), .init(7, 1, purge: 1),
        .init(6, 2, [.rooms(["y": 2]), .parent("q")]),
        .init(8, 2, purge: 1, but: [.rooms(["x": 1]), .links(["b"]), .parent("p"), .agenda([1])]),
        .init(9, 3, purge: 1, but: [.agenda([2])]),
      ]
    ),
    (
      "what a purge leaves of an object that was removed again",
      [
        .init(1, 1, [.linksText("a")]), .init(2, 1, nil), .init(7, 1, purge: 1), .init(5, 2, [.parent("q")]), .init(6, 3, nil),
        .init(8, 2, purge: 1, but: [.linksText("a")]),
      ]
    ),
    (
      "elements, purged and put in again",
      [
        .init(1, 1, [.links(["a", "b"]), .rooms(["x": 1])]), .init(2, 1, nil), .init(3, 1, purge: 1),
        .init(5, 2, [.links(["b", "c"])], base: 2), .init(6, 1, [.links([], out: ["c"])]),
      ]
    ),
  ]

  private static let relations: [(String, [RelationHistory.Write])] = [
    (
      "a set, changed by two",
      [.init(1, 1, [.links(["a", "b"])]), .init(2, 1, [.links(["d"], out: ["a"])]), .init(3, 2, [.links(["c"], out: ["b"])])]
    ),
    ("an element in and out at one version", [.init(2, 1, [.links(["a"])]), .init(2, 1, [.links([], out: ["a"])])]),
    (
      "a dictionary, changed by two",
      [
        .init(1, 1, [.rooms(["x": 1, "y": 2])]), .init(2, 1, [.rooms(["x": 3])]), .init(3, 2, [.rooms(["y": nil, "z": 4])]),
      ]
    ),
    (
      "lists and references at one stamp",
      [
        .init(1, 1, [.agenda([1, 2]), .parent("a")]), .init(1, 2, [.agenda([2, 2, 1]), .parent("b")]),
        .init(2, 1, [.parent(nil)]),
      ]
    ),
    ("all taken out", [.init(1, 1, [.links(["a"])]), .init(2, 1, [.links([], out: ["a"])])]),
    (
      "a revival over elements",
      [
        .init(1, 1, [.links(["a", "b"]), .rooms(["x": 1])]), .init(2, 1, nil), .init(3, 2, [.links(["d"])]),
        .init(4, 1, [.links(["c"])], base: 2),
      ]
    ),
    (
      "an update that knew of no remove",
      [.init(1, 1, [.links(["a", "b"])]), .init(2, 1, nil), .init(3, 2, [.links(["c"], out: ["b"])])]
    ),
    ("rivals: a set, then a text", [.init(1, 1, [.links(["a"])]), .init(2, 1, [.linksText("none")])]),
    (
      "rivals: a text, then a set",
      [.init(1, 1, [.links(["a"])]), .init(2, 1, [.linksText("none")]), .init(3, 2, [.links(["b"])])]
    ),
    (
      "rivals: an element taken out last",
      [
        .init(1, 1, [.links(["a", "b"])]), .init(2, 1, [.linksToCounts([7])]), .init(3, 2, [.links([], out: ["a"])]),
      ]
    ),
    ("rivals of one version, a set and a text", [.init(1, 1, [.links(["a"])]), .init(1, 1, [.linksText("none")])]),
    ("rivals of one version, two targets", [.init(1, 1, [.links(["a"])]), .init(1, 1, [.linksToCounts([7])])]),
  ]
}
