package import Foundation

/// A folder of this process's own, for as long as this lives and the process runs: in the system's temporary folder, or where
/// what is made in it belongs.
///
/// A program that is killed leaves its folders behind. Each is locked by who made it, and the system lets go of a lock with the
/// process that had it: so the next process that makes one takes away those which nobody has locked. Services that clear the
/// temporary folder up by age (systemd-tmpfiles) pass over locked folders, too.
package final class ScratchFolder: Sendable {
  package let url: URL
  private let descriptor: Int32

  /// - Parameter purpose: a word for whoever looks at the temporary folder.
  package convenience init(_ purpose: String) throws {
    _ = ScratchFolder.isTidy
    try self.init(purpose, ScratchFolder.prefix, in: FileManager.default.temporaryDirectory)
  }

  /// A hidden one, in the file system of what is to be renamed from it.
  convenience init(_ purpose: String, in place: URL) throws {
    ScratchFolder.tidy(place)
    try self.init(purpose, ScratchFolder.hiddenPrefix, in: place)
  }

  private init(_ purpose: String, _ prefix: String, in place: URL) throws {
    while true {
      let url = place.appendingPathComponent("\(prefix)\(purpose)-\(UUID().uuidString.lowercased())", isDirectory: true)
      // What is in it is nobody else's.
      guard mkdir(url.path, 0o700) == 0 else { throw DurableFile.failure("could not be made", url) }
      // Who clears up may be faster with any of this, and take it for left behind.
      guard let descriptor = ScratchFolder.open(url) else {
        if errno == ENOENT { continue }
        throw DurableFile.failure("could not be opened", url)
      }
      flock(descriptor, LOCK_EX)
      if ScratchFolder.isThere(url, descriptor) {
        (self.url, self.descriptor) = (url, descriptor)
        ScratchFolder.kept.withLock { _ = $0.insert(url) }
        return
      }
      close(descriptor)
    }
  }

  deinit {
    remove()
    close(descriptor)
  }

  /// Before this goes: nothing is there any more.
  package func remove() {
    try? FileManager.default.removeItem(at: url)
    ScratchFolder.kept.withLock { _ = $0.remove(url) }
  }

  /// Those that are there. What a program holds in globals goes with nobody, but with the program.
  private static let kept: Locked<Set<URL>> = {
    atexit {
      for url in ScratchFolder.kept.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) }
    }
    return Locked(Set<URL>())
  }()

  private static let prefix = "magic-scratch-"
  static let hiddenPrefix = ".magic-scratch-"

  /// Once a process.
  private static let isTidy: Bool = {
    tidy(FileManager.default.temporaryDirectory, prefix)
    return true
  }()

  /// Takes away the hidden ones in a place whose makers were killed.
  static func tidy(_ place: URL) { tidy(place, hiddenPrefix) }

  private static func tidy(_ place: URL, _ prefix: String) {
    // What cannot be looked at, or removed, is left to others.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? [] where name.hasPrefix(prefix) {
      let url = place.appendingPathComponent(name, isDirectory: true)
      guard let descriptor = open(url) else { continue }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(at: url) }
    }
  }

  /// - Returns: `nil` for what is no folder, or another user's.
  private static func open(_ url: URL) -> Int32? {
    let descriptor = Foundation.open(url.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_uid == geteuid() { return descriptor }
    close(descriptor)
    return nil
  }

  private static func isThere(_ url: URL, _ descriptor: Int32) -> Bool {
    var (named, opened) = (stat(), stat())
    return lstat(url.path, &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino
      && named.st_dev == opened.st_dev
  }
}
