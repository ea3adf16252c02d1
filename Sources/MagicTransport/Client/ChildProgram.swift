internal import CPlatform
internal import Foundation
internal import MagicData
internal import MagicReplication

/// A program whose standard input and output carry the wire. Foundation's `Process` will not do (swift-corelibs-foundation
/// 5472).
final class ChildProgram: Sendable {
  /// To write to, and to read from.
  let input: Int32
  let output: Int32
  private let process: pid_t
  /// As `waitpid` gives it, once it is over.
  private let status = Locked(Int32?.none)

  /// One is made at a time: another one that began before these ends are marked would inherit them, and keep them open.
  private static let making = NSLock()

  /// - Parameter words: the program, looked for as a shell does, and its arguments.
  init(_ words: [String]) throws {
    (input, output, process) = try ChildProgram.making.withLock { try ChildProgram.made(words) }
  }

  private static func made(_ words: [String]) throws -> (input: Int32, output: Int32, process: pid_t) {
    var (toChild, fromChild) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
    guard pipe(&toChild) == 0 else { throw ChildProgram.failure(words, errno) }
    guard pipe(&fromChild) == 0 else {
      for end in toChild { close(end) }
      throw ChildProgram.failure(words, errno)
    }
    // Its own ends alone are the child's.
    for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #if canImport(Darwin)
      var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
    #else
      var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    // What else is open here, as sockets of others, would stay open for as long as the child runs.
    #if canImport(Darwin)
      let closing = POSIX_SPAWN_CLOEXEC_DEFAULT
      if fcntl(STDERR_FILENO, F_GETFD) >= 0 { posix_spawn_file_actions_addinherit_np(&actions, STDERR_FILENO) }
    #else
      let closing: Int32 = 0
      if c_close_from(&actions, STDERR_FILENO + 1) != 0 {
        // What is open by now, where the system does not look at that moment.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
          // One that has gone meanwhile is no error.
          guard let end = Int32(name), end > STDERR_FILENO else { continue }
          posix_spawn_file_actions_addclose(&actions, end)
        }
      }
    #endif
    // What this program lets pass, or the thread that this runs on, ends the child.
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (defaults, blocked) = (sigset_t(), sigset_t())
    sigemptyset(&defaults)
    sigemptyset(&blocked)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE] { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | closing))
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for word in arguments { free(word) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ)
    close(toChild[0])
    close(fromChild[1])
    guard code == 0 else {
      close(toChild[1])
      close(fromChild[0])
      throw ChildProgram.failure(words, code)
    }
    return (toChild[1], fromChild[0], process)
  }

  private static func failure(_ words: [String], _ code: Int32) -> MagicDataError {
    // What is not there is not there the next time either.
    MagicDataError(
      code == ENOENT ? .notFound : .unreachable, "\(words[0]) could not be run: \(String(cString: strerror(code)))")
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
    tell(SIGTERM)
    DispatchQueue.global().async {
      for _ in 0..<20 where !self.look(WNOHANG) { Thread.sleep(forTimeInterval: 0.05) }
      self.tell(SIGKILL)
      _ = self.look(0)
    }
  }

  /// Once it was waited for, its number may be another's.
  private func tell(_ signal: Int32) {
    status.withLock { if $0 == nil { kill(process, signal) } }
  }
}

extension ChildProgram {
  /// What the end of ssh means: it ends with 255 if it fails itself, and else as what it runs does. What either had to say it
  /// has said.
  func refusal(_ text: String, _ error: MagicDataError) async -> MagicDataError {
    switch await exitCode() {
    case nil, 0: error
    case 127:
      MagicDataError(
        .notFound, "\(text): there is no magic-sync on the other machine's path; MAGIC_SYNC_REMOTE_PROGRAM names it",
        cause: error)
    case 255: MagicDataError(.unreachable, "\(text) cannot be reached, as ssh says", cause: error)
    case let code?:
      MagicDataError(
        ChildProgram.meanings[code] ?? .failed, "\(text): magic-sync at the other end ended with \(code), as it says",
        cause: error)
    }
  }

  /// Exit codes of magic-sync, of those that say what is the matter.
  private static let meanings: [Int32: MagicDataError.Code] = [
    5: .busy, 6: .notAllowed, 7: .incompatible, 8: .fork, 9: .full,
  ]
}
