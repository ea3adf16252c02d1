/// What names an object within its type, on every replica (J-6, J-7).
package enum ObjectKey: Hashable, Sendable {
  case primary(Value)
  case birth(Birth)
}

/// The transaction that made an object, and the object's place in it.
package struct Birth: Hashable, Sendable {
  package let transaction: TransactionName
  package let ordinal: UInt32

  package init(transaction: TransactionName, ordinal: UInt32) {
    self.transaction = transaction
    self.ordinal = ordinal
  }

  /// 16 bytes, as a table and a digest have them (J-18, M-11).
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    transaction.encode(to: &writer)
    writer.fixed(ordinal)
    return writer.bytes
  }

  package init(bytes: [UInt8]) throws(JournalError) {
    var reader = ByteReader(bytes)
    transaction = try TransactionName(from: &reader)
    ordinal = try reader.fixed(UInt32.self)
    try reader.expectEnd("a birth")
  }
}

extension ObjectKey {
  /// As a column holds it: the primary value, or the birth as bytes.
  package var value: Value {
    switch self {
    case .primary(let value): value
    case .birth(let birth): .bytes(birth.bytes)
    }
  }

  package init(value: Value, of type: TypeSchema) throws(JournalError) {
    if type.primary != nil {
      self = .primary(value)
    } else if case .bytes(let bytes) = value {
      self = .birth(try Birth(bytes: bytes))
    } else {
      throw JournalError(.damaged, "an object of type \(type.name) has no birth")
    }
  }
}
