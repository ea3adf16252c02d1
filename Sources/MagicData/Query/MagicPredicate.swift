/// What a query asks of an object: made of a query's columns by `==`, `<`, `&&` and so on.
public struct MagicPredicate: Sendable {
  /// Whose objects it is about.
  let root: FieldsRoot
  private let made: Result<Condition, MagicDataError>

  /// An error waits until the query is run.
  init(_ root: FieldsRoot, _ make: () throws -> Condition) {
    self.root = root
    do {
      made = .success(try make())
    } catch {
      made = .failure(MagicDataError(error, "a query could not be made"))
    }
  }

  fileprivate init(_ left: MagicPredicate, _ right: MagicPredicate, _ join: (Condition, Condition) -> Condition) {
    self.init(left.root) { join(try left.condition(on: left.root), try right.condition(on: left.root)) }
  }

  init(not predicate: MagicPredicate) {
    self.init(predicate.root) {
      let inner = try predicate.made.get()
      return if case .not(let twice) = inner { twice } else { .not(inner) }
    }
  }

  /// - Throws: `MagicDataError` with `query` if it is about others.
  func condition(on root: FieldsRoot) throws -> Condition {
    guard self.root === root else { throw MagicPredicate.isAboutOthers }
    return try made.get()
  }

  static let isAboutOthers = MagicDataError(
    .query, "within the braces of a contains, a query can ask for the member that these are given, and for nothing outside")
}

/// What can stand in a `where` by itself: a ``MagicPredicate``, or a column of type `Bool`.
public protocol MagicCondition {
  var magicPredicate: MagicPredicate { get }
}

extension MagicPredicate: MagicCondition {
  public var magicPredicate: MagicPredicate { self }
}

extension MagicCondition {
  public static func && (left: Self, right: some MagicCondition) -> MagicPredicate {
    MagicPredicate(left.magicPredicate, right.magicPredicate, Condition.both)
  }

  public static func || (left: Self, right: some MagicCondition) -> MagicPredicate {
    MagicPredicate(left.magicPredicate, right.magicPredicate, Condition.either)
  }

  public static prefix func ! (predicate: Self) -> MagicPredicate {
    MagicPredicate(not: predicate.magicPredicate)
  }
}
