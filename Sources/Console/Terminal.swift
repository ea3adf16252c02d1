internal import Foundation
internal import MagicData

/// Standard error, as people see it.
package enum Terminal {
  package static let isTerminal = isatty(STDERR_FILENO) != 0

  /// https://no-color.org
  package static let hasColours =
    isTerminal && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb"

  /// How wide a line may be.
  package static var width: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  package enum Colour: Int {
    case red = 31
    case yellow = 33
  }

  package static func coloured(_ text: String, _ colour: Colour) -> String {
    hasColours ? "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m" : text
  }

  /// A line of the log. What cannot be said there is not worth failing for.
  package static func say(_ text: String, _ colour: Colour? = nil) {
    let name = "\(EnvironmentVariable.programName):"
    write((colour.map { coloured(name, $0) } ?? name) + " \(DisplayName.text(text).withoutControls)\n")
  }

  /// Asks, and waits for a line of standard input; `nil` at its end.
  ///
  /// - Throws: `CancellationError`.
  package static func ask(_ question: String) async throws -> String? {
    write(question)
    return try await Store.atLength { checkCancelled in
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      // Who reads cannot be cancelled, so it waits until there is something to read.
      while poll(&input, 1, 100) <= 0 { try checkCancelled() }
      return readLine()
    }
  }

  package static func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }

  private static func environment(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }
}
