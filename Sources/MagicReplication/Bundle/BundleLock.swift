package import Foundation
internal import MagicData

/// Held by who reads a bundle file to write it anew: what another process adds meanwhile would be lost with the file that is replaced (B-4).
///
/// A hidden file beside the bundle, which goes away with this; the system lets go of the lock of who dies.
package final class BundleLock: Sendable {
  private let file: URL
  private let descriptor: Int32

  /// Waits for who holds it, for as long as a writer waits for a database.
  package init(_ bundle: URL) async throws {
    let place = BundleFile.place(bundle)
    file = place.deletingLastPathComponent().appendingPathComponent(".\(place.lastPathComponent).lock")
    let end = ContinuousClock.now + .seconds(10)
    while true {
      let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw DurableFile.failure("could not be made", file) }
      // Who held it may have taken the file away meanwhile.
      // Where there are no such locks, there is nobody to wait for.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, BundleLock.isThere(file, descriptor) {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
      guard ContinuousClock.now < end else {
        throw MagicDataError(.busy, "another process is writing to \(bundle.path); try again when it is done")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  deinit {
    unlink(file.path)
    close(descriptor)
  }

  private static func isThere(_ file: URL, _ descriptor: Int32) -> Bool {
    var (held, there) = (stat(), stat())
    return fstat(descriptor, &held) == 0 && stat(file.path, &there) == 0 && held.st_ino == there.st_ino
      && held.st_dev == there.st_dev
  }
}
