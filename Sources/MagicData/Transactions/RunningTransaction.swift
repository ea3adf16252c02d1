/// A transaction whose body this task is in: whoever waits for its gate would wait for itself.
///
/// Tasks that a body starts inherit it, and may go on when the transaction is over; so it knows when that is.
final class RunningTransaction: Sendable {
  /// All of them, each by itself: one that led to the one around it would keep those that are over, where each body starts a
  /// task for the next transaction.
  @TaskLocal static var current: [RunningTransaction] = []

  /// Another opening of the same file has the same one.
  private let gate: ObjectIdentifier
  private let store: ObjectIdentifier
  /// The one that runs the body, for as long as it does; `nil` for a body that blocks, which can wait for no commit.
  private let task: Int?
  private let over = Locked(false)

  private init(of store: Store, task: Int?) {
    (gate, self.store, self.task) = (ObjectIdentifier(store.gate), ObjectIdentifier(store), task)
  }

  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  private var isOver: Bool { over.withLock { $0 } }
  private func end() { over.withLock { $0 = true } }

  /// With those around it that go on.
  private var all: [RunningTransaction] { RunningTransaction.current.filter { !$0.isOver } + [self] }

  /// - Parameter isolation: the caller's. `withValue` runs a closure there only if the closure captures it, and objects must
  ///   not leave it.
  static func run<Result>(
    of store: Store, isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    let running = RunningTransaction(of: store, task: currentTask)
    defer { running.end() }
    return try await $current.withValue(running.all) {
      _ = isolation
      return try await body()
    }
  }

  /// Runs a body that blocks.
  static func run<Result>(blocking store: Store, _ body: () throws -> Result) throws -> Result {
    let running = RunningTransaction(of: store, task: nil)
    defer { running.end() }
    return try $current.withValue(running.all, operation: body)
  }

  /// Whether one of them, which is not over, is this very opening's.
  static func isOf(_ store: Store) -> Bool {
    current.contains { $0.store == ObjectIdentifier(store) && !$0.isOver }
  }

  /// Whether one of them, which is not over, has the gate.
  static func holds(_ store: Store) -> Bool {
    current.contains { $0.gate == ObjectIdentifier(store.gate) && !$0.isOver }
  }

  /// Whether this very task runs the body of one, which is not over and has the gate. One that the body has started may go on
  /// when it is over: whether the body waits for that cannot be told.
  static func isBody(holding store: Store) -> Bool {
    guard let task = currentTask else { return false }
    return current.contains { $0.gate == ObjectIdentifier(store.gate) && $0.task == task && !$0.isOver }
  }
}
