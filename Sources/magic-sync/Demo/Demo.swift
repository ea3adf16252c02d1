import ArgumentParser
import Console
import Foundation
import MagicData
import MagicTransport

struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows two replicas of real data that are edited apart and end equal.",
    discussion: """
      The data is the commit log of a git repository. Replica "laptop" imports it and pushes it to a folder, replica "phone" clones \
      the folder, both edit offline, both sync. Everything stays in a folder for you to look at.

      Example: magic-sync demo ~/src/project
      """)

  @Argument(help: "A git repository.")
  var repository = "."

  @Option(help: "Take at most so many commits, the newest first. (MAGIC_SYNC_COMMITS)")
  var commits = EnvironmentVariable.int("COMMITS") ?? 20_000

  @Option(help: ArgumentHelp("Leave the databases in this new folder. (MAGIC_SYNC_INTO)", valueName: "folder"))
  var into: String?

  func validate() throws {
    guard commits > 0 else { throw ValidationError("--commits takes a number above 0.") }
  }

  func run() async throws {
    let log = try GitLog(of: repository, atMost: commits)
    guard !log.lines.isEmpty else {
      throw MagicDataError(.notFound, "\(log.root) has no commits yet; name another repository: magic-sync demo PATH")
    }
    try await Story(log, in: try makeFolder()).tell()
  }

  private func makeFolder() throws -> URL {
    let folder =
      (into ?? EnvironmentVariable.text("INTO")).map { URL(fileURLWithPath: RemoteAddress.absolute($0), isDirectory: true) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("magic-demo-\(UUID().uuidString.prefix(8).lowercased())")
    guard !FileManager.default.fileExists(atPath: folder.path) else {
      throw MagicDataError(.exists, "\(folder.path) is there already; the demo wants a folder of its own")
    }
    let parent = folder.deletingLastPathComponent()
    guard FileManager.default.fileExists(atPath: parent.path) else {
      throw MagicDataError(.notFound, "there is no folder \(parent.path); make it first")
    }
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    } catch {
      throw MagicDataError(.notAllowed, "the folder \(folder.path) could not be made", cause: error)
    }
    return folder
  }
}
