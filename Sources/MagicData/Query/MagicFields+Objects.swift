internal import MagicJournal

extension MagicFields {
  /// Whether it is this object: the one with its primary value or, of a type without, the one that the instance was saved or
  /// fetched as.
  ///
  /// `$0.author == nil` tells whether there is none: the property is nil, or its object was removed or has not arrived. An
  /// instance that was never saved and has no primary value is equal to none.
  public static func == (fields: Self, object: Object?) -> MagicPredicate {
    MagicPredicate(fields.magicRoot) {
      let hops = try fields.magicHops.get()
      guard let object else { return .not(hops.hold(.all([]))) }
      return hops.hold(try .isNamed([object]))
    }
  }

  public static func != (fields: Self, object: Object?) -> MagicPredicate { !(fields == object) }

  /// Whether it is one of these objects; `authors.contains($0.author)` is the same.
  public func isIn(_ objects: some Sequence<Object>) -> MagicPredicate {
    MagicPredicate(magicRoot) { try magicHops.get().hold(try .isNamed(objects)) }
  }
}

extension Sequence where Element: MagicObject {
  /// Whether a query's object is one of these: `authors.contains($0.author)`.
  public func contains(_ fields: MagicFields<Element>) -> MagicPredicate { fields.isIn(self) }
}

/// The objects that a property holds: in a ``MagicalSet``, an array, or as the values of a dictionary.
///
/// Those that were removed, or have not arrived, are not among them.
public struct MagicMembers<Member: MagicObject> {
  private let root: FieldsRoot
  private let hops: Result<[Hop], MagicDataError>

  init(_ root: FieldsRoot, _ hops: Result<[Hop], MagicDataError>) {
    (self.root, self.hops) = (root, hops)
  }

  /// Whether one of them fulfils a condition, which is about that member alone: `$0.tags.contains { $0.name == "x" }`.
  public func contains<Condition: MagicCondition>(_ condition: (MagicFields<Member>) -> Condition) -> MagicPredicate {
    let fields = MagicFields<Member>()
    let predicate = condition(fields).magicPredicate
    return MagicPredicate(root, asking: predicate, of: fields.magicRoot) { try hops.get().hold($0) }
  }

  /// Whether this object is one of them; see ``MagicFields/==(_:_:)``.
  public func contains(_ object: Member) -> MagicPredicate {
    MagicPredicate(root) { try hops.get().hold(try .isNamed([object])) }
  }

  /// Whether all of them fulfil a condition, as they do if there are none.
  public func allSatisfy<Condition: MagicCondition>(_ condition: (MagicFields<Member>) -> Condition) -> MagicPredicate {
    let fields = MagicFields<Member>()
    let predicate = condition(fields).magicPredicate
    return MagicPredicate(root, asking: predicate, of: fields.magicRoot) { inner in
      try ofOwner { .not(.holds($0, .not(inner))) }
    }
  }

  /// Whether there are none.
  public var isEmpty: MagicPredicate {
    MagicPredicate(root) { try ofOwner { .not(.holds($0, .all([]))) } }
  }

  /// How many they are; an object that stands in an array or a dictionary twice counts twice.
  public var count: MagicCount {
    MagicCount { comparison, number in MagicPredicate(root) { try ofOwner { .count($0, comparison, number) } } }
  }

  /// What is asked of the object that holds them, which has to be there.
  private func ofOwner(_ condition: (Hop) -> Condition) throws -> Condition {
    var hops = try hops.get()
    guard let last = hops.popLast() else { preconditionFailure("members are those of a property") }
    return hops.hold(condition(last))
  }
}

/// How many objects a property holds: to be compared with a number.
public struct MagicCount {
  fileprivate let asks: (Comparison, Int) -> MagicPredicate

  public static func == (count: Self, number: Int) -> MagicPredicate { count.asks(.equal, number) }
  public static func != (count: Self, number: Int) -> MagicPredicate { !(count == number) }
  public static func < (count: Self, number: Int) -> MagicPredicate { count.asks(.less, number) }
  public static func <= (count: Self, number: Int) -> MagicPredicate { count.asks(.lessOrEqual, number) }
  public static func > (count: Self, number: Int) -> MagicPredicate { count.asks(.greater, number) }
  public static func >= (count: Self, number: Int) -> MagicPredicate { count.asks(.greaterOrEqual, number) }
}

extension Condition {
  /// That it is one of these objects, as far as they have a name.
  fileprivate static func isNamed<Object: MagicObject>(_ objects: some Sequence<Object>) throws -> Condition {
    .isNamed(try objects.compactMap { try Instance(of: $0).name() })
  }
}

/// What an instance says of the object that it is.
struct ObjectName: Sendable {
  /// Where it was saved or fetched.
  let place: (database: Identifier, zIndex: Int64)?
  /// Elsewhere.
  let primary: Value?
}

extension Instance {
  /// `nil` for one that is no object of any database, and can be found by nothing.
  fileprivate func name() throws -> ObjectName? {
    if let record, try isAsRecorded() {
      // A number that another database gave may be any object's here.
      return ObjectName(place: (record.database, record.place.zIndex), primary: record.birth == nil ? try primary() : nil)
    }
    guard !isRemoved else { return nil }
    return try primary().map { ObjectName(place: nil, primary: $0) }
  }
}
