internal import MagicJournal

/// Takes transactions out of a source, one after the other: of one replica in their order, or of several in the order of their
/// versions. Memory holds few of them.
protocol TransactionCursor: AnyObject {
  /// `nil` at the end.
  func next() throws -> (transaction: Transaction, schema: SourceSchema)?
}
