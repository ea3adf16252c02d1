package import MagicJournal

/// Which entries are meant.
package struct EntryFilter: Sendable {
  package var type: String?
  package var operation: MagicHistory.Operation?
  private let object: ObjectName?
  /// Objects that have claimed the number that is asked for.
  private var births: Set<ObjectKey> = []

  /// - Parameter object: its primary value, number or birth, as a log prints it.
  package init(type: String? = nil, object: String? = nil, operation: MagicHistory.Operation? = nil) {
    (self.type, self.operation) = (type, operation)
    self.object = object.map { ObjectName($0) }
  }

  package var isEmpty: Bool { type == nil && object == nil && operation == nil }

  /// Whether the object may be one that has claimed its number.
  var mayBeNumber: Bool { object?.number != nil }

  /// Entries of one object have to come in their order, and from its first one on, if it `mayBeNumber`.
  package mutating func has(_ entry: Entry, _ schema: Schema) -> Bool {
    if let type, !schema.types[entry.type].name.isWritten(type) { return false }
    if let object, !object.isIdentity(entry.key) {
      // A number is not in the name of an object that claims it.
      if let number = entry.operation.number, number == object.number { births.insert(entry.key) }
      guard births.contains(entry.key) else { return false }
    }
    return operation.map { $0 == entry.listed } ?? true
  }
}
