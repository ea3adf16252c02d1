internal import MagicData
internal import MagicJournal

extension MagicData {
  /// Tells everybody of the removed objects at and below the floor that nothing of what they held is needed any more (K-23).
  ///
  /// - Returns: how many there are.
  func purge() async throws -> Int {
    var purged = 0
    while true {
      try Task.checkCancellation()
      let changes = try await store.change { db in
        try db.purges(below: JournalIndex(db).floor(), atMost: Purges.inOneTransaction)
      }
      purged += changes.count
      guard changes.count == Purges.inOneTransaction else { return purged }
    }
  }
}

private enum Purges {
  /// Whatever the objects' names are, one transaction takes as many (J-2, J-20).
  static let inOneTransaction = 50_000
}

extension Connection {
  /// Of the objects that were removed, whose entries all lie at or below a floor, and of which something is left that could go.
  func purges(below floor: NamedFrontier, atMost count: Int = .max) throws -> [ObjectChange] {
    let journal = try JournalReader(self)
    guard try Members(self).mayPurge(below: floor, journal) else { return [] }
    let (transactions, kept) = try JournalCompaction.rows(to: floor.frontier, self)
    var purges: [ObjectChange] = []
    for type in journal.schema.types {
      for (key, place) in try ObjectTable(type, self).absent() where !place.last.isNone {
        var (state, isBelow) = (ObjectState(), true)
        try journal.forEachEntry(from: place.last) { stamp, root, place, entry in
          isBelow = isBelow && (kept.contains(place.row) || transactions.contains(place.row))
          state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type.schema)
        }
        guard isBelow, !state.isAlive, let removed = state.removed, !state.values.isEmpty else { continue }
        purges.append(ObjectChange(type: type.id, key: key, .purge(base: removed.stamp, place)))
        if purges.count == count { return purges }
      }
    }
    return purges
  }
}
