import Foundation
import TestSupport
import Testing

/// `magic-sync serve` as a process of its own.
final class ServingProcess {
  let process: ChildProcess
  /// In the order of `--listen`.
  let addresses: [String]
  /// Of `--metrics`.
  let figures: String?
  /// Of its certificate, if it says one.
  let fingerprint: String?
  private let output = Pipe()

  var address: String { addresses[0] }

  /// - Parameter errors: where its log goes.
  init(_ arguments: [String], listeners: Int = 1, errors: Any = FileHandle.nullDevice, environment: [String: String] = [:])
    throws
  {
    process = try Tool.sync.start(["serve"] + arguments, output: output, errors: errors, environment: environment)
    var (addresses, bytes, figures, fingerprint) = ([String](), Data(), String?.none, String?.none)
    while addresses.count < listeners, case let more = output.fileHandleForReading.availableData, !more.isEmpty {
      bytes += more
      let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      addresses = lines.compactMap { $0.hasPrefix("listening at ") ? String($0.dropFirst(13)) : nil }
      figures = lines.first { $0.hasPrefix("figures at ") }.map { String($0.dropFirst(11)) }
      fingerprint = lines.first { $0.hasPrefix("fingerprint ") }.map { String($0.dropFirst(12)) }
    }
    (self.addresses, self.figures, self.fingerprint) = (addresses, figures, fingerprint)
    try #require(addresses.count == listeners, "it does not listen")
  }

  /// Its exit code.
  func end(_ signal: Int32 = SIGTERM) -> Int32 {
    kill(process.processIdentifier, signal)
    return process.terminationStatus
  }
}
