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

  private struct Strict: MagicObject {
    @PrimaryMagicValue var isbn: String
    @MagicValue var year: Int
    @MagicValue var genre: Genre
    @OptionMagicValue var grade: Grade?
    static var magicName: String { "Book" }
    init() {}
  }

  private struct Reader: MagicObject {
    @MagicValue var name: String
    @OptionMagicValue var book: Strict?
    @MagicValue var books: [Strict] = []
    init() {}
  }

  /// What only a newer app can read is in no result.
  @Test func objectsThatCannotBeReadAreNotThere() async throws {
    try await magic.query(of: Book.self).where { $0.year == 9 }.remove()
    for book in try await magic.object(of: Book.self) {
      book.genre = .poems
      try await magic.update(book)
    }
    let other = try await MagicData(path: folder["db"])
    let reader = Reader()
    reader.name = "r"
    reader.books = try await other.query(of: Strict.self).all()
    reader.book = reader.books[0]
    try await other.update(reader)
    try await magic.store.write { db in try db.execute(sql: "UPDATE Book SET genre = 'space', grade = 99 WHERE year < 2") }
    // A default, or nil, stands for what cannot be read.
    #expect(try await magic.query(of: Book.self).all().count == 9)
    #expect(try await magic.query(of: Book.self).count() == 9)
    let query = other.query(of: Strict.self).sorted(by: \.year, .descending).sorted(by: \.year)
    #expect(try await query.count() == 7)
    #expect(try await other.count(of: Strict.self) == 7)
    #expect(try await query.all().map(\.year) == Array(2..<9))
    #expect(try await query.first()?.year == 2)
    #expect(try await query.limit(1).first()?.year == 2)
    #expect(try await query.limit(2).all().map(\.year) == [2, 3])
    #expect(try await query.limit(2).count() == 2)
    #expect(try await query.offset(6).all().map(\.year) == [8])
    for query in [query, other.query(of: Strict.self)] {
      var streamed: [Int] = []
      for try await book in query.limit(3).offset(1).stream() { streamed.append(book.year) }
      #expect(streamed == [3, 4, 5])
    }
    // Whoever holds them holds none.
    let readers = other.query(of: Reader.self)
    #expect(try await readers.where { $0.book == nil && $0.books.count == 7 }.count() == 1)
    #expect(try await readers.where { $0.book.year < 5 }.count() == 0)
    #expect(try await readers.where { $0.books.contains { $0.year < 2 } }.count() == 0)
    #expect(try await readers.where { $0.books.contains { $0.year < 3 } }.count() == 1)
    #expect(try await query.where { $0.year < 4 }.remove() == 2)
    #expect(try await other.query(of: Strict.self).remove() == 5)
    #expect(try await magic.query(of: Book.self).all().map(\.year) == [0, 1])
  }

  private struct Old: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var size: String
    static var magicName: String { "Sized" }
    init() {}
  }
  private struct New: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var size: Int
    static var magicName: String { "Sized" }
    init() {}
    static func createMigrations() -> [MagicMigration] {
      [
        .converted("size", from: String.self, to: \New.$size) { text in
          guard let size = Int(text) else { throw CancellationError() }
          return size
        }
      ]
    }
  }

  /// A value of a former kind counts as what it is converted to.
  @Test func whatCannotBeConvertedIsNotThere() async throws {
    for id in 0..<4 {
      let old = Old()
      (old.id, old.size) = (id, id % 2 == 0 ? "\(id)" : "large")
      try await magic.update(old)
    }
    let newer = try await MagicData(path: folder["db"])
    #expect(try await newer.query(of: New.self).all().map(\.size) == [0, 2])
    #expect(try await newer.count(of: New.self) == 2)
    #expect(try await newer.query(of: New.self).offset(1).limit(1).all().map(\.size) == [2])
    #expect(try await newer.query(of: New.self).remove() == 2)
    #expect(try await magic.count(of: Old.self) == 2)
  }

  @Test func aQueryTellsOfValuesOfAFormerKindWheneverTheyCome() async throws {
    let newer = try await MagicData(path: folder["db"])
    let query = newer.query(of: New.self).where { $0.size > 1 }
    let old = Old()
    (old.id, old.size) = (0, "3")
    for size in 5...6 {
      try await magic.update(old)
      await #expect { try await query.count() } throws: { error in (error as? MagicDataError)?.code == .query }
      let new = try await newer.object(of: New.self, primary: 0)
      new.size = size
      try await newer.update(new)
      for _ in 0..<2 { #expect(try await query.all().map(\.size) == [size]) }
      old.size = "\(size)"
    }
    // What is rolled back tells nothing of what takes its place.
    await #expect(throws: CancellationError.self) {
      try await newer.transaction { tx in
        let other = New()
        (other.id, other.size) = (1, 9)
        try await tx.update(other)
        #expect(try await tx.query(of: New.self).where { $0.size > 1 }.count() == 2)
        throw CancellationError()
      }
    }
    old.size = "4"
    try await magic.update(old)
    await #expect { try await query.count() } throws: { error in (error as? MagicDataError)?.code == .query }
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
