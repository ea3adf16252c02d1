internal import MagicData
internal import MagicJournal

/// What a merge brought to one object, beside what was held of it: what of the one lost to the other. However much was written,
/// of each value the last one of either side is kept alone.
struct ConflictSides {
  typealias Write = ObjectConflicts.Write
  typealias Place = ObjectConflicts.Place

  private struct Sides {
    /// The last write that was held.
    var here: Write?
    /// The last one that came.
    var come: Write?
    /// The lowest version of all that came.
    var lowest: Version?

    mutating func add(_ write: Write, hasCome: Bool) {
      guard hasCome else {
        if here.map({ $0.version < write.version }) ?? true { here = write }
        return
      }
      if come.map({ $0.version < write.version }) ?? true { come = write }
      lowest = min(lowest ?? write.version, write.version)
    }
  }

  private let type: TypeSchema
  /// What stands in a row beyond came just now.
  private let mark: Int64
  /// What came and was held already: it is no news.
  private let again: Set<Version>
  /// The sides of the object as a whole.
  private var lives = Sides()
  private var places: [Place: Sides] = [:]

  init(_ type: TypeSchema, after mark: Int64, without again: Set<Version> = []) {
    self.type = type
    self.mark = mark
    self.again = again
  }

  mutating func add(_ entry: Entry, _ version: Version, at place: EntryPlace) {
    guard let life = Write(entry, version, at: place) else { return }
    let hasCome = place.row > mark
    if hasCome, again.contains(version) { return }
    lives.add(life, hasCome: hasCome)
    type.forEachWrite(entry.fields, version, at: place) { places[$0, default: Sides()].add($1, hasCome: hasCome) }
  }

  // MARK: Once all are added

  /// Whether there is anything on both sides.
  var areTwo: Bool { lives.here != nil && lives.come != nil }

  /// Where one side removed the object as a whole and the other did not.
  var whole: (lost: Write, won: Write)? {
    guard let here = lives.here, let come = lives.come else { return nil }
    let (lost, won) = come.version < here.version ? (come, here) : (here, come)
    return lost.isBeaten(by: won) && lost.isApart(from: won) ? (lost: lost, won: won) : nil
  }

  /// What was held and lost, with what it lost to.
  var overtaken: [(place: Place, lost: Write, won: Write)] {
    var overtaken: [(place: Place, lost: Write, won: Write)] = []
    for (place, sides) in places {
      guard let here = sides.here, let come = sides.come, here.isBeaten(by: come) else { continue }
      overtaken.append((place, here, come))
    }
    return overtaken.sorted { $0.place < $1.place }
  }

  /// Whether something that came may have lost to this database's own.
  func isAnyLate(to own: OwnWrites) -> Bool {
    func isLate(_ sides: Sides) -> Bool {
      guard let here = sides.here, let lowest = sides.lowest else { return false }
      return lowest < here.version && own.contains(here.version)
    }
    return isLate(lives) || places.values.contains(where: isLate)
  }

  /// What of an entry came and lost, with what it lost to (M-21).
  func late(_ entry: Entry, _ version: Version, at place: EntryPlace) -> [(place: Place, lost: Write, won: Write)] {
    guard place.row > mark, !again.contains(version), entry.operation.code != .purge else { return [] }
    var late: [(place: Place, lost: Write, won: Write)] = []
    type.forEachWrite(entry.fields, version, at: place) { place, write in
      if let here = places[place]?.here, write.isBeaten(by: here) { late.append((place, write, here)) }
    }
    return late
  }
}
