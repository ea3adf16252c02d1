internal import MagicJournal

/// What an object has to fulfil, by the indexes of its properties.
///
/// It is true or false, never unknown: nil and NaN compare as they do in Swift.
indirect enum Condition: Sendable {
  /// The value is within all bounds; nil is within none.
  case compares(Int, [Bound])
  case isAny(Int, [Value])
  case matches(Int, TextMatch)
  case isNil(Int)
  /// Two properties of one type.
  case pair(PropertyRoute, Comparison, PropertyRoute)
  /// The object is one of these.
  case isNamed([ObjectName])
  /// One of the objects that a property holds, and that can be shown, fulfils a condition.
  case holds(Hop, Condition)
  /// How many a property holds that can be shown.
  case count(Hop, Comparison, Int)
  case all([Condition])
  case any([Condition])
  case not(Condition)

  struct Bound: Sendable {
    let comparison: Comparison
    let value: Value

    init(_ comparison: Comparison, _ value: Value) {
      self.comparison = comparison
      self.value = value
    }
  }

  // Long chains stay flat: SQLite takes expressions of a limited depth.

  static func both(_ left: Condition, _ right: Condition) -> Condition { joined([left, right], isEither: false) }
  static func either(_ left: Condition, _ right: Condition) -> Condition { joined([left, right], isEither: true) }

  /// All of the parts, or one of them. What is asked of one and the same object is looked up together.
  static func joined(_ parts: [Condition], isEither: Bool) -> Condition {
    var joined: [Condition] = []
    joined.reserveCapacity(parts.count)
    // By property what is asked of the objects that it holds, and where that is to stand.
    var held: [Int: (place: Int, hop: Hop, parts: [Condition])] = [:]
    for part in parts.lazy.flatMap({ $0.parts(isEither: isEither) }) {
      if case .holds(let hop, let inner) = part, isEither || !hop.isMany {
        held[hop.property, default: (joined.count, hop, [])].parts.append(inner)
        guard held[hop.property]?.parts.count == 1 else { continue }
      }
      joined.append(part)
    }
    for (place, hop, parts) in held.values where parts.count > 1 {
      joined[place] = .holds(hop, .joined(parts, isEither: isEither))
    }
    return isEither ? .any(joined) : .all(joined)
  }

  private func parts(isEither: Bool) -> [Condition] {
    switch self {
    case .all(let parts) where !isEither: parts
    case .any(let parts) where isEither: parts
    default: [self]
    }
  }

  /// How many there are within each other at most. What is held counts as two: `joined` may put a chain around it.
  var depth: Int {
    switch self {
    case .compares, .isAny, .matches, .isNil, .pair, .isNamed, .count: 1
    case .holds(_, let inner): inner.depth + 2
    case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
    case .not(let inner): inner.depth + 1
    }
  }

  /// Calls `body` for each way to a property, and for each hop of it, whose end is then asked about by itself.
  func forEachRoute(_ body: (PropertyRoute) -> Void, _ into: (Hop, Condition) -> Void) {
    switch self {
    case .compares(let property, _), .isAny(let property, _), .matches(let property, _), .isNil(let property):
      body(PropertyRoute(property: property))
    case .pair(let left, _, let right):
      body(left)
      body(right)
    case .isNamed: break
    case .holds(let hop, let inner): into(hop, inner)
    case .count(let hop, _, _): into(hop, .all([]))
    case .all(let parts), .any(let parts): for part in parts { part.forEachRoute(body, into) }
    case .not(let inner): inner.forEachRoute(body, into)
    }
  }
}

enum Comparison: String, Sendable {
  case equal = "="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  func holds<Compared: Comparable>(_ left: Compared, _ right: Compared) -> Bool {
    switch self {
    case .equal: left == right
    case .less: left < right
    case .lessOrEqual: left <= right
    case .greater: left > right
    case .greaterOrEqual: left >= right
    }
  }

  /// As SQL tells it of a column: texts and bytes by their bytes, reals as Swift does.
  func holds(_ left: Value, _ right: Value) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): holds(left, right)
    case (.real(let left), .real(let right)): holds(left, right)
    case (.text(let left), .text(let right)), (.asset(let left), .asset(let right)): holds(Array(left.utf8), Array(right.utf8))
    case (.bytes(let left), .bytes(let right)), (.coded(let left), .coded(let right)): holds(left, right)
    default: false
    }
  }

  private func holds(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    // -1, 0 or 1.
    holds(left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1, 0)
  }
}

extension Condition {
  /// Whether a value of a property fulfils what is asked of that property alone.
  func holds(_ value: Value) -> Bool {
    switch self {
    case .compares(_, let bounds): bounds.allSatisfy { $0.comparison.holds(value, $0.value) }
    case .isAny(_, let values): values.contains { Comparison.equal.holds(value, $0) }
    case .matches(_, let match): if case .text(let text) = value { match.holds(text) } else { false }
    case .isNil, .pair, .isNamed, .holds, .count, .all, .any, .not: false
    }
  }
}
