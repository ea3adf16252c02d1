internal import MagicJournal

extension JournalSource {
  /// Counts a window of the journal in one reading.
  package func statistics(_ selection: LogSelection) async throws -> (MagicJournalStatistics, MagicReadReport) {
    let (counted, report) = try await OpenJournal.read([self]) { journal, checkCancelled in
      var counter = StatisticsCounter()
      try journal.forEachTransaction(selection.window(journal)) { transaction, schema in
        try checkCancelled()
        counter.add(transaction, schema)
      }
      return counter.finish()
    }
    var statistics = counted
    statistics.storedBytes = try storedBytes()
    return (statistics, report)
  }
}
