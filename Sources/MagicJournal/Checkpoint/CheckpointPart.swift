/// Kept entries of a checkpoint, as many as are read at once (K-11).
package struct CheckpointPart: Sendable, Equatable {
  package let schema: Schema
  /// Rising by stamp, tag and root. Their replicas are their roots, and they have no sequences.
  package let transactions: [Transaction]
  /// By how much it is longer than as it is stored.
  package let inflation: Int

  package init(_ header: CheckpointPartHeader, _ stored: [UInt8]) throws(JournalError) {
    guard stored.count == header.storedLength, Zlib.checksum(stored[...]) == header.checksum else {
      throw JournalError(.damaged, "a part's checksum does not match", offset: CheckpointPartHeader.length)
    }
    var body = try BodyReader(try Zlib.inflate(stored[...], to: header.bodyLength), isKept: true)
    var transactions: [Transaction] = []
    while !body.isAtEnd {
      let (last, offset) = (transactions.last, body.offset)
      var transaction = try body.transaction(
        Identifier(0, 0), 0, isFirst: transactions.isEmpty, after: last?.name.stamp
      ).made()
      transaction.replica = transaction.root
      guard last.map({ CheckpointPart.rises($0, transaction) }) ?? true else {
        throw JournalError(.damaged, "a checkpoint's transactions do not rise", offset: offset)
      }
      transactions.append(transaction)
    }
    try body.expectEnd()
    (schema, self.transactions) = (body.schema, transactions)
    inflation = header.bodyLength - header.storedLength
  }

  /// Whether one may follow another, also from part to part.
  package static func rises(_ first: Transaction, _ second: Transaction) -> Bool {
    (first.name.stamp, first.name.tag, first.root) < (second.name.stamp, second.name.tag, second.root)
  }
}

/// Collects kept entries, in their order, into parts.
package struct CheckpointPartWriter: Sendable {
  private let schema: Schema
  private var body: BodyWriter
  package private(set) var entries = 0

  package init(_ schema: Schema) {
    self.schema = schema
    body = BodyWriter(schema, isKept: true)
  }

  package var isEmpty: Bool { body.isEmpty }
  package var isFull: Bool { body.isFull }

  package mutating func add(_ transaction: Transaction) {
    body.add(TransactionPart(transaction))
    entries += transaction.entries.count
  }

  /// The bytes of the part; the next one begins.
  package mutating func finish() throws(JournalError) -> [UInt8] {
    let bytes = try body.finish()
    let stored = try Zlib.deflate(bytes)
    body = BodyWriter(schema, isKept: true)
    return CheckpointPartHeader(
      bodyLength: bytes.count, storedLength: stored.count, checksum: Zlib.checksum(stored[...])
    ).bytes + stored
  }
}
