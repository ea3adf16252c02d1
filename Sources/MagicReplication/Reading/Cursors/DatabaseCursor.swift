internal import MagicData
internal import MagicJournal

/// One replica's transactions in a database, from one snapshot.
final class DatabaseCursor: TransactionCursor {
  private let journal: JournalReader
  private let schema: SourceSchema
  private let replica: ReplicaID
  private let last: UInt64
  private let until: Stamp?
  private let path: String
  private let troubles: ReadProblems
  private var sequence: UInt64
  private var batch: [Transaction] = []
  private var index = 0
  /// Beyond damage they are taken one by one.
  private var count = DatabaseCursor.atOnce

  /// How many in a row could not be read.
  private var failures = 0

  /// More of them in a row than damage makes: somebody has changed what says how many there are.
  private static let (atOnce, mostFailures) = (128, 10_000)

  init(
    _ journal: JournalReader, _ schema: SourceSchema, _ replica: ReplicaID, after floor: UInt64, through last: UInt64,
    _ window: JournalWindow, _ path: String, _ troubles: ReadProblems
  ) throws {
    (self.journal, self.schema, self.replica, self.last) = (journal, schema, replica, last)
    (until, self.path, self.troubles) = (window.until, path, troubles)
    sequence = max(window.after[replica], floor) + 1
    if let since = window.since {
      do {
        sequence = max(sequence, try journal.firstSequence(of: replica, from: since, through: last))
      } catch is MagicDataError {
        // What is damaged is said when it is met.
      }
    }
    if let count = window.last, count < last { sequence = max(sequence, last - UInt64(count) + 1) }
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    if index == batch.count { try fill() }
    guard index < batch.count else { return nil }
    defer { index += 1 }
    if let until, batch[index].name.stamp > until { return nil }
    return (batch[index], schema)
  }

  private func fill() throws {
    (batch, index) = ([], 0)
    while batch.isEmpty, sequence <= last {
      do {
        batch = try journal.transactions(of: replica, from: sequence, atMost: count)
        guard !batch.isEmpty else { throw MagicDataError(.notADatabase, "it is not there") }
        sequence += UInt64(batch.count)
        failures = 0
      } catch let error as CancellationError {
        throw error
      } catch {
        guard count == 1 else {
          count = 1
          continue
        }
        let failure = MagicDataError(error, "it cannot be read")
        troubles.add(
          UnreadFile(path: path, code: failure.code, message: "\(path), transaction \(replica):\(sequence): \(failure.message)")
        )
        failures += 1
        sequence = failures < DatabaseCursor.mostFailures ? sequence + 1 : last + 1
      }
    }
  }
}
