internal import MagicJournal
internal import MagicReplication

extension String {
  /// As `log` prints it on a terminal: a JSON string if it has control characters or none at all, and else as it is.
  package var printable: String { Value.text(self).shownText }
}
