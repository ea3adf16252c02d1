/// Conditions that are joined by AND, or by OR.
///
/// An app makes a long chain in a loop, one part at a time. So a chain that goes on from another has its parts in the same
/// memory, behind those of the other, and they become one condition when all are there.
struct ConditionChain: Sendable {
  private let isEither: Bool
  /// Its own ones are the first `count`. Others belong to chains that go on from it, and are never changed.
  private let parts: Locked<[Condition]>
  private let count: Int
  /// How many conditions there are within each other, with the chain itself.
  private let depth: Int

  /// A longer one at the right of an operator goes on with what is at the left, so that a loop which puts parts in front copies
  /// no more.
  private static let mostCopied = 32

  private init(_ parts: [Condition], depth: Int, isEither: Bool) {
    (self.parts, count, self.depth, self.isEither) = (Locked(parts), parts.count, depth, isEither)
  }

  private init(_ parts: Locked<[Condition]>, count: Int, depth: Int, isEither: Bool) {
    (self.parts, self.count, self.depth, self.isEither) = (parts, count, depth, isEither)
  }

  static func joined(_ left: Part, _ right: Part, isEither: Bool) -> ConditionChain {
    let (before, after) = (left.chained(isEither: isEither), right.chained(isEither: isEither))
    let depth = max(before?.depth ?? left.depth + 1, after?.depth ?? right.depth + 1)
    // The order of parts means nothing.
    if let after, after.count > max(mostCopied, before?.count ?? 1) {
      return after.followed(by: left.parts(isEither: isEither), depth: depth)
    }
    let parts = right.parts(isEither: isEither)
    return before?.followed(by: parts, depth: depth)
      ?? ConditionChain([left.condition] + parts, depth: depth, isEither: isEither)
  }

  private func followed(by more: [Condition], depth: Int) -> ConditionChain {
    parts.withLock { parts -> ConditionChain in
      // Else another chain goes on from this one already.
      guard parts.count == count else {
        return ConditionChain(Array(parts[..<count]) + more, depth: depth, isEither: isEither)
      }
      parts += more
      return ConditionChain(self.parts, count: parts.count, depth: depth, isEither: isEither)
    }
  }

  private var all: [Condition] { parts.withLock { Array($0[..<count]) } }

  var condition: Condition { .joined(all, isEither: isEither) }

  /// What stands at one side of an operator.
  enum Part: Sendable {
    case one(Condition, depth: Int)
    case chain(ConditionChain)

    var condition: Condition {
      switch self {
      case .one(let condition, _): condition
      case .chain(let chain): chain.condition
      }
    }

    /// At least that of the condition.
    var depth: Int {
      switch self {
      case .one(_, let depth): depth
      case .chain(let chain): chain.depth
      }
    }

    fileprivate func chained(isEither: Bool) -> ConditionChain? {
      if case .chain(let chain) = self, chain.isEither == isEither { chain } else { nil }
    }

    fileprivate func parts(isEither: Bool) -> [Condition] { chained(isEither: isEither)?.all ?? [condition] }
  }
}
