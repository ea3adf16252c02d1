package import Foundation

/// Reads what comes through a pipe, or of a file, as it comes.
package enum StreamReader {
  /// Reads at most so many of the next bytes at a time, or none at the end, and not beyond a cancellation of the task.
  ///
  /// - Parameter name: what errors call it.
  package static func reading(_ descriptor: Int32, _ name: String) -> (Int) throws -> Data {
    { count in
      // Who reads cannot be cancelled, so it waits until there is something to read.
      var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while poll(&input, 1, 100) <= 0 { try Task.checkCancellation() }
      var bytes = Data(count: count)
      let read = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, count) }
      guard read >= 0 else {
        throw MagicDataError(.failed, "\(name) could not be read: \(String(cString: strerror(errno)))")
      }
      return bytes.prefix(read)
    }
  }
}
