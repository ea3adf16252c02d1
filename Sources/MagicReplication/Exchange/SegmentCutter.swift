package import MagicData
package import MagicJournal

/// Cuts segments out of a database's journal.
package struct SegmentCutter {
  private let dataSet: DataSetID
  private let writer: ReplicaID
  private let journal: JournalReader

  /// - Parameter writer: the replica that the segments are written by, whose ever transactions they hold.
  package init(dataSet: DataSetID, writer: ReplicaID, journal: JournalReader) {
    self.dataSet = dataSet
    self.writer = writer
    self.journal = journal
  }

  package struct Cut: Sendable {
    package let run: ClosedRange<UInt64>
    /// S-3.
    package let name: String
    package let bytes: [UInt8]
    package let changes: Int
    /// Bytes before compression.
    package let inflatedBytes: Int
  }

  /// What a segment is to hold, before compression.
  struct Collected: Sendable {
    let run: ClosedRange<UInt64>
    let changes: Int
    fileprivate let segment: SegmentWriter

    /// Whether it is much more than a cut mostly leaves: one transaction that is.
    var isLarge: Bool { segment.size > 2 * Limits.segmentCut }

    func finish() throws -> Cut {
      let (name, bytes) = try segment.finish()
      return try Cut(
        run: run, name: name, bytes: bytes, changes: changes,
        inflatedBytes: SegmentHeader.length + SegmentHeader(bytes).bodyLength)
    }
  }

  /// A segment that begins with a run, and holds as much of it as one segment should (S-8). `nil` if the journal has nothing of
  /// it.
  ///
  /// - Throws: `IsLarge` for one of more bytes than `size`, before compression.
  func collect(
    _ replica: ReplicaID, _ run: ClosedRange<UInt64>, _ meter: ProgressMeter? = nil, atMost size: Int = .max
  ) throws -> Collected? {
    var segment = SegmentWriter(
      dataSet: dataSet, writer: writer, schema: journal.schema.schema, replica: replica, first: run.lowerBound,
      previous: try journal.name(before: run.lowerBound, of: replica))
    var (last, changes) = (run.lowerBound - 1, 0)
    do {
      try journal.forEachPart(of: replica, after: last, through: run.upperBound) { part in
        segment.add(part)
        guard segment.size <= size else { throw IsLarge() }
        last = part.transaction.sequence
        changes += part.transaction.entries.count
        try meter?.moved(changes: part.transaction.entries.count, transactions: part.isLast ? 1 : 0)
        if part.isLast, segment.isFull { throw IsFull() }
      }
    } catch is IsFull {}
    guard !segment.isEmpty else { return nil }
    return Collected(run: run.lowerBound...last, changes: changes, segment: segment)
  }

  /// Cuts a segment as a file, for who looked at the floor in an earlier snapshot.
  ///
  /// - Throws: `IsLarge` for one of more bytes than `size`, before compression.
  package func cutNow(_ replica: ReplicaID, _ run: ClosedRange<UInt64>, atMost size: Int = .max) throws -> Cut? {
    try checkIsKept(run, of: replica)
    return try collect(replica, run, atMost: size)?.finish()
  }

  func checkIsKept(_ run: ClosedRange<UInt64>, of replica: ReplicaID) throws {
    guard try run.lowerBound > journal.floor(of: replica)?.sequence ?? 0 else {
      throw MagicDataError(.busy, "the history that was to be sent was given up meanwhile; try again")
    }
  }

  private struct IsFull: Error {}
  struct IsLarge: Error {}
}
