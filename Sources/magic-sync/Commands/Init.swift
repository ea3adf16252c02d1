import ArgumentParser

struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Makes an empty database.",
    discussion: "Example: magic-sync init notes")

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let database = try CommandDatabase(database.path)
    let made = try await database.useOrInit()
    try output.print(
      made ? "made the database \(database.path)" : "\(database.path) is a database already; nothing was changed",
      Made(path: database.path, made: made))
  }

  private struct Made: Encodable {
    let path: String
    let made: Bool
  }
}
