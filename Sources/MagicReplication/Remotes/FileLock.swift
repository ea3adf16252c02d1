package import Foundation
internal import MagicData

/// Held by who makes a file, or writes it anew, and may not be overtaken by another process meanwhile.
///
/// A hidden file beside it, which goes away with this; the system lets go of the lock of who dies.
package final class FileLock: Sendable {
  private let file: URL
  private let descriptor: Int32

  /// Waits for who holds it, for as long as a writer waits for a database.
  ///
  /// - Parameter busy: what is said of who holds it for longer.
  package init(beside place: URL, _ busy: String) async throws {
    let file = place.deletingLastPathComponent().appendingPathComponent(".\(place.lastPathComponent).lock")
    self.file = file
    descriptor = try await SystemLock.wait(busy) { () throws -> Int32? in
      // One that another user has left can be locked without a right to write it. No link leads to another file, or makes one.
      let descriptor = open(file.path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw DurableFile.failure("could not be made", file) }
      // Who held it may have taken the file away meanwhile.
      if SystemLock.take(LOCK_EX, descriptor), FileLock.isThere(file, descriptor) { return descriptor }
      close(descriptor)
      return nil
    }
  }

  deinit {
    unlink(file.path)
    close(descriptor)
  }

  private static func isThere(_ file: URL, _ descriptor: Int32) -> Bool {
    var (held, there) = (stat(), stat())
    return fstat(descriptor, &held) == 0 && lstat(file.path, &there) == 0 && held.st_ino == there.st_ino
      && held.st_dev == there.st_dev
  }
}
