internal import Foundation
internal import MagicData
package import MagicJournal

/// A checkpoint that comes in pieces, on its way into a folder. It is there once its header and its end are right (K-12), and
/// never in part.
package final class ArrivingCheckpoint {
  private let folder: FolderRemote
  private let dataSet: DataSetID
  private let length: Int
  private let isDurable: Bool
  private let writer: ChunkWriter
  /// What came, once it was looked at: its file, and the name that it is to have.
  private var whole: (temporary: URL, file: URL)?
  /// What has the name already, if that counts and says the same.
  private var there: OpenFile.State?

  /// - Parameters:
  ///   - length: of the whole.
  ///   - isDurable: whether it is to be on the disk, and not only in a file, once it is whole.
  package init(_ length: Int, of dataSet: DataSetID, in folder: FolderRemote, isDurable: Bool) throws {
    (self.folder, self.dataSet, self.length, self.isDurable) = (folder, dataSet, length, isDurable)
    try folder.makeOwn(folder.checkpoints)
    writer = try ChunkWriter(beside: folder.checkpoints.appendingPathComponent("arriving"))
  }

  deinit {
    if let whole { unlink(whole.temporary.path) }
  }

  /// How many bytes are to come.
  package var lacking: Int { length - writer.count }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    guard piece.count <= lacking else { throw MagicDataError(.damaged, "a checkpoint has more bytes than were announced") }
    try writer.append(piece)
  }

  /// What has the name already, if that counts and says the same: then it is not changed. What is in doubt is replaced (F-16).
  ///
  /// - Throws: `MagicDataError` with `incompatible` for what may not be replaced (S-2).
  private func same(_ file: URL, _ digest: Identifier) throws -> OpenFile.State? {
    do {
      let state = OpenFile.State(of: file)
      let there = try CheckpointFile(file, dataSet)
      guard isDurable, there.header.digest == digest, try !folder.doubted().contains(file.lastPathComponent) else {
        return nil
      }
      try there.read()
      // What is acknowledged is on the disk, whoever wrote it.
      try DurableFile.sync(file)
      return state
    } catch let error as MagicDataError where error.code == .incompatible {
      throw MagicDataError.notReplaced(file.lastPathComponent)
    } catch {
      // Nothing is there, or what is there is damaged.
      return nil
    }
  }

  /// Looks at all of it, which takes as long as it is large.
  ///
  /// - Parameter check: may refuse who wrote it, and for which replicas it stands.
  /// - Throws: `MagicDataError` with the cause ``NotReplaced`` if another file keeps the name; nothing of it stays then.
  package func look(_ check: (_ writer: ReplicaID, _ replicas: [ReplicaID]) throws -> Void = { _, _ in }) throws {
    let temporary = try writer.finish(isDurable: isDurable)
    do {
      let header = try CheckpointFile.header(of: temporary)
      try check(header.writer, header.floor.replicas)
      let file = folder.checkpoints.appendingPathComponent(CheckpointFile.name(of: header))
      there = try same(file, header.digest)
      let looked = try CheckpointFile(temporary, dataSet, named: file.lastPathComponent)
      // What damaged it on its way shows in its parts.
      try looked.read()
      whole = (temporary, file)
    } catch {
      unlink(temporary.path)
      throw error
    }
  }

  /// Gives it its name, once it was looked at.
  ///
  /// - Parameter keeping: may refuse what is whole, before it is kept.
  /// - Returns: the name.
  @discardableResult
  package func finish(before keeping: () throws -> Void = {}) throws -> String {
    if whole == nil { try look() }
    guard let (temporary, file) = whole else { throw MagicDataError(.damaged, "no checkpoint has come") }
    try keeping()
    // What was there may have gone since.
    if let there, OpenFile.State(of: file) == there {
      unlink(temporary.path)
    } else {
      guard rename(temporary.path, file.path) == 0 else { throw DurableFile.failure("could not be written", file) }
    }
    whole = nil
    if isDurable { try DurableFile.sync(folder.checkpoints) }
    return file.lastPathComponent
  }
}
