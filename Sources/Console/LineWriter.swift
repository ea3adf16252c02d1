internal import ArgumentParser
internal import Foundation
internal import MagicData

/// Writes many lines to standard output: a call of the system for many of them, and for each one on a terminal.
package final class LineWriter: Sendable {
  private let pending = Locked<[UInt8]>([])
  private let isEach = isatty(STDOUT_FILENO) != 0

  private static let size = 1 << 16

  package init() {}

  package func line(_ bytes: [UInt8]) throws {
    try pending.withLock {
      $0 += bytes
      $0.append(UInt8(ascii: "\n"))
      if isEach || $0.count >= LineWriter.size { try LineWriter.write(&$0) }
    }
  }

  package func line(_ text: String) throws { try line(Array(text.utf8)) }

  /// Nothing is kept back.
  package func flush() throws { try pending.withLock { try LineWriter.write(&$0) } }

  private static func write(_ pending: inout [UInt8]) throws {
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
