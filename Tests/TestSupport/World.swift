internal import Foundation
package import MagicData

/// Time and chance in a test's hands.
// @unchecked: both are touched only while `lock` is held.
package final class World: @unchecked Sendable {
  private let lock = NSLock()
  private var now: Int64
  private var chance: Seeded

  /// - Parameter start: milliseconds since 1970.
  package init(seed: UInt64 = 1, start: Int64 = 1_750_000_000_000) {
    now = start
    chance = Seeded(seed)
  }

  package func advance(_ milliseconds: Int64) {
    lock.withLock { now += milliseconds }
  }

  package var milliseconds: Int64 { lock.withLock { now } }

  /// For a replica whose clock is `skew` milliseconds ahead.
  package func surroundings(skew: Int64 = 0) -> Surroundings {
    Surroundings(
      milliseconds: { self.milliseconds + skew }, random: { self.lock.withLock { self.chance.next() } })
  }
}
