internal import Foundation
internal import MagicData
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

  /// Whether only what matches something is meant.
  package var isPart: Bool { !replicas.isEmpty || !filter.isEmpty || since != nil || until != nil }

  /// - Parameter told: by the first reading.
  func window(_ journal: OpenJournal, after told: ReadProgress? = nil) throws -> JournalWindow {
    var window = JournalWindow()
    window.replicas = replicas
    if let told {
      (window.since, window.until) = (told.since, told.until)
    } else {
      window.since = try since.map { try journal.firstStamp(at: $0, replicas) }
      window.until = try until.map { try journal.stamp(at: $0, replicas) }
    }
    // Each transaction has an entry at least.
    if filter.isEmpty, until == nil { window.last = limit }
    return window
  }
}

/// Takes entries one after the other, each for as long as it looks at it.
protocol EntryTaker: Sendable {
  /// What can be made of entries on another thread, before it is their turn.
  associatedtype Prepared: Sendable

  mutating func prepared(_ part: ReadPart, _ schema: SourceSchema) throws -> Prepared?
  mutating func take(_ prepared: Prepared) throws
  mutating func take(_ entry: some EntryView, of transaction: Transaction, _ schema: SourceSchema) throws
  /// After the last one.
  mutating func finish() throws
}

extension JournalSource {
  /// Hands out entries, the newest last.
  ///
  /// - Returns: what could not be read.
  package func forEachEntry(
    _ selection: LogSelection, _ body: @Sendable @escaping (Entry, Transaction, SourceSchema) throws -> Void
  ) async throws -> MagicReadReport {
    try await read(selection, after: nil) { EntryCaller(body: body) }.report
  }

  /// Hands out the lines of entries, the newest last.
  ///
  /// - Parameters:
  ///   - after: what was told already; no limit holds then.
  ///   - atOnce: so many bytes come together.
  ///   - write: takes whole lines.
  /// - Returns: what could not be read, what is told by then, and how many lines there were.
  package func writeLines(
    _ selection: LogSelection, after: ReadProgress? = nil, isJSON: Bool, atOnce: Int,
    _ write: @Sendable @escaping ([UInt8]) throws -> Void
  ) async throws -> (report: MagicReadReport, told: ReadProgress, count: Int) {
    try await read(selection, after: after) { EntryPage(isJSON: isJSON, atOnce: atOnce, write) }
  }

  private func read<Taker: EntryTaker>(
    _ selection: LogSelection, after: ReadProgress?, _ taker: @Sendable @escaping () -> Taker
  ) async throws -> (report: MagicReadReport, told: ReadProgress, count: Int) {
    let ((told, count), report) = try await OpenJournal.read([self]) { journal, checkCancelled in
      var window = try selection.window(journal, after: after)
      let before = after ?? ReadProgress(before: window, journal.end, floor: journal.heldFloor)
      if let after {
        (window.after, window.told, window.sinceInHoles) = (after.last, after, window.since)
        (window.last, window.since, window.hasKept) = (nil, nil, false)
        journal.sayGivenUp(window)
      }
      func reading() throws -> LogReader<Taker> {
        let reader = LogReader(
          taker: taker(), filter: selection.filter, window: window, last: LastEntries(after == nil ? selection.limit : nil),
          reached: Reached(before))
        return try journal.readAll(reader, taker, checkCancelled)
      }
      let known = journal.troubles.report
      var reader = try reading()
      // Some of the last so many may be what could not be read, and nothing is handed on yet: those before them take their
      // places.
      while let limit = selection.limit, let last = window.last,
        journal.hasLeftOut(window, for: limit, reader.reached.counts, beyond: known)
      {
        // A moment bounds what is read as well.
        window.last = window.since == nil ? last * 2 : nil
        reader = try reading()
      }
      try reader.finish()
      var told = reader.reached.told
      told.note(journal.heldFloor)
      if window.until != nil { told.pass(journal.heldEnd) }
      // A wide reading that goes on asks checkpoints for claims alone.
      let kept = after != nil && reader.isWide ? [] : journal.checkpoints.filter { window.hasKept(of: $0) }
      told.lack(journal.troubles, kept, after: after)
      // Also those that are not needed any more.
      let counted = journal.countedCheckpoints
      let settled = counted.filter { !told.lacks(below: $0) }
      for checkpoint in settled { journal.troubles.settle(checkpoint) }
      // One that could not be read and is gone has another in its place.
      if journal.saysAllAgain, journal.troubles.report.isComplete, told.holes.isEmpty, settled.count == counted.count,
        told.awaitedCheckpoints.isEmpty || !counted.isEmpty
      {
        journal.troubles.settleAll()
      }
      return (told, reader.count)
    }
    return (report, told, count)
  }
}

extension OpenJournal {
  /// Whether a reading of the last transactions alone has met what could not be read, and of a replica fewer than are wanted,
  /// while there are others before them.
  ///
  /// - Parameters:
  ///   - counts: how many it has met of each replica.
  ///   - known: what was said before it.
  fileprivate func hasLeftOut(
    _ window: JournalWindow, for limit: Int, _ counts: [ReplicaID: Int], beyond known: MagicReadReport
  ) -> Bool {
    guard let last = window.last, last > 0 else { return false }
    let report = troubles.report
    // Of branches one alone is read, however far back.
    let isUnread = report.unread.contains { $0.code != .fork && !known.unread.contains($0) }
    guard isUnread || report.gaps.contains(where: { !known.gaps.contains($0) }) else { return false }
    let (end, floor) = (end, floor.frontier)
    return end.replicas.contains { replica in
      window.has(replica) && counts[replica, default: 0] < limit && end[replica] > floor[replica]
        && end[replica] - floor[replica] > UInt64(last)
    }
  }

  /// - Parameter taker: makes one that works beforehand.
  /// - Returns: the reader after the last part of what it wants.
  fileprivate func readAll<Taker>(
    _ reader: LogReader<Taker>, _ taker: () -> Taker, _ checkCancelled: () throws -> Void
  ) throws -> LogReader<Taker> {
    // The other thread's until all is handed to it.
    nonisolated(unsafe) var reader = reader
    let hasAll = reader.hasAll
    var helper = taker()
    try forEachPart(reader.isWide ? reader.window.widened : reader.window, checkCancelled) { part, schema in
      hasAll ? try helper.prepared(part, schema) : nil
    } _: {
      try reader.read($0, $1, $2)
    }
    return reader
  }
}

/// Hands on the entries that are wanted.
private struct LogReader<Taker: EntryTaker> {
  private var taker: Taker
  private var filter: EntryFilter
  private let isAll: Bool
  let window: JournalWindow
  private var last: LastEntries
  private(set) var reached: Reached
  private(set) var count = 0

  /// Whether more is read than is wanted: an object may have claimed its number before what is asked for, and in another
  /// replica.
  let isWide: Bool

  init(taker: Taker, filter: EntryFilter, window: JournalWindow, last: LastEntries, reached: Reached) {
    (self.taker, self.filter, self.window, self.last, self.reached) = (taker, filter, window, last, reached)
    (isAll, isWide) = (filter.isEmpty, filter.mayBeNumber)
  }

  /// Whether each entry is handed on at once.
  var hasAll: Bool { isAll && last.areAll }

  mutating func read(_ part: ReadPart, _ schema: SourceSchema, _ prepared: Taker.Prepared?) throws {
    let head = part.head
    reached.add(head)
    if let prepared {
      count += part.count
      return try taker.take(prepared)
    }
    let isWanted = !isWide || window.has(head)
    switch part {
    case .made(let transaction):
      for entry in transaction.entries { try read(entry, of: head, schema, isWanted) }
    case .encoded(let transaction):
      try transaction.entries.forEachEntry { try read($0, of: head, schema, isWanted) }
    }
  }

  private mutating func read(
    _ entry: some EntryView, of head: Transaction, _ schema: SourceSchema, _ isWanted: Bool
  ) throws {
    guard isAll || filter.has(entry.made(), schema.schema), isWanted, !last.keep(entry, head, schema) else { return }
    count += 1
    try taker.take(entry, of: head, schema)
  }

  /// After the last one.
  mutating func finish() throws {
    try last.forEachEntry { entry, head, schema in
      count += 1
      try taker.take(entry, of: head, schema)
    }
    try taker.finish()
  }
}

/// Calls for each entry.
private struct EntryCaller: EntryTaker {
  let body: @Sendable (Entry, Transaction, SourceSchema) throws -> Void

  func prepared(_ part: ReadPart, _ schema: SourceSchema) -> Never? { nil }
  func take(_ prepared: Never) {}

  func take(_ entry: some EntryView, of transaction: Transaction, _ schema: SourceSchema) throws {
    try body(entry.made(), transaction, schema)
  }

  func finish() {}
}

/// How far a reading came. The replica of a transaction is mostly that of the one before.
private struct Reached {
  private var settled: ReadProgress
  private var current: (replica: ReplicaID, sequence: UInt64, name: TransactionName)?
  /// How many transactions of each replica were told, but for `count` of the current one.
  private var settledCounts: [ReplicaID: Int] = [:]
  private var count = 0

  init(_ before: ReadProgress) {
    settled = before
  }

  mutating func add(_ transaction: Transaction) {
    if let current, current.replica == transaction.replica {
      // A large one comes in parts.
      guard transaction.sequence > current.sequence else { return }
    } else if let current {
      settled.add(current.sequence, current.name, of: current.replica)
      settledCounts[current.replica, default: 0] += count
      count = 0
    }
    // What compaction has kept has no sequence.
    if transaction.sequence > 0 { count += 1 }
    current = (transaction.replica, transaction.sequence, transaction.name)
  }

  /// How many transactions of each replica.
  var counts: [ReplicaID: Int] {
    var counts = settledCounts
    if let current { counts[current.replica, default: 0] += count }
    return counts
  }

  var told: ReadProgress {
    var told = settled
    if let current { told.add(current.sequence, current.name, of: current.replica) }
    return told
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

  var areAll: Bool { limit == nil }

  /// `false` if all are wanted.
  mutating func keep(_ entry: some EntryView, _ transaction: Transaction, _ schema: SourceSchema) -> Bool {
    guard let limit else { return false }
    guard limit > 0 else { return true }
    let entry = entry.made()
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

  func forEachEntry(_ body: (Entry, Transaction, SourceSchema) throws -> Void) throws {
    for (entry, transaction, schema) in kept[first...] + kept[..<first] { try body(entry, transaction, schema) }
  }
}
