internal import Foundation
internal import MagicJournal

/// One property's value in the form in which an instance holds it: what most properties are needs no memory of its own.
@usableFromInline enum Slot {
  case unset
  case null
  /// `Int` and `Bool`.
  case integer(Int64)
  /// `Double` and `Date`.
  case real(Double)
  case text(String)
  case uuid(UInt64, UInt64)
  /// Anything else.
  case held(Held)

  var hasValue: Bool {
    switch self {
    case .unset, .null: false
    default: true
    }
  }

  var isUnset: Bool { if case .unset = self { true } else { false } }
  /// Whether it is an asset whose content is not named yet: to name it takes as long as to read all of it.
  var isUnnamed: Bool { if case .held(let held) = self { held.asset?.isUnnamed == true } else { false } }
}

/// A value that has no form of its own among the slots'.
@usableFromInline class Held {
  /// The value for the database. What was fetched or saved is known without another look.
  func encoded() throws -> Value {
    preconditionFailure("a held value has a type")
  }

  /// A value that is an object of a class, as if it were set now, if it was changed in place since it was fetched or saved.
  func changedInPlace() throws -> Held? { nil }
  /// Whether it is known what it was when it was fetched or saved.
  var isKnown: Bool { true }
  /// The save of a value is done.
  func setSaved(_ value: Value) {}

  /// Whether it may be the last to hold other instances.
  var holdsInstances: Bool { false }
  /// Whether it stands for an object that is not there.
  var isMissing: Bool { false }
  /// The asset that is held, if it is one.
  var asset: (any AnyAsset)? { nil }
  /// The links that the database held for the objects.
  final var links: [Link]?
  /// The objects that the database holds for an array and that are not there to be shown.
  final var hidden: Set<Int64> = []
}

/// A value that only the database knows: no property's type reads it.
final class RawValue: Held {
  private let value: Value

  init(_ value: Value) {
    self.value = value
  }

  override func encoded() -> Value { value }
}

class HeldValue<Wrapped: Magical>: Held {
  final let value: Wrapped
  /// As it was fetched or, of a class, saved: what holds one may have changed since, and to encode takes time.
  private var stored: Value?

  init(_ value: Wrapped, stored: Value? = nil) {
    self.value = value
    self.stored = stored
  }

  override func encoded() throws -> Value { try stored ?? encodedNow() }

  private func encodedNow() throws -> Value {
    let encoded = try value.magicValue
    // What no database takes back is not written (J-16). An asset may have no content.
    guard encoded.kind == Wrapped.magicKind || encoded == .null && Wrapped.magicKind == .asset else {
      throw MagicDataError(
        .value,
        """
        \(Wrapped.self) gives a value of kind \(encoded.kind.map { "\($0)" } ?? "null") as its magicValue, where its magicKind is \
        \(Wrapped.magicKind)
        """)
    }
    return encoded
  }

  override func changedInPlace() throws -> Held? {
    guard let stored else { return nil }
    let now = try encodedNow()
    // Bytes alone tell nothing: another version may have written more than this one reads.
    guard now != stored, now != (try? Wrapped(magicValue: stored).magicValue) else { return nil }
    return HeldValue(value)
  }

  override var isKnown: Bool { stored != nil }
  override func setSaved(_ value: Value) { stored = value }

  override var asset: (any AnyAsset)? { value as? any AnyAsset }
}

/// How a property's type becomes a slot and back: known from the type, asked once a property.
enum Codec: Sendable {
  case integer, bool, real, date, text, uuid
  case held(any Magical.Type)

  init<Wrapped: Magical>(_ type: Wrapped.Type) {
    self =
      switch type {
      case is Int.Type: .integer
      case is Bool.Type: .bool
      case is Double.Type: .real
      case is Date.Type: .date
      case is String.Type: .text
      case is UUID.Type: .uuid
      default: .held(type)
      }
  }

  /// Whether a value may be another one later, though nobody has set another: it may hold a class.
  var mayChange: Bool {
    func isPlain<Part>(_ type: Part.Type) -> Bool { _isPOD(type) }
    func mayHoldClass(_ type: Any.Type) -> Bool {
      if let collection = type as? any CodedCollection.Type { return collection.parts.contains { mayHoldClass($0) } }
      return !isPlain(type) && type != String.self && type != Data.self && type != URL.self && type != Decimal.self
    }
    guard case .held(let type) = self, type.magicKind != .asset, !type.magicKind.isRelation else { return false }
    return mayHoldClass(type)
  }

  /// Whether a value is an object of a class, which the app may change in place.
  var isClass: Bool {
    guard case .held(let type) = self, type.magicKind != .asset, !type.magicKind.isRelation else { return false }
    return type is AnyClass
  }

  /// Whether what a database holds is what a slot of this type holds.
  func takes(_ stored: Slot) -> Bool {
    switch (self, stored) {
    case (.text, .text), (.real, .real), (.date, .real), (.uuid, .uuid): true
    case (.integer, .integer(let number)): Int(exactly: number) != nil
    case (.bool, .integer(let number)): 0...1 ~= number
    default: false
    }
  }

  /// - Throws: `MagicDataError` with `value` if it is none of this type's.
  func slot(of value: Value) throws -> Slot {
    switch (self, value) {
    case (_, .null): return .null
    case (.integer, .integer(let number)) where Int(exactly: number) != nil: return .integer(number)
    case (.bool, .integer(let number)) where 0...1 ~= number: return .integer(number)
    case (.real, .real(let number)), (.date, .real(let number)): return .real(number)
    case (.text, .text(let text)): return .text(text)
    case (.uuid, .text(let text)):
      let slot = Slot(uuidText: text)
      if case .text = slot, UUID(uuidString: text) == nil { throw value.unreadable(as: UUID.self) }
      return slot
    case (.held(let type), _): return .held(try Codec.held(value, type))
    default: throw value.unreadable(as: type)
    }
  }

  /// What a property of an asset's type holds of which nothing is stored.
  func empty() throws -> Slot {
    guard case .held(let type) = self else { return .null }
    return .held(try Codec.held(.null, type))
  }

  private var type: any Magical.Type {
    switch self {
    case .integer: Int.self
    case .bool: Bool.self
    case .real: Double.self
    case .date: Date.self
    case .text: String.self
    case .uuid: UUID.self
    case .held(let type): type
    }
  }

  private static func held<Wrapped: Magical>(_ value: Value, _ type: Wrapped.Type) throws -> Held {
    HeldValue(try Wrapped(magicValue: value), stored: value)
  }
}

extension Slot {
  /// What a database holds, which no property's type has read.
  init(stored value: Value) {
    self =
      switch value {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      default: .held(RawValue(value))
      }
  }

  /// The value for the database; `nil` if it was never set.
  func value() throws -> Value? {
    switch self {
    case .unset: nil
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text): .text(text)
    case .uuid(let high, let low): .text(UUIDText.text(high, low))
    case .held(let held): try held.encoded()
    }
  }

  /// Text that may be a UUID's. What is not in capitals is kept as it is written, which is what names an object.
  init(uuidText text: String) {
    self = UUIDText.halves(of: text).map { .uuid($0, $1) } ?? .text(text)
  }

  // MARK: Of a property's type

  // In what follows a generic value is taken for what its type was just found to be: the same type, so the same bits.

  init<Wrapped: Magical>(_ value: Wrapped) {
    if Wrapped.self == Int.self {
      self = .integer(Int64(unsafeBitCast(value, to: Int.self)))
    } else if Wrapped.self == String.self {
      self = .text(unsafeBitCast(value, to: String.self))
    } else if Wrapped.self == Double.self {
      self = .real(unsafeBitCast(value, to: Double.self))
    } else if Wrapped.self == Bool.self {
      self = .integer(unsafeBitCast(value, to: Bool.self) ? 1 : 0)
    } else if Wrapped.self == UUID.self {
      let (high, low) = unsafeBitCast(value, to: UUID.self).halves
      self = .uuid(high, low)
    } else if Wrapped.self == Date.self {
      self = .real(unsafeBitCast(value, to: Date.self).timeIntervalSinceReferenceDate)
    } else {
      self = .held(Wrapped.magicKind.isRelation ? HeldRelation(value, stored: nil) : HeldValue(value))
    }
  }

  /// The value, if it is set and not null.
  func get<Wrapped: Magical>(_: Wrapped.Type) -> Wrapped? {
    switch self {
    case .unset, .null:
      return nil
    case .integer(let number):
      if Wrapped.self == Int.self { return unsafeBitCast(Int(truncatingIfNeeded: number), to: Wrapped.self) }
      return unsafeBitCast(number != 0, to: Wrapped.self)
    case .real(let number):
      if Wrapped.self == Double.self { return unsafeBitCast(number, to: Wrapped.self) }
      return unsafeBitCast(Date(timeIntervalSinceReferenceDate: number), to: Wrapped.self)
    case .text(let text):
      if Wrapped.self == String.self { return unsafeBitCast(text, to: Wrapped.self) }
      return UUID(uuidString: text).map { unsafeBitCast($0, to: Wrapped.self) }
    case .uuid(let high, let low):
      return unsafeBitCast(UUID(high, low), to: Wrapped.self)
    case .held(let held):
      if held.isMissing { return nil }
      // A property's slot holds only what its own type put there.
      return unsafeDowncast(held, to: HeldValue<Wrapped>.self).value
    }
  }
}

extension UUID {
  fileprivate var halves: (UInt64, UInt64) {
    withUnsafeBytes(of: uuid) {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }

  fileprivate init(_ high: UInt64, _ low: UInt64) {
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) {
      $0.storeBytes(of: high.bigEndian, as: UInt64.self)
      $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    self.init(uuid: bytes)
  }
}

extension Codec {
  /// What a primary value is that was never set.
  var primaryDefault: Slot? {
    switch self {
    case .text: .text(UUID().uuidString)
    case .uuid: Slot(UUID())
    default: nil
    }
  }
}
