internal import Foundation
package import MagicData
internal import MagicJournal

/// A content that comes in pieces, on its way into a folder. What came before a break stays, for who goes on from there.
package final class ArrivingContent {
  private let digits: String
  private let folder: FolderRemote
  private let part: URL
  private let descriptor: Int32
  /// How many bytes are there.
  package private(set) var offset: Int

  /// - Throws: `MagicDataError` with `busy` if somebody else is bringing the same content.
  package init(_ digits: String, in folder: FolderRemote) throws {
    self.digits = digits
    self.folder = folder
    try folder.makeAll()
    try folder.makeContents(digits)
    // Another name than the content's has, so that nobody takes it for that.
    part = folder.assets.appendingPathComponent(ArrivingContent.part(of: digits))
    descriptor = open(part.path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be made", part) }
    // Where there are no such locks, there is nobody to wait for. Who had it may have given it its name between the one and the
    // other.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, ArrivingContent.leads(part, to: descriptor) else {
      close(descriptor)
      throw MagicDataError(.busy, "the content \(digits) is on its way already")
    }
    offset = Int(lseek(descriptor, 0, SEEK_END))
  }

  deinit { close(descriptor) }

  private static func part(of digits: String) -> String { ".\(digits).part" }

  static func isPart(_ name: String) -> Bool {
    let digits = String(name.dropFirst().prefix(64))
    return name == part(of: digits) && AssetName.isValid(digits)
  }

  private static func leads(_ part: URL, to descriptor: Int32) -> Bool {
    var (named, opened) = (stat(), stat())
    return lstat(part.path, &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino
      && named.st_dev == opened.st_dev
  }

  /// It has come on another way; nothing that is here is kept.
  package func abandon() { unlink(part.path) }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    do {
      offset += try DurableFile.append(piece, to: descriptor, part)
    } catch let error as MagicDataError where error.code == .full {
      // What does not fit takes the room of all others, also where nobody ever goes on with it.
      unlink(part.path)
      throw error
    }
  }

  /// Begins anew: what is there is longer than it should be.
  package func restart() throws {
    guard ftruncate(descriptor, 0) == 0 else { throw DurableFile.failure("could not be written", part) }
    offset = 0
  }

  private var canBeOpened: Bool {
    let other = open(part.path, O_RDONLY | O_CLOEXEC)
    guard other >= 0 else { return false }
    close(other)
    return true
  }

  /// Gives it its name, if it is what that says; else nothing of it stays.
  package func finish() throws {
    if let fault = try AssetContent.check(part, digits, Task.checkCancellation) {
      // What cannot be opened now, as with too many open files, may be right; but what cannot be read would be in the way for
      // good.
      if fault.code == .damaged || canBeOpened { unlink(part.path) }
      throw fault
    }
    let file = folder.content(digits)
    do {
      try DurableFile.sync(part)
    } catch {
      // The next sync would say that all is well, whatever the disk has lost.
      unlink(part.path)
      throw error
    }
    guard rename(part.path, file.path) == 0 else { throw DurableFile.failure("could not be written", file) }
    try DurableFile.sync(file.deletingLastPathComponent())
    folder.settleDoubt(digits)
  }
}

extension AssetFolder {
  /// A folder in that of a database's assets, for contents on their way.
  package var incoming: FolderRemote { FolderRemote(coming) }
}

extension FolderRemote {
  /// Makes the folder itself, and those above it that are missing.
  package func makeAll() throws {
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      throw MagicDataError(isFull ? .full : .notAllowed, "\(folder.path) could not be made", cause: error)
    }
  }

  /// Takes a content away that was only here for the time.
  package func forget(_ digits: String) { unlink(content(digits).path) }
}
