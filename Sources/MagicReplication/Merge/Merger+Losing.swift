internal import MagicData
internal import MagicJournal

/// What loses, and what is told of it.
extension Merger {
  /// Takes an update into the journal that changes nothing, since a later one of the object sets all that it sets; `false` if
  /// it is not such a one. That spares the fold.
  ///
  /// - Parameter replica: the id that it is read under.
  mutating func isBeaten(
    _ entry: EncodedEntry, _ type: LearntType, _ version: Version, of replica: ReplicaID, _ place: ObjectPlace,
    _ table: ObjectTable
  ) throws -> Bool {
    // What follows one that loses mostly loses too, and then the stamp alone tells nothing that the entry does not.
    guard !entry.hasElements,
      try kinds[type.id].isLosing || version.stamp < reader.highestStamp(from: place.last),
      let latest = try reader.latestEntry(from: place.last), version.stamp < latest.stamp, latest.head.operation.isLife,
      // Behind others, each of many would pass all that came before it: they are folded at once.
      latest.place == place.last,
      // A place that was changed by SQL may lead to another object.
      latest.head.type == type.id, latest.head.zIndex == place.zIndex
    else { return false }
    let setsAll = try reader.reading { () throws(JournalError) in
      try latest.setsAll(of: entry, as: type, fields: table.type.columns.count, differing: &differing)
    }
    guard setsAll else { return false }
    let before = late.previous(of: latest)
    let end: EntryPlace
    var now = place
    if latest.place.isLatest, latest.isInSmallRow {
      end = try writer.append(late: entry, as: type, zIndex: place.zIndex, previous: before, db)
      try late.put(end, behind: latest, reader)
    } else {
      end = try writer.append(late: entry, as: type, zIndex: place.zIndex, previous: place.last, db)
      now = ObjectPlace(zIndex: place.zIndex, last: end)
      try table.setLast(entry.objectKey, now)
    }
    guard latest.place.row <= mark else {
      // What it lost to came just now, too. Before that it may have lost to what this replica wrote.
      if mark > 0, version.stamp < own.highest, !before.isNone { contested[type.id, default: [:]][entry.objectKey] = now }
      return true
    }
    guard own.contains(Version(stamp: latest.stamp, root: latest.root)), !differing.isEmpty, version.root != latest.root
    else { return true }
    guard try !mayBeHeld(version, besides: replica) else {
      contested[type.id, default: [:]][entry.objectKey] = now
      return true
    }
    told.append(end)
    let heard = differing.prefix(conflicts.left)
    conflicts.pass(differing.count - heard.count)
    let object = ObjectConflicts(entry.objectKey, of: table.type.schema)
    for difference in heard {
      let won = try reader.reading { () throws(JournalError) in try latest.value(of: difference) }
      let field = type.fields[entry.field(at: difference.index)]
      conflicts.add(
        object, ObjectConflicts.Place(slot: object.type.slots[field], element: []),
        ObjectConflicts.Write(version: version, place: end, value: entry.madeValue(at: difference.index)),
        ObjectConflicts.Write(version: Version(stamp: latest.stamp, root: latest.root), place: latest.place, value: won))
    }
    return true
  }

  /// Whether what comes under an id may have been held under another one (J-31, J-33).
  private mutating func mayBeHeld(_ version: Version, besides replica: ReplicaID) throws -> Bool {
    guard version.root == replica else { return true }
    if let leftIDs { return leftIDs.contains(replica) }
    var left: Set<ReplicaID> = []
    for id in held.replicas {
      guard let first = try reader.firstRow(at: (reader.floor(of: id)?.sequence ?? 0) + 1, of: id), first <= mark else {
        continue
      }
      // Of a branch it is the id that was left.
      let root = try reader.root(ofRow: first)
      if root != id { left.insert(root) }
    }
    leftIDs = left
    return left.contains(replica)
  }

  /// Shows an object's entries, one at a time in memory. Those that were held and those that came may be in conflict, which is
  /// told.
  mutating func forEachEntry(
    of key: ObjectKey, _ place: ObjectPlace, _ type: TypeSchema, _ body: (Version, Entry) -> Void
  ) throws {
    var sides = ConflictSides(type, after: mark)
    try reader.forEachEntry(from: place.last) { stamp, root, place, entry in
      let version = Version(stamp: stamp, root: root)
      sides.add(entry, version, at: place)
      body(version, entry)
    }
    guard sides.areTwo else { return }
    if sides.isAnyLate(to: own) {
      let again = try versionsThatCameAgain(from: place.last)
      if !again.isEmpty {
        sides = ConflictSides(type, after: mark, without: again)
        try reader.forEachEntry(from: place.last) { stamp, root, place, entry in
          sides.add(entry, Version(stamp: stamp, root: root), at: place)
        }
      }
    }
    let (object, first) = (ObjectConflicts(key, of: type), conflicts.list.count)
    if let (lost, won) = sides.whole, isNews(lost, won) { return conflicts.add(object, nil, lost, won) }
    for (place, lost, won) in sides.overtaken where isNews(lost, won) { conflicts.add(object, place, lost, won) }
    guard sides.isAnyLate(to: own) else { return }
    try reader.forEachEntry(from: place.last) { stamp, root, place, entry in
      for (place, lost, won) in sides.late(entry, Version(stamp: stamp, root: root), at: place) where isNews(lost, won) {
        conflicts.add(object, place, lost, won)
      }
    }
    conflicts.sort(from: first)
  }

  /// What came of an object that was held already: a checkpoint brings that, or it was held under another id. What is later
  /// than all that was held is none of it, so this is asked for where something came late alone.
  private func versionsThatCameAgain(from last: EntryPlace) throws -> Set<Version> {
    var came: Set<Version> = []
    try reader.forEachEntry(from: last) { stamp, root, place, _ in
      if place.row > mark { came.insert(Version(stamp: stamp, root: root)) }
    }
    var again: Set<Version> = []
    try reader.forEachEntry(from: last) { stamp, root, place, _ in
      let version = Version(stamp: stamp, root: root)
      if place.row <= mark, came.contains(version) { again.insert(version) }
    }
    return again
  }

  /// Whether nobody was told that a write lost, and who wrote what it lost to cannot have known it (M-21): of what came, this
  /// replica alone surely did not.
  private func isNews(_ lost: ObjectConflicts.Write, _ won: ObjectConflicts.Write) -> Bool {
    lost.place.row > mark ? own.contains(won.version) && !told.has(lost.place) : own.isUnsent(lost)
  }
}
