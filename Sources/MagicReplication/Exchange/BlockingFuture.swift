internal import Dispatch
internal import MagicData

/// Work on another thread for a caller that cannot suspend, since a transaction of SQLite's belongs to one thread.
struct BlockingFuture<Output: Sendable> {
  private let work: DispatchWorkItem
  private let outcome: Locked<Result<Output, any Error>?>

  init(_ body: @escaping @Sendable () throws -> Output) {
    let outcome = Locked<Result<Output, any Error>?>(nil)
    work = DispatchWorkItem {
      let result = Result(catching: body)
      outcome.withLock { $0 = result }
    }
    self.outcome = outcome
    DispatchQueue.global(qos: .userInitiated).async(execute: work)
  }

  /// Waits for it.
  func result() throws -> Output {
    work.wait()
    guard let result = outcome.withLock({ $0 }) else { preconditionFailure("work that nobody cancels comes to an end") }
    return try result.get()
  }
}
