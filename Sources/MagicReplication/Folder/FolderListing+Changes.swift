internal import Foundation
internal import MagicData
internal import MagicJournal

/// What is done to files that are listed, and to the listing with them.
extension FolderListing {
  /// A file that turned out to be damaged where its header does not show it, or is no longer there.
  mutating func reject(_ file: File, _ error: MagicDataError) {
    runs[file.name.replica]?.remove(file.name)
    if error.code == .notFound { hasVanished = true } else { rejected.append((file.name, error)) }
    if error.code == .damaged { doubtful.append(file.name.text) }
  }

  /// Rejects a file that may be listed.
  mutating func reject(named name: SegmentFileName, _ error: MagicDataError) {
    if let file = runs[name.replica]?.files.first(where: { $0.name == name }) { reject(file, error) }
  }

  mutating func reject(_ checkpoint: CheckpointFile, _ error: MagicDataError) {
    checkpoints.removeAll { $0.url == checkpoint.url }
    if error.code == .notFound {
      hasVanished = true
    } else {
      rejectedCheckpoints.append((checkpoint.url, checkpoint.frontier, error))
    }
    if error.code == .damaged { doubtful.append(checkpoint.url.lastPathComponent) }
  }

  /// One whose bytes are whole and that a fold has shown to be false: it is passed over like a damaged one (K-14).
  mutating func rejectFalse(_ checkpoint: CheckpointFile) {
    falseCheckpoints.insert(checkpoint.url)
    reject(checkpoint, checkpoint.falsehood)
  }

  /// Checkpoints were deleted.
  mutating func forget(_ urls: Set<URL>) {
    checkpoints.removeAll { urls.contains($0.url) }
    rejectedCheckpoints.removeAll { urls.contains($0.url) }
  }

  /// A checkpoint was written.
  mutating func add(_ checkpoint: CheckpointFile) {
    rejectedCheckpoints.removeAll { $0.url == checkpoint.url }
    checkpoints.removeAll { $0.url == checkpoint.url }
    checkpoints.append(checkpoint)
  }

  /// S-2: what is of another format or data set is never written over.
  func checkMayWrite(_ name: SegmentFileName) throws {
    if let other = rejected.first(where: { $0.name == name }), other.error.code == .incompatible { throw other.error }
  }

  /// Throws if there is a checkpoint of another format or data set: what it stands for is not known.
  func checkMayWriteCheckpoint() throws {
    if let other = rejectedCheckpoints.first(where: { $0.error.code == .incompatible }) { throw other.error }
  }

  /// A file was written, maybe in the place of a damaged one.
  mutating func add(_ name: SegmentFileName, _ bytes: [UInt8]) throws {
    add(name, try SegmentHeader(bytes))
  }

  mutating func add(_ name: SegmentFileName, _ header: SegmentHeader) {
    rejected.removeAll { $0.name == name }
    runs[name.replica, default: ReplicaSegments([])].add(File(name: name, header: header, url: url(of: name)))
  }

  /// Deletes a file of which the listing still knows.
  func delete(_ name: SegmentFileName) throws {
    guard unlink(url(of: name).path) == 0 || errno == ENOENT else {
      throw DurableFile.failure("could not be deleted", url(of: name))
    }
  }

  /// Files were deleted.
  mutating func forget(_ names: Set<SegmentFileName>) {
    rejected.removeAll { names.contains($0.name) }
    for replica in Set(names.map(\.replica)) {
      runs[replica] = runs[replica].map { ReplicaSegments($0.files.filter { !names.contains($0.name) }) }
    }
  }

  /// After files were deleted.
  func syncFolder() throws { try DurableFile.sync(remote.segments) }
}
