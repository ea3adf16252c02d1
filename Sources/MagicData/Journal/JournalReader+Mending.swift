package import MagicJournal

/// For who mends what other tables say: the whole journal is read, and no place in a table is believed.
extension JournalReader {
  /// Every entry in the order of arrival.
  package func forEachStoredEntry(_ body: (EntryPlace, StoredEntry) throws -> Void) throws {
    var select = try SQL(db, Statements.selectDataAfter)
    try select.bind(0)
    while try select.step() {
      let id = select.integer(1)
      for (index, part) in try parts(of: select.bytes(0)).enumerated() where !part.isAtEnd {
        var part = part
        try body(EntryPlace(row: id, index: index, isLatest: false), stored(&part))
      }
    }
  }

  /// Chains all entries of some objects anew.
  ///
  /// - Parameter objects: by type.
  /// - Returns: where their chains begin.
  package func chain(_ objects: [Int: Set<ObjectKey>]) throws -> [Int: [ObjectKey: EntryPlace]] {
    var chains: [Int: [ObjectKey: (begin: EntryPlace, highest: Stamp)]] = [:]
    var links: [Int64: RowLinks] = [:]
    try forEachStoredEntry { place, stored in
      let (type, key) = (stored.entry.type, stored.entry.key)
      guard objects[type]?.contains(key) ?? false else { return }
      let (before, stamp) = (chains[type]?[key], try stamp(at: place))
      let begin = EntryPlace(row: place.row, index: place.index, isLatest: before.map { $0.highest < stamp } ?? true)
      links[place.row, default: RowLinks()][place.index] = before?.begin ?? EntryPlace.none
      chains[type, default: [:]][key] = (begin, max(stamp, before?.highest ?? .earliest))
    }
    for (row, links) in links { try link(links, inRow: row) }
    return chains.mapValues { $0.mapValues(\.begin) }
  }
}
