package import MagicJournal

/// Which entries are meant.
package struct EntryFilter: Sendable {
  package var type: String?
  /// Its primary value, number or birth, as a log prints it.
  package var object: String?
  /// Whether removes, or updates alone.
  package var isRemove: Bool?
  /// Objects that have claimed the number that is asked for.
  private var births: Set<ObjectKey> = []

  package init(type: String? = nil, object: String? = nil, isRemove: Bool? = nil) {
    (self.type, self.object, self.isRemove) = (type, object, isRemove)
  }

  package var isEmpty: Bool { type == nil && object == nil && isRemove == nil }

  /// Whether the object may be one that has claimed its number.
  var mayBeNumber: Bool { object.map { Int64($0) != nil } ?? false }

  /// Entries of one object have to come in their order, and from its first one on, if it `mayBeNumber`.
  package mutating func has(_ entry: Entry, _ schema: Schema) -> Bool {
    if let type, schema.types[entry.type].name.text != type { return false }
    if let object, entry.key.text != object {
      // A number is not in the name of an object that claims it.
      if let number = entry.operation.number, String(number) == object { births.insert(entry.key) }
      guard births.contains(entry.key) else { return false }
    }
    return isRemove.map { $0 == entry.operation.isRemove } ?? true
  }
}
