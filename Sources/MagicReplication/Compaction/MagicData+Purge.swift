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
      let changes = try await store.change { db in try db.purgeable() }
      purged += changes.count
      // Who removed many needs more than one transaction.
      guard changes.count == Connection.mostPurged else { return purged }
    }
  }
}

extension Connection {
  /// In one transaction (J-2, J-20), whatever their names are.
  fileprivate static let mostPurged = 100_000

  fileprivate func purgeable() throws -> [ObjectChange] {
    let journal = try JournalReader(self)
    guard try Members(self).mayPurge(journal) else { return [] }
    let kept = try JournalCompaction.rows(to: journal.floor().frontier, self).kept
    var changes: [ObjectChange] = []
    for type in journal.schema.types {
      for (key, place) in try ObjectTable(type, self).absent() where !place.last.isNone {
        var (state, isKept) = (ObjectState(), true)
        try journal.forEachEntry(from: place.last) { stamp, root, place, entry in
          isKept = isKept && kept.contains(place.row)
          state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type.schema)
        }
        guard isKept, !state.isAlive, let removed = state.removed, !state.values.isEmpty else { continue }
        changes.append(ObjectChange(type: type.id, key: key, .purge(base: removed.stamp, place)))
        if changes.count == Connection.mostPurged { return changes }
      }
    }
    return changes
  }
}
