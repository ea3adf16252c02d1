internal import MagicJournal

extension Instance {
  /// The values to be saved, and a mark that each carries until it is set anew, for `saved`.
  ///
  /// - Parameter database: where it is saved.
  /// - Parameter fresh: for all that is saved with it.
  /// - Parameter number: gives each object that this one holds its number in the graph that is saved.
  func save(
    in database: Store, _ fresh: FreshInstances, _ number: (Instance) -> Int = { _ in 0 }
  ) throws -> (ObjectSave, mark: UInt8) {
    if !layout.classes.isEmpty { try setChangedInPlace(fresh) }
    var object = ObjectSave.Content()
    object.values.reserveCapacity(layout.properties.count)
    let record = record
    let mark = first.nextMark()
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if layout.relational.contains(index), let relation = layout.properties[index].relation {
        storage[slot].save = mark
        try save(index, relation, storage, slot, into: &object, in: database, fresh, number)
        continue
      }
      let value = isTakenBack(index) ? nil : try value(index)
      storage[slot].save = mark
      guard let value else {
        // A number that is not set is the next one (J-27).
        guard layout.properties[index].role == .optional || layout.isAutomatic(index) else {
          throw unset(layout.properties[index])
        }
        object.values.append(.null)
        continue
      }
      object.present.insert(index)
      let edit = try edit(of: index, isNew: record == nil, fresh)
      if edit.isEdited { object.edited.insert(index) }
      if edit.isChanged { object.changed.insert(index) }
      object.values.append(value)
    }
    if let record {
      let primary = try storedPrimary()
      object.record = record.key(primary).map {
        ObjectSave.Record(database: record.database, place: record.place, key: $0, primary: primary)
      }
    }
    object.primary = layout.primary.flatMap { object.values[$0] == .null ? nil : object.values[$0] }
    if object.record != nil, object.record(in: database.id) == nil { object.filledIn = try filledIn(among: object) }
    object.removed = removed.map { ObjectSave.Removed(database: $0.database, birth: $0.birth) }
    return (ObjectSave(object), mark)
  }

  /// What shows a default, or what a migration fills in, in place of what is stored (J-12).
  private func filledIn(among object: ObjectSave.Content) throws -> PropertySet {
    var filledIn = PropertySet()
    for index in layout.properties.indices where object.present.contains(index) && !layout.relational.contains(index) {
      let (storage, slot) = property(index)
      guard !storage[slot].isEdited, let stored = storage.stored(at: slot) else { continue }
      guard let value = try stored.value(), value != object.values[index] else { continue }
      // A class may have changed since; what stands for a value that its type cannot read is no change either.
      if !layout.changing.contains(index) || value == .null || (try? layout.codecs[index].slot(of: value)) == nil {
        filledIn.insert(index)
      }
    }
    return filledIn
  }

  /// Whether a value was set since the instance was fetched or saved, and whether it differs from what the database held then
  /// (L-7).
  @inline(__always)
  func edit(of index: Int, isNew: Bool, _ fresh: FreshInstances) throws -> (isEdited: Bool, isChanged: Bool) {
    let (storage, slot) = property(index)
    guard storage[slot].isEdited, try !isNew || !isDefault(index, storage[slot], fresh) else { return (false, false) }
    // A content that has no name yet is compared when it has.
    guard storage[slot].isStored, !storage[slot].slot.isUnnamed else { return (true, true) }
    return (true, try storage.stored(at: slot)?.value() != storage[slot].slot.value())
  }

  /// An object of a class that the app has changed in place is taken for set.
  func setChangedInPlace(_ fresh: FreshInstances) throws {
    for index in layout.classes {
      let (storage, slot) = property(index)
      guard case .held(let held) = storage[slot].slot else { continue }
      do {
        if let changed = try held.changedInPlace() {
          storage.set(.held(changed), at: slot)
        } else if !held.isKnown, !storage[slot].isEdited, try !isAsMade(index, storage[slot].slot, fresh) {
          // A default that stands for what is not stored.
          storage.set(.held(held), at: slot)
        }
      } catch let error as MagicDataError where error.code == .value {
        throw MagicDataError(.value, "\(layout.name).\(layout.properties[index].name): \(error.message)", cause: error)
      }
    }
  }
}
