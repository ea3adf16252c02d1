internal import Foundation
internal import MagicData
internal import MagicJournal

/// What tidying a folder did, or would do.
public struct FolderCompactionReport: Sendable, Equatable {
  /// Segments before and after, and their bytes with those of checkpoints.
  public internal(set) var segments = 0
  public internal(set) var newSegments = 0
  /// Checkpoints before and after.
  public internal(set) var checkpoints = 0
  public internal(set) var newCheckpoints = 0
  public internal(set) var bytes = 0
  public internal(set) var newBytes = 0
  /// Temporary files that writers left which were killed, and their bytes.
  public internal(set) var leftovers = 0
  public internal(set) var leftoverBytes = 0
  /// Contents of assets that nothing names any more, and their bytes.
  public internal(set) var contents = 0
  public internal(set) var contentBytes = 0
  /// A checkpoint, by its path, with something that the database lacks. As long as it does, no checkpoint is written and no
  /// history goes: let the database pull, which says why if it does not take it.
  public internal(set) var waitsFor: String?

  package init() {}
}

extension FolderRemote {
  /// Makes few segments of many small ones that follow each other, and deletes what killed writers left (Protocol/folder.md,
  /// F-18, F-21). All that the folder held it holds afterwards, and at each moment in between.
  ///
  /// - Parameter isDryRun: counts, and changes nothing.
  /// - Throws: `MagicDataError` with `notFound` (no remote), `fork`, `notAllowed`, `full`; `CancellationError`. What was done
  ///   before stays.
  @discardableResult
  public func compact(isDryRun: Bool = false) async throws -> FolderCompactionReport {
    let dataSet = try dataSet()
    let listing = try FolderListing(settled: self, dataSet)
    var tidying = FolderCompaction(remote: self, dataSet: dataSet, isDryRun: isDryRun, listing)
    try tidying.consolidate(as: nil)
    return tidying.report
  }
}

/// Tidies a folder, step by step; each leaves a folder from which everybody gets all that it held.
struct FolderCompaction {
  let remote: FolderRemote
  let dataSet: DataSetID
  let isDryRun: Bool
  private(set) var listing: FolderListing
  var report = FolderCompactionReport()

  init(remote: FolderRemote, dataSet: DataSetID, isDryRun: Bool, _ listing: FolderListing) {
    (self.remote, self.dataSet, self.isDryRun, self.listing) = (remote, dataSet, isDryRun, listing)
    (report.segments, report.bytes) = FolderCompaction.size(listing)
    report.checkpoints = listing.checkpoints.count
    (report.newSegments, report.newCheckpoints, report.newBytes) = (report.segments, report.checkpoints, report.bytes)
  }

  private static func size(_ listing: FolderListing) -> (segments: Int, bytes: Int) {
    let files = listing.files
    let bytes = files.reduce(0) { $0 + SegmentHeader.length + $1.header.storedLength }
    return (files.count, listing.checkpoints.reduce(bytes) { $0 + $1.bytes })
  }

  /// All steps, in the name of a database.
  mutating func run(_ snapshot: Snapshot, _ members: Members, _ db: Connection) throws -> FolderCompactionReport {
    try cut(snapshot.journal, snapshot.state, members)
    try consolidate(as: snapshot.state.replica)
    try collect(snapshot.held, db)
    return report
  }

  /// F-18 and F-21.
  mutating func consolidate(as writer: ReplicaID?) throws {
    var consolidation = Consolidation(dataSet: dataSet, writer: writer, extent: .all, isDryRun: isDryRun)
    try consolidation.run(on: &listing)
    (report.newSegments, report.newBytes) = FolderCompaction.size(listing)
    report.newCheckpoints = listing.checkpoints.count
    for leftover in try remote.leftovers(isDryRun: isDryRun) {
      if !isDryRun { try delete(leftover.url) }
      report.leftovers += 1
      report.leftoverBytes += leftover.bytes
    }
  }

  /// K-18. A checkpoint with the database's floor is there afterwards; what it stands for goes if everybody has that.
  mutating func cut(_ journal: JournalReader, _ state: DatabaseState, _ members: Members) throws {
    let (named, held) = (try journal.floor(), try journal.frontier())
    guard !named.isEmpty else { return }
    // What may be another branch's is taken first (K-20).
    if let checkpoint = listing.needed(by: held) ?? listing.rival(to: named, held) {
      report.waitsFor = checkpoint.url.path
      return
    }
    let found = try checkpoint(above: named, journal)
    // Of a dry run it is written elsewhere, to be counted.
    let scratch = isDryRun && found == nil ? try ScratchFolder("checkpoint") : nil
    defer { withExtendedLifetime(scratch) {} }
    let whole = try found ?? newCheckpoint(journal, state, into: scratch.map { FolderRemote($0.url) } ?? remote)
    guard let whole, members.haveAll(named, held) else { return }
    let segments = segments(below: named)
    let lower = Set(listing.checkpoints.filter { $0.url != whole.url && whole.isAbove($0.floor) }.map(\.url))
    if !isDryRun { try delete(segments, lower, inPlaceOf: whole) }
    listing.forget(segments)
    listing.forget(lower)
  }

  /// Looks for a checkpoint that is there and stands for what `named` does. What is remembered of one is not enough to delete
  /// for: each is read.
  ///
  /// - Throws: `damaged` if one has the same floor, and comes to something else than the database.
  private mutating func checkpoint(above named: NamedFrontier, _ journal: JournalReader) throws -> CheckpointFile? {
    for checkpoint in listing.checkpoints where checkpoint.isAbove(named) {
      switch try CheckpointVerdict(at: checkpoint, Task.checkCancellation) {
      case .sound:
        if checkpoint.floor == named, try checkpoint.header.digest != journal.digestOfKept().digest.identifier {
          throw FolderCompaction.contradiction(checkpoint)
        }
        return checkpoint
      case .isFalse where checkpoint.floor == named: throw FolderCompaction.contradiction(checkpoint)
      case .isFalse: listing.rejectFalse(checkpoint)
      case .unreadable(let error): listing.reject(checkpoint, error)
      }
    }
    return nil
  }

  private static func contradiction(_ checkpoint: CheckpointFile) -> MagicDataError {
    MagicDataError(
      .damaged,
      """
      \(checkpoint.url.path) does not come to what this database has kept of the same history: one of the two is damaged. Nothing was deleted. Compare them with \
      magic-replay diff, and delete the one that is wrong
      """)
  }

  /// - Returns: `nil` if it does not stand for all that its floor says, for which nothing may go.
  private mutating func newCheckpoint(
    _ journal: JournalReader, _ state: DatabaseState, into folder: FolderRemote
  ) throws -> CheckpointFile? {
    try listing.checkMayWriteCheckpoint()
    let written = try CheckpointFile.write(journal, state, dataSet, into: folder)
    listing.add(written)
    return try listing.isWhole(written) ? written : nil
  }

  /// The segments whose transactions a checkpoint with this floor stands for, damaged ones too.
  private func segments(below named: NamedFrontier) -> Set<SegmentFileName> {
    let floor = named.frontier
    let damaged = listing.rejected.filter { $0.error.code != .incompatible }.map(\.name)
    var segments = Set(damaged.filter { $0.last <= floor[$0.replica] })
    // What it does not stand for may be a branch that nobody has taken.
    for replica in named.replicas where listing.limits[replica] == nil {
      if let end = named[replica] { segments.formUnion(listing.files(below: end, of: replica)) }
    }
    return segments
  }

  private func delete(
    _ segments: Set<SegmentFileName>, _ checkpoints: Set<URL>, inPlaceOf whole: CheckpointFile
  ) throws {
    // One that was found there may have been copied by who syncs nothing, or its writer was stopped before its name was on the
    // disk (H-26).
    try DurableFile.sync(whole.url)
    try DurableFile.sync(remote.checkpoints)
    for name in segments.sorted(by: { $0.text < $1.text }) {
      try Task.checkCancellation()
      try listing.delete(name)
    }
    for url in checkpoints.sorted(by: { $0.path < $1.path }) { try delete(url) }
    try listing.syncFolder()
  }

  func delete(_ url: URL) throws {
    guard unlink(url.path) == 0 || errno == ENOENT else { throw DurableFile.failure("could not be deleted", url) }
  }
}

extension MagicReplicator {
  /// Gives up history that every replica has acknowledged, in the database as
  /// ``MagicData/MagicData/compact(keeping:isDryRun:)`` does and in the remote: there, a checkpoint takes the place of the
  /// segments, so that a new replica starts from the state and not from its history (Protocol/checkpoint.md, K-18). Then few
  /// segments are made of many small ones, and what killed writers left is deleted, and so are contents of assets that nothing
  /// names any more and that are older than a month (Protocol/folder.md, F-22).
  ///
  /// - Parameters:
  ///   - keeping: history that is younger than this stays.
  ///   - isDryRun: counts, and changes nothing. It takes the database's size once more in the temporary folder.
  /// - Throws: `MagicDataError` as ``pull(accepting:isDryRun:)`` and ``push()`` do, `fork` if a replica has acknowledged other
  ///   transactions than are held here, and `failed` if one has said that it holds the same and comes to something else;
  ///   `notAllowed` if the remote is a server, whose folder is compacted where it is; `damaged` if a checkpoint in the folder
  ///   comes to something else than the database, which is compacted by then. What was done before stays, and is whole.
  @discardableResult
  public func compact(
    keeping: Duration = .zero, isDryRun: Bool = false
  ) async throws -> (database: CompactionReport, folder: FolderCompactionReport) {
    guard let remote = remote as? FolderRemote else {
      throw MagicDataError(
        .notAllowed, "the folder that is served is compacted where it is; of this database alone, compact without a remote")
    }
    let dataSet = try await found(remote)
    guard !isDryRun else { return try await lookWhatCompacts(remote, dataSet, keeping) }
    // Below a floor no names are left: what the folder has under the own id is compared before (F-17).
    try await IncomingSegments(remote).withSnapshot(of: magic, dataSet, source) { _, _ in }
    try await magic.learnMembers(remote.acknowledged(dataSet))
    let database = try await magic.compact(keeping: keeping)
    let folder = try await IncomingSegments(remote).withSnapshot(of: magic, dataSet, source) {
      [store = magic.store] db, snapshot in
      // What a checkpoint says is on the disk here before anybody else has it (J-21).
      try store.syncToDisk(db)
      var tidying = FolderCompaction(remote: remote, dataSet: dataSet, isDryRun: false, snapshot.listing)
      return try tidying.run(snapshot, Members(db), db)
    }
    return (database, folder)
  }

  /// - Throws: `MagicDataError` with `fork` for what a compaction would see to first.
  private func lookWhatCompacts(
    _ remote: FolderRemote, _ dataSet: DataSetID, _ keeping: Duration
  ) async throws -> (database: CompactionReport, folder: FolderCompactionReport) {
    let said = try remote.acknowledged(dataSet)
    do {
      try await IncomingSegments(remote).look(at: magic, dataSet) { _, _ in }
      let database = try await magic.compact(keeping: keeping, isDryRun: true, hearing: said)
      let folder = try await magic.ifCompacted(keeping: keeping, hearing: said) { db in
        let snapshot = try Snapshot(looking: db, remote, dataSet)
        var tidying = FolderCompaction(remote: remote, dataSet: dataSet, isDryRun: true, snapshot.listing)
        return try tidying.run(snapshot, Members(db, hearing: said), db)
      }
      return (database, folder)
    } catch let error as MagicDataError {
      throw error.hiding(what: "compact")
    }
  }
}
