import ArgumentParser
import Foundation
import MagicData

@main
struct MagicSync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magic-sync",
    abstract: "Keeps MagicData databases on several machines in step.",
    discussion: """
      DB is a folder that holds a database, or a database file whose name ends in .sqlite, .sqlite3 or .db.
      REMOTE is a folder that all replicas reach, as a path or a file: URL.

      Exit codes: 0 done, 1 failed, 3 partly done, 5 try again, 6 not allowed, 7 incompatible, 8 a fork needs a person, \
      9 no space, 64 usage.
      """,
    version: "0.1.0",
    subcommands: [Init.self, Push.self, Pull.self, Sync.self, Clone.self, DigestCommand.self, Demo.self])

  static func main() async {
    do {
      try checkCommand()
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as MagicDataError {
      FileHandle.standardError.write(Data("magic-sync: \(error.message)\n".utf8))
      exit(withError: error.code.exitCode)
    } catch {
      exit(withError: error)
    }
  }
}

extension MagicSync {
  /// A word that is no command gets an answer that says so.
  private static func checkCommand() throws {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
    guard let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !names.contains(word) else { return }
    throw ValidationError("there is no command '\(word)'; the commands are \(names.joined(separator: ", ")).")
  }
}

extension MagicDataError.Code {
  var exitCode: ExitCode {
    switch self {
    case .busy: ExitCode(5)
    case .notAllowed: ExitCode(6)
    case .incompatible: ExitCode(7)
    case .fork: ExitCode(8)
    case .full: ExitCode(9)
    default: .failure
    }
  }
}

extension ExitCode {
  static let partlyDone = ExitCode(3)
}
