internal import MagicData
internal import MagicJournal

/// What a database has kept of the transactions at and below its floor (K-2): each under its name, with the sequence 0.
final class KeptCursor: TransactionCursor {
  private let journal: JournalReader
  private let schema: SourceSchema
  private let window: JournalWindow
  private let path: String
  private let troubles: ReadProblems
  private let kept: [JournalReader.KeptTransaction]
  private var index = 0
  private var (isWhole, isOver) = (true, false)

  init(
    _ journal: JournalReader, _ schema: SourceSchema, _ window: JournalWindow, _ path: String, _ troubles: ReadProblems
  ) throws {
    (self.journal, self.schema, self.window, self.path, self.troubles) = (journal, schema, window, path, troubles)
    kept = try journal.keptTransactions()
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while index < kept.count {
      let kept = kept[index]
      index += 1
      guard window.has(kept.name, kept.root) else { continue }
      do {
        if let transaction = try journal.transaction(kept) { return (transaction, schema) }
      } catch let error as MagicDataError {
        isWhole = false
        troubles.add(
          UnreadFile(path: path, code: error.code, message: "\(path), what is kept of \(kept.root): \(error.message)"))
      }
    }
    if !isOver { troubles.readKept(try journal.floor().frontier, isWhole: isWhole) }
    isOver = true
    return nil
  }
}
