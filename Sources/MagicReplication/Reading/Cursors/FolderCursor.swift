internal import Foundation
internal import MagicData
internal import MagicJournal

/// One replica's transactions in a folder, from whichever of its files has them.
final class FolderCursor: TransactionCursor {
  private var listing: FolderListing
  private let replica: ReplicaID
  private let window: JournalWindow
  private let troubles: Troubles
  private var held: UInt64
  /// Of the transaction there, as far as it is known: what a file goes on from is compared with it (J-33).
  private var name: TransactionName?
  private var open: (file: FolderListing.File, reader: SegmentReader, schema: SourceSchema)?
  private var holes: [ClosedRange<UInt64>] = []
  private var isOver = false

  init(
    _ listing: FolderListing, _ replica: ReplicaID, after floor: NamedFrontier.End?, _ window: JournalWindow,
    _ troubles: Troubles
  ) {
    (self.listing, self.replica, self.window, self.troubles) = (listing, replica, window, troubles)
    held = max(window.after[replica], floor?.sequence ?? 0)
    name = held == floor?.sequence ? floor?.name : nil
    if let count = window.last, let last = listing.last(of: replica), UInt64(count) < last {
      held = max(held, last - UInt64(count))
      if held != floor?.sequence { name = nil }
    }
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    while !isOver {
      if let found = try taken() {
        if let since = window.since, found.transaction.name.stamp < since { continue }
        if let until = window.until, found.transaction.name.stamp > until {
          // What comes later is not wanted.
          held = .max
          sayUnread()
          break
        }
        return found
      }
      guard let file = listing.next(after: held, of: replica) else {
        guard let hole = listing.holeInFiles(after: held, of: replica) else {
          if let gap = listing.gap(to: listing.put[replica], of: replica, beyond: held) { troubles.add(gap) }
          sayUnread()
          break
        }
        // Others may have it: what follows is shown, and what is not is said.
        holes.append(hole)
        (held, name) = (hole.upperBound, nil)
        continue
      }
      if let since = window.since, file.header.lastName.stamp < since {
        (held, name) = (file.name.last, file.header.lastName)
        continue
      }
      guard goesOn(file, from: file.name.first - 1, file.header.previous) else { break }
      do {
        let reader = try reader(file)
        open = (file, reader, SourceSchema(reader.schema))
      } catch let error as MagicDataError {
        listing.reject(file, error)
      }
    }
    isOver = true
    return nil
  }

  private func reader(_ file: FolderListing.File) throws -> SegmentReader {
    let reader = try FolderListing.reader(file)
    do throws(JournalError) {
      // What begins later than all that is wanted need not be readable.
      if let until = window.until, let first = try reader.names().first, first.stamp > until { return reader }
      try reader.checkRest()
    } catch {
      throw MagicDataError(error, file.url.path)
    }
    return reader
  }

  /// The next one of the file that is open.
  private func taken() throws -> (transaction: Transaction, schema: SourceSchema)? {
    guard let file = open?.file, let schema = open?.schema else { return nil }
    do {
      while let transaction = try open?.reader.next() {
        guard goesOn(file, from: transaction.sequence, transaction.name) else {
          open = nil
          isOver = true
          return nil
        }
        guard transaction.sequence > held else { continue }
        guard transaction.sequence <= listing.limits[replica] ?? .max else { break }
        (held, name) = (transaction.sequence, transaction.name)
        return (transaction, schema)
      }
    } catch {
      listing.reject(file, MagicDataError(error, file.url.path))
    }
    open = nil
    return nil
  }

  /// Whether a file has the transaction after which it is read under the name that it had before.
  private func goesOn(_ file: FolderListing.File, from sequence: UInt64, _ name: TransactionName) -> Bool {
    guard sequence == held, let own = self.name, own != name else { return true }
    troubles.add(fork: .fork(replica, sequence), in: file.url.path)
    return false
  }

  private func sayUnread() {
    for hole in holes { troubles.add(.init(replica: replica.description, sequences: hole)) }
    for (name, error) in listing.rejected where name.replica == replica {
      guard name.last > held || holes.contains(where: { $0.overlaps(name.first...name.last) }) else { continue }
      troubles.add(UnreadFile(path: listing.url(of: name).path, code: error.code, message: error.message))
    }
  }
}
