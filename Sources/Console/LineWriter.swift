internal import ArgumentParser
package import Foundation
internal import MagicData

/// Writes lines to standard output: buffered, or one by one on a terminal.
package final class LineWriter: Sendable {
  private let pending = Locked<[UInt8]>([])

  /// So many bytes are written at once: each line on a terminal.
  package static let atOnce = isatty(STDOUT_FILENO) != 0 ? 1 : 1 << 16

  package init() {}

  package func line(_ bytes: [UInt8]) throws {
    try pending.withLock {
      $0 += bytes
      $0.append(UInt8(ascii: "\n"))
      if $0.count >= LineWriter.atOnce { try LineWriter.write(&$0) }
    }
  }

  package func line(_ text: String) throws { try line(Array(text.utf8)) }

  /// Writes what is buffered.
  package func flush() throws { try pending.withLock { try LineWriter.write(&$0) } }

  private static func write(_ pending: inout [UInt8]) throws {
    defer { pending.removeAll(keepingCapacity: true) }
    try LineWriter.write(pending, to: STDOUT_FILENO)
  }

  private static let written = Locked(false)

  /// Whether there is anything on standard output.
  static var hasWritten: Bool { written.withLock { $0 } }

  /// Writes all of `bytes`; where there is no room for them, that has its exit code. Where there will be, as in a pipe that
  /// somebody else has made non-blocking, it waits until there is, or the task is cancelled.
  package static func write(_ bytes: some ContiguousBytes, to descriptor: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = Foundation.write(descriptor, bytes.baseAddress! + written, bytes.count - written)
        let number = errno
        if count > 0 {
          written += count
          if descriptor == STDOUT_FILENO { LineWriter.written.withLock { $0 = true } }
        } else if number == EPIPE || number == EIO && LineWriter.isTerminal(descriptor) {
          // What goes beside the results ends nothing.
          guard descriptor != STDERR_FILENO else { return }
          // Who read has seen enough, or has closed the terminal, which is no failure to speak of.
          throw ExitCode(128 + (number == EPIPE ? SIGPIPE : SIGHUP))
        } else if number == EAGAIN {
          try LineWriter.waitForRoom(descriptor)
        } else if number != EINTR {
          let name = descriptor == STDOUT_FILENO ? "standard output" : "the output"
          let (isFull, reason) = (number == ENOSPC || number == EDQUOT, String(cString: strerror(number)))
          throw MagicDataError(isFull ? .full : .failed, "\(name) could not be written: \(reason)")
        }
      }
    }
  }

  /// Also one that was closed, of which nothing can be asked.
  private static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) != 0 || errno == EIO }

  /// Waits a moment: who is interrupted does not wait for a reader who takes nothing.
  private static func waitForRoom(_ descriptor: Int32) throws {
    try Task.checkCancellation()
    var file = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // Whatever it says, the next write says more.
    poll(&file, 1, 100)
  }
}
