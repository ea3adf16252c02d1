/// Every bound of the formats, in one place; Protocol/ states each with its rule.
package enum Limits {
  /// Bytes that may follow a length within a value, or a relation's code (V-7): more belongs into an asset, and a reader may
  /// have to hold several.
  package static let valueBytes = 1 << 25
  /// Elements of one list, set or dictionary (V-7): some take two bytes there and eighty in memory.
  package static let elements = 1 << 22
  /// Bytes of one transaction's entries (J-20): a transaction is applied whole, so it has to fit in memory.
  package static let transactionBytes = 1 << 26
  /// Bytes of a name of a type or field (J-15).
  package static let nameBytes = 255
  /// Fields of a type (J-15): SQLite allows 2,000 columns.
  package static let fieldsOfType = 1_000
  /// Fields of a schema's types together (J-15): each is a column or a table, which every connection knows.
  package static let fields = 8_192
  /// Types of a schema (J-15).
  package static let types = 4_096
  /// The sizes of a segment's transactions together (S-8): the largest one, and what a cut leaves before it.
  package static let segmentSize = 1 << 26 + 1 << 23
  /// Bytes of a segment's body, inflated or not (S-8): room for the largest transaction and what a cut leaves over.
  package static let segmentBytes = 1 << 27
  /// Transactions of a segment (S-8).
  package static let segmentTransactions = 1 << 20
  /// Entries of a transaction, and of a segment (J-2, S-8): some take one byte there and a hundred in memory.
  package static let entries = 1 << 22
  /// What a body may inflate to, per byte of the file (S-8): deflate cannot do better.
  package static let inflationRatio = 1_032
  /// A writer cuts a new segment once the sizes of its transactions pass this (S-8): few files, and little held in memory.
  package static let segmentCut = 1 << 22
  /// Replicas of a checkpoint's floor (K-11): 2 MiB of a header.
  package static let floorReplicas = 1 << 16
  /// Those up to which a compaction or a checkpoint raises a floor (K-5, K-16): the rest is room for ends beside others (K-20).
  package static let raisedReplicas = floorReplicas - 1_024
  /// Sequences stay below this (S-1), so that they and their sums fit SQLite's signed integers.
  package static let sequence: UInt64 = 1 << 62
}
