internal import Foundation
internal import MagicJournal

/// Copies folders so that they are on the disk.
enum DurableFolder {
  /// Copies the assets in a folder to a place where nothing is. What else is there is somebody's who writes to it, and may go
  /// meanwhile, or nobody's of the database.
  static func copyAssets(_ folder: URL, to place: URL, _ checkCancelled: () throws -> Void) throws {
    try copying(folder, to: place) { try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false) }
    var names: [String] = []
    try copying(folder, to: place) { names = try FileManager.default.contentsOfDirectory(atPath: folder.path) }
    for name in names where AssetName.isValid(name) {
      try checkCancelled()
      let (file, copy) = (folder.appendingPathComponent(name), place.appendingPathComponent(name))
      guard ChunkReader.length(of: file) != nil else { continue }
      try copying(file, to: copy) { try FileManager.default.copyItem(at: file, to: copy) }
      try DurableFile.sync(copy)
    }
    try DurableFile.sync(place)
  }

  private static func copying(_ url: URL, to place: URL, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      throw MagicDataError(isFull ? .full : .notAllowed, "\(url.path) could not be copied to \(place.path)", cause: error)
    }
  }
}
