internal import Foundation
internal import MagicData
internal import MagicJournal

/// All that was written to one object, to find out what lost to what.
struct ObjectConflicts {
  struct Write {
    let version: Version
    /// The field's number in the type; 0 for a whole object.
    var field = 0
    /// In the journal: the order of arrival.
    let place: EntryPlace
    /// `nil` for a remove.
    let value: Value?
    /// The base of a revival.
    var base: Stamp?
  }

  let type: TypeSchema
  let key: ObjectKey
  /// Updates and removes of the object as a whole.
  private(set) var lives: [Write] = []
  /// By what folds by itself (L-5).
  private var places: [Place: [Write]] = [:]

  struct Place: Hashable, Comparable {
    let slot: Int
    /// The element's bytes, in a set or dictionary.
    let element: [UInt8]

    static func < (left: Self, right: Self) -> Bool {
      left.slot == right.slot ? left.element.lexicographicallyPrecedes(right.element) : left.slot < right.slot
    }
  }

  init(_ key: ObjectKey, of type: TypeSchema) {
    self.key = key
    self.type = type
  }

  mutating func add(_ entry: Entry, _ version: Version, at place: EntryPlace) {
    guard let life = Write(entry, version, at: place) else { return }
    lives.append(life)
    add(entry.fields, version, at: place)
  }

  /// - Parameter version: of the values.
  mutating func add(_ fields: [FieldValue], _ version: Version, at place: EntryPlace) {
    type.forEachWrite(fields, version, at: place) { places[$0, default: []].append($1) }
  }

  // MARK: What the journal tells

  /// Each write that a later one of another replica took the place of.
  ///
  /// - Parameter sequence: of a write's transaction.
  func all(_ sequence: (Write) throws -> UInt64?) throws -> [MagicConflict] {
    var found: [(Version, MagicConflict)] = []
    func find(_ writes: [Write], _ make: (Write, Write) -> MagicConflict?) throws {
      let sorted = writes.sorted { $0.version < $1.version }
      for (lost, won) in zip(sorted, sorted.dropFirst()) where lost.isBeaten(by: won) {
        guard var conflict = make(lost, won) else { continue }
        (conflict.lost.sequence, conflict.won.sequence) = (try sequence(lost), try sequence(won))
        found.append((won.version, conflict))
      }
    }
    try find(lives) { lost, won in lost.isApart(from: won) ? conflict(nil, (lost, nil), (won, nil)) : nil }
    for (place, writes) in sortedPlaces {
      try find(writes) { lost, won in conflict(place, (lost, lost.value?.json), (won, won.value?.json)) }
    }
    return found.sorted { $0.0 < $1.0 }.map(\.1)
  }

  var sortedPlaces: [(Place, [Write])] { places.map { ($0, $1) }.sorted { $0.0 < $1.0 } }

  /// - Parameters:
  ///   - place: `nil` for the object as a whole.
  ///   - lost: with its value as it is told.
  func conflict(_ place: Place?, _ lost: (write: Write, text: String?), _ won: (write: Write, text: String?)) -> MagicConflict {
    MagicConflict(
      type: type.name.text, object: key.text, property: place.map { type.fields[$0.slot].name.text },
      lost: .init(lost.write, value: lost.text), won: .init(won.write, value: won.text),
      removal: place == nil ? (lost.write.value == nil ? .lost : .won) : nil)
  }
}

extension ObjectConflicts.Write {
  /// What an entry says of its object as a whole. What is written anew is nobody's write, and has won and lost before.
  init?(_ entry: Entry, _ version: Version, at place: EntryPlace) {
    guard entry.operation.code != .purge else { return nil }
    self.init(version: version, place: place, value: entry.operation.isRemove ? nil : .null, base: entry.operation.base)
  }

  /// Whether another replica's later one says something else.
  func isBeaten(by other: Self) -> Bool {
    version < other.version && version.root != other.version.root && value != other.value
  }

  /// Whether an object as a whole was written apart: an update against a remove; one that knew of the remove says so (L-6).
  func isApart(from won: Self) -> Bool {
    (value == nil) != (won.value == nil) && won.base.map { $0 < version.stamp } ?? true
  }
}

extension TypeSchema {
  /// Values by what folds by itself (L-5).
  func forEachWrite(
    _ fields: [FieldValue], _ version: Version, at place: EntryPlace,
    _ body: (ObjectConflicts.Place, ObjectConflicts.Write) -> Void
  ) {
    for field in fields {
      for (element, value) in field.value.parts {
        body(
          ObjectConflicts.Place(slot: slots[field.field], element: element),
          ObjectConflicts.Write(version: version, field: field.field, place: place, value: value))
      }
    }
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
