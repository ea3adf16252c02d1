internal import Foundation

/// Time and chance, which tests and simulations move by hand.
package struct Surroundings: Sendable {
  /// The time of day in milliseconds since 1970.
  package var milliseconds: @Sendable () -> Int64
  package var random: @Sendable () -> UInt64
  /// For so long a read may have a thread of Swift's pool.
  package var brief = Duration.milliseconds(2)

  package init(milliseconds: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64) {
    self.milliseconds = milliseconds
    self.random = random
  }

  package static let system = Surroundings(
    milliseconds: { Int64(Date().timeIntervalSince1970 * 1_000) },
    random: {
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    })
}

/// Random numbers from the surroundings.
package struct Chance: RandomNumberGenerator {
  private let surroundings: Surroundings

  package init(_ surroundings: Surroundings) {
    self.surroundings = surroundings
  }

  package mutating func next() -> UInt64 { surroundings.random() }
}
