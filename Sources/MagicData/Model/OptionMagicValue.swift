internal import MagicJournal

/// A value that an object may lack. It is `nil` until it is set.
@propertyWrapper
public struct OptionMagicValue<Value: Magical> {
  private let typed: TypedBox<Value>

  public init(_ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = TypedBox(.unset, Place(file: file, line: line))
  }

  /// A value with a default.
  public init(wrappedValue: Value?, _ file: StaticString = #fileID, _ line: UInt = #line) {
    typed = TypedBox(wrappedValue.map { .value($0) } ?? .unset, Place(file: file, line: line))
  }

  public var wrappedValue: Value? {
    get { typed.hasValue ? typed.value : nil }
    nonmutating set { typed.set(newValue) }
  }

  public var projectedValue: Self { self }
}

extension OptionMagicValue: MagicProperty {
  static var role: PropertyRole { .optional }
  static var kind: MagicJournal.Value.Kind { Value.magicKind }
  var box: Box { typed }
  var canBeAbsent: Bool { true }
}
