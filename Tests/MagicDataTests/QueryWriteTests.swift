import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct QueryWriteTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
    try await magic.update(contentsOf: (0..<10).map { Book("\($0)", year: $0) })
  }

  private func transactions() async throws -> UInt64 {
    try await magic.store.read { db in try JournalReader(db).frontier()[DatabaseState(db).replica] }
  }

  private func sameAsJournal() async throws -> Bool {
    try await Dump(magic) == NaiveFold(journalOf: magic).dump
  }

  @Test func aRemoveIsOneTransactionOfTheJournal() async throws {
    let before = try await transactions()
    #expect(try await magic.query(of: Book.self).where { $0.year > 3 }.sorted(by: \.year).offset(1).limit(3).remove() == 3)
    #expect(try await magic.query(of: Book.self).all().map(\.year) == [0, 1, 2, 3, 4, 8, 9])
    #expect(try await transactions() == before + 1)
    #expect(try await sameAsJournal())
    #expect(try await magic.query(of: Book.self).where { $0.year > 100 }.remove() == 0)
    #expect(try await transactions() == before + 1)
    #expect(try await magic.query(of: Book.self).remove() == 7)
    #expect(try await magic.count(of: Book.self) == 0)
    #expect(try await sameAsJournal())
  }

  @Test func aQueryInATransactionSeesItsChanges() async throws {
    let magic = magic
    try await magic.transaction { tx in
      try await tx.update(Book("x", year: 5))
      #expect(try await tx.query(of: Book.self).where { $0.year == 5 }.all().map(\.title) == ["5", "x"])
      // Not from outside.
      #expect(try await magic.query(of: Book.self).where { $0.year == 5 }.count() == 1)
      #expect(try await tx.query(of: Book.self).where { $0.year < 5 }.remove() == 5)
      #expect(try await tx.count(of: Book.self) == 6)
      #expect(try await tx.object(of: Book.self).where { $0.title == "x" }.count == 1)
      do {
        try await tx.transaction { inner in
          #expect(try await inner.query(of: Book.self).remove() == 6)
          await #expect(throws: MagicDataError.self) { try await tx.query(of: Book.self).count() }
          throw CancellationError()
        }
      } catch is CancellationError {}
      #expect(try await tx.query(of: Book.self).count() == 6)
    }
    #expect(try await magic.count(of: Book.self) == 6)
    #expect(try await sameAsJournal())
  }

  @Test func aQueryOfATransactionThatIsOverIsRefused() async throws {
    let magic = magic
    let query = try await magic.transaction { tx in tx.query(of: Book.self) }
    await #expect { try await query.count() } throws: { ($0 as? MagicDataError)?.code == .transaction }
    await #expect { try await magic.transaction { _ in try await magic.query(of: Book.self).remove() } } throws: {
      ($0 as? MagicDataError)?.code == .transaction
    }
  }

  @Test func objectsOfARolledBackTransactionAreForgotten() async throws {
    var kept: [Book] = []
    do {
      try await magic.transaction { tx in
        try await tx.update(Book("ghost"))
        kept = try await tx.query(of: Book.self).where { $0.title == "ghost" }.all()
        throw CancellationError()
      }
    } catch is CancellationError {}
    do {
      try await magic.remove(kept[0])
      Issue.record("it was never stored")
    } catch let error as MagicDataError {
      #expect(error.code == .notSaved)
    }
  }

  /// M-6: an object without a required value is kept, and in no result.
  @Test func incompleteObjectsAreInNoResult() async throws {
    try await magic.store.write { db in try db.execute(sql: "UPDATE Book SET title = NULL WHERE year = 4") }
    let query = magic.query(of: Book.self).where { $0.year >= 3 && $0.year <= 5 }
    #expect(try await query.count() == 2)
    #expect(try await query.all().map(\.year) == [3, 5])
    #expect(try await query.sorted(by: \.title).all().map(\.year) == [3, 5])
    #expect(try await query.limit(2).all().map(\.year) == [3, 5])
    #expect(try await magic.query(of: Book.self).where { !($0.title == "x") }.count() == 9)
    #expect(try await magic.query(of: Book.self).where { $0.title < "5" }.count() == 4)
    #expect(try await magic.count(of: Book.self) == 9)
    var streamed: [Int] = []
    for try await book in query.stream() { streamed.append(book.year) }
    #expect(streamed == [3, 5])
    #expect(try await query.remove() == 2)
  }

  /// What only a newer app can read is counted, and not given out.
  @Test func objectsThatCannotBeReadAreNotGivenOut() async throws {
    try await magic.store.write { db in try db.execute(sql: "UPDATE Book SET isSold = 7 WHERE year < 2") }
    #expect(try await magic.query(of: Book.self).all().count == 10)
    struct Strict: MagicObject {
      @PrimaryMagicValue var isbn: String
      @MagicValue var year: Int
      @MagicValue var isSold: Bool
      static var magicName: String { "Book" }
      init() {}
    }
    let other = try await MagicData(path: folder["db"])
    let query = other.query(of: Strict.self).sorted(by: \.year)
    #expect(try await query.count() == 10)
    #expect(try await query.all().map(\.year) == Array(2..<10))
    #expect(try await query.first()?.year == 2)
    #expect(try await query.limit(1).first() == nil)
  }

  @Test func queriesGoOnWhileOthersWrite() async throws {
    let magic = magic
    let books = (0..<400).map { "w\($0)" }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          for name in books[(part * 100)..<(part * 100 + 100)] { try await magic.update(Book(name, year: 10_000)) }
        }
        group.addTask {
          var last = 0
          for _ in 0..<40 {
            let query = magic.query(of: Book.self).where { $0.year == 10_000 }
            let count = try await query.count()
            #expect(count >= last)
            last = count
            var seen: Set<String> = []
            for try await book in query.sorted(by: \.title).stream() { #expect(seen.insert(book.title).inserted) }
            #expect(seen.count >= count)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await magic.query(of: Book.self).where { $0.year == 10_000 }.remove() == 400)
    #expect(try await sameAsJournal())
  }
}
