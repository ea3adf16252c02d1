internal import Foundation
package import MagicJournal

/// What of a journal is listed.
package struct LogSelection: Sendable {
  package var filter = EntryFilter()
  /// How the ids of replicas begin; none stands for all.
  package var replicas: [String] = []
  package var since: MagicMoment?
  package var until: MagicMoment?
  /// Only the last so many.
  package var limit: Int?

  package init() {}

  func window(_ journal: OpenJournal) throws -> JournalWindow {
    var window = JournalWindow()
    window.replicas = replicas
    window.since = try since.map { try journal.firstStamp(at: $0, replicas) }
    window.until = try until.map { try journal.stamp(at: $0, replicas) }
    // Each transaction has an entry at least.
    if filter.isEmpty, until == nil { window.last = limit }
    return window
  }
}

extension JournalSource {
  /// Hands out entries, the newest last.
  ///
  /// - Parameter after: what is known already; no limit holds then.
  /// - Returns: what could not be read, and how far the reading came.
  package func forEachEntry(
    _ selection: LogSelection, after: Frontier? = nil,
    _ body: @Sendable @escaping (Entry, Transaction, SourceSchema) throws -> Void
  ) async throws -> (report: MagicReadReport, reached: Frontier) {
    let (reached, report) = try await OpenJournal.read([self]) { journal, checkCancelled in
      // These are the other thread's until all is handed to it.
      nonisolated(unsafe) var (filter, last) = (selection.filter, LastEntries(after == nil ? selection.limit : nil))
      var window = try selection.window(journal)
      // What is left out is not wanted later either.
      nonisolated(unsafe) var reached = Reached(after ?? (window.isAll ? Frontier() : journal.end))
      if let after { (window.after, window.last, window.since, window.hasKept) = (after, nil, nil, false) }
      let isAll = filter.isEmpty
      // An object may have claimed its number before what is asked for, and in another replica.
      let isWide = filter.mayBeNumber
      try journal.forEachPart(isWide ? window.widened : window, checkCancelled) { [window] transaction, schema in
        reached.add(transaction)
        let isWanted = !isWide || window.has(transaction)
        for entry in transaction.entries where (isAll || filter.has(entry, schema.schema)) && isWanted {
          if last.keep(entry, transaction, schema) { continue }
          try body(entry, transaction, schema)
        }
      }
      try last.forEach(body)
      return reached.frontier
    }
    return (report, reached)
  }
}

/// How far a reading came. The replica of a transaction is mostly that of the one before.
private struct Reached {
  private var settled: Frontier
  private var current: (replica: ReplicaID, sequence: UInt64)?

  init(_ before: Frontier) {
    settled = before
  }

  mutating func add(_ transaction: Transaction) {
    if let current, current.replica != transaction.replica {
      settled = frontier
      self.current = nil
    }
    current = (transaction.replica, max(current?.sequence ?? 0, transaction.sequence))
  }

  var frontier: Frontier {
    var frontier = settled
    if let current { frontier[current.replica] = max(frontier[current.replica], current.sequence) }
    return frontier
  }
}

/// The last so many entries, in a ring.
private struct LastEntries {
  private typealias Kept = (entry: Entry, transaction: Transaction, schema: SourceSchema)

  private let limit: Int?
  private var kept: [Kept] = []
  private var first = 0

  init(_ limit: Int?) {
    self.limit = limit
  }

  /// `false` if all are wanted.
  mutating func keep(_ entry: Entry, _ transaction: Transaction, _ schema: SourceSchema) -> Bool {
    guard let limit else { return false }
    guard limit > 0 else { return true }
    // Its other entries are not wanted for it.
    var transaction = transaction
    transaction.entries = []
    if kept.count < limit {
      kept.append((entry, transaction, schema))
    } else {
      kept[first] = (entry, transaction, schema)
      first = (first + 1) % limit
    }
    return true
  }

  func forEach(_ body: (Entry, Transaction, SourceSchema) throws -> Void) throws {
    for (entry, transaction, schema) in kept[first...] + kept[..<first] { try body(entry, transaction, schema) }
  }
}
