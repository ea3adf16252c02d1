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
}
