import Foundation
import MagicData

/// A command that the shell runs. Foundation's `Process` will not do: on Linux its `run()` now and then reads past the end of a list of open files
/// (swift-corelibs-foundation 5472).
struct ShellCommand {
  let text: String

  /// Runs it with `argument` as `$1`, and waits. Its output goes to standard error, since standard output is for the result.
  ///
  /// - Returns: its exit code, or 128 and the signal that ended it.
  func run(_ argument: String) throws -> Int32 {
    #if canImport(Darwin)
      var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
    #else
      var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
    // What this program hears of and lets pass, as Ctrl-C, ends the command.
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let words = ShellCommand.list(["sh", "-c", text, "sh", argument])
    let environment = ProcessInfo.processInfo.environment.merging(["MAGIC_REPLAY_DATABASE": argument]) { $1 }
    let variables = ShellCommand.list(environment.map { "\($0)=\($1)" })
    defer { for text in words + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, variables)
    guard code == 0 else { throw MagicDataError(.failed, "/bin/sh could not be started: \(String(cString: strerror(code)))") }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw MagicDataError(.failed, "the command was lost: \(String(cString: strerror(errno)))") }
    }
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
  }

  /// As C takes it; whoever calls frees the texts.
  private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    var list: [UnsafeMutablePointer<CChar>?] = []
    for text in texts { list.append(strdup(text)) }
    list.append(nil)
    return list
  }
}
