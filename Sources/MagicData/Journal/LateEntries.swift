/// Entries that come late and change nothing, since their object's last one sets all that they set: each is put behind that one, so the object's row stays as it is (J-18).
///
/// Objects that were written together mostly lose together: one row of the journal is written anew for all of them.
package struct LateEntries {
  /// The row whose entries get others behind them.
  private var row: Int64 = 0
  private var links = RowLinks()

  package init() {}

  /// What stands behind an entry of the row that is not written yet.
  package func previous(of place: EntryPlace) -> EntryPlace? {
    place.row == row ? links[place.index] : nil
  }

  /// - Parameter last: an object's last entry, of a transaction that is finished.
  package mutating func put(_ late: EntryPlace, behind last: EntryPlace, _ reader: JournalReader) throws {
    if last.row != row {
      try write(reader)
      row = last.row
    }
    links[last.index] = late
  }

  /// Nothing is left to be written.
  package mutating func write(_ reader: JournalReader) throws {
    guard links.count > 0 else { return }
    try reader.link(links, inRow: row)
    links.removeAll()
  }
}
