/// A sum over alive objects and their values; equal digests mean equal data (M-11).
package struct Digest: Hashable, Sendable, CustomStringConvertible {
  private var high: UInt64 = 0
  private var low: UInt64 = 0

  package init() {}

  package mutating func add(_ object: ObjectState, _ key: ObjectKey, of type: TypeSchema) {
    guard object.isAlive else { return }
    var writer = ByteWriter()
    let number = Digest.number(of: key, type, &writer)
    add(number)
    for write in object.values where !write.isTombstone {
      writer.removeAll()
      writer.byte(UInt8(ascii: "V"))
      number.encode(to: &writer)
      writer.string(type.fields[write.field].name.text)
      writer.fixed(write.version.stamp.bits)
      write.version.root.encode(to: &writer)
      write.value.encode(to: &writer)
      add(Digest.number(writer))
    }
  }

  /// The claim of an object that is alive.
  package mutating func add(_ claim: Claim, isLost: Bool, of type: TypeSchema) {
    var writer = ByteWriter()
    let number = Digest.number(of: .birth(claim.birth), type, &writer)
    writer.removeAll()
    writer.byte(UInt8(ascii: "C"))
    number.encode(to: &writer)
    writer.byte(isLost ? 1 : 0)
    writer.varint(UInt64(claim.number))
    add(Digest.number(writer))
  }

  private static func number(of key: ObjectKey, _ type: TypeSchema, _ writer: inout ByteWriter) -> Identifier {
    writer.byte(UInt8(ascii: "O"))
    writer.string(type.name.text)
    writer.byte(type.primary?.kind.rawValue ?? 0)
    key.encode(to: &writer)
    return number(writer)
  }

  private static func number(_ message: ByteWriter) -> Identifier {
    let (high, low) = SHA256.halves(message.bytes)
    return Identifier(high, low)
  }

  private mutating func add(_ number: Identifier) {
    let (sum, isOver) = low.addingReportingOverflow(number.low)
    low = sum
    high = high &+ number.high &+ (isOver ? 1 : 0)
  }

  package var identifier: Identifier { Identifier(high, low) }
  package var description: String { identifier.description }
}

/// The digest of all objects of one type, in any order.
package struct TypeDigest: Sendable {
  private let type: TypeSchema
  private var numbers = Numbers()
  private var alive: [Claim] = []

  package init(_ type: TypeSchema) {
    self.type = type
  }

  /// To be called for every object that an entry speaks of, alive or not.
  package mutating func add(_ object: ObjectState, _ key: ObjectKey, to digest: inout Digest) {
    digest.add(object, key, of: type)
    guard type.hasNumbers else { return }
    numbers.add(key, claim: object.claim)
    if case .birth(let birth) = key, let number = object.claim, object.isAlive {
      alive.append(Claim(number: number, birth: birth))
    }
  }

  /// After the last object.
  package func finish(_ digest: inout Digest) {
    guard !alive.isEmpty else { return }
    let shown = numbers.shown
    for claim in alive { digest.add(claim, isLost: shown[claim.birth] != claim.number, of: type) }
  }
}
