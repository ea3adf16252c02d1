/// Collects transactions of one replica, in the order of their sequences, into the columns of a segment.
package struct SegmentWriter: Sendable {
  private let dataSet: DataSetID
  private let writer: ReplicaID
  private let replica: ReplicaID
  private let first: UInt64
  private let previous: TransactionName

  private var names: [TransactionName] = []
  private var body: BodyWriter

  /// `schema` is the one that the transactions' entries speak of; what they use of it goes into the segment.
  package init(
    dataSet: DataSetID, writer: ReplicaID, schema: Schema, replica: ReplicaID, first: UInt64, previous: TransactionName
  ) {
    self.dataSet = dataSet
    self.writer = writer
    self.replica = replica
    self.first = first
    self.previous = previous
    body = BodyWriter(schema)
  }

  package var isEmpty: Bool { names.isEmpty }

  /// The size of what was added, in bytes.
  package var size: Int { body.size }

  package var isFull: Bool { body.isFull || names.count == Limits.segmentTransactions }

  /// The transaction's sequence must be the one after the last that was added.
  package mutating func add(_ transaction: Transaction) {
    add(TransactionPart(transaction))
  }

  /// Adds a transaction in parts, which come one behind the other.
  package mutating func add(_ part: TransactionPart) {
    if part.isFirst { names.append(part.transaction.name) }
    let last = first + UInt64(names.count) - 1
    precondition(part.transaction.replica == replica && part.transaction.sequence == last, "a segment is a run")
    body.add(part)
  }

  /// The file's bytes, and what to call it.
  package func finish() throws(JournalError) -> (name: String, bytes: [UInt8]) {
    guard let last = names.last else { throw JournalError(.damaged, "a segment without transactions") }
    let bytes = try body.finish()
    let stored = try Zlib.deflate(bytes)
    var file = ByteWriter()
    SegmentHeader(
      dataSet: dataSet, writer: writer, replica: replica, first: first, last: first + UInt64(names.count) - 1,
      previous: previous, lastName: last, bodyLength: bytes.count, storedLength: stored.count,
      storedChecksum: Zlib.checksum(stored[...])
    ).encode(to: &file)
    file.append(stored)
    return (Segment.name(of: names), file.bytes)
  }
}
