/// What a query asks of an object: made of a query's columns by `==`, `<`, `&&` and so on.
public struct MagicPredicate: Sendable {
  let condition: Result<Condition, MagicDataError>

  /// An error waits until the query is run.
  init(_ make: () throws -> Condition) {
    do {
      condition = .success(try make())
    } catch {
      condition = .failure(MagicDataError(error, "a query could not be made"))
    }
  }

  init(not predicate: MagicPredicate) {
    self.init {
      let inner = try predicate.condition.get()
      return if case .not(let twice) = inner { twice } else { .not(inner) }
    }
  }
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
    MagicPredicate { .both(try left.magicPredicate.condition.get(), try right.magicPredicate.condition.get()) }
  }

  public static func || (left: Self, right: some MagicCondition) -> MagicPredicate {
    MagicPredicate { .either(try left.magicPredicate.condition.get(), try right.magicPredicate.condition.get()) }
  }

  public static prefix func ! (predicate: Self) -> MagicPredicate {
    MagicPredicate(not: predicate.magicPredicate)
  }
}
