/// What names an object within its type, on every replica (J-6, J-7). One with an automatic number is named by its birth
/// (J-26).
public enum ObjectKey: Hashable, Sendable {
  case primary(Value)
  case birth(Birth)
}

/// An object among those of all types; the type is an index into a schema.
package struct TypedKey: Hashable, Sendable {
  package let type: Int
  package let key: ObjectKey

  package init(type: Int, key: ObjectKey) {
    (self.type, self.key) = (type, key)
  }
}

extension ObjectKey {
  /// Whether a reader takes it for a name: SQL, or somebody's export, may have given an object one that no transaction gives.
  package var isReadable: Bool {
    var reader = ByteReader(encoded)
    return (try? ObjectKey(from: &reader)) == self
  }
}

/// The transaction that made an object, and the object's place in it.
public struct Birth: Hashable, Sendable {
  package let transaction: TransactionName
  package let ordinal: UInt32

  package init(transaction: TransactionName, ordinal: UInt32) {
    self.transaction = transaction
    self.ordinal = ordinal
  }

  /// A birth of the two halves of `bytes`; `nil` if they are none of one.
  package init?(_ high: UInt64, _ low: UInt64) {
    let stamp = Stamp(high)
    guard stamp <= .latest else { return nil }
    self.init(
      transaction: TransactionName(stamp: stamp, tag: UInt32(low >> 32)), ordinal: UInt32(truncatingIfNeeded: low))
  }

  /// The two halves of `bytes`.
  package var halves: (high: UInt64, low: UInt64) { (transaction.stamp.bits, UInt64(transaction.tag) << 32 | UInt64(ordinal)) }

  /// 16 bytes, as a table and a digest have them (J-18, M-11).
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  func encode(to writer: inout ByteWriter) {
    transaction.encode(to: &writer)
    writer.fixed(ordinal)
  }

  package init(bytes: [UInt8]) throws(JournalError) {
    var reader = ByteReader(bytes)
    transaction = try TransactionName(from: &reader)
    ordinal = try reader.fixed(UInt32.self)
    try reader.expectEnd("a birth")
  }
}

extension ObjectKey {
  private enum Form {
    static let integer: UInt8 = 1
    static let text: UInt8 = 3
    static let uuid: UInt8 = 4
  }

  /// Begins an identity that is a birth, and nothing else (V-1, V-12).
  static let birthForm: UInt8 = 7

  /// The object's identity within its type, as a relation and a digest have it (V-12, M-11).
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  package func encode(to writer: inout ByteWriter) {
    switch self {
    case .primary(let value): value.encode(to: &writer)
    case .birth(let birth):
      writer.byte(ObjectKey.birthForm)
      birth.encode(to: &writer)
    }
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    let start = reader.offset
    switch reader.next {
    case Form.integer, Form.text, Form.uuid:
      self = .primary(try Value(from: &reader))
    case ObjectKey.birthForm:
      _ = try reader.byte()
      let birth = Birth(transaction: try TransactionName(from: &reader), ordinal: try reader.fixed(UInt32.self))
      guard birth.transaction.stamp > .earliest else { throw reader.damaged("an object born at stamp 0", at: start) }
      guard birth.ordinal < Limits.entries else { throw reader.damaged("an ordinal that no transaction has", at: start) }
      self = .birth(birth)
    case let code?: throw reader.damaged("no object is named by form \(code)", at: start)
    case nil: throw reader.damaged("the bytes end too early")
    }
  }

  /// How many bytes one takes that stands in bytes that nobody vouches for; `nil` if none ends before `end`.
  package static func length(_ bytes: UnsafeRawBufferPointer, at start: Int, before end: Int) -> Int? {
    guard start < end, bytes[start] == birthForm else { return Value.Encoded.length(bytes, at: start, before: end) }
    return start + birthLength <= end ? birthLength : nil
  }

  /// The length of `encoded`.
  package var encodedLength: Int {
    switch self {
    case .primary(let value): value.encodedLength
    case .birth: ObjectKey.birthLength
    }
  }

  static let birthLength = 17

  /// As a column holds it: the primary value, or the birth as bytes.
  package var value: Value {
    switch self {
    case .primary(let value): value
    case .birth(let birth): .bytes(birth.bytes)
    }
  }

  /// As people read it: its primary value, or its birth in hexadecimal digits.
  package var text: String {
    switch self {
    case .primary(.text(let text)): text
    case .primary(.integer(let number)): String(number)
    case .primary(let value): value.encoded.hexadecimal
    case .birth(let birth): birth.bytes.hexadecimal
    }
  }

  package init(value: Value, of type: TypeSchema) throws(JournalError) {
    if let primary = type.primary, value.kind == primary.kind {
      self = .primary(value)
    } else if type.hasBirths, case .bytes(let bytes) = value {
      self = .birth(try Birth(bytes: bytes))
    } else {
      throw JournalError(.damaged, "an object of type \(type.name) has no name")
    }
  }
}

// Hashes that are the same on every machine, unlike Swift's own, and good enough where nobody means harm. All bits are mixed.

extension ObjectKey {
  package func hash(seed: UInt64) -> UInt64 {
    switch self {
    case .primary(.integer(let number)): return UInt64(bitPattern: number).hash(seed: seed)
    case .primary(.text(var text)):
      if let (high, low) = UUIDText.halves(of: text) { return high.hash(seed: low.hash(seed: seed)) }
      return text.withUTF8 { UnsafeRawBufferPointer($0).hash(seed: seed) }
    case .primary(let value): return value.encoded.withUnsafeBytes { $0.hash(seed: seed) }
    case .birth(let birth): return birth.hash(seed: seed)
    }
  }
}

extension EncodedEntry {
  /// That of its object's key.
  package func hash(seed: UInt64) -> UInt64 {
    switch key {
    case .primary(.integer(let number)): UInt64(bitPattern: number).hash(seed: seed)
    case .primary(.uuid(let high, let low)): high.hash(seed: low.hash(seed: seed))
    case .primary(.text(let bytes)): bytes.hash(seed: seed)
    case .primary(let value): ObjectKey.primary(Value(value)).hash(seed: seed)
    case .birth(let birth): birth.hash(seed: seed)
    }
  }
}

extension Birth {
  func hash(seed: UInt64) -> UInt64 {
    transaction.stamp.bits.hash(seed: (UInt64(transaction.tag) << 32 | UInt64(ordinal)).hash(seed: seed))
  }
}

extension UnsafeRawBufferPointer {
  func hash(seed: UInt64) -> UInt64 {
    var hash = seed.start
    hash.mix(self)
    return hash.mixed
  }
}

extension UInt64 {
  /// With all bits mixed (MurmurHash3's last step).
  package var mixed: UInt64 {
    var hash = (self ^ self >> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
  }

  fileprivate func hash(seed: UInt64) -> UInt64 {
    var hash = seed.start
    hash.mix(self)
    return hash.mixed
  }

  /// What a hash with this seed begins with: small ones and small numbers are not to meet.
  fileprivate var start: UInt64 { (self &+ 1) &* 0x9e37_79b9_7f4a_7c15 }

  fileprivate mutating func mix(_ word: UInt64) {
    self = (self ^ word) &* 0xbf58_476d_1ce4_e5b9
    self ^= self >> 32
  }

  fileprivate mutating func mix(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    var rest = UInt64(bytes.count)
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    mix(rest)
  }
}

extension Birth: Comparable {
  /// As their bytes do: the earlier one first.
  public static func < (left: Birth, right: Birth) -> Bool {
    (left.transaction.stamp, left.transaction.tag, left.ordinal) < (
      right.transaction.stamp, right.transaction.tag, right.ordinal
    )
  }
}
