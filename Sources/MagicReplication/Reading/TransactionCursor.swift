internal import Foundation
internal import MagicData
internal import MagicJournal

/// Takes transactions out of a source, one after the other: of one replica in their order, or of several in the order of their versions. Memory holds few of
/// them.
protocol TransactionCursor: AnyObject {
  /// `nil` at the end.
  func next() throws -> (transaction: Transaction, schema: SourceSchema)?
}

/// One replica's transactions in a database, from one snapshot.
final class DatabaseCursor: TransactionCursor {
  private let journal: JournalReader
  private let schema: SourceSchema
  private let replica: ReplicaID
  private let last: UInt64
  private let until: Stamp?
  private let path: String
  private let troubles: Troubles
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
    _ window: JournalWindow, _ path: String, _ troubles: Troubles
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

/// The transactions of a segment file. Of a damaged one as many as its bytes still tell.
final class SegmentCursor: TransactionCursor {
  private var reader: SegmentReader
  private let schema: SourceSchema
  private let window: JournalWindow
  private let path: String
  private let troubles: Troubles
  /// What is known already.
  private let held: UInt64
  private var isOver = false

  /// `nil` for a file that tells nothing.
  init?(_ bytes: [UInt8], _ window: JournalWindow, _ path: String, _ troubles: Troubles) {
    (self.window, self.path, self.troubles) = (window, path, troubles)
    do throws(JournalError) {
      reader = try SegmentReader(bytes)
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

  /// The same as it stands in the segment.
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

/// One replica's transactions in a folder, from whichever of its files has them.
final class FolderCursor: TransactionCursor {
  private var listing: FolderListing
  private let replica: ReplicaID
  private let window: JournalWindow
  private let troubles: Troubles
  private var held: UInt64
  private var open: (file: FolderListing.File, reader: SegmentReader, schema: SourceSchema)?
  private var holes: [ClosedRange<UInt64>] = []
  private var isOver = false

  init(
    _ listing: FolderListing, _ replica: ReplicaID, after floor: UInt64, _ window: JournalWindow, _ troubles: Troubles
  ) {
    (self.listing, self.replica, self.window, self.troubles) = (listing, replica, window, troubles)
    held = max(window.after[replica], floor)
    if let count = window.last, let last = listing.runs[replica]?.files.map(\.name.last).max(), UInt64(count) < last {
      held = max(held, last - UInt64(count))
    }
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while !isOver {
      if let found = try taken() {
        if let since = window.since, found.transaction.name.stamp < since { continue }
        if let until = window.until, found.transaction.name.stamp > until {
          // What comes later is not wanted, and need not be readable.
          held = .max
          sayUnread()
          break
        }
        return found
      }
      guard let file = listing.next(after: held, of: replica) else {
        guard let hole = listing.hole(after: held, of: replica) else {
          sayUnread()
          break
        }
        // Others may have it: what follows is shown, and what is not is said.
        holes.append(hole)
        held = hole.upperBound
        continue
      }
      if let since = window.since, file.header.lastName.stamp < since {
        held = file.name.last
        continue
      }
      do {
        let reader = try FolderListing.reader(file)
        open = (file, reader, SourceSchema(reader.schema))
      } catch let error as MagicDataError {
        listing.reject(file, error)
      }
    }
    isOver = true
    return nil
  }

  /// The next one of the file that is open.
  private func taken() throws -> (transaction: Transaction, schema: SourceSchema)? {
    guard let file = open?.file, let schema = open?.schema else { return nil }
    do {
      while let transaction = try open?.reader.next() {
        guard transaction.sequence > held else { continue }
        guard transaction.sequence <= listing.limits[replica] ?? .max else { break }
        held = transaction.sequence
        return (transaction, schema)
      }
    } catch {
      listing.reject(file, MagicDataError(error, file.url.path))
    }
    open = nil
    return nil
  }

  private func sayUnread() {
    for hole in holes { troubles.add(missing: .init(replica: replica.description, missing: hole)) }
    for (name, error) in listing.rejected where name.replica == replica {
      guard name.last > held || holes.contains(where: { $0.overlaps(name.first...name.last) }) else { continue }
      troubles.add(UnreadFile(path: listing.url(of: name).path, code: error.code, message: error.message))
    }
  }
}

/// What a database has kept of the transactions at and below its floor (K-2): each under its name, with the sequence 0.
final class KeptCursor: TransactionCursor {
  private let journal: JournalReader
  private let schema: SourceSchema
  private let window: JournalWindow
  private let path: String
  private let troubles: Troubles
  private let kept: [JournalReader.KeptTransaction]
  private var index = 0

  init(
    _ journal: JournalReader, _ schema: SourceSchema, _ window: JournalWindow, _ path: String, _ troubles: Troubles
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
        troubles.add(
          UnreadFile(path: path, code: error.code, message: "\(path), what is kept of \(kept.root): \(error.message)"))
      }
    }
    return nil
  }
}

/// The same of a checkpoint.
final class CheckpointCursor: TransactionCursor {
  private let file: CheckpointFile
  private let window: JournalWindow
  private let troubles: Troubles
  private var reader: CheckpointReader
  private var part: (transactions: [Transaction], schema: SourceSchema)?
  private var index = 0
  private var isOver = false

  init(_ file: CheckpointFile, _ window: JournalWindow, _ troubles: Troubles) {
    (self.file, self.window, self.troubles) = (file, window, troubles)
    reader = CheckpointReader(file)
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while !isOver {
      while let part, index < part.transactions.count {
        let transaction = part.transactions[index]
        index += 1
        if window.has(transaction.name, transaction.root) { return (transaction, part.schema) }
      }
      do {
        let next = try reader.next()
        part = next.map { ($0.transactions, SourceSchema($0.schema)) }
        (index, isOver) = (0, next == nil)
      } catch let error as MagicDataError {
        troubles.add(UnreadFile(path: file.url.path, code: error.code, message: error.message))
        isOver = true
      }
    }
    return nil
  }
}
