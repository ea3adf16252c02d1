internal import MagicJournal

/// What an object has to fulfil, by the indexes of its properties.
///
/// It is true or false, never unknown: nil and NaN compare as they do in Swift. (Relations will make a property's index a path.)
indirect enum Condition: Sendable {
  /// The value is within all bounds; nil is within none.
  case compares(Int, [Bound])
  case isAny(Int, [Value])
  case contains(Int, String)
  case isNil(Int)
  /// Two properties of one type that are never nil.
  case pair(Int, Comparison, Int)
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

  static func both(_ left: Condition, _ right: Condition) -> Condition {
    switch (left, right) {
    case (.all(let left), .all(let right)): .all(left + right)
    case (.all(let left), _): .all(left + [right])
    case (_, .all(let right)): .all([left] + right)
    default: .all([left, right])
    }
  }

  static func either(_ left: Condition, _ right: Condition) -> Condition {
    switch (left, right) {
    case (.any(let left), .any(let right)): .any(left + right)
    case (.any(let left), _): .any(left + [right])
    case (_, .any(let right)): .any([left] + right)
    default: .any([left, right])
    }
  }

  func forEachProperty(_ body: (Int) -> Void) {
    switch self {
    case .compares(let property, _), .isAny(let property, _), .contains(let property, _), .isNil(let property): body(property)
    case .pair(let left, _, let right):
      body(left)
      body(right)
    case .all(let parts), .any(let parts): for part in parts { part.forEachProperty(body) }
    case .not(let inner): inner.forEachProperty(body)
    }
  }

  /// Whether it can be looked up, given the properties that lead an index.
  func isServed(by isIndexed: (Int) -> Bool) -> Bool {
    switch self {
    case .compares(let property, _), .isAny(let property, _), .isNil(let property): isIndexed(property)
    case .all(let parts): parts.contains { $0.isServed(by: isIndexed) }
    case .any(let parts): !parts.isEmpty && parts.allSatisfy { $0.isServed(by: isIndexed) }
    case .contains, .pair, .not: false
    }
  }

  /// Whether one value is looked up, so that what is found comes in the order of the z index.
  func isPoint(by isIndexed: (Int) -> Bool) -> Bool {
    switch self {
    case .compares(let property, let bounds): isIndexed(property) && bounds.contains { $0.comparison == .equal }
    case .isNil(let property): isIndexed(property)
    case .all(let parts): parts.contains { $0.isPoint(by: isIndexed) }
    default: false
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
    case (.text(let left), .text(let right)): holds(Array(left.utf8), Array(right.utf8))
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
    case .contains(_, let part):
      if case .text(let text) = value { Condition.contains(Array(text.utf8), Array(part.utf8)) } else { false }
    case .isNil, .pair, .all, .any, .not: false
    }
  }

  private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    part.count <= text.count && (0...(text.count - part.count)).contains { text[$0..<($0 + part.count)] == part[...] }
  }
}
