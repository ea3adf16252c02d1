internal import Foundation
internal import MagicData
internal import MagicJournal

/// What a checkpoint holds, as a `KeptCursor` gives what a database has kept.
final class CheckpointCursor: TransactionCursor {
  private let file: CheckpointFile
  private let window: JournalWindow
  private let troubles: ReadProblems
  private var reader: CheckpointReader
  private var part: (transactions: [Transaction], schema: SourceSchema)?
  private var index = 0
  private var isOver = false
  private var isBegun = false

  /// - Parameter staysOpen: see `CheckpointReader`.
  init(_ file: CheckpointFile, _ window: JournalWindow, _ troubles: ReadProblems, staysOpen: Bool) {
    (self.file, self.window, self.troubles) = (file, window, troubles)
    reader = CheckpointReader(file, staysOpen: staysOpen)
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while !isOver {
      while let part, index < part.transactions.count {
        let transaction = part.transactions[index]
        index += 1
        if window.has(transaction.name, transaction.root) {
          isBegun = true
          return (transaction, part.schema)
        }
      }
      do {
        let next = try reader.next()
        part = next.map { ($0.transactions, SourceSchema($0.schema)) }
        (index, isOver) = (0, next == nil)
        if isOver { troubles.readKept(file.floor.frontier, isWhole: true) }
      } catch let error as MagicDataError {
        troubles.add(UnreadFile(path: file.url.path, code: error.code, message: error.message))
        troubles.readKept(file.floor.frontier, isWhole: false)
        // It may come whole under its name, and be told then.
        if !isBegun { troubles.awaits(checkpoint: file.url) }
        isOver = true
      }
    }
    return nil
  }
}
