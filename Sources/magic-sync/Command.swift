import ArgumentParser
import Foundation
import MagicData

/// What a command came to.
struct Outcome: Sendable {
  /// For people; may be several lines, or none.
  var text: String
  /// For programs: the members of the summary.
  var content: any Encodable & Sendable
  var status = ExitCode.success
  /// Standard output carried something else, so the result goes to standard error.
  var isOutputTaken = false
}

/// A command that can be interrupted, and prints its result in one place.
protocol Command: AsyncParsableCommand, Sendable {
  var output: OutputOptions { get }
  func perform() async throws -> Outcome
}

extension Command {
  func run() async throws {
    let name = Self.configuration.commandName ?? Self._commandName
    let run = await Interruption { try await perform() }
    do {
      let outcome = try run.result.get()
      try output.summary(name, outcome)
      if outcome.status != .success { throw outcome.status }
    } catch is CancellationError {
      let status = ExitCode(128 + (run.signal ?? SIGINT))
      if !output.quiet { Terminal.say("interrupted; both sides are whole, and the next run goes on from here") }
      output.failure(name, "cancelled", "interrupted", status)
      throw status
    } catch let error as MagicDataError {
      Terminal.say(error.message, .red)
      output.failure(name, "\(error.code)", error.message, error.code.exitCode)
      throw error.code.exitCode
    }
  }
}
