import Foundation
import GRDB
import MagicData
import TestSupport
import Testing

/// A database is closed when nobody uses it, and whoever comes then hears of it.
@Suite(.timeLimit(.minutes(15))) struct CloseTests {
  private let folder: TemporaryFolder
  private let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  private func cats(_ magic: MagicData) async throws -> [String: Double] {
    Dictionary(uniqueKeysWithValues: try await magic.object(of: Cat.self).map { ($0.name, $0.weight) })
  }

  private func expectClosed(_ name: String, _ body: () async throws -> Void) async {
    await #expect("\(name)") { try await body() } throws: { ($0 as? MagicDataError)?.code == .failed }
  }

  @Test(arguments: ["memory", "temporary", "file"]) func callsToAClosedDatabaseThrow(kind: String) async throws {
    let magic =
      switch kind {
      case "memory": try await MagicData(type: .memory)
      case "temporary": try await MagicData(type: .temporary)
      default: self.magic
      }
    let work = Work("Work", Writer("W"))
    work.later = AsyncMagical(value: [Tag("a")])
    try await magic.update(work)
    let writer = try await magic.object(of: Writer.self, primary: "W")
    let fetched = try await magic.object(of: Work.self, primary: "Work")
    try await magic.close()
    await expectClosed("all") { _ = try await magic.object(of: Work.self).count }
    await expectClosed("by primary value") { _ = try await magic.object(of: Work.self, primary: "Work").pages }
    await expectClosed("a type that was not used") { _ = try await magic.object(of: Cat.self).count }
    await expectClosed("query") { _ = try await magic.query(of: Work.self).where { $0.pages > 3 }.count() }
    await expectClosed("update") { try await magic.update(work) }
    await expectClosed("update of a type that was not used") { try await magic.update(Cat("Tom", 4)) }
    await expectClosed("remove") { try await magic.remove(work) }
    await expectClosed("transaction") { try await magic.transaction { _ in } }
    await expectClosed("statistics") { _ = try await magic.statistics() }
    await expectClosed("changes") { _ = try await magic.changes() }
    await expectClosed("backup") { try await magic.backup(to: folder["copy"]) }
    await expectClosed("get") { _ = try await fetched.later.get() }
    #expect { _ = try fetched.later.count } throws: { ($0 as? MagicDataError)?.code == .failed }
    #expect { _ = try magic.blocking.count(of: Work.self) } throws: { ($0 as? MagicDataError)?.code == .failed }
    #expect { try magic.blocking.update(work) } throws: { ($0 as? MagicDataError)?.code == .failed }
    #expect(writer.works.count == 0)
    try await magic.close()
    try magic.blocking.close()
  }

  /// Neither a read that blocks nor one that is awaited waits for who closes, and what was stored meanwhile is in the file.
  @Test func whoeverComesWhileItClosesHearsOfIt() async throws {
    try await magic.update(Cat("Tom", 4))
    let (reading, mayEnd) = await longRead()
    let closing = Task { [magic] in try await magic.close() }
    var stored = 0
    do {
      for number in 0... {
        try await magic.update(Cat("\(number)", 1))
        stored += 1
      }
    } catch let error as MagicDataError {
      #expect(error.code == .failed)
    }
    #expect { _ = try magic.blocking.count(of: Cat.self) } throws: { ($0 as? MagicDataError)?.code == .failed }
    mayEnd.signal()
    try await closing.value
    #expect(try await reading.value ?? 0 >= 1)
    // The file alone has it all.
    try FileManager.default.createDirectory(at: folder["copy"], withIntermediateDirectories: false)
    try FileManager.default.copyItem(at: folder["db/default.sqlite3"], to: folder["copy/default.sqlite3"])
    #expect(try await MagicData(path: folder["copy"]).object(of: Cat.self).count == stored + 1)
  }

  /// Its body reads beside it, which must not wait for who waits for the body.
  @Test func itIsClosedWhenATransactionThatBlocksHasEnded() async throws {
    try await magic.update(Cat("Tom", 4))
    let hasBegun = DispatchSemaphore(value: 0)
    let written = Task.detached { [magic] in
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread {
          continuation.resume(
            with: Result {
              try magic.blocking.transaction { tx in
                try tx.update(Cat("Kit", 1))
                hasBegun.signal()
                // Somebody is closing by then.
                for _ in 0..<20 {
                  usleep(20_000)
                  let count = try magic.blocking.count(of: Cat.self)
                  #expect(count == 1)
                }
              }
            })
        }
      }
    }
    await wait(for: hasBegun)
    try await magic.close()
    try await written.value
    #expect(try await cats(MagicData(path: folder["db"])) == ["Tom": 4, "Kit": 1])
  }

  /// In a task a thread of Swift's pool is not held up for long by what may need one.
  @Test func whoBlocksDoesNotWaitForALongReadInATask() async throws {
    try await magic.update(Cat("Tom", 4))
    let (reading, mayEnd) = await longRead()
    #expect { try magic.blocking.close() } throws: { ($0 as? MagicDataError)?.code == .busy }
    try await magic.update(Cat("Kit", 1))
    mayEnd.signal()
    _ = try await reading.value
    #expect(try await cats(magic) == ["Tom": 4, "Kit": 1])
    try magic.blocking.close()
    #expect(try await cats(MagicData(path: folder["db"])) == ["Tom": 4, "Kit": 1])
  }

  /// A transaction is not left alone with its connection: who closes waits for it, or does not close.
  @Test func aTransactionGoesOnWhileSomebodyWantsToClose() async throws {
    try await magic.update(Cat("Tom", 4))
    let (hasBegun, mayEnd) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    let writing = Task { [magic] in
      try await magic.transaction { tx in
        try await tx.update(Cat("Kit", 1))
        await #expect { try await magic.close() } throws: { ($0 as? MagicDataError)?.code == .transaction }
        #expect { try magic.blocking.close() } throws: { ($0 as? MagicDataError)?.code == .transaction }
        hasBegun.continuation.finish()
        for await _ in mayEnd.stream {}
        struct Stop: Error {}
        do {
          try await tx.transaction { tx in
            try await tx.update(Cat("Undone", 1))
            throw Stop()
          }
        } catch is Stop {}
        // What reads beside it is part of it.
        #expect(try await magic.object(of: Cat.self).count == 1)
        try await tx.update(Cat("Kit", 2))
      }
    }
    for await _ in hasBegun.stream {}
    #expect { try magic.blocking.close() } throws: { ($0 as? MagicDataError)?.code == .busy }
    let closing = Task { [magic] in try await magic.close() }
    await expectClosed("while it closes") { while true { try await magic.store.read { _ in } } }
    mayEnd.continuation.finish()
    try await writing.value
    try await closing.value
    let reopened = try await MagicData(path: folder["db"])
    #expect(try await cats(reopened) == ["Tom": 4, "Kit": 2])
    try await reopened.update(Cat("Max", 3))
  }

  /// One that has begun, and lasts until it may end.
  private func longRead() async -> (reading: Task<Int?, any Error>, mayEnd: DispatchSemaphore) {
    let (isReading, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let reading = Task { [magic] in
      try await magic.store.read { db in
        isReading.signal()
        mayEnd.wait()
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM Cat")
      }
    }
    await wait(for: isReading)
    return (reading, mayEnd)
  }

  private func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        semaphore.wait()
        continuation.resume()
      }
    }
  }

  /// The write waits within SQLite for another process, and finds no connection then.
  @Test(arguments: [false, true]) func aDatabaseThatIsClosedWhileAWriteWaitsEndsIt(inTransaction: Bool) async throws {
    try await magic.update(Cat("Tom", 4))
    let file = try #require(magic.store.location).file
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: file.path, configuration: configuration)
    try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
    let (waiting, closing) = (
      Task { [magic] in
        if inTransaction {
          try await magic.transaction { tx in try await tx.update(Cat("Kit", 1)) }
        } else {
          try await magic.update(Cat("Kit", 1))
        }
      },
      Task { [magic] in
        try await Task.sleep(for: .seconds(1))
        try await magic.close()
      }
    )
    try await Task.sleep(for: .seconds(2))
    try await other.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
    try other.close()
    // A machine that stood still may have let it through before.
    let result = await waiting.result
    try await closing.value
    let reopened = try await MagicData(path: folder["db"])
    switch result {
    case .success: #expect(try await cats(reopened) == ["Tom": 4, "Kit": 1])
    case .failure(let error):
      #expect(error is MagicDataError)
      #expect(try await cats(reopened) == ["Tom": 4])
    }
  }
}
