import Foundation

/// A command-line tool. What it prints goes nowhere.
struct Tool {
  struct Failure: Error {
    let arguments: [String]
    let status: Int32
  }

  /// It was built beside this program.
  static func executable(_ name: String) -> URL? {
    Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(name)
  }

  let name: String
  let arguments: [String]

  init(_ name: String, _ arguments: [String]) {
    (self.name, self.arguments) = (name, arguments)
  }

  func run() throws {
    try check(Tool.status(try start()))
  }

  /// Its peak memory in bytes, as Linux tells it; 0 elsewhere.
  func peak() throws -> Int {
    let process = try start()
    var (peak, status) = (0, Int32?.none)
    // It only rises, and is gone with the process: the last look counts.
    while status == nil {
      peak = Memory.peak(of: process) ?? peak
      usleep(1_000)
      status = try Tool.status(process, WNOHANG)
    }
    try check(status)
    return peak
  }

  /// As `waitpid` gives it. Foundation's `Process` takes some ten milliseconds to say that one is over.
  ///
  /// - Parameter options: with `WNOHANG`, `nil` for one that is not.
  private static func status(_ process: pid_t, _ options: Int32 = 0) throws -> Int32? {
    var status: Int32 = 0
    while true {
      let ended = waitpid(process, &status, options)
      if ended == process { return status }
      if ended == 0 { return nil }
      guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECHILD) }
    }
  }

  private func start() throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for output in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
    }
    guard let path = Tool.executable(name)?.path else { throw POSIXError(.ENOENT) }
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, path, &actions, nil, &words, environ)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .ENOENT) }
    return process
  }

  private func check(_ status: Int32?) throws {
    guard status == 0 else { throw Failure(arguments: [name] + arguments, status: status ?? -1) }
  }
}
