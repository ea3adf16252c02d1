internal import MagicData

/// Until when something has to happen, if it has to.
final class Deadline: Sendable {
  private let instant = Locked(ContinuousClock.Instant?.none)

  func set(_ duration: Duration) {
    let then = ContinuousClock.now + duration
    instant.withLock { $0 = then }
  }

  func clear() { instant.withLock { $0 = nil } }

  /// Returns when it has passed; a cancelled task throws.
  func wait() async throws {
    while true {
      let now = ContinuousClock.now
      let left = instant.withLock { $0 }.map { $0 - now } ?? .seconds(1)
      if left <= .zero { return }
      try await Task.sleep(for: min(left, .seconds(1)))
    }
  }
}
