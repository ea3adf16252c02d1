/// A sum over alive objects and their values; equal digests mean equal data (M-11).
package struct Digest: Hashable, Sendable, CustomStringConvertible {
  private var high: UInt64 = 0
  private var low: UInt64 = 0

  package init() {}

  package mutating func add(_ object: ObjectState, _ key: ObjectKey, of type: TypeSchema) {
    guard object.isAlive else { return }
    var writer = ByteWriter()
    writer.byte(UInt8(ascii: "O"))
    writer.string(type.name.text)
    writer.byte(type.primary?.kind.rawValue ?? 0)
    key.encode(to: &writer)
    let number = add(writer.bytes)
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

  @discardableResult
  private mutating func add(_ message: [UInt8]) -> ArraySlice<UInt8> {
    let number = SHA256.hash(message).prefix(16)
    let sum = low.addingReportingOverflow(number.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    low = sum.partialValue
    high = high &+ number.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } &+ (sum.overflow ? 1 : 0)
    return number
  }

  package var description: String { Identifier(high, low).description }
}
