package import ArgumentParser
internal import Foundation
internal import MagicData

/// What a command came to.
package struct Outcome: Sendable {
  /// For people; may be several lines, or none.
  package var text: String
  /// For programs: the members of the summary.
  package var content: any Encodable & Sendable
  package var status = ExitCode.success

  package init(
    text: String, content: any Encodable & Sendable = Empty(), status: ExitCode = .success
  ) {
    (self.text, self.content, self.status) = (text, content, status)
  }
}

/// A command that can be interrupted, and prints its result in one place.
package protocol Command: AsyncParsableCommand, Sendable {
  var output: OutputOptions { get }
  /// Whether standard output carries something else than results, which then go to standard error.
  var isOutputTaken: Bool { get }
  /// What people are told of what it did, where it is interrupted.
  var afterInterruption: String { get }
  func perform() async throws -> Outcome
}

extension Command {
  package var isOutputTaken: Bool { false }

  package var afterInterruption: String {
    LineWriter.hasWritten
      ? "what was printed may be cut off, and all else is whole" : "everything is whole, and the next run begins anew"
  }

  package func run() async throws {
    let name = Self.configuration.commandName ?? Self._commandName
    let run = await Interruption { try await perform() }
    do {
      let outcome = try run.result.get()
      do {
        try output.summary(name, outcome, isOutputTaken)
      } catch is ExitCode where run.signal == SIGHUP {
        // The terminal was closed, which has ended it: nobody reads there what came of it.
      }
      if outcome.status != .success { throw outcome.status }
    } catch  where error is Interrupted || error is CancellationError {
      let status = ExitCode(128 + ((error as? Interrupted)?.signal ?? SIGINT))
      if !output.quiet { Terminal.say("interrupted; \(afterInterruption)") }
      output.failure(name, "cancelled", "interrupted", status, isOutputTaken)
      throw status
    } catch let error as MagicDataError {
      if let status = error.exitCodeBelow { throw status }
      Terminal.say(error.message, .red)
      output.failure(name, "\(error.code)", error.message, error.code.exitCode, isOutputTaken)
      throw error.code.exitCode
    }
  }
}
