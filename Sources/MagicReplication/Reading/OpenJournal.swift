internal import Foundation
internal import MagicData
package import MagicJournal

/// Sources that are open for a reading, each at one moment.
package final class OpenJournal {
  private enum Part {
    case database(Snapshot)
    case segment([UInt8], SegmentHeader?, path: String)
    case folder(FolderListing, DataSetID, [CheckpointFile])

    /// - Parameter forked: hears of branches that nobody has told apart yet.
    static func listed(
      _ remote: FolderRemote, _ checkCancelled: () throws -> Void, _ forked: (MagicDataError) -> Void
    ) throws -> Part {
      let (listing, dataSet, checkpoints) = try FolderListing.taken(from: remote, checkCancelled, forked)
      return .folder(listing, dataSet, checkpoints)
    }

    /// The clock as in `ExportReader`.
    case export(URL, DataSetID, clock: Int64)
  }

  /// A database at one moment.
  private struct Snapshot {
    let reader: JournalReader
    let schema: SourceSchema
    let state: DatabaseState
    let frontier: Frontier
    let floor: NamedFrontier
    let path: String
    let isFetched: Bool
  }

  private let parts: [Part]
  let troubles = Troubles()
  /// Whether a checkpoint has come of which nothing is told.
  private var isKeptUntold = false

  private init(_ parts: [Part]) {
    self.parts = parts
  }

  // MARK: Opening

  /// Opens `sources`, of one data set, while `body` runs. Databases are read from one snapshot each, which SQLite's WAL waits for.
  ///
  /// - Throws: `MagicDataError` with `incompatible` for sources of several data sets; what `body` throws; `CancellationError`.
  package static func read<Result: Sendable>(
    _ sources: [JournalSource],
    _ body: @Sendable @escaping (OpenJournal, _ checkCancelled: @escaping () throws -> Void) throws -> Result
  ) async throws -> (Result, MagicReadReport) {
    try await Store.atLength { checkCancelled in
      var (parts, bundles, said): ([Part], [ScratchFolder], [UnreadFile]) = ([], [], [])
      var forks: [(error: MagicDataError, path: String)] = []
      defer { withExtendedLifetime(bundles) {} }
      var databases: [(magic: MagicData, path: String, isFetched: Bool)] = []
      var fetched = MagicReadReport()
      for source in sources {
        switch source {
        case .database(let magic):
          databases.append((magic, source.path, isFetched: false))
        case .fetched(let journal):
          databases.append((journal.magic, source.path, isFetched: true))
          fetched = fetched.joined(journal.report)
        case .segment(let file):
          let bytes = try DurableFile.read(file, atMost: SegmentHeader.length + Limits.segmentBytes)
          let header: SegmentHeader?
          do throws(JournalError) {
            header = try SegmentHeader(bytes)
          } catch {
            guard error.code == .damaged else { throw MagicDataError(error, file.path) }
            header = nil
            let failure = MagicDataError(error, "\(file.path): nothing of it can be shown")
            said.append(UnreadFile(path: file.path, code: failure.code, message: failure.message))
          }
          parts.append(.segment(bytes, header, path: file.path))
        case .folder(let remote):
          parts.append(try .listed(remote, checkCancelled) { forks.append(($0, source.path)) })
        case .bundle(let file):
          let scratch = try ScratchFolder("bundle")
          bundles.append(scratch)
          let folder = scratch.url.appendingPathComponent("remote", isDirectory: true)
          let remote = try BundleFile.folder(of: file, at: folder, hasContents: false, checkCancelled) {
            said.append(UnreadFile(path: file.path, code: $0.code, message: $0.message))
          }
          parts.append(try .listed(remote, checkCancelled) { forks.append(($0, source.path)) })
        case .export(let file):
          let reader = try ExportReader(file, Troubles())
          parts.append(.export(file, reader.dataSet, clock: reader.clock))
        }
      }
      func open(_ parts: [Part], _ opened: Int = 0) throws -> (Result, MagicReadReport) {
        guard opened < databases.count else {
          let journal = OpenJournal(parts)
          for file in fetched.unread + said { journal.troubles.add(file) }
          for gap in fetched.gaps { journal.troubles.add(gap) }
          for (listing, error) in journal.unheard {
            journal.troubles.add(UnreadFile(path: listing.remote.acks.path, code: error.code, message: error.message))
          }
          for fork in forks { journal.troubles.add(fork: fork.error, in: fork.path) }
          _ = try journal.dataSet()
          let result = try body(journal, checkCancelled)
          return (result, journal.report)
        }
        let (magic, path, isFetched) = databases[opened]
        return try magic.store.readBlocking { db in
          let reader = try JournalReader(db)
          let snapshot = Snapshot(
            reader: reader, schema: SourceSchema(reader.schema.schema), state: try DatabaseState(db),
            frontier: try reader.frontier(), floor: try reader.floor(), path: path, isFetched: isFetched)
          return try open(parts + [.database(snapshot)], opened + 1)
        }
      }
      return try open(parts)
    }
  }

  /// Of all sources; `nil` if no one says.
  package func dataSet() throws -> DataSetID? {
    let sets = Set(
      parts.compactMap { part -> DataSetID? in
        switch part {
        // One that never met another may join any.
        case .database(let database): parts.count > 1 && !database.state.isSettled ? nil : database.state.dataSet
        case .segment(_, let header, _): header?.dataSet
        case .folder(_, let dataSet, _), .export(_, let dataSet, _): dataSet
        }
      })
    guard sets.count <= 1 else {
      throw MagicDataError(.incompatible, "the sources are of several data sets, of which nothing can be said together")
    }
    return sets.first
  }

  /// Above it no stamp of a database among them is, nor of an export of one (X-10): what was folded stays folded (L-22). A server's was folded for a look alone.
  var clock: Int64 {
    let clocks = parts.map { part -> Int64 in
      switch part {
      case .database(let database): database.isFetched ? 0 : database.state.lastStamp.milliseconds
      case .export(_, _, let clock): clock
      case .segment, .folder: 0
      }
    }
    return clocks.max() ?? 0
  }

  /// The last transaction of each replica.
  var end: Frontier {
    var end = Frontier()
    for part in parts {
      switch part {
      case .database(let database):
        end.raise(to: database.frontier)
      case .folder(let listing, _, _):
        for replica in listing.replicas {
          end[replica] = max(end[replica], listing.last(of: replica) ?? 0)
        }
      case .segment, .export: break
      }
    }
    return end
  }

  /// - Throws: `MagicDataError` with `fork` if what was read is of two branches under one id, one of which was left out: nothing is to be made of that.
  func checkIsOne(_ window: JournalWindow) throws {
    let fork = troubles.forks.first { ($0.cause as? Fork).map { window.has($0.replica) } ?? true }
    if let fork { throw fork }
  }

  /// Folders of which nobody can say what branches they hold.
  private var unheard: [(listing: FolderListing, error: MagicDataError)] {
    parts.compactMap { part in
      if case .folder(let listing, _, _) = part { listing.unheard.map { (listing, $0) } } else { nil }
    }
  }

  var hasUnheardClosings: Bool { !unheard.isEmpty }

  // MARK: What was given up

  /// Those of folders that are needed.
  var checkpoints: [CheckpointFile] {
    parts.flatMap { part -> [CheckpointFile] in
      if case .folder(_, _, let checkpoints) = part { checkpoints } else { [] }
    }
  }

  /// Those of folders that count.
  var countedCheckpoints: [CheckpointFile] {
    parts.flatMap { part -> [CheckpointFile] in
      if case .folder(let listing, _, _) = part { listing.checkpoints } else { [] }
    }
  }

  /// Of all sources together: what lies at and below it is no history any more, but for what is kept (K-1).
  var floor: NamedFrontier {
    var floor = NamedFrontier()
    for part in parts {
      switch part {
      case .database(let database): floor.raise(to: database.floor)
      case .folder(_, _, let checkpoints): for checkpoint in checkpoints { floor.raise(to: checkpoint.floor) }
      case .segment, .export: break
      }
    }
    return floor
  }

  /// Of databases alone.
  var heldFloor: NamedFrontier {
    var floor = NamedFrontier()
    for part in parts { if case .database(let database) = part { floor.raise(to: database.floor) } }
    return floor
  }

  /// The last transactions of databases alone.
  var heldEnd: Frontier {
    var end = Frontier()
    for part in parts { if case .database(let database) = part { end.raise(to: database.frontier) } }
    return end
  }

  /// Whether each reading says anew all that is still the matter. A database's damaged rows that were passed over are not read again.
  var saysAllAgain: Bool {
    parts.allSatisfy { part in
      switch part {
      case .folder: true
      case .database(let database): database.isFetched
      case .segment, .export: false
      }
    }
  }

  /// What was given up beyond what a window begins after, as when a pull has taken a checkpoint in its place, or one has come into a folder: it cannot be told any more.
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
      troubles.lack(before + [Told.Hole(sequences: sequences, before: nil)], of: replica)
      troubles.add(.init(replica: replica.description, sequences: sequences))
    }
  }

  /// Of what was then, and before, only that is known which was still in force later; `nil` if nothing was given up.
  var givenUp: Stamp? { floor.highest }

  private var report: MagicReadReport {
    var report = troubles.report
    // Where what is kept was not told, what was given up is missing.
    if !isKeptUntold { report.historyBegins = givenUp?.date }
    return report
  }

  /// What was at a moment is asked for.
  func checkIsKnown(_ moment: Stamp) throws {
    guard let givenUp, moment < givenUp else { return }
    throw MagicDataError(
      .notFound,
      "history up to \(givenUp.inLog) was given up by compact, and what was before is not known any more; name a later moment")
  }

  // MARK: Reading

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

  /// The same of one source, with `body` on another thread while what follows is read: it leaves the source alone. Large transactions come in parts. When
  /// this returns, all was handed to it.
  ///
  /// - Parameter prepare: what of `body` can be done beforehand, on the thread that reads; `body` gets what it gives, or nil where there was no time for it.
  func forEachPart<Prepared: Sendable>(
    _ window: JournalWindow, _ checkCancelled: () throws -> Void,
    prepare: @escaping (ReadPart, SourceSchema) throws -> Prepared?,
    _ body: @Sendable @escaping (ReadPart, SourceSchema, Prepared?) throws -> Void
  ) throws {
    precondition(parts.count == 1, "of several sources a transaction is compared whole")
    var window = window
    window.atOnce = OpenJournal.entriesAtOnce
    let handover = Handover<(part: ReadPart, schema: SourceSchema, prepared: Prepared?)> {
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

  /// The same with all work on the other thread.
  func forEachPart(
    _ window: JournalWindow, _ checkCancelled: () throws -> Void,
    _ body: @Sendable @escaping (ReadPart, SourceSchema) throws -> Void
  ) throws {
    try forEachPart(window, checkCancelled, prepare: { _, _ in Never?.none }, { part, schema, _ in try body(part, schema) })
  }

  /// Few enough for a cache of the machine, and many enough that a change of threads costs nothing.
  private static let entriesAtOnce = 1_024
  /// Of checkpoints, of which a folder has one or two. macOS lets a process have 256 files open.
  private static let mostOpenFiles = 32

  private func cursors(_ window: JournalWindow) throws -> [any TransactionCursor] {
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
        let looks = FolderLooks(listing)
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

  // MARK: Moments

  /// What is stamped at or below a moment is before it.
  package func stamp(at moment: MagicMoment, _ replicas: [String] = []) throws -> Stamp {
    switch moment.meaning {
    case .time(let milliseconds): return Stamp(UInt64(min(max(milliseconds, 0), Stamp.latest.milliseconds)) << 16 | 0xffff)
    case .transaction(let prefix, let sequence): return try address(prefix, replicas, sequence).stamp
    }
  }

  /// What is stamped at or above a moment is at it, or after.
  package func firstStamp(at moment: MagicMoment, _ replicas: [String] = []) throws -> Stamp {
    switch moment.meaning {
    case .time(let milliseconds): return Stamp(UInt64(min(max(milliseconds, 0), Stamp.latest.milliseconds)) << 16)
    case .transaction(let prefix, let sequence): return try address(prefix, replicas, sequence).stamp
    }
  }

  /// The transaction that a person means.
  package func transaction(at moment: MagicMoment, _ replicas: [String] = []) throws -> (replica: ReplicaID, sequence: UInt64) {
    guard case .transaction(let prefix, let sequence) = moment.meaning else {
      throw MagicDataError(.notFound, "a transaction is named as `log` prints it: replica:sequence")
    }
    let found = try address(prefix, replicas, sequence)
    return (found.replica, sequence)
  }

  private func address(
    _ prefix: String?, _ chosen: [String], _ sequence: UInt64
  ) throws -> (replica: ReplicaID, stamp: Stamp) {
    let prefixes = prefix.map { [$0] } ?? chosen
    guard 1..<Limits.sequence ~= sequence else {
      throw MagicDataError(.notFound, "there is no transaction \(sequence); sequences begin at 1")
    }
    var window = JournalWindow()
    window.replicas = prefixes
    var replicas: Set<ReplicaID> = []
    for part in parts {
      switch part {
      case .database(let database):
        let own = database.state.replica
        // Without a replica, a database's own is meant.
        if prefixes.isEmpty, parts.count == 1, database.frontier[own] >= sequence {
          window.replicas = [own.description]
          replicas.insert(own)
        } else {
          replicas.formUnion(database.frontier.replicas)
        }
      case .segment(_, let header, _): if let header { replicas.insert(header.replica) }
      case .folder(let listing, _, _): replicas.formUnion(listing.replicas)
      case .export: break
      }
    }
    window.hasKept = false
    for replica in replicas { window.after[replica] = sequence - 1 }
    var found: [ReplicaID: Stamp] = [:]
    for cursor in try cursors(window) {
      // An export has many replicas in one.
      while let (transaction, _) = try cursor.next() {
        if transaction.sequence == sequence { found[transaction.replica] = transaction.name.stamp }
        if !(cursor is ExportCursor) { break }
      }
    }
    guard let (replica, stamp) = found.first else {
      let isYear = prefix == nil && 1_970...9_999 ~= sequence
      let hint = isYear ? " (a year alone is read as a sequence; \(sequence)-01 is a time)" : ""
      throw MagicDataError(
        .notFound,
        "there is no transaction \(prefixes.count == 1 ? prefixes[0] + ":" : "")\(sequence)\(hint)"
          + (givenUp.map { "; history up to \($0.inLog) was given up by compact" } ?? "; `log` prints them as replica:sequence")
      )
    }
    guard found.count == 1 else {
      throw MagicDataError(
        .notFound, "several replicas have a transaction \(sequence); say which: replica:sequence, as `log` prints it")
    }
    return (replica, stamp)
  }
}

extension JournalSource {
  /// All transactions, the oldest first, with the schema that their entries speak of.
  ///
  /// - Returns: what could not be read.
  @discardableResult
  package func forEachTransaction(
    _ body: @Sendable @escaping (Transaction, Schema) throws -> Void
  ) async throws -> MagicReadReport {
    try await OpenJournal.read([self]) { journal, checkCancelled in
      try journal.forEachTransaction(JournalWindow()) { transaction, schema in
        try checkCancelled()
        try body(transaction, schema.schema)
      }
    }.1
  }
}
