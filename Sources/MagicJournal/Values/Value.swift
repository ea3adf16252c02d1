/// What one field of one object holds, with its kind (Protocol/values.md).
public enum Value: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case bytes([UInt8])
  /// A Codable value as canonical JSON.
  case coded([UInt8])

  public enum Kind: UInt8, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case bytes = 5
    case coded = 6
  }

  /// `nil` for null, which every kind of field may hold.
  public var kind: Kind? {
    switch self {
    case .null: nil
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .bytes: .bytes
    case .coded: .coded
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
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.bytes(let left), .bytes(let right)), (.coded(let left), .coded(let right)): left == right
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
    case .text(let text): text.utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .bytes(let bytes), .coded(let bytes): hasher.combine(bytes)
    }
  }
}

extension Value: Comparable {
  public static func < (left: Value, right: Value) -> Bool {  // V-6
    left.encoded.lexicographicallyPrecedes(right.encoded)
  }
}
