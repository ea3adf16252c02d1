import ArgumentParser
import Console
import MagicReplication

struct DigestCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints a number that is equal for databases with equal data.",
    discussion: """
      It reads the whole journal.

      Example: magic-sync digest notes --json
      """)

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let digest = try await CommandDatabase(database.path).look { magic in try await magic.digest() }
    return Outcome(text: digest, content: ["digest": digest])
  }
}
