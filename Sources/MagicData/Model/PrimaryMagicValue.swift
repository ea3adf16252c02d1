internal import MagicJournal

/// The value that names an object of its type, on every replica.
///
/// A `String` is a new UUID's text and a `UUID` a new UUID unless it is set; an `Int` has to be set. Two objects with equal primary
/// values, made on two replicas, are one object.
@propertyWrapper
public struct PrimaryMagicValue<Value: MagicalPrimary> {
  private let typed: PrimaryBox<Value>

  public init(_ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = PrimaryBox(.unset, Place(file: file, line: line))
  }

  public init(wrappedValue: Value, _ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = PrimaryBox(.value(wrappedValue), Place(file: file, line: line))
  }

  /// The value; one that was never set gets its default when it is first read.
  public var wrappedValue: Value {
    get {
      typed.settle()
      return typed.value
    }
    nonmutating set { typed.set(newValue) }
  }

  public var projectedValue: Self { self }
}

extension PrimaryMagicValue: MagicProperty {
  static var role: PropertyRole { .primary }
  static var kind: MagicJournal.Value.Kind { Value.magicKind }
  var box: Box { typed }
  var canBeAbsent: Bool { false }
}
