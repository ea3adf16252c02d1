internal import MagicData
internal import MagicJournal

extension Connection {
  /// Removed objects whose entries all lie at or below a floor, and of which something is left that could go (K-23).
  func purges(below floor: NamedFrontier, _ members: Members) throws -> [ObjectPurge] {
    let journal = try JournalReader(self)
    guard try members.mayPurge(below: floor, journal) else { return [] }
    let (transactions, kept) = try JournalCompaction.rows(to: floor.frontier, self)
    var purges: [ObjectPurge] = []
    for type in journal.schema.types {
      try ObjectTable(type, self).forEachAbsent { key, place in
        guard !place.last.isNone else { return }
        var (state, isBelow) = (ObjectState(), true)
        try journal.forEachEntry(from: place.last) { stamp, root, place, entry in
          isBelow = isBelow && (kept.contains(place.row) || transactions.contains(place.row))
          state.fold(entry.operation, entry.fields, at: Version(stamp: stamp, root: root), of: type.schema)
        }
        guard isBelow, !state.isAlive, let removed = state.removed,
          state.values.contains(where: { $0.version.stamp < removed.stamp })
        else {
          return
        }
        purges.append(ObjectPurge(type: type.id, key: key, base: Stamp(removed.stamp.bits - 1)))
      }
    }
    return purges
  }
}
