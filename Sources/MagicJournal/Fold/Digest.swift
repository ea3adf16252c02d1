/// A sum over alive objects and their values; equal digests mean equal data (M-11).
package struct Digest: Hashable, Sendable, CustomStringConvertible {
  private var high: UInt64 = 0
  private var low: UInt64 = 0

  package init() {}

  package mutating func add(_ object: ObjectState, _ key: ObjectKey, of type: TypeSchema) {
    guard object.isAlive else { return }
    let number = add(Digest.name(of: key, type))
    for write in object.values where !write.isTombstone {
      var writer = ByteWriter()
      writer.byte(UInt8(ascii: "V"))
      writer.append(number)
      writer.string(type.fields[write.field].name.text)
      writer.fixed(write.version.stamp.bits)
      write.version.root.encode(to: &writer)
      write.value.encode(to: &writer)
      add(writer.bytes)
    }
  }

  /// The claim of an object that is alive.
  package mutating func add(_ claim: Claim, isLost: Bool, of type: TypeSchema) {
    var writer = ByteWriter()
    writer.byte(UInt8(ascii: "C"))
    writer.append(Digest.number(Digest.name(of: .birth(claim.birth), type)))
    writer.byte(isLost ? 1 : 0)
    writer.varint(UInt64(claim.number))
    add(writer.bytes)
  }

  private static func name(of key: ObjectKey, _ type: TypeSchema) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(UInt8(ascii: "O"))
    writer.string(type.name.text)
    writer.byte(type.primary?.kind.rawValue ?? 0)
    key.encode(to: &writer)
    return writer.bytes
  }

  private static func number(_ message: [UInt8]) -> ArraySlice<UInt8> { SHA256.hash(message).prefix(16) }

  @discardableResult
  private mutating func add(_ message: [UInt8]) -> ArraySlice<UInt8> {
    let number = Digest.number(message)
    let sum = low.addingReportingOverflow(number.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    low = sum.partialValue
    high = high &+ number.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } &+ (sum.overflow ? 1 : 0)
    return number
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

  /// Of every object that an entry speaks of, alive or not.
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
