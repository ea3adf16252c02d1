/// The transactions whose bodies this task is in, innermost first: whoever waits for the gate of one of them would wait for itself.
///
/// Tasks that a body starts inherit it, and may go on when the transaction is over; so it knows when that is.
final class RunningTransaction: Sendable {
  @TaskLocal static var current: RunningTransaction?

  /// Another opening of the same file has the same one.
  private let gate: ObjectIdentifier
  private let store: ObjectIdentifier
  private let outer: RunningTransaction?
  private let isOver = Locked(false)

  private init(of store: Store, within outer: RunningTransaction?) {
    (gate, self.store) = (ObjectIdentifier(store.gate), ObjectIdentifier(store))
    self.outer = outer
  }

  /// - Parameter isolation: the caller's. `withValue` runs a closure there only if the closure captures it, and objects must not leave it.
  static func run<Result>(
    of store: Store, isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    let running = RunningTransaction(of: store, within: current)
    defer { running.isOver.withLock { $0 = true } }
    return try await $current.withValue(running) {
      _ = isolation
      return try await body()
    }
  }

  /// The same for a body that blocks.
  static func run<Result>(blocking store: Store, _ body: () throws -> Result) throws -> Result {
    let running = RunningTransaction(of: store, within: current)
    defer { running.isOver.withLock { $0 = true } }
    return try $current.withValue(running, operation: body)
  }

  /// Whether one of them, which is not over, is this very opening's.
  func isOf(_ store: Store) -> Bool {
    if self.store == ObjectIdentifier(store), !isOver.withLock({ $0 }) { return true }
    return outer?.isOf(store) ?? false
  }

  func holds(_ store: Store) -> Bool {
    if gate == ObjectIdentifier(store.gate), !isOver.withLock({ $0 }) { return true }
    return outer?.holds(store) ?? false
  }
}
