import Foundation
import TestSupport

/// `magic-replay log --follow --json` as a process of its own.
final class FollowingProcess {
  private let process: ChildProcess
  private let pipe = Pipe()
  /// So far.
  private(set) var output = ""

  /// - Parameter errors: where its remarks go.
  init(_ arguments: [String], errors: Any = FileHandle.nullDevice) throws {
    process = try Tool.replay.start(["log", "--follow", "--json"] + arguments, output: pipe, errors: errors)
  }

  /// Waits until it has printed a text; `false` if it ends before.
  func prints(_ text: String) -> Bool {
    while !output.contains(text) {
      let more = pipe.fileHandleForReading.availableData
      guard !more.isEmpty else { return false }
      output += String(decoding: more, as: UTF8.self)
    }
    return true
  }

  /// Its exit code.
  func end() -> Int32 {
    kill(process.processIdentifier, SIGINT)
    return process.terminationStatus
  }
}
