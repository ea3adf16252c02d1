internal import CSpawn
package import Foundation

/// A running program. Foundation's `Process` will not do: on Linux, its `run()` reads past the end of a list of open files,
/// which now and then is the end of the memory (swift-corelibs-foundation 5472).
package final class ChildProcess {
  package struct Failure: Error {
    let path: String
    let code: Int32
  }

  package let processIdentifier: Int32
  /// As `waitpid` gives it; `nil` while it runs.
  private var status: Int32?

  /// - Parameters:
  ///   - input: what standard input, output and errors are: each a `FileHandle`, or a `Pipe`, of which the child's end is
  ///     closed here.
  ///   - environment: instead of this process's.
  package init(
    _ path: String, _ arguments: [String], in folder: URL?, input: Any, output: Any, errors: Any, environment: [String: String]
  ) throws {
    let ends = [ChildProcess.end(input, isInput: true), ChildProcess.end(output), ChildProcess.end(errors)]
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in words + variables { free(text) } }
    var process: pid_t = 0
    let code = c_spawn(&process, path, words, variables, folder?.path, ends.map(\.fileDescriptor))
    guard code == 0 else { throw Failure(path: path, code: code) }
    processIdentifier = process
    for (channel, end) in zip([input, output, errors], ends) where channel is Pipe { try end.close() }
  }

  deinit {
    if isRunning { kill(processIdentifier, SIGKILL) }
    waitUntilExit()
  }

  private static func end(_ channel: Any, isInput: Bool = false) -> FileHandle {
    if let pipe = channel as? Pipe { return isInput ? pipe.fileHandleForReading : pipe.fileHandleForWriting }
    guard let handle = channel as? FileHandle else { preconditionFailure("a channel is a FileHandle or a Pipe") }
    // On Linux, Foundation's null device has no file descriptor.
    return handle === FileHandle.nullDevice ? FileHandle(forUpdatingAtPath: "/dev/null") ?? handle : handle
  }

  package var isRunning: Bool { !isOver(WNOHANG) }

  package func waitUntilExit() { _ = isOver(0) }

  private func isOver(_ options: Int32) -> Bool {
    while status == nil {
      var status: Int32 = 0
      switch waitpid(processIdentifier, &status, options) {
      case 0: return false
      case -1 where errno == EINTR: continue
      case -1: self.status = -1
      default: self.status = status
      }
    }
    return true
  }

  /// What it exited with, or 128 and the signal that ended it, as a shell says it.
  package var terminationStatus: Int32 {
    waitUntilExit()
    guard let status else { return -1 }
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
  }
}
