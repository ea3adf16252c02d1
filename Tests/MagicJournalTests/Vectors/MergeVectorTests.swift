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

  @Test func transactionsFoldToTheObjectsOfTheVectors() throws {
    let file = try VectorFile<File>("merge").content(orWrite: MergeVectorTests.make)
    for example in file.cases {
      var schema = Schema()
      let transactions = try example.transactions.map { try $0.transaction(&schema) }
      let folded = fold(transactions, schema)
      #expect(folded.digest(schema).description == example.digest, "\(example.name)")
      let objects = try folded.objects.filter(\.value.isAlive).map { address, state in
        try text(ObjectNotation(address.key, state, of: schema.types[address.type]))
      }
      #expect(try objects.sorted() == example.objects.map(text).sorted(), "\(example.name)")
    }
  }

  /// L-23: order and repeats mean nothing.
  @Test(arguments: seeds(60)) func theFoldDependsOnTheSetAlone(seed: UInt64) throws {
    let history = try History(seed: seed, transactions: 40)
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

  private func fold(_ transactions: [Transaction], _ schema: Schema) -> Folded {
    var folded = Folded()
    for transaction in transactions { folded.fold(transaction, schema) }
    return folded
  }

  private func dump(_ folded: Folded, _ schema: Schema) -> Dump {
    var dump = Dump()
    for (address, state) in folded.objects where state.isAlive {
      let type = schema.types[address.type]
      let values = state.row.filter { $0.value != .null }.map { (Dump.column(of: type.fields[$0.field]), $0.value) }
      dump.objects[.init(type: type.name.text, key: address.key)] = Dictionary(uniqueKeysWithValues: values)
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
      let history = try History(seed: seed, transactions: count)
      var folded = Folded()
      for transaction in history.transactions { folded.fold(transaction, history.schema) }
      let objects = folded.objects.filter(\.value.isAlive).map {
        ObjectNotation($0.key.key, $0.value, of: history.schema.types[$0.key.type])
      }
      cases.append(
        .init(
          name: name, transactions: history.transactions.map { TransactionNotation($0, history.schema) },
          objects: try objects.sorted { try text($0) < text($1) }, digest: folded.digest(history.schema).description))
    }
    return File(cases: cases)
  }
}
