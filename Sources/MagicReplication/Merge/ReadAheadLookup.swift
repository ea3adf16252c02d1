internal import MagicData
internal import MagicJournal

/// Finds rows by reading ahead: objects that follow each other in a segment mostly do so here too, so several rows are read
/// at once, and no index is asked.
struct ReadAheadLookup {
  /// The rows behind the object that was found last, which nobody has changed since they were read: only what is found is.
  private var following = RowReadAhead()
  /// The object that was found last, and whether it was the one behind the object before.
  private var last: (zIndex: Int64, isNext: Bool)?
  private var rows = ReadAheadLookup.fewest

  private static let fewest = 4
  private static let most = 128

  mutating func place(of key: ObjectKey, _ table: ObjectTable) throws -> ObjectPlace? {
    try place(table, key) { $0.next(key) }
  }

  mutating func place(of entry: EncodedEntry, _ table: ObjectTable) throws -> ObjectPlace? {
    let name = entry.key
    return try place(table, entry.objectKey) { $0.next(name) }
  }

  private mutating func place(
    _ table: ObjectTable, _ key: @autoclosure () -> ObjectKey, _ next: (inout RowReadAhead) -> ObjectPlace?
  ) throws -> ObjectPlace? {
    if following.isEmpty, let last, last.isNext {
      following = try table.neighbours(behind: last.zIndex, atMost: rows)
      rows = min(2 * rows, ReadAheadLookup.most)
    }
    if let next = next(&following) {
      last?.zIndex = next.zIndex
      return next
    }
    (following, rows) = (RowReadAhead(), ReadAheadLookup.fewest)
    let (place, before) = (try table.place(of: key()), last)
    last = place.map { ($0.zIndex, isNext: $0.zIndex &- 1 == before?.zIndex) }
    return place
  }
}

extension Merger {
  /// What the entries of a type mostly come to.
  struct Kind {
    /// Whether the last object was new.
    var isNew = true
    /// Whether the last update lost.
    var isLosing = false
    /// Whether every object that was ever named has a row; `nil` if that is to be looked up.
    var isWhole: Bool?
    var found = ReadAheadLookup()
  }

  /// An object of which the order of the entries matters: it is folded once, at the end.
  struct Unfolded {
    let place: ObjectPlace
    /// The highest of its entries' stamps.
    let highest: Stamp
  }
}

extension [EntryPlace] {
  /// Whether a place is among these, which rise.
  func has(_ place: EntryPlace) -> Bool {
    let index = boundary { $0.bits >= place.bits }
    return index < count && self[index] == place
  }
}
