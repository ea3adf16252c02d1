import ArgumentParser

@main
struct MagicReplay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magic-replay",
    abstract: "Reads the journals of MagicData.",
    version: "0.1.0",
    subcommands: [Log.self])
}
