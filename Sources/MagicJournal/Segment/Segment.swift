/// A run of transactions of one replica, without a hole, and the schema that they need (Protocol/segment.md).
package struct Segment: Sendable, Equatable {
  package let header: SegmentHeader
  package let schema: Schema
  package let transactions: [Transaction]

  /// What the file is called for (S-3): a hash of the transactions' names, whatever their bytes.
  package static func name(of names: some Sequence<TransactionName>) -> String {
    var writer = ByteWriter()
    for name in names { name.encode(to: &writer) }
    return SHA256.hash(writer.bytes).prefix(16).hexadecimal
  }

  package var name: String { Segment.name(of: transactions.lazy.map(\.name)) }
}

/// A checked segment whose entries are not decoded yet: they take much less memory, and many are never decoded at all.
package struct EncodedSegment: Sendable {
  package let header: SegmentHeader
  package let schema: Schema
  package let transactions: [EncodedTransaction]
}
