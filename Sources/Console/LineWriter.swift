internal import ArgumentParser
internal import Foundation
internal import MagicData

/// Writes many lines to standard output: a call of the system for many of them, and for each one on a terminal.
// @unchecked: `pending` is touched only while `lock` is held.
package final class LineWriter: @unchecked Sendable {
  private let lock = NSLock()
  private var pending: [UInt8] = []
  private let isEach = isatty(STDOUT_FILENO) != 0

  private static let size = 1 << 16

  package init() {}

  package func line(_ bytes: [UInt8]) throws {
    try lock.withLock {
      pending += bytes
      pending.append(UInt8(ascii: "\n"))
      if isEach || pending.count >= LineWriter.size { try write() }
    }
  }

  package func line(_ text: String) throws { try line(Array(text.utf8)) }

  /// Nothing is kept back.
  package func flush() throws { try lock.withLock { try write() } }

  private func write() throws {
    defer { pending.removeAll(keepingCapacity: true) }
    var written = 0
    while written < pending.count {
      let count = pending.withUnsafeBytes { bytes in
        Foundation.write(STDOUT_FILENO, bytes.baseAddress! + written, bytes.count - written)
      }
      if count > 0 {
        written += count
      } else if errno == EPIPE {
        // Who read has seen enough, which is no failure to speak of.
        throw ExitCode(128 + SIGPIPE)
      } else if errno != EINTR && errno != EAGAIN {
        throw MagicDataError(
          errno == ENOSPC ? .full : .failed, "standard output could not be written: \(String(cString: strerror(errno)))")
      }
    }
  }
}
