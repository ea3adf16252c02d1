internal import Foundation

/// Random numbers from a seed (SplitMix64), so that a failing test can be run again.
package struct Seeded: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(_ seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// The seeds of a random test: `MAGIC_SEED` alone, or the first `MAGIC_SEEDS` or those of a range (`201-400`), or as many as
/// the test asks for.
package func seeds(_ count: UInt64) -> [UInt64] {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["MAGIC_SEED"].flatMap(UInt64.init) { return [seed] }
  let bounds = environment["MAGIC_SEEDS"]?.split(separator: "-").compactMap { UInt64($0) } ?? []
  return Array((bounds.count > 1 ? bounds[0] : 1)...(bounds.last ?? count))
}
