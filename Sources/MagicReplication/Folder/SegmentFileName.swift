package import MagicJournal

/// What a segment's file name says (F-2).
package struct SegmentFileName: Hashable, Sendable {
  package let replica: ReplicaID
  package let first: UInt64
  package let last: UInt64
  /// A hash of the transactions' names (S-3).
  package let name: String

  /// The file's whole name.
  package let text: String

  init(replica: ReplicaID, first: UInt64, last: UInt64, name: String) {
    (self.replica, self.first, self.last, self.name) = (replica, first, last, name)
    text = "\(replica).\(first.digits).\(last.digits).\(name).segment"
  }

  /// `nil` for a file that is none of ours (F-3).
  package init?(_ text: String) {
    // Characters would take ten times as long, and a folder has many files.
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Substring.init)
    guard parts.count == 5, parts[4] == "segment", let replica = Identifier(parts[0]), Identifier(parts[3]) != nil,
      let first = UInt64(digits: parts[1]), let last = UInt64(digits: parts[2]),
      1 <= first, first <= last, last < Limits.sequence
    else { return nil }
    (self.replica, self.first, self.last, name, self.text) = (replica, first, last, String(parts[3]), text)
  }

  package static func == (one: SegmentFileName, other: SegmentFileName) -> Bool { one.text == other.text }

  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
