package import Foundation

/// One of the project's programs, run as a process.
package struct Tool {
  package struct Result {
    package let status: Int32
    package let output: String
    package let errors: String

    package var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  package static let sync = Tool("magic-sync")
  package static let replay = Tool("magic-replay")
  package static let python = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["python3"])
  package static let openssl = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["openssl"])
  package static let clang = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["clang"])
  package static let git = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["git"])

  package let path: URL
  private let first: [String]

  private init(path: URL, first: [String]) {
    self.path = path
    self.first = first
  }

  /// Programs stand beside the test bundle.
  private init(_ name: String) {
    #if canImport(Darwin)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
    #else
      let bundle = URL(fileURLWithPath: CommandLine.arguments[0])
    #endif
    self.init(path: bundle.deletingLastPathComponent().appendingPathComponent(name), first: [])
  }

  package func start(
    _ arguments: [String], in folder: URL? = nil, input: Any = FileHandle.nullDevice, output: Any = FileHandle.nullDevice,
    errors: Any = FileHandle.nullDevice,
    environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      path.path, first + arguments, in: folder, input: input, output: output, errors: errors,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
  }

  @discardableResult
  package func run(
    _ arguments: String..., in folder: URL? = nil, input: Any = FileHandle.nullDevice, environment: [String: String] = [:]
  ) throws -> Result {
    try run(arguments: arguments, in: folder, input: input, environment: environment)
  }

  @discardableResult
  package func run(
    arguments: [String], in folder: URL? = nil, input: Any = FileHandle.nullDevice, environment: [String: String] = [:]
  ) throws -> Result {
    let (output, errors) = (Pipe(), Pipe())
    let process = try start(arguments, in: folder, input: input, output: output, errors: errors, environment: environment)
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    let messages = errors.fileHandleForReading.readDataToEndOfFile()
    return Result(
      status: process.terminationStatus, output: String(decoding: bytes, as: UTF8.self),
      errors: String(decoding: messages, as: UTF8.self))
  }
}

extension Tool {
  /// The folder of the reader in Python.
  package static var reader: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Tools/reader")
  }

  /// What the reader in Python says of a bundle, a folder or a server; nothing if it refuses it.
  package func digest(of path: String) throws -> String {
    try run("-m", "magicreader", "digest", path, in: Tool.reader).output
  }
}
