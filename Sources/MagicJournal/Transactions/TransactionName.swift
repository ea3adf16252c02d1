/// What a transaction is called, wherever it is kept; its address may change (J-3).
package struct TransactionName: Hashable, Sendable {
  package let stamp: Stamp
  package let tag: UInt32

  /// Stands before a replica's first transaction in a segment's header.
  package static let none = TransactionName(stamp: .earliest, tag: 0)

  package init(stamp: Stamp, tag: UInt32) {
    self.stamp = stamp
    self.tag = tag
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    stamp = try Stamp(from: &reader)
    tag = try reader.fixed(UInt32.self)
  }

  package func encode(to writer: inout ByteWriter) {
    writer.fixed(stamp.bits)
    writer.fixed(tag)
  }
}
