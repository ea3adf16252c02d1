import Foundation
import GRDB
import MagicData
import MagicJournal
import TestSupport
import Testing

/// Reads that are stopped and begun anew because they take too long, or find no connection: nobody sees a difference.
@Suite(.timeLimit(.minutes(15))) struct BriefReadTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// - Parameter brief: none makes every read of some size begin twice.
  private func open(_ brief: Duration) throws -> MagicData {
    var surroundings = World().surroundings()
    surroundings.brief = brief
    return MagicData(store: try Store(.file(DatabaseLocation(folder["db"]), mustExist: false), surroundings))
  }

  private func fill(_ magic: MagicData) async throws {
    let writers = (0..<10).map { Writer("Writer \($0)") }
    let tags = (0..<200).map { Tag("Tag \($0)") }
    let works = (0..<500).map { Work("Work \($0)", writers[$0 % 10], pages: $0) }
    for (number, work) in works.enumerated() {
      work.tags = [tags[number % 200], tags[(number + 1) % 200]]
      work.order = [tags[number % 200]]
    }
    try await magic.update(contentsOf: works)
  }

  @Test(arguments: [Duration.zero, .seconds(60)]) func aReadThatIsBegunAnewIsAsAnyOther(_ brief: Duration) async throws {
    let magic = try open(brief)
    try await fill(magic)
    #expect(try await magic.object(of: Work.self).map(\.pages) == Array(0..<500))
    let query = magic.query(of: Work.self).where { $0.author.name == "Writer 3" && $0.pages < 100 }.sorted(by: \.pages)
    let found = try await query.all()
    #expect(found.map(\.pages) == stride(from: 3, to: 100, by: 10).map { $0 })
    #expect(found.allSatisfy { $0.author.name == "Writer 3" && $0.tags.count == 2 && $0.order.count == 1 })
    #expect(try await query.count() == 10)
    #expect(try await query.first()?.pages == 3)
    var streamed: [Int] = []
    for try await work in magic.query(of: Work.self).where({ $0.pages >= 50 }).stream() { streamed.append(work.pages) }
    #expect(streamed.sorted() == Array(50..<500))
    #expect(try await magic.object(of: Work.self, primary: "Work 7").order.map(\.name) == ["Tag 7"])
    let tag = try #require(try await magic.query(of: Tag.self).where { $0.name == "Tag 5" }.first())
    var owners: [String] = []
    for try await work in tag.inLists { owners.append(work.title) }
    #expect(owners.sorted() == ["Work 205", "Work 405", "Work 5"])
    // Each sees what was written before it.
    for pages in 1_000..<1_010 {
      found[0].pages = pages
      try await magic.update(found[0])
      #expect(try await magic.query(of: Work.self).where { $0.pages >= 1_000 }.all().map(\.pages) == [pages])
    }
    try await magic.transaction { transaction in
      let old = try await transaction.query(of: Work.self).where { $0.pages < 1_000 }.count()
      #expect(old == 499)
    }
  }

  /// Who reads closes as well without waiting for who writes, but for a moment: what is not in the file yet the other takes in.
  @Test func whoClosesDoesNotWaitForAWriter() async throws {
    let magic = try open(.seconds(60))
    try await fill(magic)
    let file = try #require(magic.store.location).file
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let writer = try DatabaseQueue(path: file.path, configuration: configuration)
    try await writer.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
    let start = ContinuousClock.now
    try await magic.close()
    let took = ContinuousClock.now - start
    // Writers wait for ten.
    #expect(took < .seconds(5))
    try await writer.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
    try writer.close()
    #expect(try await open(.seconds(60)).object(of: Work.self).count == 500)
  }

  /// SQLite's handler is gone with the time that it was for, and other errors are not taken for its.
  @Test func aLimitOfTimeEndsWhatItIsFor() async throws {
    let magic = try open(.seconds(60))
    try await fill(magic)
    try await magic.store.read { db in
      func tags(_ db: Connection) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM Tag a, Tag b WHERE a.name < b.name") ?? 0
      }
      let stopped = try db.within(.zero, tags)
      #expect(stopped == nil)
      let after = try tags(db)
      #expect(after == 19_900)
      let inTime = try db.within(.seconds(60), tags)
      #expect(inTime == 19_900)
      #expect(throws: DatabaseError.self) { try db.within(.zero) { try Int.fetchOne($0, sql: "SELECT count(*) FROM Nobody") } }
    }
  }

  /// An error within a read, and more reads at once than there are connections, leave those that follow as they were.
  @Test func manyAtOnceAndErrorsLeaveNothingBehind() async throws {
    let magic = try open(.milliseconds(2))
    try await fill(magic)
    struct Mishap: Error {}
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for round in 0..<10 {
            if task % 4 == 0 {
              await #expect(throws: MagicDataError.self) {
                try await magic.store.readBriefly { db in
                  _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM Work")
                  throw Mishap()
                }
              }
            }
            let found = try await magic.query(of: Work.self).where { $0.pages == round * 16 + task }.count()
            #expect(found == 1)
          }
        }
      }
      try await group.waitForAll()
    }
    let work = Work("Another", Writer("Writer"), pages: 5_000)
    try await magic.update(work)
    #expect(try await magic.query(of: Work.self).where { $0.pages == 5_000 }.count() == 1)
  }

  @Test func closingWaitsForReadsAndLeavesOnlyErrors() async throws {
    let magic = try open(.milliseconds(2))
    try await fill(magic)
    let tasks = (0..<8).map { task in
      Task {
        while true {
          guard (try? await magic.query(of: Work.self).where { $0.pages >= task }.all().count) == 500 - task else { return }
        }
      }
    }
    try await Task.sleep(for: .milliseconds(50))
    try await magic.close()
    for task in tasks { await task.value }
    let work = Work("Late", Writer("Writer"))
    await #expect(throws: MagicDataError.self) { try await magic.object(of: Work.self) }
    await #expect(throws: MagicDataError.self) { try await magic.object(of: Work.self, primary: "Work 1") }
    await #expect(throws: MagicDataError.self) { try await magic.update(work) }
    await #expect(throws: MagicDataError.self) { try await magic.update(contentsOf: [work]) }
    await #expect(throws: MagicDataError.self) { try await magic.removeAll(of: Work.self) }
    await #expect(throws: MagicDataError.self) { try await magic.transaction { try await $0.update(work) } }
    await #expect(throws: MagicDataError.self) { try await magic.query(of: Work.self).remove() }
    #expect(throws: MagicDataError.self) { try magic.blocking.update(work) }
  }

  /// What closes last takes the WAL into the file, and leaves a log in which nothing is.
  @Test func aDatabaseThatNobodyHoldsAnyMoreIsOneFile() async throws {
    do {
      let magic = try open(.milliseconds(2))
      try await fill(magic)
      #expect(try await magic.query(of: Work.self).count() == 500)
    }
    let file = DatabaseLocation(folder["db"]).file
    #expect(try Data(contentsOf: file.deletingLastPathComponent().appendingPathComponent("default.sqlite3-wal")).count == 32)
    try FileManager.default.copyItem(at: file, to: folder["copy.sqlite"])
    #expect(try await MagicData(path: folder["copy.sqlite"]).object(of: Work.self).count == 500)
  }
}
