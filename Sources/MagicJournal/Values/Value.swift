/// What one field of one object holds, with its kind (Protocol/values.md).
public enum Value: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case bytes([UInt8])
  /// A Codable value as canonical JSON.
  case coded([UInt8])
  /// One object.
  indirect case reference(ObjectKey)
  /// Objects in an order, as one value.
  case list([ObjectKey])
  /// What changed in a set of objects: rising, as `set(of:)` makes it.
  case set([SetElement])
  /// What changed in a dictionary of objects: rising, as `dictionary(of:)` makes it.
  case dictionary([DictionaryElement])
  /// The name of an asset's content.
  case asset(String)

  public enum Kind: UInt8, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case bytes = 5
    case coded = 6
    case reference = 8
    case list = 9
    case set = 10
    case dictionary = 11
    case asset = 12

    /// Whether a field of this kind speaks of objects of another type, its target.
    package var isRelation: Bool {
      switch self {
      case .reference, .list, .set, .dictionary: true
      case .integer, .real, .text, .bytes, .coded, .asset: false
      }
    }

    /// Whether a field of this kind folds element by element (M-13).
    package var hasElements: Bool { self == .set || self == .dictionary }
  }

  /// `nil` for null, which fields of every kind but set and dictionary may hold.
  public var kind: Kind? {
    switch self {
    case .null: nil
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .bytes: .bytes
    case .coded: .coded
    case .reference: .reference
    case .list: .list
    case .set: .set
    case .dictionary: .dictionary
    case .asset: .asset
    }
  }
}

extension Value: Equatable {
  /// By bytes, not by Swift's `==` of what is inside: canonically equivalent texts differ, a NaN equals itself (V-3, V-5).
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)), (.asset(let left), .asset(let right)): left.hasSameBytes(as: right)
    case (.bytes(let left), .bytes(let right)), (.coded(let left), .coded(let right)): left == right
    case (.reference(let left), .reference(let right)): left == right
    case (.list(let left), .list(let right)): left == right
    case (.set(let left), .set(let right)): left == right
    case (.dictionary(let left), .dictionary(let right)): left == right
    default: false
    }
  }
}

extension Value: Hashable {
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let number): hasher.combine(number)
    case .real(let number): hasher.combine(number.bitPattern)
    case .text(let text), .asset(let text):
      // One of Objective-C's has its bytes nowhere; a copy of it does.
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .bytes(let bytes), .coded(let bytes): hasher.combine(bytes)
    case .reference(let key): hasher.combine(key)
    case .list(let keys): hasher.combine(keys)
    case .set(let elements): hasher.combine(elements)
    case .dictionary(let elements): hasher.combine(elements)
    }
  }
}

extension Value: Comparable {
  public static func < (left: Value, right: Value) -> Bool {  // V-6
    left.encoded.lexicographicallyPrecedes(right.encoded)
  }
}
