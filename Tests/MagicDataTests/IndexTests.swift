import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

@Suite struct IndexTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func shelf() async throws -> MagicQuery<Book> {
    try await magic.update(contentsOf: (0..<100).map { Book("\($0)", author: "\($0 % 9)", year: $0, pages: $0) })
    return magic.query(of: Book.self)
  }

  private func indexes(_ table: String, _ magic: MagicData? = nil) async throws -> [String] {
    try await (magic ?? self.magic).store.read { db in
      try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY name",
        arguments: [table])
    }
  }

  private func expectNoScan(_ query: MagicQuery<Book>, _ index: String, sorts: Bool = false) async throws {
    let plan = try await query.plan()
    #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
    #expect(plan.contains { $0.hasPrefix("SEARCH Book USING INDEX \(index) (") }, "\(plan)")
    #expect(plan.contains { $0.contains("TEMP B-TREE") } == sorts, "\(plan)")
  }

  @Test func indexesServeWhatIsLookedUp() async throws {
    let query = try await shelf()
    try await expectNoScan(query.where { $0.isbn == "3" }, "sqlite_autoindex_Book_1")
    try await expectNoScan(query.where { $0.title == "3" }, "magic_Book_title")
    try await expectNoScan(query.where { $0.title == "3" && $0.year == 3 }, "magic_Book_title")
    try await expectNoScan(query.where { $0.author == "3" }.sorted(by: \.year), "magic_Book_author_year")
    try await expectNoScan(query.where { $0.author == "3" && $0.year > 5 }.sorted(by: \.year), "magic_Book_author_year")
    try await expectNoScan(query.where { $0.owner == "x" }, "magic_Book_owner")
    try await expectNoScan(query.where { $0.owner == nil }, "magic_Book_owner")
    try await expectNoScan(query.where { $0.grade == .good }, "magic_Book_grade")
    try await expectNoScan(query.where { [3, 4].contains($0.pages) }, "magic_Book_pages", sorts: true)
    try await expectNoScan(query.where { $0.title == "3" || $0.pages == 4 }, "magic_Book_pages", sorts: true)
  }

  /// A range is read in the order of its index; in the order of the z index it has to be sorted, which beats a look at all
  /// rows.
  @Test func indexesServeRangesInTheirOrder() async throws {
    let query = try await shelf()
    try await expectNoScan(query.where { $0.pages > 30 }.sorted(by: \.pages), "magic_Book_pages")
    try await expectNoScan(query.where { (3...50).contains($0.pages) }.sorted(by: \.pages), "magic_Book_pages")
    try await expectNoScan(query.where { $0.price >= 1 }.sorted(by: \.price), "magic_Book_price")
    try await expectNoScan(query.where { $0.price < 5 }.sorted(by: \.price), "magic_Book_price")
    try await expectNoScan(query.where { $0.title.hasPrefix("3") }.sorted(by: \.title), "magic_Book_title")
    try await expectNoScan(query.where { $0.title.hasPrefix("3") }, "magic_Book_title", sorts: true)
    try await expectNoScan(query.where { $0.pages > 30 }, "magic_Book_pages", sorts: true)
    try await expectNoScan(query.where { $0.pages > 30 }.limit(10), "magic_Book_pages", sorts: true)
    try await expectNoScan(query.where { $0.price < 5 && $0.year > 3 }, "magic_Book_price", sorts: true)
    #expect(try await query.sorted(by: \.title).limit(10).plan() == ["SCAN Book USING INDEX magic_Book_title"])
    #expect(try await query.sorted(by: \.pages).limit(10).plan() == ["SCAN Book USING INDEX magic_Book_pages"])
    #expect(try await query.plan() == ["SCAN Book"])
    #expect(try await query.where { $0.year > 3 }.plan() == ["SCAN Book"])
  }

  /// A default, or -0.0, that stands where SQL would not look for it.
  @Test func exceptionsInAColumnAreLookedUpAsWell() async throws {
    let query = try await shelf()
    let cheap = query.where { $0.price < 5 }.sorted(by: \.price)
    let few = query.where { (90...100).contains($0.pages) }
    try await expectNoScan(few.sorted(by: \.pages), "magic_Book_pages")
    try await magic.store.write { db in
      try db.execute(sql: "UPDATE Book SET pages = NULL WHERE year = 7")
    }
    let odd = try await magic.object(of: Book.self, primary: "8")
    odd.price = -0.0
    try await magic.update(odd)
    // The default of 100 pages is among them.
    #expect(try await few.all().map(\.year) == [7] + (90..<100))
    #expect(try await few.sorted(by: \.pages, .descending).first()?.year == 7)
    try await expectNoScan(few, "magic_Book_pages", sorts: true)
    #expect(try await cheap.count() == 100)
    #expect(try await cheap.all().map(\.year) == Array(0..<100))
    try await expectNoScan(query.where { $0.price < 5 }, "magic_Book_price", sorts: true)
    // Where the default does not match, there is nothing to look up.
    try await expectNoScan(query.where { $0.pages == 3 }, "magic_Book_pages")
  }

  private struct Message: MagicObject {
    @PrimaryMagicValue var id: Int
    @MagicValue var chat: Int = 0
    @MagicValue var sent: Double = 5
    @MagicValue var place: Int = 0
    static var magicIndexes: [MagicIndex] {
      [MagicIndex(\Message.chat, \Message.sent), MagicIndex(\Message.chat, \Message.place)]
    }
    init() {}
  }

  /// A number, and a property with a default, behind another one: what SQL would not find at its place is looked for in an
  /// index of its own.
  @Test func anIndexServesAnOrderBehindItsFirstProperty() async throws {
    try await magic.update(
      contentsOf: (1...60).map { number in
        let message = Message()
        message.id = number
        (message.chat, message.sent, message.place) = (number % 3, Double(number), 60 - number)
        return message
      })
    #expect(
      try await indexes("Message") == [
        "magic_Message_chat_place", "magic_Message_chat_sent", "magic_Message_hidden", "magic_Message_place_exceptions",
        "magic_Message_sent_exceptions", "magic_birth.Message",
      ])
    let chat = magic.query(of: Message.self).where { $0.chat == 1 }
    func plans() async throws -> [String] {
      var plans: [String] = []
      for query in [
        chat.sorted(by: \.sent), chat.sorted(by: \.place), chat.where { $0.sent > 10 }.sorted(by: \.sent),
        chat.where { (3...9).contains($0.place) }.sorted(by: \.place),
      ] { plans += try await query.plan() }
      return plans
    }
    #expect(
      try await plans() == [
        "SEARCH Message USING INDEX magic_Message_chat_sent (chat=?)",
        "SEARCH Message USING INDEX magic_Message_chat_place (chat=?)",
        "SEARCH Message USING INDEX magic_Message_chat_sent (chat=? AND sent>? AND sent<?)",
        "SEARCH Message USING INDEX magic_Message_chat_place (chat=? AND place>? AND place<?)",
      ])

    let odd = try await magic.object(of: Message.self, primary: 1)
    odd.sent = .nan
    try await magic.update(odd)
    let zero = try await magic.object(of: Message.self, primary: 4)
    zero.sent = -0.0
    try await magic.update(zero)
    try await magic.store.write { db in
      try db.execute(sql: "UPDATE Message SET sent = NULL, place = NULL WHERE id = 58")
    }
    #expect(try await chat.sorted(by: \.sent).all().map(\.id) == [4, 58] + stride(from: 7, through: 55, by: 3) + [1])
    #expect(try await chat.sorted(by: \.place).all().map(\.id) == stride(from: 58, through: 1, by: -3) + [])
    #expect(try await plans().contains { $0.contains("TEMP B-TREE") })
    let sparse = try await magic.store.read { db in
      try String.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN SELECT EXISTS (SELECT 1 FROM Message WHERE sent >= X'')",
        adapter: SuffixRowAdapter(fromIndex: 3))
    }
    #expect(sparse.contains { $0.contains("magic_Message_sent_exceptions (") }, "\(sparse)")
  }

  @Test func anIndexIsNamedAfterItsColumnsAndMadeOnce() async throws {
    #expect(try await indexes("Book") == [])
    _ = try await shelf()
    let names = ["author_year", "grade", "hidden", "owner", "pages", "price", "title"].map { "magic_Book_" + $0 }
    #expect(try await indexes("Book") == names)
    let again = try await MagicData(path: folder["db"])
    _ = try await again.count(of: Book.self)
    #expect(try await indexes("Book", again) == names)
  }

  /// What lacks a required value (M-6) is neither counted, nor added up, nor passed over, however rare it is.
  @Test func whatCannotBeShownIsNeitherCountedNorAddedUp() async throws {
    let query = try await shelf()
    let few = query.where { $0.pages < 10 }
    func figures() async throws -> [Int] {
      try await [
        query.count(), magic.count(of: Book.self), few.count(), few.sum(of: \.pages), query.limit(100).offset(95).count(),
        query.sorted(by: \.pages).offset(50).first()?.pages ?? -1, query.where { $0.isbn == "3" }.count(),
        magic.blocking.count(query),
      ]
    }
    #expect(try await figures() == [100, 100, 10, 45, 5, 50, 1, 100])
    func set(_ year: String) async throws {
      try await magic.store.write { db in try db.execute(sql: "UPDATE Book SET year = \(year) WHERE isbn IN ('3', '40')") }
    }
    try await set("NULL")
    #expect(try await figures() == [98, 98, 9, 42, 3, 52, 0, 98])
    try await set("7")
    #expect(try await figures() == [100, 100, 10, 45, 5, 50, 1, 100])
  }

  private struct Old: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var a: String = "x"
    static var magicName: String { "Versioned" }
    init() {}
  }

  private struct New: MagicObject {
    @PrimaryMagicValue var id: String
    @MagicValue var a: String = "x"
    @MagicValue var b: Int = 1
    static var magicName: String { "Versioned" }
    static var magicIndexes: [MagicIndex] { [MagicIndex(\New.a), MagicIndex(\New.b, \New.id), MagicIndex(\New.id)] }
    init() {}
  }

  /// Two versions of an app on one file leave each other's indexes alone.
  @Test func anIndexThatIsAddedLaterIsMadeThenAndStays() async throws {
    try await magic.update(Old())
    #expect(try await indexes("Versioned") == [])
    try await magic.close()
    for _ in 0..<2 {
      let new = try await MagicData(path: folder["db"])
      // By a read alone; the primary value has its index already.
      #expect(try await new.query(of: New.self).where { $0.b == 1 }.count() == 1)
      #expect(try await indexes("Versioned", new) == ["magic_Versioned_a", "magic_Versioned_b_id"])
      try await new.close()
      let old = try await MagicData(path: folder["db"])
      try await old.update(Old())
      try await old.query(of: Old.self).offset(1).remove()
      #expect(try await indexes("Versioned", old).count == 2)
      try await old.close()
    }
  }

  /// Who writes keeps nobody from reading a type of which only the indexes are new.
  @Test func aTypeIsReadWithoutItsIndexesWhileTheyCannotBeMade() async throws {
    struct Indexed: MagicObject {
      @PrimaryMagicValue var id: String
      @MagicValue var a: String
      static var magicName: String { "Versioned" }
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Indexed.a)] }
      init() {}
    }
    try await magic.update(Old())
    try await magic.close()
    let new = try await MagicData(path: folder["db"])
    try await new.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      #expect(try await new.query(of: Indexed.self).where { $0.a == "x" }.count() == 1)
      #expect(try new.blocking.count(new.query(of: Indexed.self)) == 1)
    }
    #expect(try await indexes("Versioned", new) == [])
    #expect(try await new.query(of: Indexed.self).where { $0.a == "x" }.count() == 1)
    #expect(try await indexes("Versioned", new) == ["magic_Versioned_a", "magic_Versioned_hidden"])
  }

  @Test func anIndexOfARolledBackTransactionIsMadeLater() async throws {
    do {
      try await magic.transaction { tx in
        try await tx.update(Book("x"))
        throw CancellationError()
      }
    } catch is CancellationError {}
    #expect(try await indexes("Book") == [])
    _ = try await shelf()
    #expect(try await indexes("Book").count == 7)
  }

  /// "A_b" with "value" and "A" with "b" and "value" want one name.
  @Test func namesOfIndexesThatCollideAreToldApart() async throws {
    struct One: MagicObject {
      @MagicValue var value: Int = 1
      static var magicName: String { "A_b" }
      static var magicIndexes: [MagicIndex] { [MagicIndex(\One.value)] }
      init() {}
    }
    struct Other: MagicObject {
      @MagicValue var b: Int = 1
      @MagicValue var value: Int = 1
      static var magicName: String { "A" }
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Other.b, \Other.value)] }
      init() {}
    }
    for _ in 0..<2 {
      let magic = try await MagicData(path: folder["db"])
      try await magic.update(One())
      try await magic.update(Other())
      #expect(try await indexes("A_b", magic) == ["magic_A_b_value"])
      #expect(try await indexes("A", magic) == ["magic_A_b_value~2", "magic_A_value_exceptions"])
    }
  }

  @Test func anIndexOnWhatIsNoPropertyIsAnError() async throws {
    struct Computed: MagicObject {
      @MagicValue var a: String = ""
      var shout: String { a.uppercased() }
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Computed.shout)] }
      init() {}
    }
    struct Foreign: MagicObject {
      @MagicValue var a: String = ""
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Book.title)] }
      init() {}
    }
    struct Twice: MagicObject {
      @MagicValue var a: String = ""
      static var magicIndexes: [MagicIndex] { [MagicIndex(\Twice.a, \Twice.$a)] }
      init() {}
    }
    let magic = magic
    for run in [
      { try await _ = magic.update(Computed()) },
      { try await _ = magic.update(Foreign()) },
      { try await _ = magic.update(Twice()) },
    ] {
      await #expect { try await run() } throws: { error in
        (error as? MagicDataError)?.code == .model && "\(error)".contains("magicIndexes")
      }
    }
  }
}
