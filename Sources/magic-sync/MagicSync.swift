import ArgumentParser
import MagicData
import MagicReplication

@main
struct MagicSync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magic-sync",
    abstract: "Keeps MagicData databases on several machines in step.",
    discussion: """
      DB is a folder that holds a database, or a database file whose name ends in .sqlite, .sqlite3 or .db.
      REMOTE is a folder that all replicas reach, as a path or a file: URL; a .magicbundle file; - for a pipe; or a name that `remote add` gave.

      Examples:
        magic-sync clone /mnt/share/notes notes
        magic-sync sync notes --watch

      Options have twins in the environment: MAGIC_SYNC_JSON=1 stands for --json. Colours honour NO_COLOR.

      Exit codes: 0 done, 1 failed, 3 partly done, 4 not in step, 5 try again, 6 not allowed, 7 incompatible, 8 a fork needs a person, \
      9 no space, 64 usage, 130 interrupted.
      """,
    version: "0.1.0",
    subcommands: [
      Init.self, Clone.self, Push.self, Pull.self, Sync.self, Remote.self, Status.self, LogCommand.self, Peers.self,
      Compact.self,
      DigestCommand.self,
      Verify.self, Demo.self,
    ])

  static func main() async {
    do {
      try checkCommand()
      try Twin.check()
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as MagicDataError {
      Terminal.say(error.message, .red)
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
  static let notInStep = ExitCode(4)
}

extension PullReport {
  var status: ExitCode { isComplete ? .success : .partlyDone }
}

extension PushReport {
  var status: ExitCode { unread.isEmpty ? .success : .partlyDone }
}
