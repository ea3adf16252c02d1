internal import Foundation
internal import MagicData
internal import MagicJournal

/// Makes few segments of many small ones that follow each other (F-18).
struct Consolidation {
  enum Extent {
    /// What a push does with the files that its own replica has written (F-19).
    case own
    case all
  }

  let dataSet: DataSetID
  /// In whose name files are written; `nil` for whoever wrote the first of them.
  let writer: ReplicaID?
  let extent: Extent
  var isDryRun = false

  private var deleted = 0

  /// Bodies below these lengths are small, and very small. A segment that was cut for its size (S-8) has 131,072 bytes at
  /// least: an entry that counts 32 takes one.
  private static let (small, tiny) = (1 << 16, 1 << 12)
  /// So many of them that follow each other are made one by a push.
  private static let (manySmall, manyTiny) = (32, 16)
  /// How many bytes of bodies are read at once.
  private static let bodies = 1 << 20

  init(dataSet: DataSetID, writer: ReplicaID?, extent: Extent, isDryRun: Bool = false) {
    (self.dataSet, self.writer, self.extent, self.isDryRun) = (dataSet, writer, extent, isDryRun)
  }

  /// Each step leaves a folder that holds all that it held.
  mutating func run(on listing: inout FolderListing) throws {
    // Branches of one id are no row.
    for replica in listing.replicas where !(listing.runs[replica]?.files ?? []).contains(where: listing.isForeign) {
      for group in groups(listing.runs[replica]?.chain ?? []) {
        try Task.checkCancellation()
        try replace(group, in: &listing)
      }
      try deleteCovered(replica, in: &listing)
    }
    if deleted > 0, !isDryRun { try listing.syncFolder() }
  }

  // MARK: What is made one

  /// - Parameter chain: of one replica.
  func groups(_ chain: [FolderListing.File]) -> [[FolderListing.File]] {
    stretches(chain) { $0.header.bodyLength < Consolidation.small }.flatMap { stretch in
      stretch.count >= (extent == .all ? 2 : Consolidation.manySmall)
        ? [stretch]
        : stretches(stretch) { $0.header.bodyLength < Consolidation.tiny }.filter { $0.count >= Consolidation.manyTiny }
    }.flatMap(Consolidation.parts)
  }

  /// Files that follow each other and are alike.
  private func stretches(
    _ chain: [FolderListing.File], _ isAlike: (FolderListing.File) -> Bool
  ) -> [[FolderListing.File]] {
    var stretches: [[FolderListing.File]] = [[]]
    for file in chain {
      let isOurs = extent == .all || file.header.writer == writer
      guard isOurs, isAlike(file) else {
        stretches.append([])
        continue
      }
      let follows = stretches[stretches.count - 1].last.map { file.name.first <= $0.name.last + 1 } ?? true
      if follows { stretches[stretches.count - 1].append(file) } else { stretches.append([file]) }
    }
    return stretches.filter { !$0.isEmpty }
  }

  /// As many at once as memory is to hold.
  private static func parts(_ stretch: [FolderListing.File]) -> [[FolderListing.File]] {
    var parts: [[FolderListing.File]] = []
    var length = bodies
    for file in stretch {
      if length >= bodies {
        parts.append([])
        length = 0
      }
      parts[parts.count - 1].append(file)
      length += file.header.bodyLength
    }
    return parts.filter { $0.count > 1 }
  }

  // MARK: Steps

  private mutating func replace(_ group: [FolderListing.File], in listing: inout FolderListing) throws {
    var segments: [Segment] = []
    for file in group {
      // One that is damaged is said by who needs it; what is around it stays as it is.
      guard let segment = try listing.segmentOrReject(file) else { return }
      segments.append(segment)
    }
    let files: [(name: SegmentFileName, bytes: [UInt8], names: [TransactionName])]
    do {
      files = try self.files(of: segments)
    } catch let error as JournalError where error.code == .tooLarge {
      // One schema has no room for all that they speak of (J-15), so they stay several.
      return
    }
    guard files.count < group.count else { return }
    for (name, _, _) in files { try listing.checkMayWrite(name) }
    for (name, bytes, _) in files {
      if !isDryRun { try DurableFile.write(bytes, to: listing.url(of: name)) }
      try listing.add(name, bytes)
    }
    // Only when all of it is on the disk.
    for (name, _, names) in files { try deleteFiles(within: name, names, in: &listing) }
  }

  private static func fork(_ replica: ReplicaID) -> MagicDataError {
    MagicDataError(.fork, "segments of replica \(replica) do not follow each other; nothing was changed")
  }

  private func files(of segments: [Segment]) throws -> [(name: SegmentFileName, bytes: [UInt8], names: [TransactionName])] {
    var schema = Schema()
    let learnt = try segments.map { try schema.learn($0.schema) }
    var files: [(name: SegmentFileName, bytes: [UInt8], names: [TransactionName])] = []
    var open: (writer: SegmentWriter, first: UInt64, names: [TransactionName])?
    var (last, lastName): (UInt64, TransactionName) = (segments[0].header.first - 1, segments[0].header.previous)
    func finish() throws {
      guard let done = open else { return }
      let (name, bytes) = try done.writer.finish()
      files.append(
        (SegmentFileName(replica: segments[0].header.replica, first: done.first, last: last, name: name), bytes, done.names))
      open = nil
    }
    for (segment, learnt) in zip(segments, learnt) {
      let before =
        segment.header.first == last + 1
        ? segment.header.previous : segment.transactions.first { $0.sequence == last }?.name ?? lastName
      guard before == lastName else { throw Consolidation.fork(segment.header.replica) }
      for var transaction in segment.transactions where transaction.sequence > last {
        guard transaction.sequence == last + 1, transaction.name.stamp > lastName.stamp else {
          throw Consolidation.fork(segment.header.replica)
        }
        if open?.writer.isFull ?? false { try finish() }
        transaction.entries = transaction.entries.map { $0.translated(learnt) }
        var now =
          open
          ?? (
            SegmentWriter(
              dataSet: dataSet, writer: writer ?? segment.header.writer, schema: schema, replica: transaction.replica,
              first: transaction.sequence,
              previous: lastName), transaction.sequence, []
          )
        now.writer.add(transaction)
        now.names.append(transaction.name)
        open = now
        (last, lastName) = (transaction.sequence, transaction.name)
      }
    }
    try finish()
    return files
  }

  /// Deletes the files whose transactions are all in one that is on the disk.
  private mutating func deleteFiles(
    within whole: SegmentFileName, _ names: [TransactionName], in listing: inout FolderListing
  ) throws {
    let others =
      (listing.runs[whole.replica]?.files.map(\.name) ?? [])
      + listing.rejected.filter { $0.name.replica == whole.replica && $0.error.code != .incompatible }.map(\.name)
    var gone: Set<SegmentFileName> = []
    for other in others where other != whole && other.first >= whole.first && other.last <= whole.last {
      let run = Int(other.first - whole.first)...Int(other.last - whole.first)
      // The file's name says which transactions it holds, or held.
      guard Segment.name(of: names[run]) == other.name else { continue }
      if !isDryRun { try listing.delete(other) }
      gone.insert(other)
    }
    deleted += gone.count
    listing.forget(gone)
  }

  /// What somebody who was stopped has left: files that another one holds as well.
  private mutating func deleteCovered(_ replica: ReplicaID, in listing: inout FolderListing) throws {
    guard let runs = listing.runs[replica] else { return }
    let chain = runs.chain
    let kept = Set(chain.map(\.name))
    let covered = runs.files.filter { !kept.contains($0.name) && (extent == .all || $0.header.writer == writer) }
    guard covered.count >= (extent == .all ? 1 : Consolidation.manyTiny) else { return }
    // Who wrote what covers them was stopped, maybe before its name was on the disk, or has copied it and synced nothing
    // (H-26).
    if !isDryRun { try listing.syncFolder() }
    for whole in chain {
      let isUseful = covered.contains { $0.name.first >= whole.name.first && $0.name.last <= whole.name.last }
      guard isUseful else { continue }
      if !isDryRun { try DurableFile.sync(whole.url) }
      guard let segment = try listing.segmentOrReject(whole) else { continue }
      try deleteFiles(within: whole.name, segment.transactions.map(\.name), in: &listing)
    }
  }
}
