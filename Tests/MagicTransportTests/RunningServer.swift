import Foundation
import Logging
import MagicData
import MagicReplication
import MagicTransport
import Testing

/// A server in this process, until it is stopped.
final class RunningServer: Sendable {
  let addresses: [String]
  private let task: Task<Void, any Error>

  var address: String { addresses[0] }
  var port: Int { Int(address.split(separator: ":").last ?? "") ?? 0 }

  init(_ server: MagicServer) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: [String].self)
    task = Task {
      defer { continuation.finish() }
      try await server.run { continuation.yield($0) }
    }
    var addresses: [String]?
    for await found in stream {
      addresses = found
      break
    }
    guard let addresses else {
      // It says why.
      try await task.value
      throw CancellationError()
    }
    self.addresses = addresses
  }

  func stop() async throws {
    task.cancel()
    try await task.value
  }

  /// Returns when it has ended by itself.
  func finished() async throws { try await task.value }

  deinit { task.cancel() }

  /// Nothing is printed that a test has in mind to refuse.
  static var quiet: MagicServer.Options {
    var options = MagicServer.Options()
    options.logger.logLevel = .critical
    return options
  }
}
