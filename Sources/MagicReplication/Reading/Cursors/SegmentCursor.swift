internal import MagicData
internal import MagicJournal

/// The transactions of a segment file. Of a damaged one as many as its bytes still tell.
final class SegmentCursor: TransactionCursor {
  private var reader: SegmentReader
  private let schema: SourceSchema
  private let window: JournalWindow
  private let path: String
  private let troubles: ReadProblems
  /// What is known already.
  private let held: UInt64
  private var isOver = false

  /// `nil` for a file that tells nothing.
  init?(_ bytes: [UInt8], _ window: JournalWindow, _ path: String, _ troubles: ReadProblems) {
    (self.window, self.path, self.troubles) = (window, path, troubles)
    do throws(JournalError) {
      reader = try SegmentReader(bytes)
      if !window.salvages, window.has(reader.header.replica) { try reader.checkRest() }
    } catch {
      let code = MagicDataError(error, path).code
      guard window.salvages, error.code == .damaged, let salvaged = try? SegmentReader(salvaging: bytes) else {
        troubles.add(
          UnreadFile(
            path: path, code: code, message: "\(path): nothing of it can be \(window.salvages ? "shown" : "taken"): \(error)"))
        return nil
      }
      troubles.add(UnreadFile(path: path, code: code, message: "\(path): \(error). What is shown of it was not checked"))
      reader = salvaged
    }
    schema = SourceSchema(reader.schema)
    held = window.after[reader.header.replica]
    if !window.has(reader.header.replica) { isOver = true }
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    try next { [window] reader throws(JournalError) in
      try reader.next(atMost: window.atOnce).map { ($0, $0) }
    }
  }

  /// The next transaction as it stands in the segment.
  func nextEncoded() throws -> (transaction: EncodedTransaction, schema: SourceSchema)? {
    try next { [window] reader throws(JournalError) in
      try reader.nextEncoded(atMost: window.atOnce).map { ($0, $0.head) }
    }
  }

  private func next<Found>(
    _ read: (inout SegmentReader) throws(JournalError) -> (found: Found, head: Transaction)?
  ) throws -> (transaction: Found, schema: SourceSchema)? {
    while !isOver {
      do throws(JournalError) {
        guard let (found, transaction) = try read(&reader) else { break }
        if let since = window.since, transaction.name.stamp < since { continue }
        if transaction.sequence <= held { continue }
        if let until = window.until, transaction.name.stamp > until { break }
        return (found, schema)
      } catch {
        let header = reader.header
        troubles.add(
          UnreadFile(
            path: path, code: MagicDataError(error, path).code,
            message:
              "\(path): transactions \(header.replica):\(min(reader.sequence, header.last)) to \(header.last) cannot be read: \(error) of the inflated body"
          ))
        break
      }
    }
    isOver = true
    return nil
  }
}
