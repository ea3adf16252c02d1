internal import MagicData
internal import MagicJournal

/// What this database wrote, under the id that it has and those that it has left (J-30, J-31): who has a fresh one has not
/// forgotten what it wrote (M-21).
struct OwnWrites {
  private struct Writes {
    /// The last one. What a copy's original has written after that under the same root is another's.
    var until: Stamp
    /// From this row on the remote lacks them.
    var unsent: Int64
  }

  private var roots: [ReplicaID: Writes] = [:]
  /// The first row of one that the remote lacks.
  private(set) var unsent = Int64.max
  /// The highest stamp of all of them: what came and is later has lost to none.
  private(set) var highest = Stamp.earliest

  /// - Parameters:
  ///   - own: the id that it has.
  ///   - there: what the remote holds.
  init(of own: ReplicaID, _ reader: JournalReader, held: Frontier, there: Frontier, _ db: Connection) throws {
    var written = try UnsentAssets.written(db)
    written[own] = held[own]
    for (id, last) in written {
      let (floor, last) = (try reader.floor(of: id), min(last, held[id]))
      // Of a branch the root is the id that was left.
      let root = try reader.firstRow(at: last, of: id).map { try reader.root(ofRow: $0) } ?? id
      let name = try reader.name(at: last, of: id) ?? floor?.name
      if let name { highest = max(highest, name.stamp) }
      guard let until = id == own ? Stamp.latest : name?.stamp else { continue }
      let first = try reader.firstRow(at: max(there[id], floor?.sequence ?? 0) + 1, of: id) ?? .max
      let known = roots[root]
      roots[root] = Writes(until: max(until, known?.until ?? until), unsent: min(first, known?.unsent ?? first))
      unsent = min(unsent, first)
    }
  }

  func contains(_ version: Version) -> Bool { roots[version.root].map { version.stamp <= $0.until } ?? false }

  /// Whether a write is among them, and the remote did not have it.
  func isUnsent(_ write: ObjectConflicts.Write) -> Bool {
    roots[write.version.root].map { write.version.stamp <= $0.until && write.place.row >= $0.unsent } ?? false
  }
}
