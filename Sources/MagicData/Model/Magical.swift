public import Foundation
public import MagicJournal

/// A value that a property of a ``MagicObject`` can hold.
///
/// Strings, numbers, `Bool`, `Data`, `Date`, `URL`, `UUID`, and arrays, dictionaries and sets of Codable elements are magical.
/// An enum over one of the scalars needs only the name of this protocol; a Codable struct conforms to ``MagicalCodable``.
public protocol Magical: SendableMetatype {
  /// How the value is stored.
  static var magicKind: Value.Kind { get }

  /// The value as it is stored. Equal values give equal bytes.
  var magicValue: Value { get throws }

  /// Reads a stored value; throws ``MagicDataError`` if it is not one of this type.
  ///
  /// It is told by the value alone, and called on any thread, also while the database is read: what it asks of that through
  /// ``MagicData/blocking`` throws ``MagicDataError`` with `transaction` then, and it must not wait for anybody who asks.
  init(magicValue: Value) throws
}

/// A value that can name an object: `String`, `UUID` or `Int`.
public protocol MagicalPrimary: Magical, Sendable {}

extension Value {
  func unreadable(as type: Any.Type) -> MagicDataError {
    MagicDataError(.value, "a stored value of kind \(kind.map { "\($0)" } ?? "null") cannot be read as \(type)")
  }
}

extension String: MagicalPrimary {
  public static var magicKind: Value.Kind { .text }
  public var magicValue: Value { .text(self) }

  public init(magicValue: Value) throws {
    guard case .text(let text) = magicValue else { throw magicValue.unreadable(as: String.self) }
    self = text
  }
}

extension UUID: MagicalPrimary {
  public static var magicKind: Value.Kind { .text }
  public var magicValue: Value { .text(uuidString) }

  public init(magicValue: Value) throws {
    guard case .text(let text) = magicValue, let uuid = UUID(uuidString: text) else {
      throw magicValue.unreadable(as: UUID.self)
    }
    self = uuid
  }
}

extension Int: MagicalPrimary {
  public static var magicKind: Value.Kind { .integer }
  public var magicValue: Value { .integer(Int64(self)) }

  public init(magicValue: Value) throws {
    guard case .integer(let number) = magicValue, let int = Int(exactly: number) else {
      throw magicValue.unreadable(as: Int.self)
    }
    self = int
  }
}

extension Bool: Magical {
  public static var magicKind: Value.Kind { .integer }
  public var magicValue: Value { .integer(self ? 1 : 0) }

  public init(magicValue: Value) throws {
    guard case .integer(let number) = magicValue, 0...1 ~= number else { throw magicValue.unreadable(as: Bool.self) }
    self = number == 1
  }
}

extension Double: Magical {
  public static var magicKind: Value.Kind { .real }
  public var magicValue: Value { .real(self) }

  public init(magicValue: Value) throws {
    guard case .real(let number) = magicValue else { throw magicValue.unreadable(as: Double.self) }
    self = number
  }
}

extension Float: Magical {
  public static var magicKind: Value.Kind { .real }

  public var magicValue: Value {
    // Conversion would quiet a NaN; its payload moves to the top bits (V-5).
    guard isNaN else { return .real(Double(self)) }
    let sign = UInt64(bitPattern >> 31) << 63
    return .real(Double(bitPattern: sign | 0x7ff << 52 | UInt64(bitPattern & 0x7f_ffff) << 29))
  }

  public init(magicValue: Value) throws {
    guard case .real(let number) = magicValue else { throw magicValue.unreadable(as: Float.self) }
    guard number.isNaN else {
      self = Float(number)
      return
    }
    let payload = UInt32(number.bitPattern >> 29 & 0x7f_ffff)
    self = Float(bitPattern: UInt32(number.bitPattern >> 63) << 31 | 0xff << 23 | (payload == 0 ? 1 << 22 : payload))
  }
}

extension Data: Magical {
  public static var magicKind: Value.Kind { .bytes }
  public var magicValue: Value { .bytes([UInt8](self)) }

  public init(magicValue: Value) throws {
    guard case .bytes(let bytes) = magicValue else { throw magicValue.unreadable(as: Data.self) }
    self.init(bytes)
  }
}

extension Date: Magical {
  public static var magicKind: Value.Kind { .real }
  /// Seconds since 2001, which is what a `Date` is: any other origin would round it.
  public var magicValue: Value { .real(timeIntervalSinceReferenceDate) }

  public init(magicValue: Value) throws {
    guard case .real(let seconds) = magicValue else { throw magicValue.unreadable(as: Date.self) }
    self.init(timeIntervalSinceReferenceDate: seconds)
  }
}

extension URL: Magical {
  public static var magicKind: Value.Kind { .text }
  public var magicValue: Value { .text(absoluteString) }

  public init(magicValue: Value) throws {
    guard case .text(let text) = magicValue, let url = URL(string: text) else { throw magicValue.unreadable(as: URL.self) }
    self = url
  }
}

extension Magical where Self: RawRepresentable, RawValue: Magical {
  public static var magicKind: Value.Kind { RawValue.magicKind }
  public var magicValue: Value { get throws { try rawValue.magicValue } }

  public init(magicValue: Value) throws {
    guard let value = Self(rawValue: try RawValue(magicValue: magicValue)) else { throw magicValue.unreadable(as: Self.self) }
    self = value
  }
}
