import Foundation

/// A command-line tool. What it prints goes nowhere, or into a file.
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

  func run(into file: URL? = nil) throws {
    let process = try start(into: file)
    process.waitUntilExit()
    try check(process)
  }

  /// Its peak memory in bytes, as Linux tells it; 0 elsewhere.
  func peak() throws -> Int {
    let process = try start()
    var peak = 0
    // It only rises, and is gone with the process: the last look counts.
    while process.isRunning {
      peak = Memory.peak(of: process.processIdentifier) ?? peak
      usleep(1_000)
    }
    try check(process)
    return peak
  }

  private func start(into file: URL? = nil) throws -> Process {
    let process = Process()
    process.executableURL = Tool.executable(name)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    if let file {
      FileManager.default.createFile(atPath: file.path, contents: nil)
      process.standardOutput = try FileHandle(forWritingTo: file)
    }
    try process.run()
    return process
  }

  private func check(_ process: Process) throws {
    guard process.terminationStatus == 0 else {
      throw Failure(arguments: [name] + arguments, status: process.terminationStatus)
    }
  }
}
