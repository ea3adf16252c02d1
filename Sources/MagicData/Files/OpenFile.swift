package import Foundation

/// A file that is open for reading, and is the same file whatever becomes of its name.
package final class OpenFile: Sendable {
  package let url: URL
  private let descriptor: Int32
  /// What it was when it was opened.
  package let state: State

  /// Two that are equal are of one content, unless somebody has turned back a clock.
  package struct State: Sendable, Equatable {
    private let device: UInt64
    private let number: UInt64
    package let length: Int
    private let written: Int
    private let changed: Int

    fileprivate init(_ status: stat) {
      #if canImport(Darwin)
        let (written, changed) = (status.st_mtimespec, status.st_ctimespec)
      #else
        let (written, changed) = (status.st_mtim, status.st_ctim)
      #endif
      device = UInt64(truncatingIfNeeded: status.st_dev)
      number = UInt64(status.st_ino)
      length = Int(status.st_size)
      self.written = State.nanoseconds(written)
      self.changed = State.nanoseconds(changed)
    }

    /// Since 1970; what lies centuries from now only wraps around, and is told from others all the same.
    private static func nanoseconds(_ time: timespec) -> Int { time.tv_sec &* 1_000_000_000 &+ time.tv_nsec }

    /// `nil` if there is none.
    package init?(of url: URL) {
      var status = stat()
      guard lstat(url.path, &status) == 0 else { return nil }
      self.init(status)
    }

    /// Whether it was written so long before a moment that what is written after that has another time, however coarse a file
    /// system's times are.
    package func isOlder(than now: Date) -> Bool {
      Double(max(written, changed)) / 1_000_000_000 < now.timeIntervalSince1970 - 3
    }
  }

  /// - Throws: `MagicDataError` with `notFound`, `notAllowed`, or `damaged` for what is no file.
  package init(_ url: URL) throws {
    self.url = url
    // A pipe in its place must not be waited for.
    descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be opened", url) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw MagicDataError(.damaged, "\(url.path) is no file")
    }
    state = State(status)
  }

  deinit { close(descriptor) }

  package var length: Int { state.length }

  /// Fills a buffer.
  ///
  /// - Throws: `MagicDataError` with `damaged` if the file ends before.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    var filled = 0
    while filled < buffer.count {
      let count = pread(descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, off_t(offset + filled))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw DurableFile.failure("could not be read", url) }
      guard count > 0 else { throw MagicDataError(.damaged, "\(url.path) is shorter than it was") }
      filled += count
    }
  }

  package func bytes(at offset: Int, _ count: Int) throws -> [UInt8] {
    guard count > 0 else { return [] }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      try read(UnsafeMutableRawBufferPointer(buffer), at: offset)
      filled = count
    }
  }
}
