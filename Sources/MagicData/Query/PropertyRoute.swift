/// A property that holds objects, on the way from an object to a property of another.
struct Hop: Sendable {
  let property: Int
  let isMany: Bool
  let target: any MagicObject.Type
}

/// A property of an object, or of one that it reaches over relations to one object each.
struct PropertyRoute: Sendable {
  var hops: [Hop] = []
  let property: Int
}

extension [Hop] {
  /// That there is an object at the end of the way which can be shown, and that it fulfils a condition: one that is not there
  /// fulfils nothing, so behind it a property is as nil.
  func hold(_ condition: Condition) -> Condition {
    reversed().reduce(condition) { .holds($1, $0) }
  }
}

/// Tells the objects that a `where` asks about from those that a `contains` within it asks about.
final class FieldsRoot: Sendable {}
