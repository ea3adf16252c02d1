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
}
