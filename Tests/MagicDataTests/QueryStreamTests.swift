import Foundation
import MagicData
import TestSupport
import Testing

@Suite struct QueryStreamTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func shelve(_ count: Int) async throws -> MagicQuery<Book> {
    try await magic.update(contentsOf: (0..<count).map { Book("\($0)", author: "\($0 % 3)", year: $0 % 7, pages: count - $0) })
    return magic.query(of: Book.self)
  }

  private func pages(_ query: MagicQuery<Book>) async throws -> [Int] {
    var pages: [Int] = []
    for try await book in query.stream() { pages.append(book.pages) }
    return pages
  }

  @Test(arguments: [0, 1, 255, 256, 257, 1_000]) func aStreamGivesWhatAllGives(count: Int) async throws {
    let query = try await shelve(count)
    for query in [
      query, query.sorted(by: \.pages), query.sorted(by: \.year, .descending).then(by: \.pages), query.where { $0.year != 3 },
      query.where { $0.pages > 10 }, query.where { $0.title.contains("1") }.limit(300).offset(3), query.limit(256),
      query.offset(2_000),
      query.sorted(by: \.author).limit(257).offset(1),
    ] {
      let all = try await query.all().map(\.pages)
      #expect(try await pages(query) == all)
    }
  }

  /// Nothing runs and nothing is held between two objects: others write, the database closes.
  @Test func whoStopsEarlyLeavesNothingBehind() async throws {
    let query = try await shelve(1_000)
    for query in [query, query.sorted(by: \.title)] {
      var iterator = query.stream().makeAsyncIterator()
      let first = try await iterator.next()
      #expect(first != nil)
      for try await book in query.stream() where book.year == 3 { break }
      try await magic.update(Book("another"))
    }
    var iterator = query.stream().makeAsyncIterator()
    var count = try await iterator.next() == nil ? 0 : 1
    try await magic.close()
    // What was loaded is still given, and nothing behind an error.
    do {
      while try await iterator.next() != nil { count += 1 }
      Issue.record("the database is closed")
    } catch is MagicDataError {}
    #expect(count == 256)
    let last = try await iterator.next()
    #expect(last == nil)
  }

  @Test func whatOthersWriteMeanwhileShows() async throws {
    let query = try await shelve(600)
    for (query, last) in [(query.where { $0.year < 100 }, "new"), (query.where { $0.year < 100 }.sorted(by: \.pages), "0")] {
      var seen: [String] = []
      for try await book in query.stream() {
        seen.append(book.title)
        guard seen.count == 100 else { continue }
        for number in [290, 300] { try await magic.remove(try await magic.object(of: Book.self, primary: "\(number)")) }
        let other = try await magic.object(of: Book.self, primary: "280")
        other.year = 1_000
        try await magic.update(other)
        let moved = try await magic.object(of: Book.self, primary: "270")
        moved.pages = 100_000
        try await magic.update(moved)
        try await magic.update(Book("new", year: 1))
      }
      #expect(Set(seen).count == seen.count)
      #expect(seen.last == last)
      #expect(!seen.contains("290") && !seen.contains("300") && !seen.contains("280") && seen.contains("270"))
      for title in ["290", "300", "280", "270"] {
        try await magic.update(Book(title, author: "", year: 1, pages: 600 - (Int(title) ?? 0)))
      }
      try await magic.remove(try await magic.object(of: Book.self, primary: "new"))
    }
  }

  @Test func aCancelledConsumerIsTold() async throws {
    _ = try await shelve(1_000)
    let magic = magic
    let task = Task {
      var count = 0
      for try await _ in magic.query(of: Book.self).stream() {
        count += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return count
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @MainActor @Test func aConsumerOnTheMainActorGetsItsObjects() async throws {
    _ = try await shelve(300)
    final class Model {
      var books: [Book] = []
    }
    let model = Model()
    for try await book in magic.query(of: Book.self).sorted(by: \.pages).stream() {
      MainActor.assertIsolated()
      model.books.append(book)
    }
    #expect(model.books.count == 300)
    model.books[0].title = "x"
  }

  private actor Reader {
    var books: [Book] = []

    func read(_ magic: MagicData) async throws -> Int {
      for try await book in magic.query(of: Book.self).where({ $0.year == 1 }).stream() {
        assertIsolated()
        books.append(book)
      }
      books.append(contentsOf: try await magic.query(of: Book.self).where { $0.year == 2 }.all())
      if let first = try await magic.object(of: Book.self).where({ $0.year == 3 }).first() { books.append(first) }
      books[0].title = "mine"
      return books.count
    }
  }

  @Test func aConsumerInAnActorGetsItsObjects() async throws {
    _ = try await shelve(70)
    #expect(try await Reader().read(magic) == 21)
  }

  /// A transaction's stream sees its changes, and goes on over those that the consumer makes.
  @Test func aTransactionStreamsWhatItHasChanged() async throws {
    _ = try await shelve(600)
    try await magic.transaction { tx in
      try await tx.query(of: Book.self).where { $0.year == 0 }.remove()
      var count = 0
      for try await book in tx.query(of: Book.self).sorted(by: \.pages).stream() {
        book.owner = "me"
        try await tx.update(book)
        count += 1
      }
      #expect(count == 514)
    }
    #expect(try await magic.query(of: Book.self).where { $0.owner == "me" }.count() == 514)
  }
}
