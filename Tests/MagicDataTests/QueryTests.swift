import Foundation
import GRDB
import GRDBSQLite
import MagicData
import TestSupport
import Testing

@Suite struct QueryTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func shelve(_ books: [Book]) async throws {
    try await magic.update(contentsOf: books)
  }

  private func titles(_ query: MagicQuery<Book>) async throws -> [String] {
    try await query.all().map(\.title)
  }

  private func shelf() async throws -> MagicQuery<Book> {
    let books = [
      Book("Sand", author: "W", year: 1990, pages: 500), Book("Sea", author: "W", year: 1985, pages: 200),
      Book("Moon", author: "A", year: 2001, pages: 350), Book("Sun", author: "B", year: 2001, pages: 301),
      Book("Star", author: "A", year: 1999, pages: 300),
    ]
    books[0].owner = "Jon"
    books[1].rating = 4.5
    books[2].owner = ""
    books[2].isSold = true
    books[3].grade = .fair
    books[4].genre = .poems
    books[4].job = Job(title: "x", tags: ["b", "a"], scores: [:])
    try await shelve(books)
    return magic.query(of: Book.self)
  }

  // MARK: What is asked

  @Test func longListsLeaveNoStatementsBehind() async throws {
    _ = try await shelf()
    let magic = try await MagicData(type: .memory)
    try await magic.update(Book("Sea", author: "W", year: 1, pages: 1))
    func statements() async throws -> Int {
      try await magic.store.write { db in
        var (count, statement) = (0, sqlite3_next_stmt(db.sqliteConnection, nil))
        while statement != nil { (count, statement) = (count + 1, sqlite3_next_stmt(db.sqliteConnection, statement)) }
        return count
      }
    }
    let years = Array(1...2_000)
    _ = try await magic.query(of: Book.self).where { years.prefix(1_025).contains($0.year) }.count()
    let before = try await statements()
    for count in 1_026..<1_076 {
      let some = magic.query(of: Book.self).where { years.prefix(count).contains($0.year) }
      #expect(try await some.count() == 1)
      #expect(try await some.all().count == 1)
    }
    #expect(try await statements() <= before + 2)
    for count in 1_600..<1_605 {
      #expect(
        try await magic.query(of: Book.self)
          .where { book in (1...count).map { book.year == $0 }.reduce(book.year == 0) { $0 || $1 } }.count() == 1)
    }
    #expect(try await statements() <= before + 2)
    for count in 40..<60 {
      let either: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
        (1..<count).reduce(fields.year == 0) { (chain: MagicPredicate, year: Int) in chain || fields.year == year }
      }
      let neither: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
        (2..<count).reduce(fields.year != 0) { (chain: MagicPredicate, year: Int) in chain && fields.year != year }
      }
      #expect(try await magic.query(of: Book.self).where(either).count() == 1)
      #expect(try await magic.query(of: Book.self).where(neither).all().count == 1)
    }
    #expect(try await statements() <= before + 2)
  }

  @Test func manyListsTakeAsManyValuesAsAQueryDoes() async throws {
    var query = try await shelf()
    for part in 0..<60 {
      let years = Array((part * 520)..<(part * 520 + 520))
      query = query.where { !years.contains($0.pages) || $0.pages > 100 }
    }
    #expect(try await query.count() == 5)
    #expect(try await titles(query) == ["Sand", "Sea", "Moon", "Sun", "Star"])
  }

  @Test func allNaNsAreOneInAnOrder() async throws {
    _ = try await shelf()
    let zero = Double(try await magic.query(of: Book.self).where { $0.year == 0 }.count())
    for (title, rating) in [("Sand", zero / zero), ("Sea", Double.nan), ("Sun", -Double.nan), ("Star", 1), ("Moon", -0.0)] {
      let book = try await magic.object(of: Book.self, primary: title)
      book.rating = rating
      try await magic.update(book)
    }
    let query = magic.query(of: Book.self).sorted(by: \.rating).then(by: \.title)
    #expect(try await titles(query) == ["Moon", "Star", "Sand", "Sea", "Sun"])
    #expect(
      try await titles(magic.query(of: Book.self).sorted(by: \.rating, .descending).then(by: \.title)) == [
        "Sand", "Sea", "Sun", "Star", "Moon",
      ])
  }

  /// A default is one as well, and so are two that are stored in different ways.
  @Test func aNaNThatIsADefaultIsOneAmongOthers() async throws {
    for (id, level) in [("a", Double.nan), ("b", 0), ("c", 1), ("d", -Double.nan), ("e", -1)] {
      let gauge = Gauge()
      (gauge.id, gauge.level) = (id, level)
      try await magic.update(gauge)
    }
    try await magic.store.write { db in try db.execute(sql: "UPDATE Gauge SET level = NULL WHERE id = 'b'") }
    func ids(_ direction: MagicQuery<Gauge>.Direction) async throws -> [String] {
      try await magic.query(of: Gauge.self).sorted(by: \.level, direction).then(by: \.id).all().map(\.id)
    }
    #expect(try await ids(.ascending) == ["e", "c", "a", "b", "d"])
    #expect(try await ids(.descending) == ["a", "b", "d", "c", "e"])
    #expect(try await magic.query(of: Gauge.self).max(of: \.level) == 1)
  }

  @Test func conditionsOrderAndPartsAreCombined() async throws {
    let query = try await shelf()
    #expect(try await titles(query) == ["Sand", "Sea", "Moon", "Sun", "Star"])
    let found = query.where { $0.pages > 300 && $0.title.hasPrefix("S") }.sorted(by: \.title)
    #expect(try await titles(found) == ["Sand", "Sun"])
    #expect(try await titles(found.limit(20).offset(1)) == ["Sun"])
    #expect(try await titles(found.limit(1)) == ["Sand"])
    #expect(try await found.limit(0).all().isEmpty)
    #expect(try await found.first()?.title == "Sand")
    #expect(try await found.count() == 2)
    #expect(try await found.limit(1).count() == 1)
    #expect(try await query.offset(4).count() == 1)
    #expect(try await query.offset(9).count() == 0)
    #expect(try await titles(query.where { $0.pages > 300 }.where { $0.year < 2000 }) == ["Sand"])
    #expect(try await titles(query.where { $0.pages > 400 || $0.year == 1985 }) == ["Sand", "Sea"])
    #expect(try await titles(query.where { !($0.pages > 300 && $0.year == 2001) }) == ["Sand", "Sea", "Star"])
    #expect(try await query.where { $0.pages > 1_000 }.first() == nil)
  }

  @Test func valuesOfEachKindAreCompared() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.isSold }) == ["Moon"])
    #expect(try await titles(query.where { !$0.isSold && $0.year == 2001 }) == ["Sun"])
    #expect(try await titles(query.where { $0.genre == .poems }) == ["Star"])
    #expect(try await query.where { $0.genre != .poems }.count() == 4)
    #expect(try await titles(query.where { $0.grade == .fair }) == ["Sun"])
    #expect(try await titles(query.where { $0.grade > .poor }) == ["Sun"])
    #expect(try await titles(query.where { $0.rating >= 4.5 }) == ["Sea"])
    #expect(try await titles(query.where { $0.$job == Job(title: "x", tags: ["a", "b"], scores: [:]) }) == ["Star"])
    #expect(try await titles(query.where { $0.$tags != [] }) == [])
    #expect(try await titles(query.where { $0.$title == "Sun" && $0.$isbn == "Sun" && $0.$owner == nil }) == ["Sun"])
    #expect(try await titles(query.where { $0.author < $0.title }) == ["Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.isbn == $0.title && $0.year != $0.pages }).count == 5)
  }

  @Test func nilIsEqualToNilAlone() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.owner == nil }) == ["Sea", "Sun", "Star"])
    #expect(try await titles(query.where { $0.owner != nil }) == ["Sand", "Moon"])
    #expect(try await titles(query.where { $0.owner == "Jon" }) == ["Sand"])
    #expect(try await titles(query.where { $0.owner != "Jon" }) == ["Sea", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { !($0.owner < "x") }) == ["Sea", "Sun", "Star"])
    #expect(try await titles(query.where { !(!($0.owner < "x")) }) == ["Sand", "Moon"])
    #expect(try await titles(query.where { !(!($0.owner < "x") && $0.year > 1990) }) == ["Sand", "Sea", "Moon"])
    let nobody: String? = nil
    #expect(try await query.where { $0.owner == nobody }.count() == 3)
  }

  /// Two that are nil are equal, and one that is nil is neither less nor greater.
  @Test func propertiesThatMayBeNilAreComparedWithEachOther() async throws {
    let query = try await shelf()
    let book = Book("Jon", author: "Ann")
    book.owner = "Jon"
    (book.rating, book.price) = (2, 2)
    try await shelve([book])
    #expect(try await titles(query.where { $0.owner == $0.title }) == ["Jon"])
    #expect(try await titles(query.where { $0.title == $0.owner }) == ["Jon"])
    #expect(try await titles(query.where { $0.owner != $0.title }) == ["Sand", "Sea", "Moon", "Sun", "Star"])
    #expect(try await titles(query.where { $0.owner < $0.title }) == ["Sand", "Moon"])
    #expect(try await titles(query.where { !($0.owner < $0.title) }) == ["Sea", "Sun", "Star", "Jon"])
    #expect(try await titles(query.where { $0.rating == $0.price }) == ["Jon"])
    #expect(try await titles(query.where { $0.rating > $0.price && $0.rating != nil }) == ["Sea"])
    #expect(try await query.where { $0.owner == $0.holder && $0.grade == $0.$grade && $0.$job == $0.$job }.count() == 6)
    #expect(try await query.where { $0.owner != $0.holder || $0.owner < $0.holder }.count() == 0)
  }

  @Test func listsRangesAndPartsOfTexts() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.pages.isIn([200, 300, 7]) }) == ["Sea", "Star"])
    #expect(try await titles(query.where { [200, 300].contains($0.pages) }) == ["Sea", "Star"])
    #expect(try await titles(query.where { ["Jon", "x"].contains($0.owner) }) == ["Sand"])
    #expect(try await titles(query.where { !["Jon", "x"].contains($0.owner) }) == ["Sea", "Moon", "Sun", "Star"])
    #expect(try await query.where { $0.title.isIn([]) }.count() == 0)
    #expect(try await titles(query.where { $0.pages.isIn(0..<1_000_000_000) && $0.rating.isIn(4...5) }) == ["Sea"])
    #expect(try await query.where { !$0.title.isIn([]) }.count() == 5)
    #expect(try await titles(query.where { (300..<350).contains($0.pages) }) == ["Sun", "Star"])
    #expect(try await titles(query.where { (301...350).contains($0.pages) }) == ["Moon", "Sun"])
    #expect(try await titles(query.where { (...300).contains($0.pages) }) == ["Sea", "Star"])
    #expect(try await titles(query.where { (..<300).contains($0.pages) }) == ["Sea"])
    #expect(try await titles(query.where { (350...).contains($0.pages) }) == ["Sand", "Moon"])
    #expect(try await titles(query.where { (4..<5).contains($0.rating) }) == ["Sea"])
    #expect(try await titles(query.where { $0.title.contains("un") }) == ["Sun"])
    #expect(try await query.where { $0.title.contains("") }.count() == 5)
    #expect(try await query.where { $0.owner.contains("") }.count() == 2)
    #expect(try await query.where { $0.title.hasPrefix("") }.count() == 5)
    #expect(try await titles(query.where { $0.title.hasSuffix("n") }) == ["Moon", "Sun"])
    #expect(try await query.where { $0.title.hasSuffix("") }.count() == 5)
    #expect(try await query.where { $0.owner.hasSuffix("") }.count() == 2)
  }

  /// L-3: a prefix ends where its bytes do.
  @Test func prefixesAreOfBytes() async throws {
    let texts = [
      "", "a", "ab", "a\0", "b", "\u{7f}", "\u{80}", "\u{d7ff}", "\u{d7ff}x", "\u{e000}", "\u{10ffff}", "\u{10ffff}\u{10ffff}",
      "a\u{10ffff}", "a\u{10ffff}z", "e", "e\u{301}", "é", "👩", "👩‍👩‍👧",
    ]
    try await shelve(texts.map { Book($0) })
    for prefix in texts {
      let expected = texts.filter { $0.utf8.starts(with: prefix.utf8) }
      #expect(
        try await titles(magic.query(of: Book.self).where { $0.title.hasPrefix(prefix) }) == expected,
        "\(prefix.debugDescription)")
      let containing = texts.filter { text in
        prefix.isEmpty || text.utf8.indices.contains { text.utf8[$0...].starts(with: prefix.utf8) }
      }
      #expect(
        try await titles(magic.query(of: Book.self).where { $0.title.contains(prefix) }) == containing,
        "\(prefix.debugDescription)")
      let ending = texts.filter { $0.utf8.reversed().starts(with: prefix.utf8.reversed()) }
      #expect(
        try await titles(magic.query(of: Book.self).where { $0.title.hasSuffix(prefix) }) == ending,
        "\(prefix.debugDescription)")
    }
  }

  @Test func textsAreComparedWithoutRegardToCaseAndAccents() async throws {
    let texts = [
      "Sea", "SEA", "seal", "Straße", "STRASSE", "École", "E\u{301}cole", "école", "ecole", "Ω", "ω", "a\0B", "", "👩‍👩‍👧",
    ]
    try await shelve(texts.map { Book($0) })
    let query = magic.query(of: Book.self)
    let (cased, accented): (MagicTextOptions, MagicTextOptions) = (.caseInsensitive, .diacriticInsensitive)
    #expect(try await titles(query.where { $0.title.equals("sea", options: cased) }) == ["Sea", "SEA"])
    #expect(try await titles(query.where { $0.title.equals("sea", options: []) }) == [])
    #expect(try await titles(query.where { !$0.title.equals("sea", options: cased) }).count == texts.count - 2)
    #expect(try await titles(query.where { $0.title.equals("Strasse", options: cased) }) == ["Straße", "STRASSE"])
    #expect(try await titles(query.where { $0.title.hasPrefix("SE", options: cased) }) == ["Sea", "SEA", "seal"])
    #expect(try await titles(query.where { $0.title.hasSuffix("A", options: cased) }) == ["Sea", "SEA"])
    #expect(try await titles(query.where { $0.title.hasSuffix("xSEA", options: cased) }) == [])
    #expect(try await titles(query.where { $0.title.contains("\0b", options: cased) }) == ["a\0B"])
    // However an accent is written, as long as there is one.
    let school = Array(texts[5...7])
    for form in ["école", "E\u{301}COLE"] {
      #expect(try await titles(query.where { $0.title.equals(form, options: cased) }) == school)
      #expect(try await titles(query.where { $0.title.contains(form, options: cased) }) == school)
    }
    #expect(try await titles(query.where { $0.title.hasPrefix("e", options: cased) }) == ["ecole"])
    #expect(try await titles(query.where { $0.title.equals("Ecole", options: accented) }) == ["École", "E\u{301}cole"])
    #expect(
      try await titles(query.where { $0.title.equals("ÉCOLE", options: [.caseInsensitive, .diacriticInsensitive]) })
        == Array(texts[5...8]))
    // Nothing is a part of every text, and of no nil.
    for options in [[], cased, accented] as [MagicTextOptions] {
      #expect(try await query.where { $0.title.contains("", options: options) }.count() == texts.count)
      #expect(try await query.where { $0.title.hasSuffix("", options: options) }.count() == texts.count)
      #expect(try await query.where { $0.owner.hasPrefix("", options: options) }.count() == 0)
      #expect(try await query.where { $0.owner.equals("", options: options) }.count() == 0)
    }
  }

  @Test func anOrderMayPassOverCaseAndAccents() async throws {
    try await shelve(["b", "Öl", "a", "Z", "B", "ol", "öl", "A"].map { Book($0) })
    let query = magic.query(of: Book.self)
    #expect(try await titles(query.sorted(by: \.title)) == ["A", "B", "Z", "a", "b", "ol", "Öl", "öl"])
    #expect(
      try await titles(query.sorted(by: \.title, options: .caseInsensitive)) == ["a", "A", "b", "B", "ol", "Z", "Öl", "öl"])
    let both: MagicTextOptions = [.caseInsensitive, .diacriticInsensitive]
    #expect(try await titles(query.sorted(by: \.title, options: both)) == ["a", "A", "b", "B", "Öl", "ol", "öl", "Z"])
    #expect(
      try await titles(query.sorted(by: \.title, .descending, options: both).then(by: \.title))
        == ["Z", "ol", "Öl", "öl", "B", "b", "A", "a"])
    // Parts and streams are of the same order.
    let sorted = query.sorted(by: \.title, options: both)
    #expect(try await titles(sorted.offset(2).limit(4)) == ["b", "B", "Öl", "ol"])
    var streamed: [String] = []
    for try await book in sorted.stream() { streamed.append(book.title) }
    #expect(try await streamed == titles(sorted))
    let error = await #expect(throws: MagicDataError.self) {
      try await query.sorted(by: \.pages, options: .caseInsensitive).count()
    }
    #expect(error?.code == .query && error?.message.contains("Book.pages") == true, "\(String(describing: error))")
  }

  @Test func longListsAndChainsAreTaken() async throws {
    _ = try await shelf()
    let query = magic.query(of: Book.self)
    #expect(try await query.where { $0.pages.isIn(Array(0..<20_000)) }.count() == 5)
    let either: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
      (0..<5_000).reduce(fields.year == 0) { (chain: MagicPredicate, pages: Int) in chain || fields.pages == pages }
    }
    #expect(try await query.where(either).count() == 5)
    for (length, count) in [(201, 4), (3_000, 0)] {
      let neither: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
        (0..<length).reduce(fields.year != 0) { (chain: MagicPredicate, pages: Int) in chain && fields.pages != pages }
      }
      #expect(try await query.where(neither).count() == count)
    }
    // What is within something else has a limit, which is SQLite's.
    let nested: @Sendable (MagicFields<Book>) -> MagicPredicate = { fields in
      (0..<500).reduce(fields.pages > 0) { (inner: MagicPredicate, number: Int) in
        number % 2 == 0 ? fields.year != number && !inner : fields.year == number || inner
      }
    }
    await #expect {
      try await query.where(nested).count()
    } throws: {
      ($0 as? MagicDataError)?.code == .tooLarge
    }
    // A stream asks for its batches beside what it is asked.
    let most = query.where { $0.pages.isIn(Array(0..<32_764)) }
    for long in [most, most.sorted(by: \.title)] {
      var titles: [String] = []
      for try await book in long.stream() { titles.append(book.title) }
      #expect(titles.count == 5)
    }
    await #expect { try await query.where { $0.pages.isIn(Array(0..<40_000)) }.count() } throws: {
      ($0 as? MagicDataError)?.code == .tooLarge
    }
  }

  // MARK: Order

  @Test func theOrderIsTotal() async throws {
    let query = try await shelf()
    #expect(try await titles(query.sorted(by: \.year)) == ["Sea", "Sand", "Star", "Moon", "Sun"])
    #expect(try await titles(query.sorted(by: \.year, .descending)) == ["Moon", "Sun", "Star", "Sand", "Sea"])
    #expect(try await titles(query.sorted(by: \.year, .descending).then(by: \.title, .descending)).first == "Sun")
    #expect(try await titles(query.sorted(by: \.author).then(by: \.pages)) == ["Star", "Moon", "Sun", "Sea", "Sand"])
    // As sorting again does.
    #expect(try await titles(query.sorted(by: \.pages).sorted(by: \.author)) == ["Star", "Moon", "Sun", "Sea", "Sand"])
    #expect(try await titles(query.sorted(by: \.$owner)) == ["Sea", "Sun", "Star", "Moon", "Sand"])
    #expect(try await titles(query.sorted(by: \.owner, .descending)) == ["Sand", "Moon", "Sea", "Sun", "Star"])
    #expect(try await titles(query.sorted(by: \.heading).limit(2).offset(1)) == ["Sand", "Sea"])
  }

  // MARK: The forms of the call

  @Test func theSeedsFormGivesWhatMatches() async throws {
    let test = Book("hi")
    try await magic.update(test)
    let id = test.isbn
    let test2 = try await magic.object(of: Book.self).where { $0.isbn == id }
    test2[0].title = "hello"
    #expect(test.title == "hi")
    let one = try await magic.object(of: Book.self).where { $0.isbn == id }.first()
    one?.title = "hello"
    #expect(one?.title == "hello")
    #expect(test.title == "hi")
    #expect(try await magic.object(of: Book.self).count == 1)
    #expect(try await magic.object(of: Book.self).where { $0.isbn == id }.count() == 1)
    #expect(try await magic.object(of: Book.self).where { $0.isbn == id }.count == 1)
    for book in try await magic.object(of: Book.self).where({ $0.isbn == id }) { #expect(book.isbn == id) }
    #expect(try await magic.count(of: Book.self) == 1)
  }

  @Test func aQueryOfATypeThatWasNeverStoredMakesNothing() async throws {
    #expect(try await magic.query(of: Book.self).where { $0.pages > 3 }.all().isEmpty)
    #expect(try await magic.query(of: Book.self).remove() == 0)
    #expect(try await magic.query(of: Book.self).plan().isEmpty)
    for try await _ in magic.query(of: Book.self).stream() { Issue.record("there is none") }
    #expect(try await !magic.store.read { db in try db.tableExists("Book") })
  }

  /// A class, whose objects no primary value names.
  @Test func classesAreFound() async throws {
    let session = Session()
    session.title = "a"
    session.rating = 4
    try await magic.update(session)
    let found = try await magic.query(of: Session.self).where { $0.title == "a" && $0.rating > 3 }.sorted(by: \.rating).all()
    #expect(found.map(\.title) == ["a"])
    found[0].rating = 5
    try await magic.update(found[0])
    for try await session in magic.query(of: Session.self).sorted(by: \.$title).stream() { #expect(session.rating == 5) }
    #expect(try await magic.query(of: Session.self).where { $0.rating == 5 }.remove() == 1)
    await #expect { try await magic.query(of: Session.self).where { $0.isOpen }.count() } throws: {
      ($0 as? MagicDataError)?.code == .query
    }
  }

  // MARK: Refused

  @Test func forwardedPropertiesAreSeenThrough() async throws {
    let query = try await shelf()
    #expect(try await titles(query.where { $0.heading == "Sun" }) == ["Sun"])
    #expect(try await titles(query.where { $0.holder == "Jon" }) == ["Sand"])
  }

  @Test func whatTheDatabaseCannotTellIsRefused() async throws {
    let query = try await shelf()
    let refused: [(MagicQuery<Book>, String)] = [
      (query.where { $0.shout == "SUN" }, "worked out from title;"),
      (query.where { $0.both == "x" }, "worked out from title, author"),
      (query.where { $0.either == "x" }, "worked out from title"),
      (query.where { $0.fixed == 42 }, "no stored property"),
      (query.where { $0.isCheap }, "worked out from price"),
      (query.where { !$0.isCheap || $0.title == "Sun" }, "worked out from price"),
      (query.where { $0.tagCount == 0 }, "tags"),
      (query.where { $0.ownerLength == 3 }, "worked out from owner"),
      (query.sorted(by: \.shout), "worked out from title"),
      (query.sorted(by: \.tags), "$0.$tags"),
      (query.sorted(by: \.labels), "$0.$tags"),
      (query.sorted(by: \.$tags), "no order"),
      (query.limit(-1), "negative"),
      (query.offset(-1), "negative"),
    ]
    for (number, (query, reason)) in refused.enumerated() {
      for run in [{ try await _ = query.all() }, { try await _ = query.first() }, { try await _ = query.remove() }] {
        await #expect { try await run() } throws: { error in
          (error as? MagicDataError)?.code == .query && "\(error)".contains(reason)
        }

      }
      await #expect(throws: MagicDataError.self, "\(number)") { for try await _ in query.stream() {} }
    }
    #expect(try await magic.query(of: Book.self).count() == 5)
    // Of a type that was never stored as well.
    await #expect(throws: MagicDataError.self) { try await magic.query(of: Odd.self).limit(-1).all() }
    await #expect { try await magic.query(of: Everything.self).where { $0.shape < .square }.all() } throws: {
      "\($0)".contains("no order")
    }
  }

  /// A getter runs on examples of its values, and there is no way out of one that stops the program.
  @Test func gettersThatDoNotBearEveryValueAreRefused() async throws {
    let query = magic.query(of: Touchy.self)
    let refused: [(MagicQuery<Touchy>, String)] = [
      (query.where { $0.sum == 3 }, "a, b"), (query.where { $0.product == 3 }, "a, b"), (query.where { $0.double == 3 }, "a"),
      (query.where { $0.share == 3 }, "a"), (query.where { $0.small == "3" }, "worked out from a"),
      (query.where { $0.month == "Feb" }, "worked out from a"), (query.where { $0.stars == "**" }, "worked out from a"),
      (query.where { $0.first == "x" }, "tags"), (query.where { $0.largest == 3 }, "numbers"),
      (query.where { $0.anyLabel == "x" }, "labels"), (query.where { $0.whole == 3 }, "worked out from weight"),
      (query.where { $0.initial == "x" }, "worked out from name"), (query.where { $0.unless0 == 3 }, "worked out from a"),
      (query.where { $0.atMost == 3 }, "worked out from a"), (query.where { $0.atLeast == 3 }, "worked out from a"),
      (query.where { $0.firstPart == "x" }, "parts"), (query.sorted(by: \.share), "worked out from a"),
    ]
    for (number, (query, reason)) in refused.enumerated() {
      await #expect("\(number)") { try await query.count() } throws: { error in
        (error as? MagicDataError)?.code == .query && "\(error)".contains(reason)
      }
    }
  }

  /// A getter that puts something in place of nil is another value than the property: SQL would not know of those that are nil,
  /// and `remove()` would take them.
  @Test func gettersThatReplaceNilAreRefused() async throws {
    let owner = Owner("W")
    try await magic.update(contentsOf: [Lent(nil, nil), Lent("x", owner)])
    let query = magic.query(of: Lent.self)
    let refused: [MagicQuery<Lent>] = [
      query.where { $0.nameOrNone == "none" }, query.where { $0.starsOrZero == 0 }, query.where { $0.flagOrTrue == true },
      query.where { $0.ownerName == "library" }, query.where { $0.ownerOrNew == owner }, query.where { $0.nameOrTitle == "x" },
      query.where { $0.ownerOrReader == owner }, query.where { $0.nickOrNone == "none" }, query.sorted(by: \.starsOrZero),
      query.where { $0.firstFew == "x" }, query.where { $0.someOwners.contains(owner) },
    ]
    for (number, query) in refused.enumerated() {
      await #expect("\(number)") { try await query.count() } throws: { ($0 as? MagicDataError)?.code == .query }
    }
    // What only hands on is still the property.
    #expect(try await query.where { $0.label == "x" }.count() == 1)
    #expect(try await query.where { $0.label == nil }.count() == 1)
    #expect(try await query.where { $0.holder == owner }.count() == 1)
    #expect(try await query.where { $0.holderName == "W" }.count() == 1)
    #expect(try await query.where { $0.holderNick == nil }.count() == 2)
  }

  /// Bytes that are cut, and a URL without a part, are other values than the property.
  @Test func gettersThatCutAreRefused() async throws {
    let content = Data([1, 2])
    let link = try #require(URL(string: "http://a.example/#b"))
    let download = Download()
    (download.id, download.content, download.link) = ("d", content, link)
    try await magic.update(download)
    let query = magic.query(of: Download.self)
    let refused: [MagicQuery<Download>] = [
      query.where { $0.head == content }, query.where { $0.most == content }, query.where { $0.rest == content },
      query.where { $0.page == link }, query.where { $0.bare == link }, query.where { $0.open == link },
    ]
    for (number, query) in refused.enumerated() {
      await #expect("\(number)") { try await query.count() } throws: { ($0 as? MagicDataError)?.code == .query }
    }
    #expect(try await query.where { $0.bytes == content && $0.address == link }.count() == 1)
  }

  /// Of an enum without cases there is no example.
  @Test func listsOfWhatHasNoValueAreRefusedAsOthersAre() async throws {
    let vacant = Vacant()
    vacant.id = "v"
    try await magic.update(vacant)
    let query = magic.query(of: Vacant.self)
    await #expect { try await query.sorted(by: \.nobody).count() } throws: { error in
      (error as? MagicDataError)?.code == .query && "\(error)".contains("$0.$nobody")
    }
    #expect(try await query.where { $0.$nobody == [] }.count() == 1)
  }

  @Test func rangesWithOneEndAreAsked() async throws {
    try await shelve([Book("a", pages: 10), Book("b", pages: 20), Book("c", pages: 30)])
    let query = magic.query(of: Book.self).sorted(by: \.title)
    #expect(try await titles(query.where { $0.pages.isIn(20...) }) == ["b", "c"])
    #expect(try await titles(query.where { $0.pages.isIn(..<20) }) == ["a"])
    #expect(try await titles(query.where { $0.pages.isIn(...20) }) == ["a", "b"])
  }

  /// What is worked out from a coded value or an asset is nothing that SQL knows, and no end of the program.
  @Test func whatIsWorkedOutOfCodedValuesIsRefused() async throws {
    await #expect { try await magic.query(of: Posting.self).where { $0.jobTitle == "x" }.all() } throws: {
      ($0 as? MagicDataError)?.code == .query
    }
    await #expect { try await magic.query(of: Posting.self).where { $0.preview == "x" }.all() } throws: {
      ($0 as? MagicDataError)?.code == .query
    }
  }

  /// The bytes of JSON are in an order of their own: `{"cents":100}` is before `{"cents":20}`.
  @Test func orderOfCodedValuesIsRefusedHoweverItIsAskedFor() async throws {
    let offer = Offer()
    (offer.id, offer.low, offer.high) = ("o", Money(cents: 20), Money(cents: 100))
    try await magic.update(offer)
    let query = magic.query(of: Offer.self)
    let (five, twenty) = (Money(cents: 5), Money(cents: 20))
    let refused: [MagicQuery<Offer>] = [
      query.where { $0.$low < twenty }, query.where { (five...twenty).contains($0.$low) },
      query.where { (five..<twenty).contains($0.$low) }, query.where { $0.$low.isIn(five...) },
      query.where { $0.$low.isIn(...twenty) }, query.where { $0.$low.isIn(..<twenty) },
      query.where { $0.$low < $0.$high }, query.where { $0.$low >= $0.$high },
    ]
    for (number, query) in refused.enumerated() {
      await #expect("\(number)") { try await query.count() } throws: { ($0 as? MagicDataError)?.code == .query }
    }
    #expect(try await query.where { $0.$low == twenty && $0.$low != $0.$high }.count() == 1)
    #expect(try await query.where { $0.$low.isIn([five, twenty]) }.count() == 1)
  }

  @Test func twoLongListsFitOneQuery() async throws {
    try await shelve([Book("a", year: 7, pages: 9)])
    #expect(try await magic.query(of: Pamphlet.self).where { $0.$text == MagicAsset() }.count() == 0)
    try await magic.update(contentsOf: [Pamphlet("empty", MagicAsset()), Pamphlet("full", MagicAsset(value: "x"))])
    let pamphlets = magic.query(of: Pamphlet.self)
    #expect(try await pamphlets.where { $0.$text == MagicAsset() }.all().map(\.id) == ["empty"])
    #expect(try await pamphlets.where { $0.$text != MagicAsset() }.all().map(\.id) == ["full"])
    // In a list as alone.
    #expect(try await pamphlets.where { $0.$text.isIn([MagicAsset()]) }.all().map(\.id) == ["empty"])
    #expect(try await pamphlets.where { !$0.$text.isIn([MagicAsset()]) }.all().map(\.id) == ["full"])
    let both = [MagicAsset(), MagicAsset(value: "x")]
    #expect(try await pamphlets.where { both.contains($0.$text) }.count() == 2)
    let long = Array(0..<10_000)
    #expect(try await titles(magic.query(of: Book.self).where { $0.pages.isIn(long) && $0.year.isIn(long) }) == ["a"])
  }
}

private struct Gauge: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var level: Double = .nan
  init() {}
}

private struct Posting: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var job: Job
  @MagicValue var text: MagicAsset<String>
  var jobTitle: String { job.title }
  var preview: String { text.value ?? "" }
  init() {}
}

private struct Money: MagicalCodable, MagicOrdered, Comparable {
  var cents: Int
  static func < (left: Money, right: Money) -> Bool { left.cents < right.cents }
}

private struct Offer: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var low: Money
  @MagicValue var high: Money
  init() {}
}

private struct Pamphlet: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var text: MagicAsset<String>
  init() {}
  init(_ id: String, _ text: MagicAsset<String>) { (self.id, self.text) = (id, text) }
}

private struct Owner: MagicObject {
  @PrimaryMagicValue var name: String
  @OptionMagicValue var nick: String?
  init() {}
  init(_ name: String) { self.name = name }
}

/// Its getters put something in place of nil, or take a part, or only hand on.
private struct Lent: MagicObject {
  @OptionMagicValue var name: String?
  @OptionMagicValue var title: String?
  @OptionMagicValue var stars: Int?
  @OptionMagicValue var flag: Bool?
  @OptionMagicValue var owner: Owner?
  @OptionMagicValue var reader: Owner?
  @MagicValue var text: String = ""
  @MagicValue var owners: [Owner] = []

  var nameOrNone: String { name ?? "none" }
  var starsOrZero: Int { stars ?? 0 }
  var flagOrTrue: Bool { flag ?? true }
  var ownerName: String { owner?.name ?? "library" }
  var ownerOrNew: Owner { owner ?? Owner("new") }
  var nameOrTitle: String? { name ?? title }
  var ownerOrReader: Owner? { owner ?? reader }
  var nickOrNone: String? { owner.map { $0.nick ?? "none" } }
  var firstFew: String { String(text.prefix(50)) }
  var someOwners: [Owner] { Array(owners.prefix(5)) }

  var label: String? { name }
  var holder: Owner? { owner }
  var holderName: String? { owner?.name }
  var holderNick: String? { owner?.nick }

  init() {}
  init(_ name: String?, _ owner: Owner?) {
    self.name = name
    self.owner = owner
  }
}

/// Its getters stop the program with one value or another.
private struct Download: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var content: Data
  @MagicValue var link: URL
  init() {}

  var head: Data { content.prefix(4) }
  var most: Data { content.prefix(1_024) }
  var rest: Data { content.dropFirst() }
  var page: URL {
    var parts = URLComponents(url: link, resolvingAgainstBaseURL: false)
    parts?.fragment = nil
    return parts?.url ?? link
  }
  var bare: URL { link.deletingPathExtension() }
  var open: URL {
    var parts = URLComponents(url: link, resolvingAgainstBaseURL: false)
    parts?.password = nil
    return parts?.url ?? link
  }
  var bytes: Data { content }
  var address: URL { link }
}

private struct Touchy: MagicObject {
  struct Part: MagicalCodable {
    var name = ""
    var parts: [Part] = []
  }

  @PrimaryMagicValue var id: String
  @MagicValue var a: Int
  @MagicValue var b: Int
  @MagicValue var name: String
  @MagicValue var weight: Double
  @MagicValue var tags: [String]
  @MagicValue var numbers: [Int]
  @MagicValue var labels: Set<String>
  @MagicValue var parts: [Part]

  var sum: Int { a + b }
  var product: Int { a * b * 3 }
  var double: Int { a * 2 }
  var share: Int { 100 / a }
  var small: String { "\(UInt8(a))" }
  var month: String { ["Jan", "Feb", "Mar"][a] }
  var stars: String { String(repeating: "*", count: a) }
  var first: String { tags[0] }
  var largest: Int { numbers.max()! }
  var anyLabel: String { labels.first! }
  var whole: Int { Int(weight) }
  var initial: String { String(name.first!) }
  var firstPart: String { parts.first?.name ?? "" }
  var unless0: Int { a == 0 ? 5 : a }
  var atMost: Int { min(a, 1_000) }
  var atLeast: Int { max(a, 10) }
  init() {}
}

private enum Nobody: Codable {
  init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "there is nobody"))
  }

  func encode(to encoder: any Encoder) throws {}
}

private struct Vacant: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var nobody: [Nobody] = []
  init() {}
}
