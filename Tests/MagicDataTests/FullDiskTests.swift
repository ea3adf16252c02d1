import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

private struct Box: MagicObject {
  @PrimaryMagicValue var name: String
  @OptionMagicValue var best: Cat?
  @MagicValue var cats: MagicalSet<Cat> = []
  init() {}
  init(_ name: String) { self.name = name }
}

/// H-34, J-35: no space is left, at any call. Nothing of the transaction is stored, and what could not be saved can be saved
/// later.
@Suite struct FullDiskTests {
  let folder: TemporaryFolder
  let magic: MagicData
  /// More than the pages that are left.
  private let long = String(repeating: "x", count: 400_000)

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
    try await magic.update(Cat("Tom", 4))
    try await magic.update(Box("box"))
  }

  private func fill() async throws {
    try await magic.store.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages + 20)")
    }
  }

  private func free() async throws {
    try await magic.store.write { db in _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = 1000000") }
  }

  enum Call: CaseIterable {
    case update, many, graph, transaction, nested, blocking, blockingTransaction
  }

  private func save(_ cat: Cat, _ box: Box, _ call: Call) async throws {
    switch call {
    case .update: try await magic.update(cat)
    case .many: try await magic.update(contentsOf: [Cat("Kit", 1), cat])
    case .graph: try await magic.update(box)
    case .transaction:
      try await magic.transaction { tx in
        try await tx.update(Cat("Kit", 1))
        try await tx.update(cat)
      }
    case .nested:
      try await magic.transaction { tx in
        try await tx.update(Cat("Kit", 1))
        try await tx.transaction { tx in try await tx.update(cat) }
      }
    case .blocking: try magic.blocking.update(cat)
    case .blockingTransaction:
      try magic.blocking.transaction { tx in
        try tx.update(Cat("Kit", 1))
        try tx.update(cat)
      }
    }
  }

  @Test(arguments: Call.allCases) func nothingIsStoredAndALaterSaveStoresAll(_ call: Call) async throws {
    let before = try await Dump(magic)
    let changes = try await magic.statistics().transactions
    let cat = try await magic.object(of: Cat.self, primary: "Tom")
    let box = try await magic.object(of: Box.self, primary: "box")
    cat.owner = long
    box.best = Cat(long, 1)
    box.cats = [cat, Cat("Kit", 1)]
    try await fill()
    for _ in 0..<2 {
      await #expect { try await save(cat, box, call) } throws: { ($0 as? MagicDataError)?.code == .full }
      #expect(try await Dump(magic) == before)
    }
    // What needs little goes on.
    try await magic.update(Cat("Small", 1))
    #expect(cat.owner == long)
    try await free()
    try await save(cat, box, call)
    if call == .graph {
      let fetched = try await magic.object(of: Box.self, primary: "box")
      #expect(fetched.best?.name == long)
      #expect(Set(fetched.cats.map(\.name)) == ["Tom", "Kit"])
    }
    #expect(try await magic.object(of: Cat.self, primary: "Tom").owner == long)
    #expect(try await magic.statistics().transactions == changes + 2)
    #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic))
    #expect(try await faultyPlaces(magic) == [])
  }

  /// An error that the body catches does not bring back what SQLite has rolled back by itself.
  @Test func aTransactionThatIsFullIsOver() async throws {
    let before = try await Dump(magic)
    let cat = Cat("Kit", 1)
    try await fill()
    cat.owner = long
    await #expect {
      try await magic.transaction { tx in
        try await tx.update(Cat("before", 1))
        _ = try? await tx.update(cat)
        try await tx.update(Cat("after", 1))
      }
    } throws: {
      ($0 as? MagicDataError)?.code == .transaction
    }
    #expect(try await Dump(magic) == before)
    try await free()
    try await magic.update(cat)
    #expect(try await magic.object(of: Cat.self, primary: "Kit").owner == long)
    #expect(try await NaiveFold(journalOf: magic).dump == Dump(magic))
  }

  /// A type that found no room for its table is made later.
  @Test func aNewTypeIsMadeLater() async throws {
    try await magic.store.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages)")
    }
    await #expect { try await magic.update(Everything.filled()) } throws: { ($0 as? MagicDataError)?.code == .full }
    #expect(try await magic.object(of: Everything.self).isEmpty)
    try await free()
    try await magic.update(Everything.filled())
    #expect(try await magic.object(of: Everything.self).count == 1)
  }
}
