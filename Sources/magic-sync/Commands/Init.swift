import ArgumentParser
import Console

struct Init: Command {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Makes an empty database.",
    discussion: "Example: magic-sync init notes")

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let made = try await database.useOrInit()
    return Outcome(
      text: made ? "made the database \(database.path)" : "\(database.path) is a database already; nothing was changed",
      content: Made(path: database.path, made: made))
  }

  private struct Made: Encodable {
    let path: String
    let made: Bool
  }
}
