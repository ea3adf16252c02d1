import ArgumentParser
import Console
import MagicReplication

struct Init: Command {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Makes an empty database.",
    discussion: """
      Examples:
        magic-sync init notes
        magic-sync init notes --name laptop
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var naming: NameOption
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let database = try CommandDatabase(database.path)
    let made = try await database.useOrInit { magic in
      if let name = naming.name { _ = try await magic.setReplicaName(name) }
    }
    let path = database.path.printable
    return Outcome(
      text: made
        ? "made the database \(path)"
        : "\(path) is a database already; nothing was changed"
          + (naming.name == nil ? "" : ", and `magic-sync peers DB --name NAME` names it"),
      content: Made(path: database.path, made: made))
  }

  private struct Made: Encodable {
    let path: String
    let made: Bool
  }
}
