internal import MagicData
internal import MagicJournal

/// The earliest of some writes to an object, for each name and each element: whether a later one took the place of any.
struct EarliestWrites {
  private enum Part: Hashable {
    case member(ObjectKey)
    case place([UInt8])
    /// A set, a dictionary, and what is one as a whole.
    case set, dictionary, whole
  }

  private struct Place: Hashable {
    let slot: Int
    let part: Part
  }

  private var earliest: [Place: Version] = [:]

  /// - Parameter version: none that was added is above it.
  mutating func add(_ fields: [FieldValue], at version: Version, of type: TypeSchema) {
    for field in fields {
      let slot = type.slots[field.field]
      switch field.value {
      case .set(let elements):
        add(.set, slot, version)
        for element in elements { add(.member(element.key), slot, version) }
      case .dictionary(let elements):
        add(.dictionary, slot, version)
        for element in elements { add(.place(element.name), slot, version) }
      default: add(.whole, slot, version)
      }
    }
  }

  private mutating func add(_ part: Part, _ slot: Int, _ version: Version) {
    let place = Place(slot: slot, part: part)
    if earliest[place] == nil { earliest[place] = version }
  }

  /// Whether one comes before a write, of one element of several or of a value, that folds with it (M-13): of the same element,
  /// if both have elements of one kind.
  func isAny(before write: ObjectState.Write, in slot: Int) -> Bool {
    let parts: [Part] =
      switch write.value {
      case .set(let elements): elements.map { Part.member($0.key) } + [.dictionary, .whole]
      case .dictionary(let elements): elements.map { Part.place($0.name) } + [.set, .whole]
      default: [.set, .dictionary, .whole]
      }
    return parts.contains { part in earliest[Place(slot: slot, part: part)].map { $0 < write.version } ?? false }
  }
}
