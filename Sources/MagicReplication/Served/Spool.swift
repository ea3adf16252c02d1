internal import Foundation
internal import MagicData

/// A folder for what came from elsewhere and waits to be merged. It goes away with this.
package final class Spool: Sendable {
  package let folder: FolderRemote

  package init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("magic-spool-\(UUID().uuidString.lowercased())")
    // What is in it is nobody else's.
    guard mkdir(url.path, 0o700) == 0 else { throw DurableFile.failure("could not be made", url) }
    folder = FolderRemote(url)
    guard mkdir(folder.segments.path, 0o700) == 0 else {
      let failure = DurableFile.failure("could not be made", folder.segments)
      rmdir(url.path)
      throw failure
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder.folder) }

  /// Takes away what was merged.
  package func empty() throws {
    for folder in [folder.segments, folder.checkpoints] {
      for name in try self.folder.listing(of: folder) { unlink(folder.appendingPathComponent(name).path) }
    }
  }
}
