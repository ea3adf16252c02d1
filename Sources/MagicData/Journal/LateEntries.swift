/// Entries that come late and change nothing, since their object's last one sets all that they set: each is put behind that
/// one, so the object's row stays as it is (J-18).
///
/// Objects that were written together mostly lose together: one row of the journal is written anew for all of them.
package struct LateEntries {
  /// The row whose entries get others behind them.
  private var row: JournalRow?
  private var links = RowLinks()

  package init() {}

  /// What stands behind an entry; that of its row may not be written yet.
  package func previous(of entry: LatestEntry) -> EntryPlace {
    (entry.place.row == row?.id ? links[entry.place.index] : nil) ?? entry.head.previous
  }

  /// - Parameter last: an object's last entry, of a transaction that is finished.
  package mutating func put(_ late: EntryPlace, behind last: LatestEntry, _ reader: JournalReader) throws {
    if last.place.row != row?.id {
      try write(reader)
      row = last.row
    }
    links[last.place.index] = late
  }

  /// Nothing is left to be written.
  package mutating func write(_ reader: JournalReader) throws {
    guard let row = row.take() else { return }
    try reader.link(links, inRow: row.id, of: row.bytes)
    links.removeAll()
  }
}
