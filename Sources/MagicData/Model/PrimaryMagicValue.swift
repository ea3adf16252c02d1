internal import MagicJournal

/// The value that names an object of its type, on every replica.
///
/// A `String` is a new UUID's text and a `UUID` a new UUID unless it is set; an `Int` has to be set. Two objects with equal primary
/// values, made on two replicas, are one object.
@propertyWrapper
public struct PrimaryMagicValue<Value: MagicalPrimary> {
  let property: PropertySlot

  public init(
    _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column, _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: false))
  }

  public init(
    wrappedValue: Value, _ file: StaticString = #fileID, _ line: UInt32 = #line, _ column: UInt32 = #column,
    _ type: StaticString = #function
  ) {
    property = PropertySlot(Place(file, line, column, type, hasValue: true))
    property.setDefault(wrappedValue)
  }

  /// The value; one that was never set gets its default when it is first read.
  public var wrappedValue: Value {
    get {
      settle()
      return property.required(Value.self)
    }
    nonmutating set { property.set(newValue) }
  }

  public var projectedValue: Self { self }
}

extension PrimaryMagicValue: MagicProperty {
  static var role: PropertyRole { .primary }
  static var valueType: any Magical.Type { Value.self }
  static var codec: Codec { Codec(Value.self) }

  /// The default is made no sooner than it is needed: a fetched object never needs it.
  private func settle() {
    guard !property.hasValue, !PropertyRecorder.isRecording, let value = Self.codec.primaryDefault else { return }
    property.storage.set(value, at: property.index)
  }
}
