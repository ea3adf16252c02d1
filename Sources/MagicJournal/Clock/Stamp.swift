/// When a transaction was written: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16 (Protocol/clock.md).
package struct Stamp: Hashable, Comparable, Sendable {
  package let bits: UInt64

  /// The end of the year 9999 (C-4).
  package static let latest = Stamp(lastMillisecond << 16 | 0xffff)
  package static let earliest = Stamp(0)
  private static let lastMillisecond: UInt64 = 253_402_300_799_999

  package init(_ bits: UInt64) {
    self.bits = bits
  }

  package var milliseconds: Int64 { Int64(bits >> 16) }

  /// The stamp of the next write: above this one, and at the time of day if that is later (C-2).
  package func next(at milliseconds: Int64) throws(JournalError) -> Stamp {
    let now = UInt64(min(max(milliseconds, 0), Int64(Stamp.lastMillisecond))) << 16
    guard self < Stamp.latest else {
      throw JournalError(.clock, "a stamp at the end of the year 9999 was merged; no write can be later")
    }
    return Stamp(max(now, bits + 1))
  }

  package static func < (left: Stamp, right: Stamp) -> Bool {
    left.bits < right.bits
  }
}

extension Stamp {
  /// SQLite's integers are signed; this keeps the order.
  package var stored: Int64 { Int64(bitPattern: bits ^ 1 << 63) }

  package init(stored: Int64) {
    self.init(UInt64(bitPattern: stored) ^ 1 << 63)
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    let bits = try reader.fixed(UInt64.self)
    try self.init(checking: bits, reader, at: reader.offset)
  }

  package init(checking bits: UInt64, _ reader: ByteReader, at offset: Int) throws(JournalError) {
    self.init(bits)
    guard self <= .latest else { throw reader.damaged("a stamp is beyond the year 9999", at: offset) }
  }
}
