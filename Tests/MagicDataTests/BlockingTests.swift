import Dispatch
import Foundation
import MagicData
import MagicJournal
import TestSupport
import Testing

@Suite struct BlockingTests {
  struct Stop: Error {}

  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  /// From the first opening to the end, without a task.
  @Test func aProgramNeedsNoTasks() async throws {
    let url = folder["own.db"]
    try await onThread {
      let magic = try MagicData.Blocking.open(path: url)
      try magic.blocking.update(contentsOf: (0..<5).map { Cat("\($0)", Double($0)) })
      let light = magic.query(of: Cat.self).where { $0.weight < 3 }.sorted(by: \.weight)
      #expect(try magic.blocking.first(light)?.name == "0")
      #expect(try magic.blocking.remove(light) == 3)
      #expect(try magic.blocking.first(light) == nil)
      try magic.blocking.transaction { tx in
        let all = magic.query(of: Cat.self)
        let removed = try tx.remove(all.where { $0.name == "3" })
        #expect(removed == 1)
        let first = try tx.first(all)
        #expect(first?.name == "4")
      }
      try magic.blocking.transaction { _ in
        #expect(throws: MagicDataError.self) { try magic.blocking.close() }
      }
      try magic.blocking.close()
      #expect(throws: MagicDataError.self) { try magic.blocking.object(of: Cat.self) }
      let again = try MagicData.Blocking.open(path: url)
      #expect(try again.blocking.object(of: Cat.self).map(\.name) == ["4"])
      let statistics = try again.blocking.statistics()
      #expect((statistics.transactions, statistics.types.map(\.objects)) == (3, [1]))
      #expect(try MagicData.Blocking.open(type: .memory).blocking.object(of: Cat.self).isEmpty)
    }
    #expect { try MagicData.Blocking.open(path: url.appendingPathComponent("x/y")) } throws: {
      ($0 as? MagicDataError)?.code == .notFound
    }
  }

  /// On a thread that is nobody else's.
  private func onThread<Result: Sendable>(_ body: @Sendable @escaping () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: body)) }
    }
  }

  private func weights() throws -> [String: Double] {
    Dictionary(uniqueKeysWithValues: try magic.blocking.object(of: Cat.self).map { ($0.name, $0.weight) })
  }

  private func transactions() async throws -> UInt64 {
    try await magic.store.read { db in try JournalReader(db).frontier()[try DatabaseState(db).replica] }
  }

  private func expectRefused(_ body: () throws -> Void) {
    do {
      try body()
      Issue.record("it was not refused")
    } catch { #expect((error as? MagicDataError)?.code == .transaction) }
  }

  @Test func whatItDoesIsWhatTheOtherFaceDoes() async throws {
    let magic = magic
    try await onThread {
      let tom = Cat("Tom", 4)
      #expect(try magic.blocking.update(tom) == 1)
      tom.weight = 5
      #expect(try magic.blocking.update(tom) == 1)
      try magic.blocking.update(contentsOf: (1...2_500).map { Cat("\($0)", 1) }) { saved in #expect(saved <= 2_500) }
      #expect(try magic.blocking.object(of: Cat.self).count == 2_501)
      #expect(try magic.blocking.object(of: Cat.self, primary: "Tom").weight == 5)
      try magic.blocking.remove(tom)
      #expect(try !magic.blocking.has(of: Cat.self, primary: "Tom"))
      #expect(throws: MagicDataError.self) { try magic.blocking.object(of: Cat.self, primary: "Tom") }
      #expect(throws: MagicDataError.self) { try magic.blocking.remove(Cat("nobody", 1)) }
      try magic.blocking.removeAll(of: Cat.self)
      #expect(try magic.blocking.object(of: Cat.self).isEmpty)
      #expect(try magic.blocking.object(of: Place.self).isEmpty)
    }
    #expect(try await magic.object(of: Cat.self).isEmpty)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
    #expect(try await transactions() == 5)
  }

  @Test func queriesAreAsked() async throws {
    let heavy = magic.query(of: Cat.self).where { $0.weight > 1 }.sorted(by: \.name)
    #expect(try magic.blocking.all(heavy).isEmpty)
    #expect(try magic.blocking.count(heavy) == 0)
    try magic.blocking.transaction { tx in
      try tx.update(contentsOf: [Cat("Tom", 4), Cat("Kit", 1), Cat("Ada", 2)])
      #expect(try tx.all(heavy).map(\.name) == ["Ada", "Tom"])
      #expect(try tx.count(heavy) == 2)
    }
    #expect(try magic.blocking.all(heavy.limit(1)).map(\.name) == ["Ada"])
    #expect(try magic.blocking.count(of: Cat.self) == 3)
    #expect(throws: MagicDataError.self) { try magic.blocking.all(heavy.limit(-1)) }
  }

  /// Objects that hold others are saved and fetched with them.
  @Test func objectsHoldObjects() throws {
    struct Owner: MagicObject {
      @PrimaryMagicValue var name: String
      @MagicValue var cats: MagicalSet<Cat> = []
      init() {}
    }
    let owner = Owner()
    owner.name = "Jon"
    owner.cats = [Cat("Tom", 4), Cat("Kit", 1)]
    try magic.blocking.update(owner)
    #expect(try magic.blocking.object(of: Owner.self, primary: "Jon").cats.map(\.name).sorted() == ["Kit", "Tom"])
    try magic.blocking.update(contentsOf: [owner])
    #expect(try magic.blocking.object(of: Owner.self)[0].cats.count == 2)
    #expect(try weights() == ["Tom": 4, "Kit": 1])
  }

  @Test func aDatabaseInMemoryWorksAsWell() async throws {
    let magic = try await MagicData(type: .memory)
    try magic.blocking.update(Cat("Tom", 4))
    #expect(try await magic.object(of: Cat.self, primary: "Tom").weight == 4)
    #expect(try magic.blocking.object(of: Cat.self).count == 1)
  }

  /// There is one connection, which the transaction has.
  @Test func inMemoryAReverseIsAskedWithinATransaction() async throws {
    let magic = try await MagicData(type: .memory)
    try magic.blocking.transaction { tx in
      let work = Work("Work", Writer("W"))
      work.order = [Tag("a")]
      try tx.update(work)
      let tag = try #require(tx.object(of: Tag.self).first)
      #expect(tag.inLists.count == 1)
      #expect(tag.inLists == tag.inLists)
      #expect(tag.inSets.count == 0)
    }
    #expect(try magic.blocking.object(of: Tag.self).first?.inLists.count == 1)
  }

  /// H-5, and instances as well: they are as if they had not been saved.
  @Test func whatThrowsIsRolledBackWhole() async throws {
    let (tom, kit) = (Cat("Tom", 4), Cat("Kit", 1))
    try magic.blocking.update(tom)
    #expect(throws: Stop.self) {
      try magic.blocking.transaction { tx in
        tom.weight = 5
        try tx.update(tom)
        try tx.update(kit)
        #expect(try tx.object(of: Cat.self).map(\.weight) == [5, 1])
        throw Stop()
      }
    }
    #expect(try weights() == ["Tom": 4])
    try magic.blocking.update(kit)
    try magic.blocking.update(tom)
    #expect(try weights() == ["Tom": 5, "Kit": 1])
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  @Test func aNestedTransactionIsRolledBackAlone() async throws {
    let tom = Cat("Tom", 4)
    let count = try magic.blocking.transaction { tx in
      try tx.update(tom)
      #expect(throws: Stop.self) {
        try tx.transaction { inner in
          tom.weight = 5
          try inner.update(tom)
          try inner.removeAll(of: Cat.self)
          expectRefused { try tx.update(Cat("outer", 1)) }
          throw Stop()
        }
      }
      #expect(throws: MagicDataError.self) { try tx.update(Cat()) }
      try tx.transaction { try $0.update(contentsOf: [Cat("Kit", 1)]) }
      #expect(try tx.has(of: Cat.self, primary: "Kit"))
      return try tx.object(of: Cat.self).count
    }
    #expect(count == 2)
    #expect(try weights() == ["Tom": 4, "Kit": 1])
    try magic.blocking.update(tom)
    #expect(try weights() == ["Tom": 5, "Kit": 1])
    #expect(try await transactions() == 2)
  }

  @Test func aTransactionIsOfNoUseAfterwards() throws {
    let tx = try magic.blocking.transaction { $0 }
    expectRefused { try tx.update(Cat("Tom", 4)) }
    #expect(try weights().isEmpty)
  }

  /// It would wait for itself.
  @Test func aCallToTheDatabaseWithinATransactionIsAnError() async throws {
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      expectRefused { try magic.blocking.update(Cat("Kit", 1)) }
      #expect(try magic.blocking.object(of: Cat.self).isEmpty)
    }
    try magic.blocking.transaction { tx in
      try tx.update(Cat("Kit", 1))
      expectRefused { try magic.blocking.update(Cat("Ada", 1)) }
      expectRefused { try magic.blocking.transaction { _ in } }
      #expect(try magic.blocking.object(of: Cat.self).map(\.name) == ["Tom"])
      try MagicDataTests.other(folder).blocking.update(Cat("elsewhere", 1))
    }
    #expect(try weights() == ["Tom": 4, "Kit": 1])
  }

  @Test func aThreadWaitsForATransactionToEnd() async throws {
    let magic = magic
    let waiting = try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      let started = DispatchSemaphore(value: 0)
      let waiting = Task.detached {
        try await onThread {
          started.signal()
          return try magic.blocking.update(Cat("Kit", 1))
        }
      }
      try await onThread { started.wait() }
      return waiting
    }
    #expect(try await waiting.value == 2)
  }

  /// It holds up a thread that the transaction may need to end: of two threads, a few such calls would take all.
  @Test func aTaskDoesNotWaitForATransactionForLong() async throws {
    let magic = magic
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      await withTaskGroup(of: MagicDataError.Code?.self) { group in
        for number in 0..<3 {
          group.addTask {
            let call = Task.detached { try magic.blocking.update(Cat("\(number)", 1)) }
            do {
              _ = try await call.value
              return nil
            } catch { return (error as? MagicDataError)?.code }
          }
        }
        for await code in group { #expect(code == .busy) }
      }
      try await tx.update(Cat("Kit", 1))
    }
    // Who went away is not let in.
    try magic.blocking.update(Cat("Ada", 1))
    #expect(try weights() == ["Tom": 4, "Kit": 1, "Ada": 1])
  }

  /// What is busy can be tried again: on a machine that does much else, the others may take longer than a call waits.
  private func patiently(_ body: () throws -> Void) throws {
    while true {
      do {
        return try body()
      } catch let error as MagicDataError where error.code == .busy {
        continue
      }
    }
  }

  @Test func threadsAndTasksWriteInTurn() async throws {
    let magic = magic
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          try await onThread {
            for index in 0..<25 { try patiently { try magic.blocking.update(Cat("thread \(number) \(index)", 1)) } }
          }
        }
        group.addTask { for index in 0..<25 { try await magic.update(Cat("task \(number) \(index)", 1)) } }
        group.addTask {
          for index in 0..<5 {
            try await magic.transaction { tx in
              try await tx.update(Cat("transaction \(number) \(index)", 1))
              await Task.yield()
              try await tx.update(Cat("transaction \(number) \(index)", 2))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try weights().count == 4 * 55)
    #expect(try await Dump(magic) == NaiveFold(journalOf: magic).dump)
  }

  /// H-40.
  @Test func twoOpeningsOfOneFileWaitForEachOther() async throws {
    let (one, two) = (magic, try await MagicData(path: folder["db"]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, magic) in [one, two].enumerated() {
        group.addTask {
          try await onThread { for index in 0..<50 { try magic.blocking.update(Cat("\(number) \(index)", 1)) } }
        }
      }
      try await group.waitForAll()
    }
    #expect(try weights().count == 100)
  }

  @Test func aCancelledTaskStoresNothing() async throws {
    let magic = magic
    let task = Task.detached {
      withUnsafeCurrentTask { $0?.cancel() }
      try magic.blocking.update(Cat("Tom", 4))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try weights().isEmpty)
  }

  @Test func whoBlocksAnswersNobodyElsesQuery() async throws {
    let magic = try await MagicData(type: .memory)
    let other = try await MagicData(type: .memory)
    for magic in [magic, other] { try await magic.update(Cat("Tom", 4)) }
    let query = other.query(of: Cat.self).where { $0.lives == 9 }
    let isRefused = { (error: any Error) in (error as? MagicDataError)?.code == .query }
    #expect { try magic.blocking.remove(query) } throws: { isRefused($0) }
    #expect { try magic.blocking.count(query) } throws: { isRefused($0) }
    try await magic.transaction { tx in
      #expect { try magic.blocking.count(tx.query(of: Cat.self)) } throws: { isRefused($0) }
    }
    #expect(try magic.blocking.count(magic.query(of: Cat.self)) == 1)
  }
}

/// Another database, within whose transactions nobody is.
private func other(_ folder: TemporaryFolder) throws -> MagicData {
  MagicData(store: try Store(.file(DatabaseLocation(folder["other"]), mustExist: false)))
}
