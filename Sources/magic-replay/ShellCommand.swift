import Console
import Foundation
import MagicData

/// A command that the shell runs. Foundation's `Process` will not do: on Linux its `run()` now and then reads past the end of a
/// list of open files (swift-corelibs-foundation 5472).
struct ShellCommand {
  let text: String

  enum Ending: Sendable {
    /// With an exit code. Of what a signal ended in it, a shell says 128 and the signal.
    case exit(Int32)
    case signal(Int32)
  }

  /// Runs it with `argument` as `$1`, and waits. Its output goes to standard error, since standard output is for the result.
  /// Cancelling ends it, with all that it has started; where it may ask on a terminal, which tells what it has started of
  /// Ctrl-C itself, the command alone.
  func run(_ argument: String) async throws -> Ending {
    // Of the groups of a terminal one alone may read.
    let hasGroup = isatty(STDIN_FILENO) == 0
    let process = try start(argument, hasGroup: hasGroup)
    return try await withTaskCancellationHandler {
      try ShellCommand.ending(of: process)
    } onCancel: {
      kill(hasGroup ? -process : process, SIGTERM)
    }
  }

  /// - Parameter hasGroup: whether it is the first process of a group of its own, to be ended as one.
  private func start(_ argument: String, hasGroup: Bool) throws -> pid_t {
    #if canImport(Darwin)
      var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
    #else
      var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
    // What this program hears of and lets pass, as Ctrl-C, ends the command, and nothing is blocked, as it is on threads of the
    // system's pool.
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (signals, blocked) = (sigset_t(), sigset_t())
    sigemptyset(&signals)
    sigemptyset(&blocked)
    for signal in Interrupted.signals + [SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    if hasGroup {
      posix_spawnattr_setpgroup(&attributes, 0)
      flags |= POSIX_SPAWN_SETPGROUP
    }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let words = ShellCommand.list(["sh", "-c", text, "sh", argument])
    let environment = ProcessInfo.processInfo.environment.merging(["MAGIC_REPLAY_DATABASE": argument]) { $1 }
    let variables = ShellCommand.list(environment.map { "\($0)=\($1)" })
    defer { for text in words + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, variables)
    guard code == 0 else { throw MagicDataError(.failed, "/bin/sh could not be started: \(String(cString: strerror(code)))") }
    return process
  }

  private static func ending(of process: pid_t) throws -> Ending {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw MagicDataError(.failed, "the command was lost: \(String(cString: strerror(errno)))") }
    }
    let signal = status & 0x7f
    return signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
  }

  /// As C takes it; whoever calls frees the texts.
  private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    var list: [UnsafeMutablePointer<CChar>?] = []
    for text in texts { list.append(strdup(text)) }
    list.append(nil)
    return list
  }
}
