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

extension ReplicaID {
  /// The id of a branch of this one, of which this is the first name (J-31).
  package func branch(at name: TransactionName) -> ReplicaID {
    var writer = ByteWriter()
    writer.append(Array("magicdata branch".utf8))
    encode(to: &writer)
    name.encode(to: &writer)
    return ReplicaID(SHA256.hash(writer.bytes).prefix(16)) ?? self
  }
}
