package import MagicJournal

/// An object's entries for who looks at them more than once, within one SQLite transaction. Short ones are held; a long history
/// of large values is read again, so that memory has one of them at a time.
package struct WalkedEntries {
  package typealias Body = (EntryPlace, Version, StoredEntry) throws -> Void

  /// So much is held, as a transaction counts it (J-20): most objects' entries come to less, and are read once.
  private static let mostBytes = 1 << 20

  private let reader: JournalReader
  private let last: EntryPlace
  private let held: [(EntryPlace, Version, StoredEntry)]?

  /// - Parameter body: the first look, in the order of `walk`.
  package init(_ reader: JournalReader, from last: EntryPlace, _ body: Body) throws {
    var (held, bytes): ([(EntryPlace, Version, StoredEntry)]?, Int) = ([], 0)
    try reader.walk(from: last) { stamp, root, place, stored in
      let version = Version(stamp: stamp, root: root)
      if held != nil {
        bytes += stored.entry.size
        if bytes <= WalkedEntries.mostBytes { held?.append((place, version, stored)) } else { held = nil }
      }
      try body(place, version, stored)
    }
    (self.reader, self.last, self.held) = (reader, last, held)
  }

  /// Another look. Nothing may be written to these entries before it.
  package func walk(_ body: Body) throws {
    guard let held else {
      return try reader.walk(from: last) { stamp, root, place, stored in
        try body(place, Version(stamp: stamp, root: root), stored)
      }
    }
    for (place, version, stored) in held { try body(place, version, stored) }
  }
}
