internal import MagicData
internal import MagicJournal

extension JournalSource {
  /// Every entry, the oldest first.
  package func log() async throws -> [LogLine] {
    let lines = Locked<[LogLine]>([])
    try await forEachTransaction { transaction, schema in
      lines.withLock { lines in
        for entry in transaction.entries { lines.append(LogLine(entry, of: transaction, schema)) }
      }
    }
    return lines.withLock { $0.sorted { $0.version < $1.version } }
  }
}
