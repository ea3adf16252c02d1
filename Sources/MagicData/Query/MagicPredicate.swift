/// What a query asks of an object: made of a query's columns by `==`, `<`, `&&` and so on.
public struct MagicPredicate: Sendable {
  /// Whose objects it is about.
  let root: FieldsRoot
  private let made: Result<ConditionChain.Part, MagicDataError>

  /// How many conditions may be within each other. All that walks them goes as deep by calls, also where a stack has 512 KB;
  /// SQLite's parser, as most builds have it, ends below.
  static let deepest = 100

  /// An error waits until the query is run.
  init(_ root: FieldsRoot, _ make: () throws -> Condition) {
    self.init(of: root) {
      let condition = try make()
      return .one(condition, depth: condition.depth)
    }
  }

  /// What is asked of the objects that a property holds.
  /// - Parameter hold: puts the way to them around it.
  init(_ root: FieldsRoot, asking inner: MagicPredicate, of members: FieldsRoot, _ hold: (Condition) throws -> Condition) {
    self.init(of: root) {
      let part = try inner.part(on: members)
      return .one(try hold(part.condition), depth: try hold(.all([])).depth + part.depth)
    }
  }

  private init(of root: FieldsRoot, _ make: () throws -> ConditionChain.Part) {
    self.root = root
    do {
      let part = try make()
      guard part.depth <= MagicPredicate.deepest else { throw MagicDataError.tooDeep() }
      made = .success(part)
    } catch {
      made = .failure(MagicDataError(error, "a query could not be made"))
    }
  }

  fileprivate init(_ left: MagicPredicate, _ right: MagicPredicate, isEither: Bool) {
    self.init(of: left.root) {
      .chain(.joined(try left.part(on: left.root), try right.part(on: left.root), isEither: isEither))
    }
  }

  init(not predicate: MagicPredicate) {
    self.init(of: predicate.root) {
      let part = try predicate.made.get()
      let condition = part.condition
      if case .not(let inner) = condition { return .one(inner, depth: part.depth - 1) }
      return .one(.not(condition), depth: part.depth + 1)
    }
  }

  /// - Throws: `MagicDataError` with `query` if it is about others.
  func condition(on root: FieldsRoot) throws -> Condition { try part(on: root).condition }

  private func part(on root: FieldsRoot) throws -> ConditionChain.Part {
    guard self.root === root else { throw MagicPredicate.isAboutOthers }
    return try made.get()
  }

  static let isAboutOthers = MagicDataError(
    .query, "within the braces of a contains, a query can ask for the member that these are given, and for nothing outside")
}

extension MagicDataError {
  static func tooDeep(cause: (any Error)? = nil) -> MagicDataError {
    MagicDataError(
      .tooLarge,
      "a query has too many conditions or relations within each other: SQLite takes at least eight relations one behind another; ask for less at once",
      cause: cause)
  }
}

/// What can stand in a `where` by itself: a ``MagicPredicate``, or a column of type `Bool`.
public protocol MagicCondition {
  /// The condition as what a query takes.
  var magicPredicate: MagicPredicate { get }
}

extension MagicPredicate: MagicCondition {
  public var magicPredicate: MagicPredicate { self }
}

extension MagicCondition {
  public static func && (left: Self, right: some MagicCondition) -> MagicPredicate {
    MagicPredicate(left.magicPredicate, right.magicPredicate, isEither: false)
  }

  public static func || (left: Self, right: some MagicCondition) -> MagicPredicate {
    MagicPredicate(left.magicPredicate, right.magicPredicate, isEither: true)
  }

  public static prefix func ! (predicate: Self) -> MagicPredicate {
    MagicPredicate(not: predicate.magicPredicate)
  }
}
