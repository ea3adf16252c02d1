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

    package init(version: Version, field: Int, value: Value) {
      (self.version, self.field, self.value) = (version, field, value)
    }

    package static func < (left: Write, right: Write) -> Bool {
      left.version == right.version ? left.value < right.value : left.version < right.version
    }

    /// Whether it took an element out (M-13).
    package var isTombstone: Bool {
      switch value {
      case .set(let elements): elements.allSatisfy { !$0.isIn }
      case .dictionary(let elements): elements.allSatisfy { $0.key == nil }
      default: false
      }
    }
  }

  /// What folds by itself in a field with elements.
  struct Element: Hashable {
    enum Name: Hashable {
      case object(ObjectKey)
      case place([UInt8])
    }

    let field: Int
    let name: Name
  }

  /// The latest write to fields with elements of one name.
  private struct Latest: Equatable {
    let version: Version
    let field: Int
    let kind: Value.Kind

    /// M-14, against a value of the same name. One encoded value and one element never begin with the same byte.
    func isBelow(_ write: Write) -> Bool {
      version == write.version ? kind.rawValue < write.value.encoded[0] : version < write.version
    }
  }

  package private(set) var updated: Version?
  package private(set) var removed: Version?
  /// What is stamped at or below it is void (M-4).
  package var base: Stamp? {
    guard let purge else { return revival?.stamp }
    return max(purge.stamp, revival?.stamp ?? .earliest)
  }

  /// The highest base of entries of one kind, and the latest one that has it.
  struct Base: Hashable, Comparable {
    let stamp: Stamp
    let version: Version

    static func < (left: Base, right: Base) -> Bool { (left.stamp, left.version) < (right.stamp, right.version) }
  }

  private(set) var revival: Base?
  package var revivalBase: Stamp? { revival?.stamp }
  private(set) var purge: Base?
  /// The number that the object has claimed (J-26, M-20).
  package private(set) var claim: Int64?
  /// Values that are one as a whole, by the first field of the name.
  private(set) var writes: [Int: Write] = [:]
  /// Each of a set or dictionary with the one element.
  private(set) var elements: [Element: Write] = [:]
  /// By the first field of the name.
  private var latest: [Int: Latest] = [:]

  package init() {}

  package mutating func fold(_ operation: Entry.Operation, _ fields: [FieldValue], at version: Version, of type: TypeSchema) {
    if let number = operation.number { claim = max(claim ?? number, number) }
    if operation.isRemove {
      removed = max(removed ?? version, version)
      return
    }
    let written = operation.version(ofValuesAt: version)
    let base = operation.base.map { Base(stamp: $0, version: version) }
    if let remove = operation.knownRemove {
      removed = max(removed ?? remove, remove)
      if let base { purge = max(purge ?? base, base) }
    } else {
      updated = max(updated ?? version, version)
      if let base { revival = max(revival ?? base, base) }
    }
    for field in fields {
      switch field.value {
      case .set(let elements):
        for element in elements { fold(.object(element.key), .set([element]), of: field.field, at: written) }
        touch(field.field, at: written, of: type)
      case .dictionary(let elements):
        for element in elements { fold(.place(element.name), .dictionary([element]), of: field.field, at: written) }
        touch(field.field, at: written, of: type)
      default:
        let write = Write(version: written, field: field.field, value: field.value)
        let slot = type.slots[field.field]
        guard let held = writes[slot] else {
          writes[slot] = write
          continue
        }
        if held < write || (!(write < held) && type.fields[held.field].ranks(below: type.fields[write.field])) {
          writes[slot] = write
        }
      }
    }
  }

  private mutating func fold(_ name: Element.Name, _ value: Value, of field: Int, at version: Version) {
    let element = Element(field: field, name: name)
    let write = Write(version: version, field: field, value: value)
    if let held = elements[element], held >= write { return }
    elements[element] = write
  }

  private mutating func touch(_ field: Int, at version: Version, of type: TypeSchema) {
    let slot = type.slots[field]
    if let held = latest[slot] {
      guard held.version < version || held.version == version && type.fields[held.field].ranks(below: type.fields[field]) else {
        return
      }
    }
    latest[slot] = Latest(version: version, field: field, kind: type.fields[field].kind)
  }

  /// M-3: at equal versions a remove wins.
  package var isAlive: Bool {
    guard let updated else { return false }
    guard let removed else { return true }
    return updated > removed
  }

  /// All that is not void: the value of each name, and each element of each field, taken out or not. Rising by field, then by
  /// bytes.
  package var values: [Write] {
    let values = writes.values.filter(isValid)
    guard !elements.isEmpty else { return values.sorted { $0.field < $1.field } }
    var all: [(write: Write, bytes: [UInt8])] = values.map { ($0, []) }
    for write in elements.values where isValid(write) { all.append((write, write.value.encoded)) }
    all.sort { one, other in
      one.write.field == other.write.field
        ? one.bytes.lexicographicallyPrecedes(other.bytes) : one.write.field < other.write.field
    }
    return all.map(\.write)
  }

  /// What a table shows, and a revival carries (J-9): of each name the field that was written last (M-14), with its value or
  /// with all elements that are in. Rising by field.
  package var row: [FieldValue] {
    guard !elements.isEmpty else { return values.map { FieldValue(field: $0.field, value: $0.value) } }
    var row: [FieldValue] = []
    for (slot, write) in writes where isValid(write) && latest[slot].map({ $0.isBelow(write) }) ?? true {
      row.append(FieldValue(field: write.field, value: write.value))
    }
    var shown: [Int: [Value]] = [:]
    for (slot, latest) in latest where !(writes[slot].map { latest.isBelow($0) } ?? false) { shown[latest.field] = [] }
    for (element, write) in elements where isValid(write) && !write.isTombstone { shown[element.field]?.append(write.value) }
    for (field, values) in shown {
      if let value = Value.joined(values) { row.append(FieldValue(field: field, value: value)) }
    }
    return row.sorted { $0.field < $1.field }
  }

  /// Whether what a purge made void is void still: nobody has written the object whole since.
  package var isPurged: Bool { purge.map { purge in revival.map { purge.stamp > $0.stamp } ?? true } ?? false }

  /// What is void by a purge alone, and nobody has written since (K-24), as fields of one entry or, where that is much, of
  /// several; each has elements of its own. As values of a purge all have one version, so of the fields of one name that one
  /// alone is among them which shows with these.
  package func purged(of type: TypeSchema) -> [[FieldValue]] {
    guard isPurged else { return [] }
    func isGivenUp(_ write: Write) -> Bool { !isValid(write) && revival.map { write.version.stamp > $0.stamp } ?? true }
    /// M-14, for writes that are void as for others.
    func shows(_ write: Write) -> Bool {
      let slot = type.slots[write.field]
      guard let latest = latest[slot] else { return true }
      return write.field == (writes[slot].flatMap { latest.isBelow($0) ? $0.field : nil } ?? latest.field)
    }
    let given = (Array(writes.values) + elements.values).filter { isGivenUp($0) && shows($0) }.sorted { $0.field < $1.field }
    var parts: [(fields: [Int: [Value]], size: Int)] = []
    for write in given {
      let size = 4 + write.value.encodedLength + 16 * write.value.elementCount
      if parts.last.map({ $0.size <= Limits.valueBytes - size }) != true { parts.append(([:], 0)) }
      parts[parts.count - 1].fields[write.field, default: []].append(write.value)
      parts[parts.count - 1].size += size
    }
    return parts.map { part in
      part.fields.sorted { $0.key < $1.key }.map { FieldValue(field: $0, value: Value.joined($1) ?? $1[0]) }
    }
  }

  func isValid(_ write: Write) -> Bool { base.map { write.version.stamp > $0 } ?? true }  // M-4
}
