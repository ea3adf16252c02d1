import Foundation
import MagicData

/// The commits of a repository, newest first.
struct GitLog {
  struct Line {
    let hash: String
    let name: String
    let email: String
    let date: Date
    let subject: String
  }

  let root: String
  let lines: [Line]

  init(of path: String, atMost count: Int) throws {
    let isBare = try GitLog.git(path, ["rev-parse", "--is-bare-repository"]).hasPrefix("true")
    root = try GitLog.git(path, ["rev-parse", isBare ? "--absolute-git-dir" : "--show-toplevel"])
      .trimmingCharacters(in: .newlines)
    let log = try GitLog.git(
      path,
      [
        "-c", "i18n.logOutputEncoding=UTF-8", "log", "-z", "--no-color", "--max-count=\(count)",
        "--format=%H%n%an%n%ae%n%at%n%s",
      ])
    lines = try log.split(separator: "\0").map { record in
      let parts = record.split(separator: "\n", maxSplits: 4, omittingEmptySubsequences: false)
      guard parts.count == 5, let seconds = TimeInterval(parts[3]) else {
        throw MagicDataError(.failed, "git printed a commit that cannot be read")
      }
      return Line(
        hash: String(parts[0]), name: String(parts[1]), email: String(parts[2]), date: Date(timeIntervalSince1970: seconds),
        subject: String(parts[4]))
    }
  }

  private static func git(_ path: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["git", "-C", path] + arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    // The errors are a line or two; the output may be megabytes, and a full pipe would stop git.
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw MagicDataError(
        .notFound,
        """
        the demo takes the commit log of a git repository, and git cannot read one at \(path): \
        \(message.trimmingCharacters(in: .whitespacesAndNewlines)). Name a repository with commits: magic-sync demo PATH
        """)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
