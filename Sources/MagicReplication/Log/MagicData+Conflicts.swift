package import MagicData
internal import MagicJournal

extension MagicData {
  /// Each value that lost to a later one of another replica, as far as the journal tells: whether that replica knew of it, it
  /// does not. In the order of those that won. Reads the whole journal.
  package func conflicts() async throws -> [MagicConflict] {
    try await store.read { db in
      let reader = try JournalReader(db)
      var conflicts: [MagicConflict] = []
      for type in reader.schema.types {
        let table = ObjectTable(type, db)
        for (key, place) in try table.rows() + table.absent() where !place.last.isNone {
          try Task.checkCancellation()
          var writes = ObjectConflicts(key, of: type.schema)
          try reader.forEachEntry(from: place.last) { stamp, root, place, entry in
            writes.add(entry, Version(stamp: stamp, root: root), at: place)
          }
          conflicts += try writes.all { write in
            let (replica, sequence) = try reader.address(ofRow: write.place.row)
            return replica == write.version.root && sequence > 0 ? sequence : nil
          }
        }
      }
      return conflicts.sorted { ($0.won.time, $0.won.replica) < ($1.won.time, $1.won.replica) }
    }
  }
}
