import ArgumentParser
import Console
import Foundation
import MagicData
import MagicReplication

struct Bisect: Command {
  static let configuration = CommandConfiguration(
    commandName: "bisect",
    abstract: "Finds the first transaction after which a command fails.",
    discussion: """
      The command is run by /bin/sh for each half: with the path of a database that was built up to a transaction as $1, and in MAGIC_REPLAY_DATABASE. It may do with it what \
      it likes. Exit code 0 means that all is as it should be, any other that it is not; 126, 127 and signals that end the shell end it all, since then the command itself is \
      at fault. Of a program that a signal ended the shell says 128 and more, which counts as any other code. The command's output goes to standard error.

      Example: magic-replay bisect notes --test 'test "$(magic-replay state "$1" --csv | wc -l)" -lt 100'
      """)

  @OptionGroup var source: SourceArgument
  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("What is to succeed.", valueName: "command"))
  var test: String

  @OptionGroup var output: OutputOptions

  /// The shell succeeds with an empty command, as an unset variable gives it.
  func validate() throws {
    guard test.contains(where: { !$0.isWhitespace }) else {
      throw ValidationError("--test takes a command, and not '\(test)'.")
    }
  }

  func perform() async throws -> Outcome {
    let command = ShellCommand(text: test)
    let output = output
    let (result, report) = try await Bisection(await source.open(connection.options)).run { path, transactions in
      let ending = try await command.run(path)
      // What was interrupted says nothing.
      try Task.checkCancellation()
      let code = try Bisect.code(of: ending)
      if !output.quiet {
        Terminal.say("after \(transactions.counted("transaction")): \(code == 0 ? "succeeds" : "fails with \(code)")")
      }
      return code == 0
    }
    try output.tell(report)
    switch result {
    case .passes: throw MagicDataError(.notFound, "the command succeeds with the whole journal: there is nothing to find")
    case .failsWithoutAny:
      throw MagicDataError(
        .notFound,
        report.historyBegins.map {
          "the command fails already with what is left of the history up to \($0.inLog); what came before was given up and is not known"
        } ?? "the command fails with an empty database already; let it succeed there")
    case .found(let found):
      let author = found.author
      let entries = found.entries.prefix(20).map { "  \($0.operation) \($0.type) \($0.object.printable)" }
      let more = found.entries.count > entries.count ? ["  and \((found.entries.count - entries.count).grouped) more"] : []
      let first = "\(author.time.inLog)  \(author.replica):\(author.sequence) is the first after which the command fails"
      return Outcome(
        text: ([first] + entries + more).joined(separator: "\n"),
        content: Content(
          replica: author.replica, sequence: author.sequence, time: author.time.inLog, entries: found.entries.count,
          tries: found.tries),
        status: report.isComplete ? .success : .partlyDone)
    }
  }

  /// - Throws: if the command itself is at fault, or was interrupted.
  private static func code(of ending: ShellCommand.Ending) throws -> Int32 {
    switch ending {
    case .exit(let code) where code == 126 || code == 127:
      throw MagicDataError(.failed, "the command could not be run: exit code \(code)")
    case .exit(let code): return code
    case .signal(let number) where Interrupted.signals.contains(number): throw Interrupted(signal: number)
    case .signal(let number): throw MagicDataError(.failed, "the command was ended by a signal: \(number)")
    }
  }

  private struct Content: Encodable {
    let replica: String
    let sequence: UInt64
    let time: String
    let entries, tries: Int
  }
}
