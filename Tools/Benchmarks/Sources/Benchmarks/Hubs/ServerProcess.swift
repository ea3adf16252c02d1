import Foundation
import MagicData
import MagicTransport

/// `magic-sync serve` in a process of its own.
final class ServerProcess {
  /// What is served.
  enum Kind: String, CaseIterable, CustomStringConvertible {
    case folder
    case database

    var description: String { self == .folder ? "hub" : "served database" }
  }

  private let process = Process()
  /// Where it listens.
  let address: String

  var port: Int { Int(address.split(separator: ":").last ?? "") ?? 0 }

  /// - Parameter path: a database, or a folder; one that is not there becomes a hub's folder.
  init(serving path: URL) throws {
    process.executableURL = Tool.executable("magic-sync")
    process.arguments = ["serve", path.path, "--listen", "tcp://127.0.0.1:0", "--log-level", "critical"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let address = line.split(whereSeparator: \.isWhitespace).last, address.hasPrefix("tcp://") else {
      process.terminate()
      throw Failure("magic-sync serve says \(line.debugDescription) instead of where it listens")
    }
    self.address = String(address)
  }

  /// Of one that is new.
  convenience init(serving kind: Kind, in folder: URL) async throws {
    let served = folder.file("served")
    if kind == .database { try await MagicData(path: served).close() }
    try self.init(serving: served)
  }

  deinit { if process.isRunning { process.terminate() } }

  func remote() throws -> SocketRemote { try SocketRemote(address) }

  /// The most memory that it has had, in bytes.
  func peakMemory() throws -> Int {
    guard let peak = Memory.peak(of: process.processIdentifier) else {
      throw Failure("the memory of another process can only be told on Linux")
    }
    return peak
  }

  func stop() throws {
    process.terminate()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure("magic-sync serve ended with \(process.terminationStatus)") }
  }
}

/// Something of a measurement that did not go as it has to.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
