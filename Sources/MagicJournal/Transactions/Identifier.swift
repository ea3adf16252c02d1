/// 16 random bytes that name a replica or a data set (J-1).
package struct Identifier: Hashable, Comparable, Sendable, CustomStringConvertible {
  let high: UInt64
  let low: UInt64

  package init(_ high: UInt64, _ low: UInt64) {
    self.high = high
    self.low = low
  }

  /// At or below all others.
  static let lowest = Identifier(0, 0)

  package static func random(using generator: inout some RandomNumberGenerator) -> Identifier {
    Identifier(generator.next(), generator.next())
  }

  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    let halves = (bytes.prefix(8), bytes.suffix(8))
    high = halves.0.reduce(0) { $0 << 8 | UInt64($1) }
    low = halves.1.reduce(0) { $0 << 8 | UInt64($1) }
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    (high, low) = try reader.halves()
  }

  package func encode(to writer: inout ByteWriter) {
    writer.fixed(high)
    writer.fixed(low)
  }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  /// 32 lower-case digits.
  package var description: String { bytes.hexadecimal }

  package static func < (left: Identifier, right: Identifier) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

package typealias ReplicaID = Identifier
package typealias DataSetID = Identifier
