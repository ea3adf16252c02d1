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
      it likes. Exit code 0 means that all is as it should be, any other that it is not; 126, 127 and signals end it all, since then the command itself is at fault. Its \
      output goes to standard error.

      Example: magic-replay bisect notes --test 'test "$(magic-replay state "$1" --csv | wc -l)" -lt 100'
      """)

  @OptionGroup var source: SourceArgument

  @Option(help: ArgumentHelp("What is to succeed.", valueName: "command"))
  var test: String

  @OptionGroup var output: OutputOptions

  func perform() async throws -> Outcome {
    let command = ShellCommand(text: test)
    let output = output
    let (result, report) = try await Bisection(await source.open()).run { path, transactions in
      let code = try command.run(path)
      if !output.quiet {
        Terminal.say("after \(transactions.counted("transaction")): \(code == 0 ? "succeeds" : "fails with \(code)")")
      }
      guard code < 126 else {
        if code == 128 + SIGINT { throw CancellationError() }
        throw MagicDataError(.failed, "the command could not be run, or was ended by a signal: exit code \(code)")
      }
      return code == 0
    }
    try output.tell(report)
    switch result {
    case .passes: throw MagicDataError(.notFound, "the command succeeds with the whole journal: there is nothing to find")
    case .failsWithoutAny:
      throw MagicDataError(.notFound, "the command fails with an empty database already; let it succeed there")
    case .found(let found):
      let author = found.author
      let entries = found.entries.prefix(20).map { "  \($0.isRemove ? "remove" : "update") \($0.type) \($0.object)" }
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

  private struct Content: Encodable {
    let replica: String
    let sequence: UInt64
    let time: String
    let entries, tries: Int
  }
}
