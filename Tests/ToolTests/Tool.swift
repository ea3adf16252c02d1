import Foundation
import Testing

/// One of the project's programs, run as a process.
struct Tool {
  struct Result {
    let status: Int32
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  static let sync = Tool("magic-sync")
  static let replay = Tool("magic-replay")
  static let python = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["python3"])
  static let openssl = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["openssl"])
  static let clang = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["clang"])
  static let git = Tool(path: URL(fileURLWithPath: "/usr/bin/env"), first: ["git"])

  private let path: URL
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

  func start(
    _ arguments: [String], in folder: URL? = nil, input: Any = FileHandle.nullDevice, output: Any = FileHandle.nullDevice,
    errors: Any = FileHandle.nullDevice,
    environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      path.path, first + arguments, in: folder, input: input, output: output, errors: errors,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
  }

  @discardableResult
  func run(
    _ arguments: String..., in folder: URL? = nil, input: Any = FileHandle.nullDevice, environment: [String: String] = [:]
  ) throws -> Result {
    try run(arguments: arguments, in: folder, input: input, environment: environment)
  }

  @discardableResult
  func run(
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
  static var reader: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Tools/reader")
  }

  /// What the reader in Python says of a bundle, a folder or a server; nothing if it refuses it.
  func digest(of path: String) throws -> String {
    try run("-m", "magicreader", "digest", path, in: Tool.reader).output
  }
}

/// A git repository with commits by two authors.
func makeRepository(at url: URL, commits: Int) throws {
  try #require(Tool.git.run("init", "-q", url.path).status == 0)
  guard commits > 0 else { return }
  var stream = ""
  for number in 1...commits {
    let message = number == 2 ? "Umlauts ä, quotes \" and 👩‍👩‍👧" : "Change number \(number)"
    let author = number.isMultiple(of: 3) ? "Änne <anne@example.org>" : "Bo <bo@example.org>"
    stream += "commit refs/heads/main\nauthor \(author) \(1_700_000_000 + number * 60) +0100\n"
    stream += "committer \(author) \(1_700_000_000 + number * 60) +0100\ndata \(message.utf8.count)\n\(message)\n"
  }
  let file = url.appendingPathComponent("stream")
  try Data(stream.utf8).write(to: file)
  let commits = try FileHandle(forReadingFrom: file)
  try #require(Tool.git.run("-C", url.path, "fast-import", "--quiet", input: commits).status == 0)
  try #require(Tool.git.run("-C", url.path, "symbolic-ref", "HEAD", "refs/heads/main").status == 0)
}
