internal import MagicJournal
internal import MagicReplication

extension String {
  /// As `log` prints it on a terminal: a JSON string if it has control characters or none at all, and else as it is.
  package var printable: String { Value.text(self).shownText }

  /// The same where parentheses stand around it: a JSON string also if it has some itself, which would seem to end there.
  package var printableInParentheses: String { contains { "()\"".contains($0) } ? Value.text(self).json : printable }

  /// What may hold what others have written, as lines for a terminal that it cannot steer.
  var withoutControls: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t" ? "\u{fffd}" : $0 }))
  }
}
