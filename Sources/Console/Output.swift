internal import ArgumentParser
package import Foundation

/// What a command prints: sentences for people, or a JSON object a line for programs (Protocol/output.md).
package struct OutputOptions: ParsableArguments {
  @Flag(
    name: .customLong("json"), help: "Print JSON, an object a line, the summary last. (\(EnvironmentVariable.fullName("JSON")))"
  )
  private var asksForJSON = false

  @Flag(
    name: [.customShort("q"), .customLong("quiet")],
    help:
      "Print no progress and no remarks: what was asked for, errors, and what wants a look. (\(EnvironmentVariable.fullName("QUIET")))"
  )
  private var asksForQuiet = false

  package init() {}

  package var json: Bool { asksForJSON || EnvironmentVariable.flag("JSON") }
  package var quiet: Bool { asksForQuiet || EnvironmentVariable.flag("QUIET") }

  /// One of the lines before the summary.
  package func event(_ name: String, _ content: some Encodable, to handle: FileHandle = .standardOutput) throws {
    try OutputOptions.print(OutputOptions.encoded(Line(event: name, content: content)), to: handle)
  }

  package func line(_ text: String) throws {
    try OutputOptions.print(Data(text.utf8), to: .standardOutput)
  }

  /// The last line.
  func summary(_ command: String, _ outcome: Outcome, _ isOutputTaken: Bool) throws {
    let handle: FileHandle = isOutputTaken ? .standardError : .standardOutput
    if json {
      try event("summary", Summary(command: command, exit: outcome.status.rawValue, content: outcome.content), to: handle)
    } else if !outcome.text.isEmpty, !(isOutputTaken && quiet) {
      try OutputOptions.print(Data(outcome.text.utf8), to: handle)
    }
  }

  func failure(_ command: String, _ code: String, _ message: String, _ status: ExitCode, _ isOutputTaken: Bool) {
    guard json else { return }
    // Whoever cannot be told this learns it from the exit code.
    try? event(
      "summary",
      Summary(command: command, exit: status.rawValue, content: Failure(error: ErrorRecord(code: code, message: message))),
      to: isOutputTaken ? .standardError : .standardOutput)
  }

  package static func encoded(_ object: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(object)
  }

  /// Unlike Swift's `print`, this fails if the result cannot be written.
  package static func print(_ line: Data, to handle: FileHandle) throws {
    try LineWriter.write(line + Data("\n".utf8), to: handle.fileDescriptor)
  }
}

private struct Line<Content: Encodable>: Encodable {
  let event: String
  let content: Content

  private enum Key: String, CodingKey { case event }

  func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(event, forKey: .event)
  }
}

private struct Summary: Encodable {
  let command: String
  let exit: Int32
  let content: any Encodable

  private enum Key: String, CodingKey { case command, exit }

  func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(command, forKey: .command)
    try container.encode(exit, forKey: .exit)
  }
}

private struct Failure: Encodable {
  let error: ErrorRecord
}

package struct Empty: Encodable, Sendable {
  package init() {}
}
