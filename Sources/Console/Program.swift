package import ArgumentParser
internal import Foundation
internal import MagicData

/// One of the tools.
package protocol Program: AsyncParsableCommand, SendableMetatype {
  /// Which of its options have twins in the environment, beside `--json` and `--quiet`.
  static var variables: EnvironmentVariable.Names { get }
  /// The other tool, and what it does that this one does not.
  static var other: (name: String, commands: [String]) { get }
}

extension Program {
  /// What the parser's own messages begin with, as all others do.
  package static var _errorPrefix: String { "\(configuration.commandName ?? _commandName): " }

  /// The whole of a tool's `main`: a word that is no command gets an answer that says so, and an error its exit code.
  ///
  /// It is no asynchronous one: what runs those opens files of its own before the first line.
  package static func begin() -> Never {
    openStandardFiles()
    Task {
      await execute()
      Foundation.exit(EXIT_SUCCESS)
    }
    dispatchMain()
  }

  private static func execute() async {
    // Who reads may go away: that a write fails says so, and what was begun is cleaned up.
    signal(SIGPIPE, SIG_IGN)
    Heap.shareOneArena()
    do {
      EnvironmentVariable.begin(of: configuration.commandName ?? _commandName, variables)
      try checkArguments()
      try checkCommand()
      try EnvironmentVariable.check()
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as MagicDataError {
      Terminal.say(error.message, .red)
      exit(withError: error.code.exitCode)
    } catch let error as ValidationError {
      // Of no command: the parser wraps its own. The tool's usage says nothing of what is wrong.
      Terminal.say(error.message, .red)
      exit(withError: ExitCode.validationFailure)
    } catch {
      exit(withError: error)
    }
  }

  /// What is opened next would get the number of a standard file that is closed, and be read or written to in its place. To
  /// read from a closed input, or to write results to a closed output, fails as it would; remarks that nobody hears fail
  /// nothing.
  private static func openStandardFiles() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // It gets the lowest number that is free.
      _ = open("/dev/null", mode)
    }
  }

  /// A path in other bytes would become another path.
  private static func checkArguments() throws {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[index] else { continue }
      guard String(validatingCString: UnsafePointer(argument)) != nil else {
        throw ValidationError("the argument '\(String(cString: argument))' is no UTF-8.")
      }
    }
  }

  private static func checkCommand() throws {
    var words = CommandLine.arguments.dropFirst()
    if words.first == "help" { words = words.dropFirst() }
    var (commands, above) = (Self.configuration.subcommands, "")
    while let word = words.popFirst(), !word.hasPrefix("-"), !commands.isEmpty {
      if let command = commands.first(where: { $0.configuration.commandName == word }) {
        (commands, above) = (command.configuration.subcommands, "\(above)\(word) ")
      } else {
        let names = commands.compactMap { $0.configuration.commandName } + (above.isEmpty ? ["help"] : [])
        guard !names.contains(word) else { return }
        let isOthers = above.isEmpty && other.commands.contains(word)
        throw ValidationError(
          "there is no command '\(above)\(word)'; "
            + (isOthers ? "`\(other.name) \(word)` does that." : "the commands are \(names.joined(separator: ", "))."))
      }
    }
  }
}
