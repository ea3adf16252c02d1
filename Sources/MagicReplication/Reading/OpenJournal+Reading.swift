internal import Foundation
internal import MagicData
package import MagicJournal

extension OpenJournal {
  /// All transactions in a window, the oldest first.
  func reading(_ window: JournalWindow) throws -> JournalReading {
    try JournalReading(try cursors(window), comesOnce: parts.count == 1)
  }

  package func forEachTransaction(
    _ window: JournalWindow, _ body: (Transaction, SourceSchema) throws -> Void
  ) throws {
    var reading = try reading(window)
    while let (transaction, schema) = try reading.next() { try body(transaction, schema) }
  }

  /// Reads one source with `body` on another thread while what follows is read: it leaves the source alone. Large transactions
  /// come in parts. When this returns, all was handed to it.
  ///
  /// - Parameter prepare: what of `body` can be done beforehand, on the thread that reads; `body` gets what it gives, or nil
  ///   where there was no time for it.
  func forEachPart<Prepared: Sendable>(
    _ window: JournalWindow, _ checkCancelled: () throws -> Void,
    prepare: @escaping (ReadPart, SourceSchema) throws -> Prepared?,
    _ body: @Sendable @escaping (ReadPart, SourceSchema, Prepared?) throws -> Void
  ) throws {
    precondition(parts.count == 1, "of several sources a transaction is compared whole")
    var window = window
    window.atOnce = OpenJournal.entriesAtOnce
    let handover = ConsumerQueue<(part: ReadPart, schema: SourceSchema, prepared: Prepared?)> {
      $0.prepared = try prepare($0.part, $0.schema)
    } _: {
      try body($0.part, $0.schema, $0.prepared)
    }
    func give(_ part: ReadPart, _ schema: SourceSchema) throws {
      try checkCancelled()
      try handover.give((part, schema, nil), weight: part.weight, checkCancelled)
    }
    do {
      do {
        if case .segment(let bytes, _?, let path) = parts[0] {
          let cursor = SegmentCursor(bytes, window, path, troubles)
          while let (transaction, schema) = try cursor?.nextEncoded() { try give(.encoded(transaction), schema) }
        } else {
          try forEachTransaction(window) { try give(.made($0), $1) }
        }
      } catch  where !(error is CancellationError) {
        // What was read before is handed on.
        try handover.finish(checkCancelled)
        throw error
      }
      try handover.finish(checkCancelled)
    } catch let error as CancellationError {
      handover.stop()
      throw error
    }
  }

  /// Reads one source with all of `body` on the other thread.
  func forEachPart(
    _ window: JournalWindow, _ checkCancelled: () throws -> Void,
    _ body: @Sendable @escaping (ReadPart, SourceSchema) throws -> Void
  ) throws {
    try forEachPart(window, checkCancelled, prepare: { _, _ in Never?.none }, { part, schema, _ in try body(part, schema) })
  }

  /// Few enough for a cache of the machine, and many enough that a change of threads costs nothing.
  private static let entriesAtOnce = 1_024
  /// How many checkpoints may be open; a folder has one or two. macOS lets a process have 256 files open.
  private static let mostOpenFiles = 32

  func cursors(_ window: JournalWindow) throws -> [any TransactionCursor] {
    try parts.flatMap { part -> [any TransactionCursor] in
      switch part {
      case .database(let database):
        let (reader, schema, path) = (database.reader, database.schema, database.path)
        let hasKept = window.hasKept && !database.floor.replicas.isEmpty
        return try (hasKept ? [KeptCursor(reader, schema, window, path, troubles)] : [])
          + database.frontier.replicas.filter(window.has).map {
            try DatabaseCursor(
              reader, schema, $0, after: database.floor[$0]?.sequence ?? 0, through: database.frontier[$0], window, path,
              troubles)
          }
      case .segment(let bytes, let header, let path):
        return header == nil ? [] : [SegmentCursor(bytes, window, path, troubles)].compactMap { $0 }
      case .folder(let listing, _, let checkpoints):
        sayOrphans(listing, window)
        try sayUnadopted(listing, window)
        var old = window
        old.since = window.since ?? window.sinceInHoles
        let told = checkpoints.filter { window.hasKept(of: $0) }
        let staysOpen = told.count <= OpenJournal.mostOpenFiles
        let kept = told.map { CheckpointCursor($0, old, troubles, staysOpen: staysOpen) }
        let looks = SharedListing(listing)
        return kept
          + listing.replicas.filter(window.has).map { replica in
            let floor = checkpoints.compactMap { $0.floor[replica] }.max { $0.sequence < $1.sequence }
            return FolderCursor(looks, replica, after: floor, window, troubles)
          }
      case .export(let file, _, _):
        return [ExportCursor(try ExportReader(file, troubles), window)]
      }
    }
  }

  /// Replicas of which nothing is there that could be read have no cursor that would say so.
  private func sayOrphans(_ listing: FolderListing, _ window: JournalWindow) {
    let read = Set(listing.replicas)
    for replica in listing.put.replicas where !read.contains(replica) && window.has(replica) {
      if let gap = listing.gap(to: listing.put[replica], of: replica, beyond: window.after[replica]) { troubles.add(gap) }
    }
    for (url, _, error) in listing.rejectedCheckpoints {
      troubles.awaits(checkpoint: url)
      troubles.add(UnreadFile(path: url.path, code: error.code, message: error.message))
    }
    for (name, error) in listing.rejected where listing.runs[name.replica] == nil && window.has(name.replica) {
      troubles.awaits(listing.url(of: name))
      troubles.add(UnreadFile(path: listing.url(of: name).path, code: error.code, message: error.message))
    }
  }

  /// What lies beyond where an id was closed is told under another one, once it is there.
  private func sayUnadopted(_ listing: FolderListing, _ window: JournalWindow) throws {
    for file in listing.unadopted where window.has(file.name.replica) {
      if let since = window.since ?? window.sinceInHoles, file.header.lastName.stamp < since { continue }
      // What leads to it begins in one of these.
      let begin = listing.runs[file.name.replica]?.files.filter(listing.isForeign).map(\.header.previous.stamp).min()
      if let begin, let until = window.until, begin >= until { continue }
      guard try !isElsewhere(file) else { continue }
      let error = MagicDataError.unadopted(file)
      troubles.add(UnreadFile(path: file.url.path, code: error.code, message: error.message))
    }
  }

  /// Whether another source has what a file ends with.
  private func isElsewhere(_ file: FolderListing.File) throws -> Bool {
    let (replica, last, name) = (file.name.replica, file.header.last, file.header.lastName)
    for part in parts {
      switch part {
      case .folder(let other, _, _):
        if other.files.contains(where: { !other.isForeign($0) && $0.header.lastName == name }) { return true }
      case .database(let database):
        let addresses = try Branches(database.reader.db).addresses(of: last, of: replica)
        for (replica, sequence) in addresses + [(replica: replica, sequence: last)]
        where try database.reader.name(at: sequence, of: replica) == name {
          return true
        }
      case .segment, .export: break
      }
    }
    return false
  }

  // MARK: What is lacking

  /// What was given up beyond what a window begins after, as when a pull has taken a checkpoint in its place, or one has come
  /// into a folder: it cannot be told any more.
  func sayGivenUp(_ window: JournalWindow) {
    for checkpoint in checkpoints where !window.hasKept(of: checkpoint) {
      for replica in checkpoint.floor.replicas where window.has(replica) {
        guard let end = checkpoint.floor[replica], window.told.lacks(1...end.sequence, of: replica),
          // K-20: it stands beside for what was there under another id.
          end.sequence > 1 || !window.told.knows(end.name)
        else { continue }
        isKeptUntold = true
        guard end.sequence > window.after[replica] else { continue }
        troubles.add(.init(replica: replica.description, sequences: window.after[replica] + 1...end.sequence))
      }
    }
    let floor = heldFloor
    for replica in floor.replicas where window.has(replica) {
      guard let end = floor[replica], end.sequence > window.after[replica] else { continue }
      // K-20: it stands beside for what was there under another id.
      if end.sequence == 1, window.told.knows(end.name) { continue }
      let sequences = window.after[replica] + 1...end.sequence
      let before = window.told.holes[replica] ?? []
      troubles.lack(before + [ReadProgress.Hole(sequences: sequences, before: nil)], of: replica)
      troubles.add(.init(replica: replica.description, sequences: sequences))
    }
  }
}
