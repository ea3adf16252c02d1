/// The order of writes (M-1): the one comparison that every path uses.
package struct Version: Hashable, Comparable, Sendable {
  package let stamp: Stamp
  package let root: ReplicaID

  package init(stamp: Stamp, root: ReplicaID) {
    self.stamp = stamp
    self.root = root
  }

  package static func < (left: Version, right: Version) -> Bool {
    (left.stamp, left.root) < (right.stamp, right.root)
  }
}

/// One object, folded from the entries that speak of it: in any order, any number of times (Protocol/merge.md).
package struct ObjectState: Sendable, Equatable {
  package struct Write: Sendable, Equatable, Comparable {
    package let version: Version
    package let field: Int
    package let value: Value

    package static func < (left: Write, right: Write) -> Bool {
      left.version == right.version ? left.value < right.value : left.version < right.version
    }
  }

  package private(set) var updated: Version?
  package private(set) var removed: Version?
  /// What is stamped at or below it is void (M-4).
  package private(set) var base: Stamp?
  /// By the first field of the name.
  private var writes: [Int: Write] = [:]

  package init() {}

  package mutating func fold(_ operation: Entry.Operation, _ fields: [FieldValue], at version: Version, of type: TypeSchema) {
    if operation == .remove {
      removed = max(removed ?? version, version)
      return
    }
    updated = max(updated ?? version, version)
    if let base = operation.base { self.base = max(self.base ?? base, base) }
    for field in fields {
      let write = Write(version: version, field: field.field, value: field.value)
      let slot = type.slots[field.field]
      if let held = writes[slot], held >= write { continue }
      writes[slot] = write
    }
  }

  /// M-3: at equal versions a remove wins.
  package var isAlive: Bool {
    guard let updated else { return false }
    guard let removed else { return true }
    return updated > removed
  }

  /// The values that are not void, rising by field.
  package var values: [Write] {
    writes.values
      .filter { write in base.map { write.version.stamp > $0 } ?? true }
      .sorted { $0.field < $1.field }
  }
}
