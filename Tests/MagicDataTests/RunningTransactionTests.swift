import TestSupport
import Testing

@testable import MagicData

/// What tasks know of the transactions in whose bodies they were started.
@Suite struct RunningTransactionTests {
  let folder: TemporaryFolder
  let magic: MagicData

  init() async throws {
    folder = try TemporaryFolder()
    magic = try await MagicData(path: folder["db"])
  }

  /// Each body starts a task for the next transaction, and ends before that begins.
  @Test func transactionsThatStartTheNextOneAreForgotten() async throws {
    let magic = magic
    @Sendable func next(_ rest: Int) async throws -> Int {
      guard rest > 0 else { return RunningTransaction.current.count }
      let (over, end) = AsyncStream<Void>.makeStream()
      let task = try await magic.transaction { _ in
        Task {
          for await _ in over {}
          return try await next(rest - 1)
        }
      }
      end.finish()
      return try await task.value
    }
    #expect(try await next(50) == 1)
  }

  /// It goes on within the outer one, which would wait for it.
  @Test func aTaskOfAnInnerTransactionThatIsOverIsInTheOuterOne() async throws {
    let magic = magic
    let other = try await MagicData(type: .memory)
    try await magic.transaction { tx in
      try await tx.update(Cat("Tom", 4))
      let (over, end) = AsyncStream<Void>.makeStream()
      let task = try await other.transaction { _ in
        Task {
          for await _ in over {}
          try await other.update(Cat("Ann", 1))
          try await magic.update(Cat("Kit", 1))
        }
      }
      end.finish()
      await #expect { try await task.value } throws: { ($0 as? MagicDataError)?.code == .transaction }
    }
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom"])
    #expect(try await other.object(of: Cat.self).map(\.name) == ["Ann"])
  }

  /// It would wait for itself, with the write lock. What was committed before comes.
  @Test(.timeLimit(.minutes(15)), arguments: [false, true])
  func aBodyThatWaitsForACommitIsToldSo(ofAnotherOpening: Bool) async throws {
    let watched = ofAnotherOpening ? try await MagicData(path: folder["db"]) : magic
    let changes = try await watched.changes()
    try await magic.update(Cat("Tom", 4))
    try await magic.transaction { tx in
      try await tx.update(Cat("Kit", 1))
      var committed = changes.makeAsyncIterator()
      let before = try await committed.next()
      #expect(before?.objects.count == 1)
      await expectRefusal { _ = try await committed.next() }
      var cats = watched.observe(of: Cat.self).makeAsyncIterator()
      let seen = try await cats.next()
      #expect(seen?.map(\.name) == ["Tom"])
      await expectRefusal { _ = try await cats.next() }
    }
    #expect(try await magic.object(of: Cat.self).map(\.name) == ["Tom", "Kit"])
  }

  private nonisolated(nonsending) func expectRefusal(_ wait: nonisolated(nonsending) () async throws -> Void) async {
    do {
      try await wait()
      Issue.record("the body got what nobody committed")
    } catch {
      #expect((error as? MagicDataError)?.code == .transaction)
    }
  }

  /// It goes on when the body is over, and with it comes what it waits for.
  @Test(.timeLimit(.minutes(15))) func aTaskThatABodyHasStartedWaitsForTheCommit() async throws {
    let magic = magic
    let changes = try await magic.changes()
    try await magic.update(Cat("Tom", 4))
    let (waits, begin) = AsyncStream<Void>.makeStream()
    let listening = try await magic.transaction { tx in
      let listening = Task {
        defer { begin.finish() }
        var counts: [Int] = []
        for try await change in changes {
          counts.append(change.objects.count)
          if counts.count == 2 { break }
          begin.finish()
        }
        return counts
      }
      try await tx.update(Cat("Kit", 1))
      try await tx.update(Cat("Ann", 1))
      for await _ in waits {}
      for _ in 0..<1_000 { await Task.yield() }
      return listening
    }
    let counts = try await listening.value
    #expect(counts == [1, 2])
  }
}
