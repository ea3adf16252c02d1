internal import MagicJournal

/// A value that every object of the type has.
///
/// Without a default it has to be set before it is read, and before the object is saved.
@propertyWrapper
public struct MagicValue<Value: Magical> {
  private let typed: TypedBox<Value>

  /// A value that is not set yet.
  public init(_ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = TypedBox(.unset, Place(file: file, line: line))
  }

  /// A value with a default.
  public init(wrappedValue: Value, _ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = TypedBox(.value(wrappedValue), Place(file: file, line: line))
  }

  /// The value. Reading it before it was set stops the program.
  public var wrappedValue: Value {
    get { typed.value }
    nonmutating set { typed.set(newValue) }
  }

  public var projectedValue: Self { self }
}

extension MagicValue: MagicProperty {
  static var role: PropertyRole { .required }
  static var kind: MagicJournal.Value.Kind { Value.magicKind }
  var box: Box { typed }
  var canBeAbsent: Bool { typed.hasValue }
}
