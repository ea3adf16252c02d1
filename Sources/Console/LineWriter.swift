internal import ArgumentParser
package import Foundation
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
    try LineWriter.write(pending, to: STDOUT_FILENO)
  }

  /// Writes all of `bytes`; where there is no room for them, that has its exit code.
  package static func write(_ bytes: some ContiguousBytes, to descriptor: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = Foundation.write(descriptor, bytes.baseAddress! + written, bytes.count - written)
        if count > 0 {
          written += count
        } else if errno == EPIPE {
          // Who read has seen enough, which is no failure to speak of.
          throw ExitCode(128 + SIGPIPE)
        } else if errno != EINTR && errno != EAGAIN {
          let name = descriptor == STDOUT_FILENO ? "standard output" : "the output"
          throw MagicDataError(
            errno == ENOSPC ? .full : .failed, "\(name) could not be written: \(String(cString: strerror(errno)))")
        }
      }
    }
  }
}
