internal import Foundation
internal import MagicData
internal import MagicReplication

/// A program whose standard input and output carry the wire. Foundation's `Process` will not do (swift-corelibs-foundation 5472).
final class ChildProgram: Sendable {
  /// To write to, and to read from.
  let input: Int32
  let output: Int32
  private let process: pid_t
  /// As `waitpid` gives it, once it is over.
  private let status = Locked(Int32?.none)

  /// - Parameter words: the program, looked for as a shell does, and its arguments.
  init(_ words: [String]) throws {
    var (toChild, fromChild) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
    guard pipe(&toChild) == 0 else { throw ChildProgram.failure(words, errno) }
    guard pipe(&fromChild) == 0 else {
      for end in toChild { close(end) }
      throw ChildProgram.failure(words, errno)
    }
    // Its own ends alone are the child's.
    for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for word in arguments { free(word) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, words[0], &actions, nil, &arguments, environ)
    close(toChild[0])
    close(fromChild[1])
    guard code == 0 else {
      close(toChild[1])
      close(fromChild[0])
      throw ChildProgram.failure(words, code)
    }
    (input, output, self.process) = (toChild[1], fromChild[0], process)
  }

  private static func failure(_ words: [String], _ code: Int32) -> MagicDataError {
    MagicDataError(.unreachable, "\(words[0]) could not be run: \(String(cString: strerror(code)))")
  }

  /// Whether it is over.
  private func look(_ options: Int32) -> Bool {
    status.withLock { known in
      guard known == nil else { return true }
      var status: Int32 = 0
      var found = waitpid(process, &status, options)
      while found < 0, errno == EINTR { found = waitpid(process, &status, options) }
      guard found != 0 else { return false }
      known = found == process ? status : 0
      return true
    }
  }

  /// What it has exited with, if it ends by itself within a second: why there is no session.
  func exitCode() async -> Int32? {
    for _ in 0..<20 where !look(WNOHANG) { try? await Task.sleep(for: .milliseconds(50)) }
    return status.withLock { $0 }.flatMap { $0 & 0x7f == 0 ? $0 >> 8 & 0xff : nil }
  }

  /// It ends with the end of its input; whoever waits for something else meanwhile does not wait for that.
  func end() {
    guard !look(WNOHANG) else { return }
    // Before this program ends itself.
    kill(process, SIGTERM)
    DispatchQueue.global().async { _ = self.look(0) }
  }
}

extension ChildProgram {
  /// What the end of ssh means: it ends with 255 if it fails itself, and else as what it runs does. What either had to say it has said.
  func refusal(_ text: String, _ error: MagicDataError) async -> MagicDataError {
    switch await exitCode() {
    case nil, 0: error
    case 127:
      MagicDataError(
        .notFound, "\(text): there is no magic-sync on the other machine's path; MAGIC_SYNC_REMOTE_PROGRAM names it",
        cause: error)
    case 255: MagicDataError(.unreachable, "\(text) cannot be reached, as ssh says", cause: error)
    case let code?: MagicDataError(.failed, "\(text): magic-sync at the other end ended with \(code), as it says", cause: error)
    }
  }
}
