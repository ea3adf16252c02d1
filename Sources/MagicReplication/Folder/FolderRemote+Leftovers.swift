internal import Foundation
internal import MagicData

/// What writers that were killed have left (F-21).
extension FolderRemote {
  struct Leftover {
    let url: URL
    let bytes: Int
  }

  /// Nobody writes to one file for longer, in seconds.
  static let age: TimeInterval = 86_400

  /// Temporary files, and contents that broke off on their way, that nobody has written to for a day, by the folder's own
  /// clock.
  func leftovers(isDryRun: Bool = false) throws -> [Leftover] {
    var folders = [folder, segments, assets, doubts, acks, checkpoints].filter { isOwnFolder($0) }
    if folders.contains(assets) {
      folders += try listing(of: assets).sorted().map { assets.appendingPathComponent($0, isDirectory: true) }.filter {
        $0.lastPathComponent.count == 2 && isOwnFolder($0)
      }
    }
    let files = try folders.flatMap { folder in
      try listing(of: folder).sorted().filter { DurableFile.isTemporary($0) || ArrivingContent.isPart($0) }
        .map { folder.appendingPathComponent($0) }
    }
    guard !files.isEmpty else { return [] }
    let now = try DurableFile.clock(of: folder, isGuess: isDryRun)
    return files.compactMap { file in
      guard let (written, bytes) = DurableFile.lastWritten(file), now - written > FolderRemote.age else { return nil }
      return Leftover(url: file, bytes: bytes)
    }
  }
}
