internal import Foundation

/// Brings files and folders to the disk. Never a database file that is in use: closing a descriptor on one drops its locks.
enum DurableFolder {
  /// The names in a folder, or a file's content.
  static func sync(_ place: URL) throws {
    let descriptor = open(place.path, O_RDONLY)
    guard descriptor >= 0 else { throw failure(place) }
    defer { close(descriptor) }
    #if canImport(Darwin)
      // There, fsync leaves it in the disk's own cache.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    // Some file systems of networks know no sync of a folder.
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw failure(place) }
  }

  /// Copies a folder with all that is in it, to a place where nothing is.
  static func copy(_ folder: URL, to place: URL) throws {
    do {
      try FileManager.default.copyItem(at: folder, to: place)
      for path in try FileManager.default.subpathsOfDirectory(atPath: place.path) {
        try sync(place.appendingPathComponent(path))
      }
      try sync(place)
    } catch let error as MagicDataError {
      throw error
    } catch {
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      throw MagicDataError(isFull ? .full : .notAllowed, "\(folder.path) could not be copied to \(place.path)", cause: error)
    }
  }

  private static func failure(_ place: URL) -> MagicDataError {
    let number = errno
    return MagicDataError(
      number == ENOSPC || number == EDQUOT ? .full : .notAllowed,
      "\(place.path) could not be brought to the disk: \(String(cString: strerror(number)))")
  }
}
