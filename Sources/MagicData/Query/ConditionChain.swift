/// Conditions that are joined by AND, or by OR.
///
/// An app makes a long chain in a loop, one part at a time. So a chain that goes on from another has its parts in the same memory, behind those of the other, and they become one
/// condition when all are there.
struct ConditionChain: Sendable {
  private let isEither: Bool
  /// Its own ones are the first `count`. Others belong to chains that go on from it, and are never changed.
  private let parts: Locked<[Condition]>
  private let count: Int

  /// A longer one at the right of an operator goes on with what is at the left, so that a loop which puts parts in front copies no more.
  private static let mostCopied = 32

  private init(_ parts: [Condition], isEither: Bool) {
    (self.parts, count, self.isEither) = (Locked(parts), parts.count, isEither)
  }

  private init(_ parts: Locked<[Condition]>, count: Int, isEither: Bool) {
    (self.parts, self.count, self.isEither) = (parts, count, isEither)
  }

  static func joined(_ left: Part, _ right: Part, isEither: Bool) -> ConditionChain {
    let (before, after) = (left.chained(isEither: isEither), right.chained(isEither: isEither))
    // The order of parts means nothing.
    if let after, after.count > max(mostCopied, before?.count ?? 1) {
      return after.followed(by: left.parts(isEither: isEither))
    }
    let parts = right.parts(isEither: isEither)
    return before?.followed(by: parts) ?? ConditionChain([left.condition] + parts, isEither: isEither)
  }

  private func followed(by more: [Condition]) -> ConditionChain {
    parts.withLock { parts -> ConditionChain in
      // Else another chain goes on from this one already.
      guard parts.count == count else { return ConditionChain(Array(parts[..<count]) + more, isEither: isEither) }
      parts += more
      return ConditionChain(self.parts, count: parts.count, isEither: isEither)
    }
  }

  private var all: [Condition] { parts.withLock { Array($0[..<count]) } }

  var condition: Condition { .joined(all, isEither: isEither) }

  /// What stands at one side of an operator.
  enum Part: Sendable {
    case one(Condition)
    case chain(ConditionChain)

    var condition: Condition {
      switch self {
      case .one(let condition): condition
      case .chain(let chain): chain.condition
      }
    }

    fileprivate func chained(isEither: Bool) -> ConditionChain? {
      if case .chain(let chain) = self, chain.isEither == isEither { chain } else { nil }
    }

    fileprivate func parts(isEither: Bool) -> [Condition] { chained(isEither: isEither)?.all ?? [condition] }
  }
}
