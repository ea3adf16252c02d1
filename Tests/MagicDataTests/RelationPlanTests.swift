import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// How SQLite goes about what the library asks of it: `EXPLAIN QUERY PLAN`, of a file or of each statement that was run.
@Suite struct RelationPlanTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
    try await RelationPlanTests.fill(magic)
  }

  private static func fill(_ magic: MagicData) async throws {
    let writers = (0..<20).map { Writer("\($0)", age: $0) }
    for (index, writer) in writers.enumerated() {
      writer.nick = "n\(index)"
      writer.home = City("\(index)")
    }
    let tags = (0..<20).map { Tag("\($0)", weight: $0) }
    try await magic.update(
      contentsOf: (0..<100).map { index in
        let work = Work("\(index)", writers[index % 20], pages: index)
        work.tags = [tags[index % 20]]
        work.order = [tags[index % 20]]
        work.named = ["a": tags[index % 20]]
        work.later = AsyncMagical(value: [tags[index % 20]])
        work.editor = writers[index % 20]
        work.agent = AsyncMagical(value: writers[index % 20])
        return work
      })
  }

  private func expect(_ query: MagicQuery<Work>, _ steps: [String], sorts: Bool = false) async throws {
    let plan = try await query.plan().map { $0.replacing("COVERING ", with: "") }
    #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
    for step in steps { #expect(plan.contains { $0.hasPrefix(step) }, "\(step): \(plan)") }
    #expect(plan.contains { $0.contains("TEMP B-TREE") } == sorts, "\(plan)")
  }

  @Test func anIndexedPropertyBehindARelationDrivesAQuery() async throws {
    let query = magic.query(of: Work.self)
    let byAuthor = "SEARCH Work USING INDEX Work.author (author=?)"
    let composite = "SEARCH Work USING INDEX magic_Work_author_title (author=?)"
    let writer = "SEARCH Writer USING INDEX sqlite_autoindex_Writer_1 (name=?)"
    // The primary value of one object, so its owners come in the order of an index.
    try await expect(query.where { $0.author.name == "3" }, [byAuthor, writer])
    try await expect(query.where { $0.author.name == "3" }.sorted(by: \.title), [composite, writer])
    try await expect(query.where { $0.author == Writer("3") }, [byAuthor, writer])
    try await expect(query.where { $0.author == Writer("3") && $0.pages > 3 }, [byAuthor, writer])
    try await expect(query.where { $0.author == Writer("3") }.sorted(by: \.title), [composite])
    try await expect(query.where { $0.author.nick == "n3" }, ["SEARCH Writer USING INDEX magic_Writer_nick"], sorts: true)
    try await expect(query.where { $0.author.nick > "n3" }, ["SEARCH Writer USING INDEX magic_Writer_nick"], sorts: true)
    try await expect(query.where { $0.editor.nick == "n3" }, ["SEARCH Work USING INDEX Work.editor"], sorts: true)
    try await expect(query.where { $0.agent.name == "3" }, ["SEARCH Work USING INDEX Work.agent", writer])
    try await expect(
      query.where { $0.author.home.name == "3" },
      ["SEARCH City USING INDEX magic_City_name", "SEARCH Writer USING INDEX Writer.home", "SEARCH Work USING INDEX"],
      sorts: true)
    try await expect(
      query.where { $0.sequel.author.nick == "n3" },
      ["SEARCH Writer USING INDEX magic_Writer_nick", "SEARCH Work~2 USING INDEX", "SEARCH Work USING INDEX Work.sequel"],
      sorts: true)
  }

  @Test func membersAreLookedUpFromTheirOwnIndex() async throws {
    let query = magic.query(of: Work.self)
    let tag = "SEARCH Tag USING INDEX magic_Tag_name (name=?)"
    let owner = "SEARCH Work USING INTEGER PRIMARY KEY"
    try await expect(query.where { $0.tags.contains { $0.name == "3" } }, [tag, "SEARCH Work.tags USING", owner], sorts: true)
    try await expect(
      query.where { $0.order.contains { $0.name == "3" } }, [tag, "SEARCH Work.order USING", owner], sorts: true)
    try await expect(
      query.where { $0.named.contains { $0.name == "3" } }, [tag, "SEARCH Work.named USING", owner], sorts: true)
    let first = try #require(try await magic.query(of: Tag.self).first())
    try await expect(
      query.where { $0.tags.contains(first) }, ["SEARCH Tag USING INTEGER PRIMARY KEY", "SEARCH Work.tags", owner], sorts: true)
    try await expect(
      query.where { $0.tags.contains { $0.maker.nick == "n3" } },
      ["SEARCH Writer USING INDEX magic_Writer_nick", "SEARCH Tag USING INDEX Tag.maker", "SEARCH Work.tags"], sorts: true)
    try await expect(
      query.where { $0.tags.contains { $0.name == "3" } || $0.author.nick == "n3" || $0.title == "7" },
      [tag, "SEARCH Writer USING INDEX", "SEARCH Work USING INDEX magic_Work_title"], sorts: true)
  }

  /// Whatever the condition behind the relation, it is asked of the few that are found.
  @Test func whatFindsFewerIsAskedFirst() async throws {
    let query = magic.query(of: Work.self)
    let (byTitle, writer) = ("SEARCH Work USING INDEX magic_Work_title", "SEARCH Writer USING INTEGER PRIMARY KEY")
    try await expect(query.where { $0.title == "3" && $0.author.age == 3 }, [byTitle, writer])
    try await expect(query.where { $0.author.age == 3 && $0.title == "3" }, [byTitle, writer])
    try await expect(query.where { $0.title == "3" && $0.author.nick == "n3" }, [byTitle, writer])
    try await expect(query.where { $0.title == "3" && $0.author.age != 3 }, [byTitle, writer])
    try await expect(
      query.where { $0.title == "3" && $0.tags.contains { $0.weight == 3 } && $0.tags.count > 0 && !$0.order.isEmpty },
      [byTitle, "SEARCH Work.tags USING PRIMARY KEY (owner=?)", "SEARCH Tag USING INTEGER PRIMARY KEY"])
    try await expect(
      query.where { $0.pages > 3 && $0.author.age == 3 }, ["SEARCH Work USING INDEX magic_Work_pages", writer], sorts: true)
    try await expect(
      query.where { $0.pages > 3 && $0.author.nick == "n3" }, ["SEARCH Writer USING INDEX magic_Writer_nick"], sorts: true)
    // Of two properties of one object, one look-up.
    let both = try await query.where { $0.author.nick == "n3" && $0.author.age == 3 }.plan()
    #expect(both.count { $0.contains("Writer") } == 1, "\(both)")
    // Without an index the smaller table is looked through, and its owners are found by theirs.
    let unindexed = try await query.where { $0.author.age == 3 }.plan()
    #expect(unindexed.contains("SCAN Writer") && !unindexed.contains("SCAN Work"), "\(unindexed)")
  }

  // MARK: What other calls run

  /// The plans of all statements that `body` runs, on a database in memory, which has one connection.
  private func plans(_ body: (MagicData) async throws -> Void) async throws -> [(sql: String, steps: [String])] {
    let copy = try await MagicData(type: .memory)
    try await RelationPlanTests.fill(copy)
    let seen = Statements()
    try await copy.store.write { db in
      db.trace { event in
        if case .statement(let statement) = event { seen.add(statement.sql) }
      }
    }
    try await body(copy)
    try await copy.store.write { db in db.trace(nil) }
    return try await copy.store.write { db in
      try seen.all.filter { $0.hasPrefix("SELECT") && !$0.contains("magic_database") && !$0.contains("sqlite_") }.map { sql in
        let count = sql.filter { $0 == "?" }.count
        let arguments = StatementArguments(Array(repeating: 1, count: count))
        return (sql, try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] })
      }
    }
  }

  private final class Statements: @unchecked Sendable {
    // Guards `texts`.
    private let lock = NSLock()
    private var texts: Set<String> = []

    func add(_ text: String) { lock.withLock { _ = texts.insert(text) } }
    var all: [String] { lock.withLock { texts.sorted() } }
  }

  private func expectNoScan(of tables: [String], _ body: (MagicData) async throws -> Void) async throws {
    let plans = try await plans(body)
    for table in tables {
      #expect(plans.contains { $0.sql.contains("\"\(table)\"") }, "\(table): \(plans.map(\.sql))")
    }
    for (sql, steps) in plans {
      // Types and fields are few, and read as a whole.
      let isScan = steps.contains { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN magic_") && !$0.hasPrefix("SCAN CONSTANT") }
      #expect(!isScan, "\(sql): \(steps)")
    }
  }

  @Test func aPrimaryLookUpReadsNoTable() async throws {
    try await expectNoScan(of: ["Writer"]) { magic in
      _ = try await magic.object(of: Writer.self, primary: "3")
      #expect(try await magic.has(of: Writer.self, primary: "3"))
    }
    try await expectNoScan(of: ["Work"]) { magic in
      let work = try await magic.object(of: Work.self, primary: "3")
      let found = try await magic.query(of: Work.self).where { $0.id == "3" }.first()
      #expect((work.author.name, found?.author.name) == ("3", "3"))
    }
  }

  /// Of what is indexed the first or last value is taken, also among those of a range; nothing is sorted.
  @Test func theLeastAndTheGreatestAreReadFromTheIndex() async throws {
    let plans = try await plans { magic in
      let works = magic.query(of: Work.self)
      let least = try await works.min(of: \.pages)
      let greatest = try await works.max(of: \.pages)
      #expect((least, greatest) == (0, 99))
      let next = try await works.where { $0.pages > 7 }.min(of: \.pages)
      #expect(next == 8)
    }
    let found = plans.filter { $0.sql.contains("ORDER BY value") }
    #expect(found.count == 3, "\(plans.map(\.sql))")
    for (sql, steps) in found {
      #expect(steps.count == 1 && steps[0].contains("USING INDEX magic_Work_pages"), "\(sql): \(steps)")
    }
  }

  /// While all objects can be shown no row is looked at, but the index alone.
  @Test func countsAreReadFromTheIndexAlone() async throws {
    let plans = try await plans { magic in
      let works = magic.query(of: Work.self)
      let some = works.where { (3...7).contains($0.pages) }
      let all = try await works.count()
      let few = try await some.count()
      let part = try await some.limit(2).count()
      #expect(all > 5 && few > 0 && part == 2)
    }
    let found = plans.filter { $0.sql.contains("count(*)") }
    #expect(found.count == 3, "\(plans.map(\.sql))")
    let whole = found.filter { $0.sql.hasSuffix(#"ELSE (SELECT count(*) FROM "Work") END"#) }
    #expect(whole.count == 1, "\(found)")
    for (sql, steps) in found where sql != whole.first?.sql {
      #expect(steps.contains { $0.contains("USING COVERING INDEX magic_Work_pages") }, "\(sql): \(steps)")
      #expect(!steps.contains("SCAN Work"), "\(sql): \(steps)")
    }
  }

  @Test func aReverseReadsNoTable() async throws {
    try await expectNoScan(of: ["Work"]) { magic in
      let writer = try await magic.object(of: Writer.self, primary: "3")
      // One that is required, one that need not be there, and one that is fetched later.
      #expect((writer.works.count, writer.edited.count, writer.placed.count) == (5, 5, 5))
      for owners in [writer.works, writer.edited, writer.placed] {
        var titles: [String] = []
        for try await work in owners { titles.append(work.title) }
        #expect(Set(titles) == ["3", "23", "43", "63", "83"])
      }
    }
    try await expectNoScan(of: ["Work", "Work.tags", "Work.order", "Work.named", "Work.later"]) { magic in
      let tag = try #require(try await magic.query(of: Tag.self).where { $0.name == "3" }.first())
      #expect((tag.inSets.count, tag.inLists.count, tag.inDictionaries.count, tag.inLater.count) == (5, 5, 5, 5))
      for owners in [tag.inSets, tag.inLists, tag.inDictionaries, tag.inLater] {
        var count = 0
        for try await work in owners {
          #expect(work.tags.count == 1)
          count += 1
        }
        #expect(count == 5)
      }
    }
  }

  /// Objects that hold one of the owners are fetched with it, and are no owners themselves.
  @Test func aReverseGivesOwnersAlone() async throws {
    let (first, second) = (
      try await magic.object(of: Work.self, primary: "1"), try await magic.object(of: Work.self, primary: "2")
    )
    first.sequel = second
    try await magic.update(first)
    var titles: [String] = []
    for try await work in try await magic.object(of: Writer.self, primary: "1").works { titles.append(work.title) }
    #expect(titles.sorted() == ["1", "21", "41", "61", "81"])
    #expect(try await magic.query(of: Work.self).where { $0.title == "1" }.all().map(\.title) == ["1"])
    #expect(try await magic.query(of: Work.self).where { $0.title == "1" }.all().first?.sequel?.title == "2")
  }
}
