/// What of an object's entries stays when what they superseded goes (K-2). Entries are shown to it one by one, in any order;
/// what it keeps folds to the same.
package struct KeptEntries {
  private let state: ObjectState
  /// Writes that an entry has still to be kept for.
  private var writes: [Int: ObjectState.Write]
  private var elements: [ObjectState.Element: ObjectState.Write]
  private var needsUpdate = true
  private var needsRemove = true
  private var needsPurge = true
  private var needsClaim = true
  /// The bases of revivals for which no entry has been kept yet.
  private var revivals: Set<ObjectState.Base> = []

  /// - Parameters:
  ///   - state: what all the entries fold to.
  ///   - entries: what each of them is; only revivals count.
  package init(_ state: ObjectState, of entries: some Sequence<(Entry.Operation, Version)>) {
    self.state = state
    writes = state.writes.filter { state.isValid($0.value) }
    elements = state.elements.filter { state.isValid($0.value) }
    guard state.revival != nil else { return }
    var bases: [ObjectState.Base] = []
    for (operation, version) in entries where !isOver(version) {
      if case .revival(let base) = operation { bases.append(ObjectState.Base(stamp: base, version: version)) }
    }
    // Which of these has the highest base once a purge makes others void, nobody knows yet.
    var highest: Stamp?
    for base in bases.sorted(by: { ($0.version, $0.stamp) > ($1.version, $1.stamp) }) {
      if let highest, base.stamp <= highest { continue }
      highest = base.stamp
      revivals.insert(base)
    }
  }

  /// Whether a purge has made void all that a revival wrote: it stands for the revival's base from then on.
  private func isOver(_ version: Version) -> Bool { state.purge.map { version.stamp <= $0.stamp } ?? false }

  /// What stays of an entry; `nil` if nothing does.
  package mutating func kept(_ entry: Entry, at version: Version, of type: TypeSchema) -> Entry? {
    var isNeeded = false
    if let number = entry.operation.number, number == state.claim, needsClaim { (isNeeded, needsClaim) = (true, false) }
    if entry.operation.isRemove {
      if version == state.removed, needsRemove { (isNeeded, needsRemove) = (true, false) }
      return isNeeded ? entry : nil
    }
    let base = entry.operation.base.map { ObjectState.Base(stamp: $0, version: version) }
    if let remove = entry.operation.knownRemove {
      if needsPurge, base == state.purge, state.isPurged || remove == state.removed { (isNeeded, needsPurge) = (true, false) }
    } else {
      if version == state.updated, needsUpdate { (isNeeded, needsUpdate) = (true, false) }
      if let base, revivals.remove(base) != nil { isNeeded = true }
    }
    var kept = entry
    if case .revival = entry.operation, isOver(version) { kept.operation = .update }
    let version = entry.operation.version(ofValuesAt: version)
    kept.fields = entry.fields.compactMap { field in
      value(field, at: version, of: type).map { FieldValue(field: field.field, value: $0) }
    }
    return isNeeded || !kept.fields.isEmpty ? kept : nil
  }

  private mutating func value(_ field: FieldValue, at version: Version, of type: TypeSchema) -> Value? {
    switch field.value {
    case .set(let elements):
      let kept = elements.filter { take(.object($0.key), .set([$0]), of: field.field, at: version) }
      return kept.isEmpty ? nil : .set(kept)
    case .dictionary(let elements):
      let kept = elements.filter { take(.place($0.name), .dictionary([$0]), of: field.field, at: version) }
      return kept.isEmpty ? nil : .dictionary(kept)
    default:
      let slot = type.slots[field.field]
      guard writes[slot] == ObjectState.Write(version: version, field: field.field, value: field.value) else { return nil }
      writes[slot] = nil
      return field.value
    }
  }

  private mutating func take(_ name: ObjectState.Element.Name, _ value: Value, of field: Int, at version: Version) -> Bool {
    let element = ObjectState.Element(field: field, name: name)
    guard elements[element] == ObjectState.Write(version: version, field: field, value: value) else { return false }
    elements[element] = nil
    return true
  }
}

extension ObjectState {
  /// Whether two folds come to the same, now and with whatever is folded on top. Void writes tell nothing.
  package func isSame(as other: ObjectState) -> Bool { saysTheSame(as: other) && row == other.row }

  /// Whether two come to the same digest, and a remove of what is dead anyway is in both (M-12).
  package func saysTheSame(as other: ObjectState) -> Bool {
    updated == other.updated && removed == other.removed && base == other.base && claim == other.claim && values == other.values
  }
}
