/// What is wrong with bytes, or with a change that cannot be journaled.
package struct JournalError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// Bytes that do not follow Protocol/: damaged, cut short, or hostile.
    case damaged
    /// A format, or a part of one, that this version does not know.
    case unsupported
    /// More than `Limits` allow.
    case tooLarge
    /// The clock has come to its end (C-4).
    case clock
  }

  package let code: Code
  package let message: String
  /// Where in the file, or in the inflated body, if it is about bytes.
  package let offset: Int?

  package init(_ code: Code, _ message: String, offset: Int? = nil) {
    self.code = code
    self.message = message
    self.offset = offset
  }

  package var description: String {
    offset.map { "\(message) (at byte \($0))" } ?? message
  }
}
