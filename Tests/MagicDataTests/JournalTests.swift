import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

/// The tables that keep the journal (Protocol/journal.md, J-18).
@Suite struct JournalTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func transactions() async throws -> [Transaction] {
    try await magic.store.read { db in
      var transactions: [Transaction] = []
      try JournalReader(db).forEachTransaction { transactions.append($0) }
      return transactions
    }
  }

  /// L-1, J-2: sequences count up from 1 without holes, and stamps rise with them.
  @Test func aLargeTransactionStaysOneAndThoseAroundItFollow() async throws {
    try await magic.update(Cat("first", 1))
    try await magic.update(contentsOf: (0..<1_000).map { Cat("cat \($0)", Double($0)) })
    try await magic.update(Cat("last", 1))
    try await magic.update(Cat("more", 1))
    let transactions = try await transactions()
    #expect(transactions.map(\.sequence) == [1, 2, 3, 4])
    #expect(transactions.map(\.entries.count) == [1, 1_000, 1, 1])
    #expect(zip(transactions, transactions.dropFirst()).allSatisfy { $0.name.stamp < $1.name.stamp })
    let name = try await magic.store.read { db in
      let reader = try JournalReader(db)
      return try (1...5).map { try reader.name(at: $0, of: transactions[0].replica) }
    }
    #expect(name == transactions.map(\.name) + [nil])
    let after = try await magic.store.read { db in
      var after: [Transaction] = []
      try JournalReader(db).forEachTransaction(of: transactions[0].replica, after: 2) { after.append($0) }
      return after
    }
    #expect(after == Array(transactions[2...]))
  }

  /// J-2: the entry that an object has in a transaction is found again when its row of the journal is full.
  @Test func netEffectsReachBackOverManyRows() async throws {
    let cats = (0..<500).map { Cat("cat \($0)", 1) }
    try await magic.transaction { transaction in
      for cat in cats { try await transaction.update(cat) }
      for (index, cat) in cats.enumerated() {
        cat.weight = Double(index)
        cat.owner = String(repeating: "owner ", count: index % 50)
        try await transaction.update(cat)
      }
      for cat in cats where cat.weight.truncatingRemainder(dividingBy: 2) == 1 { try await transaction.remove(cat) }
    }
    let entries = try #require(try await transactions().first).entries
    #expect(entries.count == 500)
    #expect(entries.count { $0.operation == .remove } == 250)
    let held = try await magic.object(of: Cat.self)
    #expect(held.map(\.weight) == stride(from: 0.0, to: 500, by: 2).map { $0 })
    let naive = try await NaiveFold(journalOf: magic)
    #expect(try await naive.dump == Dump(magic))
  }

  @Test func anObjectsHistoryIsWhole() async throws {
    let (tom, kit) = (Cat("Tom", 0), Cat("Kit", 0))
    for round in 1...300 {
      tom.weight = Double(round)
      try await magic.update(tom)
      if round.isMultiple(of: 7) {
        kit.weight = Double(round)
        try await magic.update(kit)
      }
    }
    let (weights, count) = try await magic.store.read { db in
      let reader = try JournalReader(db)
      let table = ObjectTable(reader.schema.types[0], db)
      var weights: [Double] = []
      let place = try #require(try table.place(of: .primary(.text("Tom"))))
      try reader.forEachEntry(from: place.last) { _, _, _, entry in
        for field in entry.fields where reader.schema.types[0].schema.fields[field.field].name.text == "weight" {
          if case .real(let weight) = field.value { weights.append(weight) }
        }
      }
      var count = 0
      let other = try #require(try table.place(of: .primary(.text("Kit"))))
      try reader.forEachEntry(from: other.last) { _, _, _, _ in count += 1 }
      return (weights, count)
    }
    #expect(weights == stride(from: 300.0, through: 1, by: -1).map { $0 })
    #expect(count == 42)
  }

  /// J-8, J-18: an instance that was fetched among many does not know its object's last entry, and each save is put behind the
  /// one that is the last by then.
  @Test func whatWasFetchedAmongManyIsSavedOverWhatIsThereByThen() async throws {
    try await magic.update(contentsOf: (0..<40).map { Cat("cat \($0)", 1) })
    let fetched = try await magic.query(of: Cat.self).sorted(by: \.name).all()
    let others = try await magic.object(of: Cat.self)
    for other in others where other.name.hasSuffix("1") { other.lives = 3 }
    try await magic.update(contentsOf: others)
    try await magic.remove(#require(others.first { $0.name == "cat 5" }))
    for cat in fetched { cat.weight = 2 }
    try await magic.update(contentsOf: fetched)
    try await magic.update(contentsOf: fetched)
    fetched[0].weight = 4
    fetched[0].owner = "Ann"
    try await magic.transaction { tx in
      try await tx.update(fetched[0])
      fetched[0].weight = 5
      try await tx.update(contentsOf: [fetched[0]])
    }
    let transactions = try await transactions()
    #expect(transactions.map(\.entries.count) == [40, 4, 1, 40, 1])
    let found = try await magic.query(of: Cat.self).sorted(by: \.name).all()
    let weights: [Double] = [5] + Array(repeating: 2, count: 39)
    #expect(found.map(\.weight) == weights)
    #expect(found.filter { $0.lives == 3 }.map(\.name) == ["cat 1", "cat 11", "cat 21", "cat 31"])
    // Each of all entries is found from its object's row.
    let lengths = try await magic.store.read { db in
      let reader = try JournalReader(db)
      var lengths: [Int] = []
      try ObjectTable(reader.schema.types[0], db).forEachRow { _, place in
        var length = 0
        try reader.forEachEntry(from: place.last) { _, _, _, _ in length += 1 }
        lengths.append(length)
      }
      return lengths
    }
    #expect(lengths.reduce(0, +) == transactions.reduce(0) { $0 + $1.entries.count })
  }
}
