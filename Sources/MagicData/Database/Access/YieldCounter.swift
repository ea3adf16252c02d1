/// Has tasks yield now and then. Swift's pool has one thread for each core, and a task that reads in a loop without ever
/// suspending would keep one from all others.
struct YieldCounter: Sendable {
  private let taken = Locked(0)

  /// How many calls lie between two yields: mostly about a millisecond.
  private static let length = 64

  /// Lets the others go first, now and then.
  nonisolated(nonsending) func take() async {
    let number = taken.withLock { taken in
      taken &+= 1
      return taken
    }
    if number % YieldCounter.length == 0 { await Task.yield() }
  }
}
