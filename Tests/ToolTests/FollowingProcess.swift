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

  /// Waits until it has printed a text; `false` if it ends before, or prints nothing for so many milliseconds.
  func prints(_ text: String, within milliseconds: Int32 = -1) -> Bool {
    while !output.contains(text) {
      var ready = pollfd(fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, milliseconds) > 0 else { return false }
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
