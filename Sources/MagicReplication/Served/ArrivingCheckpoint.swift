internal import Foundation
internal import MagicData
package import MagicJournal

/// A checkpoint that comes in pieces, on its way into a folder. It is there once its header and its end are right (K-12), and never in part.
package final class ArrivingCheckpoint {
  private let folder: FolderRemote
  private let dataSet: DataSetID
  private let length: Int
  private let isDurable: Bool
  private let writer: PieceWriter

  /// - Parameters:
  ///   - length: of the whole.
  ///   - isDurable: whether it is to be on the disk, and not only in a file, once it is whole.
  package init(_ length: Int, of dataSet: DataSetID, in folder: FolderRemote, isDurable: Bool) throws {
    (self.folder, self.dataSet, self.length, self.isDurable) = (folder, dataSet, length, isDurable)
    try folder.makeOwn(folder.checkpoints)
    writer = try PieceWriter(beside: folder.checkpoints.appendingPathComponent("arriving"))
  }

  /// How many bytes are to come.
  package var lacking: Int { length - writer.count }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    guard piece.count <= lacking else { throw MagicDataError(.damaged, "a checkpoint has more bytes than were announced") }
    try writer.append(piece)
  }

  /// Whether what has the name already counts, and says the same: then it is not changed. What is in doubt is replaced (F-16).
  ///
  /// - Throws: `MagicDataError` with `incompatible` for what may not be replaced (S-2).
  private func isThere(_ file: URL, _ digest: Identifier) throws -> Bool {
    do {
      let there = try CheckpointFile(file, dataSet)
      guard isDurable, there.header.digest == digest, try !folder.doubted().contains(file.lastPathComponent) else {
        return false
      }
      try there.read()
      // What is acknowledged is on the disk, whoever wrote it.
      try DurableFile.sync(file)
      return true
    } catch let error as MagicDataError where error.code == .incompatible {
      let name = file.lastPathComponent
      throw MagicDataError(.incompatible, "\(name) is there already, of another format or data set: it is not replaced")
    } catch {
      // Nothing is there, or what is there is damaged.
      return false
    }
  }

  /// Gives it its name.
  ///
  /// - Parameter check: may refuse who wrote it, and for which replicas it stands.
  /// - Returns: the name.
  @discardableResult
  package func finish(_ check: (_ writer: ReplicaID, _ replicas: [ReplicaID]) throws -> Void = { _, _ in }) throws -> String {
    let temporary = try writer.finish(isDurable: isDurable)
    do {
      let header = try CheckpointFile.header(of: temporary)
      try check(header.writer, header.floor.replicas)
      let file = folder.checkpoints.appendingPathComponent(CheckpointFile.name(of: header))
      let isThere = try isThere(file, header.digest)
      let looked = try CheckpointFile(temporary, dataSet, named: file.lastPathComponent)
      // What damaged it on its way shows in its parts.
      try looked.read()
      if isThere {
        unlink(temporary.path)
      } else {
        guard rename(temporary.path, file.path) == 0 else { throw DurableFile.failure("could not be written", file) }
      }
      if isDurable { try DurableFile.sync(folder.checkpoints) }
      return file.lastPathComponent
    } catch {
      unlink(temporary.path)
      throw error
    }
  }
}
