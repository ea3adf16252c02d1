internal import MagicJournal

/// A value that every object of the type has.
///
/// Without a default it has to be set before it is read, and before the object is saved.
@propertyWrapper
public struct MagicValue<Value: Magical> {
  @usableFromInline let property: PropertySlot

  /// A value that is not set yet.
  public init(
    _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
  }

  /// A value with a default.
  public init(
    wrappedValue: Value, _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column,
    _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: true))
    property.setDefault(wrappedValue)
  }

  /// The value. Reading it before it was set stops the program.
  public var wrappedValue: Value {
    @inlinable get { property.scalar(Value.self) ?? value }
    nonmutating set { property.set(newValue) }
    nonmutating _modify {
      // Nobody else holds the value while it is changed, so that a collection is changed in place.
      var value = property.take(Value.self)
      defer { property.set(value) }
      yield &value
    }
  }

  @usableFromInline var value: Value { property.required(Value.self) }

  /// The property itself: `$0.$name` in a query, and `\Page.$album` where a reverse relation names it.
  public var projectedValue: Self { self }
}

extension MagicValue: MagicProperty {
  static var role: PropertyRole { .required }
  static var valueType: any Magical.Type { Value.self }
  static var codec: Codec { Codec(Value.self) }
}

extension MagicValue: CustomStringConvertible {
  /// The value as it is printed with its object: text in quotes, `unset` or `nil`, and of objects and assets their type.
  public var description: String { property.description(of: Value.self) }
}
