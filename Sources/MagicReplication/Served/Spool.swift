internal import Foundation
internal import MagicData

/// A folder for what came from elsewhere and waits to be merged. It goes away with this.
package final class Spool: Sendable {
  package let folder: FolderRemote
  private let scratch: ScratchFolder

  package init() throws {
    scratch = try ScratchFolder("spool")
    folder = FolderRemote(scratch.url)
    guard mkdir(folder.segments.path, 0o700) == 0 else { throw DurableFile.failure("could not be made", folder.segments) }
  }

  /// Takes away what was merged.
  package func empty() throws {
    for folder in [folder.segments, folder.checkpoints] {
      for name in try self.folder.listing(of: folder) { unlink(folder.appendingPathComponent(name).path) }
    }
  }
}
