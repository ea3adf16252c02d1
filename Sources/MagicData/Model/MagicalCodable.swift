public import MagicJournal

/// A Codable value that is stored as canonical JSON (Protocol/values.md).
public protocol MagicalCodable: Magical, Codable {}

extension MagicalCodable {
  public static var magicKind: Value.Kind { .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Array: Magical where Element: Codable {
  public static var magicKind: Value.Kind { .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Set: Magical where Element: Codable {
  public static var magicKind: Value.Kind { .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Dictionary: Magical where Key: Codable, Value: Codable {
  public static var magicKind: MagicJournal.Value.Kind { .coded }
  public var magicValue: MagicJournal.Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: MagicJournal.Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}
