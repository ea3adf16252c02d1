internal import MagicJournal

/// A property of the objects that a query looks through, or of one that such an object holds.
public struct MagicColumn<Compared: Magical>: MagicComparable, Sendable {
  public let magicReference: MagicReference<Compared>
}

/// A property that may be nil. Nil is equal to nil alone, and neither less nor greater than anything, so that `$0.rating < 3`
/// leaves it out and `$0.rating != 3` does not.
public struct MagicOptionColumn<Compared: Magical>: MagicComparable, Sendable {
  public let magicReference: MagicReference<Compared>
}

/// Which property a column is.
public struct MagicReference<Compared: Magical>: Sendable {
  let root: FieldsRoot
  /// An error waits until the query is run.
  let route: Result<PropertyRoute, MagicDataError>

  func condition(_ comparison: Comparison, _ value: Compared) -> MagicPredicate {
    asks { property in
      try MagicReference.check(comparison)
      let value = try value.magicValue
      // An empty asset.
      if case .null = value { return .isNil(property) }
      return .compares(property, [Condition.Bound(comparison, value)])
    }
  }

  /// The bytes of JSON are in an order that is not that of the values.
  static func check(_ comparison: Comparison) throws {
    guard comparison == .equal || Compared.magicKind != .coded else {
      throw MagicDataError(.query, "a \(Compared.self) is stored as JSON, which has no order; ask for it with == or !=")
    }
  }

  /// - Parameter leaf: what is asked of the property, by its index.
  func asks(_ leaf: (Int) throws -> Condition) -> MagicPredicate {
    MagicPredicate(root) {
      let route = try route.get()
      return route.hops.hold(try leaf(route.property))
    }
  }
}

/// What ``MagicColumn`` and ``MagicOptionColumn`` have in common.
public protocol MagicComparable<Compared> {
  /// The type of the value; of one that may be nil, without that.
  associatedtype Compared: Magical
  /// Which property is compared.
  var magicReference: MagicReference<Compared> { get }
}

// MARK: Equality

extension MagicColumn {
  /// Text is equal by its UTF-8 bytes, a coded value by its canonical bytes, an enum by its raw value.
  public static func == (column: Self, value: Compared) -> MagicPredicate { column.magicReference.condition(.equal, value) }
  public static func != (column: Self, value: Compared) -> MagicPredicate { !(column == value) }
}

extension MagicOptionColumn {
  /// `column == nil` tells whether it is nil.
  public static func == (column: Self, value: Compared?) -> MagicPredicate {
    guard let value else { return !column.isThere }
    return column.magicReference.condition(.equal, value)
  }

  public static func != (column: Self, value: Compared?) -> MagicPredicate { !(column == value) }

  /// Behind an object that is not there, nothing is.
  private var isThere: MagicPredicate { magicReference.asks { .not(.isNil($0)) } }
}

extension MagicComparable {
  /// Compares two properties of an object, of which both, or one, may be nil.
  public static func == (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate { left.pair(.equal, right) }
  public static func != (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate { !(left == right) }

  fileprivate func pair(_ comparison: Comparison, _ other: some MagicComparable<Compared>) -> MagicPredicate {
    let (left, right) = (magicReference, other.magicReference)
    return MagicPredicate(left.root) {
      guard left.root === right.root else { throw MagicPredicate.isAboutOthers }
      try MagicReference<Compared>.check(comparison)
      return .pair(try left.route.get(), comparison, try right.route.get())
    }
  }
}

extension MagicColumn: MagicCondition where Compared == Bool {
  public var magicPredicate: MagicPredicate { self == true }
}

// MARK: Order

extension MagicComparable {
  fileprivate func asks(_ comparison: Comparison, _ value: Compared) -> MagicPredicate {
    magicReference.condition(comparison, value)
  }
}

extension MagicComparable where Compared: MagicOrdered {
  public static func < (column: Self, value: Compared) -> MagicPredicate { column.asks(.less, value) }
  public static func <= (column: Self, value: Compared) -> MagicPredicate { column.asks(.lessOrEqual, value) }
  public static func > (column: Self, value: Compared) -> MagicPredicate { column.asks(.greater, value) }
  public static func >= (column: Self, value: Compared) -> MagicPredicate { column.asks(.greaterOrEqual, value) }
}

/// By the raw value.
extension MagicComparable where Compared: RawRepresentable, Compared.RawValue: MagicOrdered {
  public static func < (column: Self, value: Compared) -> MagicPredicate { column.asks(.less, value) }
  public static func <= (column: Self, value: Compared) -> MagicPredicate { column.asks(.lessOrEqual, value) }
  public static func > (column: Self, value: Compared) -> MagicPredicate { column.asks(.greater, value) }
  public static func >= (column: Self, value: Compared) -> MagicPredicate { column.asks(.greaterOrEqual, value) }
}

/// Comparisons of two properties.
extension MagicComparable where Compared: MagicOrdered {
  public static func < (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate { left.pair(.less, right) }
  public static func <= (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate { left.pair(.lessOrEqual, right) }
  public static func > (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate { left.pair(.greater, right) }
  public static func >= (left: Self, right: some MagicComparable<Compared>) -> MagicPredicate {
    left.pair(.greaterOrEqual, right)
  }
}
