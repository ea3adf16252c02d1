internal import MagicData
internal import MagicJournal

extension JournalSource {
  /// Counts what was written by some replicas in a time, in one reading.
  package func statistics(_ selection: LogSelection) async throws -> MagicJournalStatistics {
    let (counted, report) = try await OpenJournal.read([self]) { journal, checkCancelled in
      // The other thread's until all is handed to it.
      nonisolated(unsafe) var counter = StatisticsCounter()
      var window = try selection.window(journal)
      window.last = nil
      try journal.forEachPart(window, checkCancelled) { counter.add($0, $1) }
      return counter.finish()
    }
    var statistics = counted
    statistics.storedBytes = try storedBytes()
    statistics.report = report
    return statistics
  }

  /// So many types are named to who has mistyped one.
  private static let shownTypes = 10

  /// What is said of a type of which nothing was written; `nil` for one that the journal has, or may have where not all of it
  /// can be read.
  ///
  /// A database that has the type answers at once; else the journal is read. What fails then is no more than a remark that is
  /// not made.
  package func unknown(type: String) async throws -> String? {
    let isStored = try await database?.store.read { db in
      try JournalReader(db).schema.types.contains { $0.schema.name.isWritten(type) }
    }
    guard isStored != true else { return nil }
    let all: MagicJournalStatistics
    do { all = try await statistics(LogSelection()) } catch is MagicDataError { return nil }
    let types = all.types.keys.sorted()
    guard all.report.isComplete, !types.contains(type) else { return nil }
    let (shown, left) = (types.prefix(JournalSource.shownTypes), types.count - JournalSource.shownTypes)
    let names = types.isEmpty ? "none" : shown.joined(separator: ", ") + (left > 0 ? " and \(left) more" : "")
    return "there is no type \(type); the journal has \(names)"
  }
}
