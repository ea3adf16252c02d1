package import Foundation

/// Writes a file of any length under a temporary name, which goes away with this unless it is finished.
package final class PieceWriter {
  private let temporary: URL
  private let descriptor: Int32
  private var isFinished = false
  package private(set) var count = 0

  /// - Parameter target: in whose folder it is.
  package init(beside target: URL) throws {
    temporary = DurableFile.temporary(beside: target)
    descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be made", temporary) }
  }

  deinit {
    // Of an initializer that failed there is none.
    guard descriptor >= 0 else { return }
    close(descriptor)
    if !isFinished { unlink(temporary.path) }
  }

  package func append(_ piece: UnsafeRawBufferPointer) throws {
    var rest = piece[...]
    while !rest.isEmpty {
      let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { throw DurableFile.failure("could not be written", temporary) }
      rest = rest.dropFirst(written)
      count += written
    }
  }

  /// Brings it to the disk, unless it is soon to be gone again. From here on it is the caller's.
  package func finish(isDurable: Bool = true) throws -> URL {
    guard !isDurable || DurableFile.flush(descriptor) else { throw DurableFile.failure("could not be synced", temporary) }
    isFinished = true
    return temporary
  }
}
