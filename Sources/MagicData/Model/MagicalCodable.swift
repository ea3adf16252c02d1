public import MagicJournal

/// A Codable value that is stored as canonical JSON (Protocol/values.md).
public protocol MagicalCodable: Magical, Codable, MagicAssetConvert {}

extension MagicalCodable {
  public static var magicKind: Value.Kind { .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Array: Magical where Element: Codable {
  /// Objects are a relation; other elements are stored as JSON.
  public static var magicKind: Value.Kind { Element.self is any MagicObject.Type ? .list : .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Set: Magical where Element: Codable {
  public static var magicKind: Value.Kind { .coded }
  public var magicValue: Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

extension Dictionary: Magical where Key: Codable, Value: Codable {
  /// Objects are a relation; other values are stored as JSON.
  public static var magicKind: MagicJournal.Value.Kind { Value.self is any MagicObject.Type ? .dictionary : .coded }
  public var magicValue: MagicJournal.Value { get throws { try CanonicalJSON.value(of: self) } }
  public init(magicValue: MagicJournal.Value) throws { self = try CanonicalJSON.read(Self.self, from: magicValue) }
}

/// Collections that are stored as JSON: they cannot hold objects.
protocol CodedCollection {
  static var parts: [Any.Type] { get }
}

extension Array: CodedCollection { static var parts: [Any.Type] { [Element.self] } }
extension Set: CodedCollection { static var parts: [Any.Type] { [Element.self] } }
extension Dictionary: CodedCollection { static var parts: [Any.Type] { [Key.self, Value.self] } }
extension Optional: CodedCollection { static var parts: [Any.Type] { [Wrapped.self] } }

extension CodedCollection {
  /// Whether there are objects in it at any depth.
  static var holdsObjects: Bool {
    parts.contains {
      $0 is any MagicObject.Type || ($0 as? any CodedCollection.Type)?.holdsObjects ?? ($0 is any RelationMembers.Type)
    }
  }
}
