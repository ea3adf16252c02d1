public import Foundation
package import MagicJournal

/// What a journal holds, by type, replica and time.
public struct MagicJournalStatistics: Sendable {
  /// What several entries come to.
  public struct Share: Sendable, Equatable {
    /// How many they are.
    public internal(set) var entries = 0
    /// Those of them that remove.
    public internal(set) var removes = 0
    /// What their objects' names and values take before compression.
    public internal(set) var bytes = 0
  }

  /// Values that a later write has taken the place of, or whose object was removed: what only history needs. A compaction gives
  /// them up once every replica has acknowledged all that the journal holds, and those of removed objects a step later
  /// (Protocol/checkpoint.md, K-5, K-23).
  public struct Compaction: Sendable, Equatable {
    /// How many they are.
    public let values: Int
    /// What they take before compression.
    public let bytes: Int
    /// Whether a part of the objects was looked at, and the rest taken to be like it.
    public let isEstimate: Bool
  }

  /// How many the journal has.
  public internal(set) var transactions = 0
  /// The share of all types and replicas together.
  public internal(set) var total = Share()
  /// By the types' names; those that are equal to Swift's `String` are counted as one.
  public internal(set) var types: [String: Share] = [:]
  /// By the replicas' ids, 32 hexadecimal digits.
  public internal(set) var replicas: [String: Share] = [:]
  /// By days of UTC, as `2026-01-31`, and replicas.
  public internal(set) var days: [String: [String: Int]] = [:]
  /// When the oldest transaction was written, by its writer's clock; `nil` for an empty journal.
  public internal(set) var first: Date?
  /// When the newest was, by its writer's clock; `nil` for an empty journal.
  public internal(set) var last: Date?
  /// What the source takes where it is kept.
  public internal(set) var storedBytes = 0
  /// What a compaction would free.
  public internal(set) var compaction = Compaction(values: 0, bytes: 0, isEstimate: false)
  /// What could not be read.
  public internal(set) var report = MagicReadReport()
  /// Changes over time, for a drawing.
  package internal(set) var timeline = Timeline()
}

/// Counts of changes in equal spans of time. When there are too many spans they are joined in pairs, so that memory stays flat
/// however long a journal is.
package struct Timeline: Sendable {
  /// In milliseconds since 1970.
  package private(set) var start: Int64 = 0
  package private(set) var span: Int64 = 60_000
  /// By replica: of each span the number of entries, and the bytes of all replicas together.
  package private(set) var counts: [ReplicaID: [Int]] = [:]
  package private(set) var bytes: [Int] = []

  private static let spans = 256

  package var length: Int { bytes.count }

  /// Times may come in any order, if none is before the first by more than there is room for.
  mutating func add(_ milliseconds: Int64, _ replica: ReplicaID, entries: Int, bytes size: Int) {
    if bytes.isEmpty { start = milliseconds / span * span }
    while (milliseconds - start) / span >= Timeline.spans { join() }
    let index = Int(max(0, milliseconds - start) / span)
    bytes.add(size, at: index)
    counts[replica, default: []].add(entries, at: index)
  }

  private mutating func join() {
    // The start has to be a multiple of the new span, so the first one may be joined with none.
    let isOdd = start % (span * 2) != 0
    func joined(_ row: [Int]) -> [Int] {
      let row = (isOdd ? [0] : []) + row
      return stride(from: 0, to: row.count, by: 2).map { row[$0] + ($0 + 1 < row.count ? row[$0 + 1] : 0) }
    }
    bytes = joined(bytes)
    counts = counts.mapValues(joined)
    if isOdd { start -= span }
    span *= 2
  }
}

extension [Int] {
  fileprivate mutating func add(_ number: Int, at index: Int) {
    if index >= count { self += Array(repeating: 0, count: index + 1 - count) }
    self[index] += number
  }
}
