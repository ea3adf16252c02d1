internal import Foundation
internal import MagicData
internal import MagicJournal

/// One replica's transactions in a folder, from whichever of its files has them. Of a folder that was read before, those that
/// were not told then: in holes, and beyond the last one.
final class FolderCursor: TransactionCursor {
  private let looks: SharedListing
  private var listing: FolderListing
  private let replica: ReplicaID
  private let window: JournalWindow
  private let troubles: ReadProblems
  /// The last one that was told before, and its name.
  private let told: (sequence: UInt64, name: TransactionName?)
  /// The last one that a file had when the folder was listed.
  private let last: UInt64
  /// Up to here nothing is looked for any more.
  private var held: UInt64
  /// The name of the transaction there, as far as it is known: what a file goes on from is compared with it (J-33).
  private var name: TransactionName?
  /// What was not told before and is beyond `held`, or goes on there, up to the last one that was.
  private var untold: ArraySlice<ReadProgress.Hole>
  private var open: (file: FolderListing.File, reader: SegmentReader, schema: SourceSchema)?
  private var holes: [ClosedRange<UInt64>] = []
  /// These, and what else is not told and may be later, rising.
  private var lacking: [ReadProgress.Hole] = []
  /// Files that were gone when they were read, and how many since one could be read.
  private var vanished: [SegmentFileName] = []
  private var vanishedInARow = 0
  /// Files that turned out to be damaged, which their headers do not show.
  private var damaged: [(name: SegmentFileName, error: MagicDataError)] = []
  private var (isForked, isOver) = (false, false)

  /// After so many in a row one that is gone is a gap like any other.
  private static let mostVanished = 8

  init(
    _ looks: SharedListing, _ replica: ReplicaID, after floor: NamedFrontier.End?, _ window: JournalWindow,
    _ troubles: ReadProblems
  ) {
    (self.looks, self.replica, self.window, self.troubles) = (looks, replica, window, troubles)
    let listing = looks.listing
    self.listing = listing
    told = (window.after[replica], window.told.names[replica])
    last = listing.last(of: replica) ?? 0
    (held, name) = (floor?.sequence ?? 0, floor?.name)
    // Where an id is closed, what is beyond is another's.
    let limit = listing.limits[replica] ?? .max
    let known = (window.told.holes[replica] ?? []).filter { $0.sequences.lowerBound <= limit }
    untold = ArraySlice(
      known.map { hole in
        ReadProgress.Hole(sequences: hole.sequences.lowerBound...min(hole.sequences.upperBound, limit), before: hole.before)
      })
    // What lies at and below the floor was given up. What of it was not told comes once the files lead there again, and nothing
    // has to stand for it.
    if held > 0 { lacking.append(ReadProgress.Hole(sequences: 1...held, before: nil)) }
    if let count = window.last, UInt64(count) < last { pass(to: last - UInt64(count)) }
  }

  func next() throws -> (transaction: Transaction, schema: SourceSchema)? {
    guard !isOver else { return nil }
    while !isForked {
      passTold()
      if let found = try taken() {
        if let since = since(of: found.transaction.sequence), found.transaction.name.stamp < since { continue }
        if let until = window.until, found.transaction.name.stamp > until {
          // What comes later is not wanted.
          held = .max
          sayUnread()
          break
        }
        return found
      }
      guard !isForked else { break }
      guard let file = listing.next(after: held, of: replica) else {
        guard let hole = nextHole() else {
          // Somebody has put it there, or it was there when the folder was listed.
          if let gap = listing.gap(to: max(listing.put[replica], last), of: replica, beyond: held) { troubles.add(gap) }
          sayUnread()
          break
        }
        // Others may have it: what follows is shown, and what is not is said.
        note(hole)
        leave(hole)
        continue
      }
      if let since = since(of: file.name.last), file.header.lastName.stamp < since {
        (held, name) = (file.name.last, file.header.lastName)
        continue
      }
      guard goesOn(file, from: file.name.first - 1, file.header.previous) else {
        leaveBranch()
        continue
      }
      do {
        let reader = try reader(file)
        open = (file, reader, SourceSchema(reader.schema))
        vanishedInARow = 0
      } catch let error as MagicDataError {
        try reject(file, error)
      }
    }
    isOver = true
    sayLacking()
    return nil
  }

  // MARK: Passing over

  /// From when on one is wanted. What comes later than all that was told is, whatever its stamp says.
  private func since(of sequence: UInt64) -> Stamp? {
    sequence > told.sequence ? window.since : window.sinceInHoles
  }

  /// To the next one that was not told.
  private func passTold() {
    while let hole = untold.first, hole.sequences.upperBound <= held { untold.removeFirst() }
    if let hole = untold.first {
      if hole.sequences.lowerBound - 1 > held { (held, name) = (hole.sequences.lowerBound - 1, hole.before) }
    } else if told.sequence > held {
      (held, name) = (told.sequence, told.name)
    }
  }

  /// Over what is not wanted; what is not there to be left out is lacking all the same.
  private func pass(to sequence: UInt64) {
    while held < sequence {
      if let file = listing.next(after: held, of: replica) {
        (held, name) = (min(file.name.last, sequence), nil)
      } else if let hole = listing.holeInFiles(after: held, of: replica) {
        leave(held + 1...min(hole.upperBound, sequence))
      } else {
        (held, name) = (sequence, nil)
      }
    }
  }

  /// Over what cannot be told as things are.
  private func leave(_ sequences: ClosedRange<UInt64>) {
    lacking.append(ReadProgress.Hole(sequences: sequences, before: name))
    (held, name) = (sequences.upperBound, nil)
  }

  /// Over what another branch has in a hole, beyond which one was told; else it ends here.
  private func leaveBranch() {
    guard let hole = untold.first else {
      isForked = true
      return
    }
    leave(held + 1...hole.sequences.upperBound)
    passTold()
  }

  /// It may go on from the one before: of files that are gone each leaves one.
  private func note(_ hole: ClosedRange<UInt64>) {
    if let before = holes.last, before.upperBound + 1 == hole.lowerBound {
      holes[holes.count - 1] = before.lowerBound...hole.upperBound
    } else {
      holes.append(hole)
    }
  }

  /// What no file has before what some file has, or what was told.
  private func nextHole() -> ClosedRange<UInt64>? {
    let hole = listing.holeInFiles(after: held, of: replica)
    guard let end = untold.first?.sequences.upperBound else { return hole }
    return held + 1...min(hole?.upperBound ?? .max, end)
  }

  // MARK: Files

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
          leaveBranch()
          return nil
        }
        guard transaction.sequence > held else { continue }
        guard transaction.sequence <= listing.limits[replica] ?? .max else { break }
        (held, name) = (transaction.sequence, transaction.name)
        return (transaction, schema)
      }
    } catch {
      try reject(file, MagicDataError(error, file.url.path))
    }
    open = nil
    return nil
  }

  /// One that is gone has another in its place, or the listing was old (F-20).
  private func reject(_ file: FolderListing.File, _ error: MagicDataError) throws {
    listing.reject(file, error)
    guard error.code == .notFound else { return damaged.append((file.name, error)) }
    vanished.append(file.name)
    guard vanishedInARow < FolderCursor.mostVanished else { return }
    vanishedInARow += 1
    listing = try looks.another(without: file, error)
    for (name, error) in damaged { listing.reject(named: name, error) }
  }

  /// Whether a file has the transaction after which it is read under the name that it had before.
  private func goesOn(_ file: FolderListing.File, from sequence: UInt64, _ name: TransactionName) -> Bool {
    guard sequence == held, let own = self.name, own != name else { return true }
    troubles.add(fork: .fork(replica, sequence, isInFiles: true), in: file.url.path)
    return false
  }

  private func sayUnread() {
    for hole in holes { troubles.add(.init(replica: replica.description, sequences: hole)) }
    for (name, error) in listing.rejected where name.replica == replica {
      guard name.last > held || holes.contains(where: { $0.overlaps(name.first...name.last) }) else { continue }
      troubles.add(UnreadFile(path: listing.url(of: name).path, code: error.code, message: error.message))
    }
  }

  /// For who goes on from here.
  private func sayLacking() {
    // Of a file at the end that was counted on.
    if held < last { lacking.append(ReadProgress.Hole(sequences: held + 1...last, before: name)) }
    troubles.lack(lacking, of: replica)
    let unread = listing.rejected.map(\.name).filter { $0.replica == replica } + vanished
    for name in unread where name.last > held || lacks(name.first...name.last) { troubles.awaits(listing.url(of: name)) }
  }

  private func lacks(_ sequences: ClosedRange<UInt64>) -> Bool {
    let index = lacking.boundary { $0.sequences.upperBound >= sequences.lowerBound }
    return index < lacking.count && lacking[index].sequences.lowerBound <= sequences.upperBound
  }
}
