internal import MagicJournal

/// A value that an object may lack. It is `nil` until it is set.
@propertyWrapper
public struct OptionMagicValue<Value: Magical> {
  @usableFromInline let property: PropertySlot

  /// A value that is nil until it is set.
  public init(
    _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
  }

  /// A value with a default, as which nil is fetched, too, unless it is an object: where nil is to mean something, give none.
  public init(
    wrappedValue: Value?, _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column,
    _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: true))
    if let wrappedValue {
      property.setDefault(wrappedValue)
    } else {
      // An assignment like any other, of a default that may be another one later. Nothing is there to be saved.
      property.storage[property.index].edits = 1
    }
  }

  /// The value; nil if it was not set and has no default.
  public var wrappedValue: Value? {
    @inlinable get { property.scalar(Value.self) ?? value }
    nonmutating set { property.set(newValue) }
    nonmutating _modify {
      // It stays where it is meanwhile: `tags?.append(…)` reads `tags` in its arguments while it has it. A nil that stays one
      // was not set.
      var value = property.get(Value.self)
      let wasNil = value == nil
      defer { if !wasNil || value != nil { property.set(value) } }
      yield &value
    }
  }

  @usableFromInline var value: Value? { property.get(Value.self) }

  /// The property itself: `$0.$name` in a query, and `\Page.$album` where a reverse relation names it.
  public var projectedValue: Self { self }
}

extension OptionMagicValue: MagicProperty {
  static var role: PropertyRole { .optional }
  static var valueType: any Magical.Type { Value.self }
  static var codec: Codec { Codec(Value.self) }
}

extension OptionMagicValue: CustomStringConvertible {
  /// The value as it is printed with its object: text in quotes, `unset` or `nil`, and of objects and assets their type.
  public var description: String { property.description(of: Value.self) }
}
