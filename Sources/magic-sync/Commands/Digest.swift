import ArgumentParser
import MagicData
import MagicReplication

struct DigestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints a number that is equal for databases with equal data.",
    discussion: "Example: magic-sync digest notes --json")

  @OptionGroup var database: DatabaseArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let digest = try await CommandDatabase(database.path).use { magic in try await magic.digest() }
    try output.print(digest, ["digest": digest])
  }
}
