import ArgumentParser

struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Makes an empty database.",
    discussion: "Example: magic-sync init notes")

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let opened = try OpenedDatabase(database.path, mustExist: false)
    try await opened.use { _ in }
    try output.print(
      opened.isNew ? "made the database \(opened.path)" : "\(opened.path) is a database already; nothing was changed",
      Made(path: opened.path, made: opened.isNew))
  }

  private struct Made: Encodable {
    let path: String
    let made: Bool
  }
}
