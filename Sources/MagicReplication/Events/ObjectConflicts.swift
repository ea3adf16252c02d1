internal import Foundation
internal import MagicData
internal import MagicJournal

/// All that was written to one object, to find out what lost to what.
struct ObjectConflicts {
  struct Write {
    let version: Version
    /// Of the type; of a whole object, 0.
    var field = 0
    /// In the journal: the order of arrival.
    let place: EntryPlace
    /// `nil` for a remove.
    let value: Value?
    /// Of a revival.
    var base: Stamp?
  }

  let type: TypeSchema
  let key: ObjectKey
  /// Updates and removes of the object as a whole.
  private(set) var lives: [Write] = []
  /// By what folds by itself (L-5).
  private var places: [Place: [Write]] = [:]

  struct Place: Hashable {
    let slot: Int
    /// The element's bytes, in a set or dictionary.
    let element: [UInt8]
  }

  init(_ key: ObjectKey, of type: TypeSchema) {
    self.key = key
    self.type = type
  }

  mutating func add(_ entry: Entry, _ version: Version, at place: EntryPlace) {
    // What is written anew is nobody's write, and has won and lost before.
    guard entry.operation.code != .purge else { return }
    lives.append(
      Write(version: version, place: place, value: entry.operation.isRemove ? nil : .null, base: entry.operation.base))
    add(entry.fields, version, at: place)
  }

  /// - Parameter version: of the values.
  mutating func add(_ fields: [FieldValue], _ version: Version, at place: EntryPlace) {
    for field in fields {
      for (element, value) in field.value.parts {
        places[Place(slot: type.slots[field.field], element: element), default: []].append(
          Write(version: version, field: field.field, place: place, value: value))
      }
    }
  }

  // MARK: What a merge brought

  /// - Parameters:
  ///   - mark: what stands in a row beyond was merged just now.
  ///   - own: this replica.
  ///   - unsent: in rows from here on, this replica's writes were unknown to the remote.
  ///   - isTold: whether it was told already that the entry at a place lost.
  func merged(
    after mark: Int64, own: ReplicaID, unsent: Int64, isTold: (EntryPlace) -> Bool
  ) -> [MagicConflict] {
    func hasLost(_ lost: Write, to won: Write) -> Bool {
      guard lost.version < won.version, lost.version.root != won.version.root, lost.value != won.value else { return false }
      return lost.place.row > mark ? !isTold(lost.place) : lost.version.root == own && lost.place.row >= unsent
    }
    /// The last write that was held, and those that came, rising.
    func sides(_ writes: [Write]) -> (here: Write, come: [Write])? {
      let here = writes.filter { $0.place.row <= mark }.max { $0.version < $1.version }
      return here.map { ($0, writes.filter { $0.place.row > mark }.sorted { $0.version < $1.version }) }
    }
    if let (here, come) = sides(lives), let last = come.last {
      let (lost, won) = last.version < here.version ? (last, here) : (here, last)
      if hasLost(lost, to: won), let conflict = wholes(lost, won) { return [conflict] }
    }
    return sortedPlaces.flatMap { place, writes -> [MagicConflict] in
      guard let (here, come) = sides(writes) else { return [] }
      // M-21
      var conflicts = come.filter { hasLost($0, to: here) }.map { conflict(place, $0, here) }
      if let last = come.last, hasLost(here, to: last) { conflicts.append(conflict(place, here, last)) }
      return conflicts
    }
  }

  /// Of a field without elements.
  func conflict(
    _ field: Int, _ lost: (value: Value, version: Version), lostTo won: (value: Value, version: Version)
  ) -> MagicConflict {
    conflict(
      Place(slot: type.slots[field], element: []), Write(version: lost.version, place: .none, value: lost.value),
      Write(version: won.version, place: .none, value: won.value))
  }

  // MARK: What the journal tells

  /// Each write that a later one of another replica took the place of.
  func all() -> [MagicConflict] {
    var found: [(Version, MagicConflict)] = []
    func find(_ writes: [Write], _ make: (Write, Write) -> MagicConflict?) {
      let sorted = writes.sorted { $0.version < $1.version }
      for (lost, won) in zip(sorted, sorted.dropFirst()) where lost.version.root != won.version.root && lost.value != won.value
      {
        if let conflict = make(lost, won) { found.append((won.version, conflict)) }
      }
    }
    find(lives, wholes)
    for (place, writes) in sortedPlaces { find(writes) { conflict(place, $0, $1) } }
    return found.sorted { $0.0 < $1.0 }.map(\.1)
  }

  var sortedPlaces: [(Place, [Write])] {
    places.map { ($0, $1) }.sorted { ($0.0.slot, $0.0.element.hexadecimal) < ($1.0.slot, $1.0.element.hexadecimal) }
  }

  /// An update against a remove; one that knew of the remove says so (L-6).
  private func wholes(_ lost: Write, _ won: Write) -> MagicConflict? {
    guard (lost.value == nil) != (won.value == nil) else { return nil }
    if let base = won.base, base >= lost.version.stamp { return nil }
    return MagicConflict(
      type: type.name.text, object: key.text, property: nil, lost: .init(lost, value: nil), won: .init(won, value: nil),
      removal: lost.value == nil ? .lost : .won)
  }

  private func conflict(_ place: Place, _ lost: Write, _ won: Write) -> MagicConflict {
    MagicConflict(
      type: type.name.text, object: key.text, property: type.fields[place.slot].name.text,
      lost: .init(lost, value: lost.value?.json), won: .init(won, value: won.value?.json), removal: nil)
  }
}

extension MagicConflict.Side {
  fileprivate init(_ write: ObjectConflicts.Write, value: String?) {
    self.init(
      replica: write.version.root.description,
      time: Date(timeIntervalSince1970: TimeInterval(write.version.stamp.milliseconds) / 1_000), value: value)
  }
}

extension Value {
  /// What folds by itself, with the bytes that tell it from the others of the field.
  fileprivate var parts: [(element: [UInt8], value: Value)] {
    switch self {
    case .set(let elements): elements.map { ($0.key.encoded, .set([$0])) }
    case .dictionary(let elements): elements.map { ($0.name, .dictionary([$0])) }
    default: [([], self)]
    }
  }
}
