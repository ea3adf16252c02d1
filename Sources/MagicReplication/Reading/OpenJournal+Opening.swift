internal import Foundation
internal import MagicData
internal import MagicJournal

extension OpenJournal {
  /// Opens `sources`, of one data set, while `body` runs. Databases are read from one snapshot each, which SQLite's WAL waits
  /// for.
  ///
  /// - Parameter isSentOn: whether somebody may get what is in them from what `body` makes: databases are synced to the disk
  ///   before it runs.
  /// - Throws: `MagicDataError` with `incompatible` for sources of several data sets; what `body` throws; `CancellationError`.
  package static func read<Result: Sendable>(
    _ sources: [JournalSource], isSentOn: Bool = false,
    _ body: @Sendable @escaping (OpenJournal, _ checkCancelled: @escaping () throws -> Void) throws -> Result
  ) async throws -> (Result, MagicReadReport) {
    try await Store.atLength { checkCancelled in
      var opening = Opening(isSentOn: isSentOn, checkCancelled)
      for source in sources { try opening.add(source) }
      return try opening.open { try body($0, checkCancelled) }
    }
  }
}

/// Sources that are to be open together.
private struct Opening {
  private typealias Opened = (magic: MagicData, path: String, isFetched: Bool)

  private let isSentOn: Bool
  private let checkCancelled: () throws -> Void
  private var parts: [OpenJournal.Part] = []
  private var databases: [Opened] = []
  /// Where bundles are unpacked for the time.
  private var bundles: [ScratchFolder] = []
  /// What servers could not send.
  private var fetched = MagicReadReport()
  /// Files, and bundles' parts, of which nothing can be told.
  private var unread: [UnreadFile] = []
  /// Branches that nobody has told apart yet.
  private var forks: [(error: MagicDataError, path: String)] = []

  init(isSentOn: Bool, _ checkCancelled: @escaping () throws -> Void) {
    (self.isSentOn, self.checkCancelled) = (isSentOn, checkCancelled)
  }

  mutating func add(_ source: JournalSource) throws {
    switch source {
    case .database(let magic): databases.append((magic, source.path, isFetched: false))
    case .fetched(let journal):
      databases.append((journal.magic, source.path, isFetched: true))
      fetched = fetched.joined(journal.report)
    case .segment(let file): try add(segment: file)
    case .folder(let remote): try add(remote, source.path)
    case .bundle(let file): try add(bundle: file, source.path)
    case .export(let file):
      let reader = try ExportReader(file, ReadProblems())
      parts.append(.export(file, reader.dataSet, clock: reader.clock))
    }
  }

  private mutating func add(segment file: URL) throws {
    let bytes = try DurableFile.read(file, atMost: SegmentHeader.length + Limits.segmentBytes)
    let header: SegmentHeader?
    do throws(JournalError) {
      header = try SegmentHeader(bytes)
    } catch {
      guard error.code == .damaged else { throw MagicDataError(error, file.path) }
      header = nil
      add(MagicDataError(error, "\(file.path): nothing of it can be shown"), of: file)
    }
    parts.append(.segment(bytes, header, path: file.path))
  }

  private mutating func add(bundle file: URL, _ path: String) throws {
    let scratch = try ScratchFolder("bundle")
    bundles.append(scratch)
    let folder = scratch.url.appendingPathComponent("remote", isDirectory: true)
    var damaged: [MagicDataError] = []
    let remote = try BundleFile.folder(of: file, at: folder, hasContents: false, checkCancelled) { damaged.append($0) }
    for error in damaged { add(error, of: file) }
    try add(remote, path)
  }

  private mutating func add(_ remote: FolderRemote, _ path: String) throws {
    var forked: [MagicDataError] = []
    let (listing, dataSet, checkpoints) = try FolderListing.taken(from: remote, checkCancelled) { forked.append($0) }
    for error in forked { forks.append((error, path)) }
    parts.append(.folder(listing, dataSet, checkpoints))
  }

  private mutating func add(_ error: MagicDataError, of file: URL) {
    unread.append(UnreadFile(path: file.path, code: error.code, message: error.message))
  }

  func open<Result>(_ body: (OpenJournal) throws -> Result) throws -> (Result, MagicReadReport) {
    defer { withExtendedLifetime(bundles) {} }
    return try open(parts, databases[...], body)
  }

  /// Within a snapshot of each database, one after the other.
  private func open<Result>(
    _ parts: [OpenJournal.Part], _ databases: ArraySlice<Opened>, _ body: (OpenJournal) throws -> Result
  ) throws -> (Result, MagicReadReport) {
    guard let (magic, path, isFetched) = databases.first else { return try run(body, on: OpenJournal(parts)) }
    return try magic.store.readBlocking { db in
      let reader = try JournalReader(db)
      let snapshot = OpenJournal.Snapshot(
        reader: reader, schema: SourceSchema(reader.schema.schema), state: try DatabaseState(db),
        frontier: try reader.frontier(), floor: try reader.floor(), path: path, isFetched: isFetched)
      // J-21: not before the first look, from which on it is one snapshot.
      if isSentOn, !isFetched { try magic.store.syncToDisk(db) }
      return try open(parts + [.database(snapshot)], databases.dropFirst(), body)
    }
  }

  private func run<Result>(
    _ body: (OpenJournal) throws -> Result, on journal: OpenJournal
  ) throws -> (Result, MagicReadReport) {
    for file in fetched.unread + unread { journal.troubles.add(file) }
    for gap in fetched.gaps { journal.troubles.add(gap) }
    for (listing, error) in journal.unheard {
      journal.troubles.add(UnreadFile(path: listing.remote.acks.path, code: error.code, message: error.message))
    }
    for fork in forks { journal.troubles.add(fork: fork.error, in: fork.path) }
    _ = try journal.dataSet()
    let result = try body(journal)
    return (result, journal.report)
  }
}
