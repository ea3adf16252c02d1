internal import Foundation
internal import MagicData
package import MagicJournal

/// A segment that comes in pieces, on its way into a folder. It is there once it is whole, and never in part.
package final class ArrivingSegment {
  package let header: SegmentHeader
  /// Under which it will be there.
  package let name: SegmentFileName
  private let folder: FolderRemote
  private let file: URL
  private let writer: ChunkWriter
  private let isDurable: Bool
  private var checksum: UInt32 = 0

  /// - Parameters:
  ///   - head: the segment's header.
  ///   - name: S-3.
  ///   - isDurable: whether it is to be on the disk, and not only in a file, once it is whole.
  /// - Throws: `JournalError` for a header that is none, `MagicDataError`.
  package init(_ head: [UInt8], name: String, in folder: FolderRemote, isDurable: Bool) throws {
    header = try SegmentHeader(head)
    self.name = SegmentFileName(replica: header.replica, first: header.first, last: header.last, name: name)
    self.folder = folder
    file = folder.segments.appendingPathComponent(self.name.text)
    self.isDurable = isDurable
    writer = try ChunkWriter(beside: file)
    try head.withUnsafeBytes { try writer.append($0) }
  }

  /// How many bytes are to come.
  package var lacking: Int { SegmentHeader.length + header.storedLength - writer.count }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    guard piece.count <= lacking else { throw MagicDataError(.damaged, "a segment has more bytes than its header says") }
    checksum = Zlib.checksum(piece, after: checksum)
    try writer.append(piece)
  }

  /// The header of what has the name already, if that counts: then it is never changed (F-2). What is in doubt does not
  /// (F-16).
  ///
  /// - Throws: `MagicDataError` with `incompatible` for what may not be replaced (S-2).
  private func headerThere() throws -> SegmentHeader? {
    do {
      let there = try FolderListing.header(of: file, name, header.dataSet)
      guard isDurable, try ServedFolder.isWhole(OpenFile(file), there), try !folder.doubted().contains(name.text) else {
        return nil
      }
      // What is acknowledged is on the disk, whoever wrote it.
      try DurableFile.sync(file)
      return there
    } catch let error as MagicDataError where error.code == .incompatible {
      throw MagicDataError.notReplaced(name.text)
    } catch {
      // Nothing is there, or what is there is damaged.
      return nil
    }
  }

  /// Gives it its name. That the name is on the disk as well is the folder's matter.
  ///
  /// - Parameter keeping: may refuse what is whole, before it is kept.
  /// - Throws: `MagicDataError` with the cause ``NotReplaced`` if another file keeps the name; nothing of it stays then.
  /// - Returns: the header of the file that has the name now: it may be another cut of the same transactions.
  @discardableResult
  package func finish(before keeping: () throws -> Void = {}) throws -> SegmentHeader {
    guard lacking == 0, checksum == header.storedChecksum else {
      throw MagicDataError(.damaged, "a segment arrived damaged: its bytes do not match its checksum")
    }
    let there = try headerThere()
    try keeping()
    if let there {
      unlink(try writer.finish(isDurable: false).path)
      return there
    }
    let temporary = try writer.finish(isDurable: isDurable)
    guard rename(temporary.path, file.path) == 0 else {
      throw DurableFile.failure("could not be written", file, removing: temporary)
    }
    return header
  }
}

/// A file of another format or data set has the name of what has come, and keeps it (S-2).
package struct NotReplaced: Error {}

extension MagicDataError {
  static func notReplaced(_ name: String) -> MagicDataError {
    MagicDataError(
      .incompatible, "\(name) is there already, of another format or data set: it is not replaced", cause: NotReplaced())
  }
}
