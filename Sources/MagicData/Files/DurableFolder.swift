internal import Foundation

/// Copies folders so that they are on the disk.
enum DurableFolder {
  /// Copies a folder with all that is in it, but for what is hidden, which is of those who write to it and may go meanwhile, to a place where nothing is.
  static func copy(_ folder: URL, to place: URL, _ checkCancelled: () throws -> Void) throws {
    do {
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasPrefix(".") {
        try checkCancelled()
        try FileManager.default.copyItem(at: folder.appendingPathComponent(name), to: place.appendingPathComponent(name))
      }
      for path in try FileManager.default.subpathsOfDirectory(atPath: place.path) {
        try checkCancelled()
        try DurableFile.sync(place.appendingPathComponent(path))
      }
      try DurableFile.sync(place)
    } catch  where error is MagicDataError || error is CancellationError {
      throw error
    } catch {
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      throw MagicDataError(isFull ? .full : .notAllowed, "\(folder.path) could not be copied to \(place.path)", cause: error)
    }
  }
}
