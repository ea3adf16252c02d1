package import Foundation

/// Writes a file of any length under a temporary name, which goes away with this unless it is finished.
package final class ChunkWriter {
  private let temporary: URL
  private let descriptor: Int32
  private var isFinished = false
  package private(set) var count = 0

  /// - Parameters:
  ///   - target: in whose folder it is.
  ///   - permissions: those that it gets, where the file system knows any, whatever the process's mask lets; without them those
  ///     of any new file.
  package convenience init(beside target: URL, permissions: mode_t? = nil) throws {
    try self.init(named: DurableFile.temporary(beside: target), permissions: permissions)
  }

  /// Writes to a file of a name that the caller knows to be nobody's.
  package init(named temporary: URL, permissions: mode_t? = nil) throws {
    self.temporary = temporary
    descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions ?? 0o666)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be made", temporary) }
    if let permissions { _ = fchmod(descriptor, permissions) }
  }

  deinit {
    // Of an initializer that failed there is none.
    guard descriptor >= 0 else { return }
    close(descriptor)
    if !isFinished { unlink(temporary.path) }
  }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    count += try DurableFile.append(piece, to: descriptor, temporary)
  }

  /// Brings it to the disk, unless it is soon to be gone again. From here on it is the caller's.
  package func finish(isDurable: Bool = true) throws -> URL {
    guard !isDurable || DurableFile.flush(descriptor) else { throw DurableFile.failure("could not be synced", temporary) }
    isFinished = true
    return temporary
  }
}
