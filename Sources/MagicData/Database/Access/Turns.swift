/// Of the tasks on Swift's pool, which has a thread for each core: who asks in a loop and never has to wait would keep one from all others for as long as that takes.
struct Turns: Sendable {
  private let taken = Locked(0)

  /// Asks until a thread changes hands, a millisecond mostly.
  private static let length = 64

  /// Lets the others go first, now and then.
  nonisolated(nonsending) func take() async {
    let number = taken.withLock { taken in
      taken &+= 1
      return taken
    }
    if number % Turns.length == 0 { await Task.yield() }
  }
}
