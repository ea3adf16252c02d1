import MagicJournal
import TestSupport

/// Writes to objects with numbers, by hand.
struct NumberHistory {
  enum Object {
    /// Named by the write's own place.
    case new
    case number(Int64)
    /// The one that a write made.
    case write(Int)
    /// Named by the number that the object of a write has once it has lost.
    case hash(Int)
    /// Born at a stamp, by a transaction that is not here.
    case birth(UInt64)
  }

  struct Write {
    let stamp: UInt64
    let root: UInt64
    let operation: Entry.Operation
    let object: Object

    init(_ stamp: UInt64, _ root: UInt64, _ operation: Entry.Operation, of object: Object = .new) {
      self.stamp = stamp
      self.root = root
      self.operation = operation
      self.object = object
    }
  }

  let schema: Schema
  private(set) var transactions: [Transaction] = []

  init(_ writes: [Write]) throws {
    let name = TypeSchema.Field(name: try Name("name"), kind: .text)
    schema = Schema(types: [
      TypeSchema(name: try Name("Place"), primary: .init(name: try Name("number"), kind: .integer), fields: [name])
    ])
    for (index, write) in writes.enumerated() {
      let replica = Identifier(0, write.root)
      let transaction = TransactionName(stamp: Stamp(write.stamp), tag: UInt32(index))
      let fields = write.operation.isRemove ? [] : [FieldValue(field: 0, value: .text("written \(index)"))]
      transactions.append(
        Transaction(
          replica: replica, sequence: UInt64(transactions.filter { $0.replica == replica }.count) + 1, name: transaction,
          root: replica,
          entries: [Entry(type: 0, key: key(write.object, transaction), operation: write.operation, fields: fields)]))
    }
  }

  private func key(_ object: Object, _ transaction: TransactionName) -> ObjectKey {
    switch object {
    case .new: .birth(Birth(transaction: transaction, ordinal: 0))
    case .number(let number): .primary(.integer(number))
    case .write(let index): transactions[index].entries[0].key
    case .hash(let index):
      if case .birth(let birth) = transactions[index].entries[0].key {
        .primary(.integer(birth.number(attempt: 0)))
      } else {
        preconditionFailure("the write made no object that claims a number")
      }
    case .birth(let stamp): .birth(Birth(transaction: TransactionName(stamp: Stamp(stamp), tag: 9), ordinal: 0))
    }
  }
}
