internal import MagicJournal

/// The value that names an object of its type, on every replica.
///
/// A `String` is a new UUID's text and a `UUID` a new UUID unless it is set. Two objects with equal primary values that apps
/// have set, on two replicas, are one object.
///
/// An `Int` that is not set is given by the database, at the first `update`: it counts up from 1, above every number below 2^61
/// that was set by hand, and no number is given twice, though the object that had it was removed. A number that is set means
/// the object that has it; one that is set in the same call is given to no other object of that call, but that
/// `update(contentsOf:)` looks at 1,000 objects at a time. Once 2^61 − 1 was set or given, an object without a number cannot be
/// saved.
///
/// A number from a transaction that was rolled back is given again. The instance still shows it, and gets another with its next
/// `update`.
///
/// Replicas that were apart may have given one number to several objects. When these meet, the oldest keeps it, unless an app
/// has set it by hand, for then that object does; the others get numbers of their own, from 2^61 on, the same on every replica.
/// Their relations stay as they are, and instances that were fetched before still mean their objects, also after a remove,
/// though they show the number of then. A number that was noted elsewhere means whoever has it by then.
@propertyWrapper
public struct PrimaryMagicValue<Value: MagicalPrimary> {
  @usableFromInline let property: PropertySlot

  /// A value that is not set yet: text and a UUID are made when it is first read or saved, a number is given by the first
  /// update.
  public init(
    _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
  }

  /// A value with a default, which is as one that the app sets: all objects that leave it are one object.
  public init(
    wrappedValue: Value, _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column,
    _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: true))
    property.setDefault(wrappedValue)
  }

  /// The value; text or a UUID that was never set gets its default when it is first read. Reading a number before the object
  /// has one stops the program.
  public var wrappedValue: Value {
    @inlinable get { property.scalar(Value.self) ?? value }
    nonmutating set { property.set(newValue) }
  }

  @usableFromInline var value: Value {
    settle()
    return property.required(Value.self)
  }

  /// The property itself: `$0.$id` in a query.
  public var projectedValue: Self { self }
}

extension PrimaryMagicValue: MagicProperty {
  static var role: PropertyRole { .primary }
  static var valueType: any Magical.Type { Value.self }
  static var codec: Codec { Codec(Value.self) }

  /// The default is made no sooner than it is needed: a fetched object never needs it.
  private func settle() {
    guard !property.hasValue, !PropertyRecorder.isRecording, let value = Self.codec.primaryDefault else { return }
    property.storage.settle(value, at: property.index)
  }
}

extension PrimaryMagicValue: CustomStringConvertible {
  /// The value as it is printed with its object: text in quotes, `unset` or `nil`, and of objects and assets their type.
  public var description: String { property.description(of: Value.self) }
}
