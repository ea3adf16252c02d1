/// What a query asks of an object: made of a query's columns by `==`, `<`, `&&` and so on.
public struct MagicPredicate: Sendable {
  /// Whose objects it is about.
  let root: FieldsRoot
  private let made: Result<ConditionChain.Part, MagicDataError>

  /// An error waits until the query is run.
  init(_ root: FieldsRoot, _ make: () throws -> Condition) {
    self.init(of: root) { .one(try make()) }
  }

  private init(of root: FieldsRoot, _ make: () throws -> ConditionChain.Part) {
    self.root = root
    do {
      made = .success(try make())
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
    self.init(predicate.root) {
      let inner = try predicate.made.get().condition
      return if case .not(let twice) = inner { twice } else { .not(inner) }
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

/// What can stand in a `where` by itself: a ``MagicPredicate``, or a column of type `Bool`.
public protocol MagicCondition {
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
