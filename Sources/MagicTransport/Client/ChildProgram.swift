internal import Foundation
internal import MagicData

/// A program whose standard input and output carry the wire. Foundation's `Process` will not do (swift-corelibs-foundation 5472).
final class ChildProgram: Sendable {
  /// To write to, and to read from.
  let input: Int32
  let output: Int32
  private let process: pid_t

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

  /// It ends with the end of its input; whoever waits for something else meanwhile does not wait for that.
  func end() {
    let process = process
    DispatchQueue.global().async {
      kill(process, SIGTERM)
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    }
  }
}
