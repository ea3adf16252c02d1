internal import MagicJournal

extension Instance {
  /// After a save: what was set since stays set.
  func saved(
    _ saved: SavedObject, _ object: ObjectSave, mark: UInt8, held: [Int: Held] = [:], in database: Store
  ) {
    let isAnother =
      saved.extent.isMet && record.map { ($0.database, $0.place.zIndex) != (database.id, saved.place.zIndex) } ?? false
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      let isAsSaved = storage[slot].save == mark
      if layout.relational.contains(index) {
        if isAnother, saved.links[index] == nil, storage[slot].isStored {
          metRelation(index, saved, storage, slot, isAsSaved, in: database)
        } else {
          savedRelation(index, saved.links[index], held[index], storage, slot, isAsSaved, saved.extent)
        }
        continue
      }
      if index == layout.primary, let number = saved.number {
        // Another save may have been on its way; what counts is whether the app has set a number.
        if isAsSaved || storage[slot].slot.isUnset || !storage[slot].isEdited {
          // A type of the app's own that cannot read it goes on showing what it did: the object is named by its birth.
          if let given = try? layout.codecs[index].slot(of: .integer(number)) { storage.put(given, at: slot) }
          storage.setStored(at: slot)
        } else {
          storage.setStored(.integer(number), at: slot, isEdited: true)
        }
        continue
      }
      switch saved.stored(index, object) {
      case .unchanged:
        // It was set to what it was.
        if isAsSaved, storage[slot].isEdited { setSaved(index, object.values[index], storage, slot) }
      case .asGiven where isAsSaved:
        setSaved(index, object.values[index], storage, slot)
      case .asGiven:
        storage.setStored(Slot(stored: object.values[index]), at: slot, isEdited: true)
      case .other(let value):
        storage.setStored(Slot(stored: value), at: slot, isEdited: !isAsSaved && storage[slot].isEdited)
      }
    }
    for index in layout.classes {
      let (storage, slot) = property(index)
      // What it is compared with when it is changed in place, whatever the database holds.
      if storage[slot].save == mark, case .held(let held) = storage[slot].slot { held.setSaved(object.values[index]) }
    }
    let birth: Birth? = if case .birth(let birth) = saved.key { birth } else { nil }
    record = Record(database: database.id, keeper: layout.asks ? database : nil, place: saved.place, birth: birth)
  }

  /// The database holds what the slot held when it was saved.
  private func setSaved(_ index: Int, _ value: Value, _ storage: Storage, _ slot: Int) {
    guard layout.changing.contains(index) else { return storage.setStored(at: slot) }
    // What it is compared with when it is set again.
    storage.setStored(Slot(stored: value), at: slot, isEdited: false)
  }

  /// - Parameter links: as they are in the database; `nil` if the save left them as they were.
  /// - Parameter extent: what was not written of an object that was there already is known after the save as little as before.
  private func savedRelation(
    _ index: Int, _ links: [Link]?, _ held: Held?, _ storage: Storage, _ slot: Int, _ isAsSaved: Bool,
    _ extent: SavedObject.Extent
  ) {
    let isNew = if case .all = extent { true } else { false }
    let isUnknown = !isNew && links == nil && !storage[slot].isStored
    // Links that are there all the same are those of a transaction that was rolled back.
    if isUnknown, held?.links != nil || held == nil || layout.properties[index].kind == .reference {
      return storage.forget(at: slot, isEdited: !isAsSaved && storage[slot].isEdited)
    }
    if let links, let held {
      held.links = links
      held.hidden.formUnion(hidden(index, storage, slot))
    }
    if isAsSaved {
      if let held, held.links == nil, !held.isMissing, isNew { held.links = [] }
      storage.setStored(at: slot)
    } else if links != nil || !storage[slot].isStored {
      storage.setStored(held.map { .held($0) } ?? .null, at: slot, isEdited: true)
    }
  }

  /// A relation that did not come along to the object that the instance is by now, which was there already: what has not been
  /// asked for is asked of that one.
  private func metRelation(
    _ index: Int, _ saved: SavedObject, _ storage: Storage, _ slot: Int, _ isAsSaved: Bool, in database: Store
  ) {
    let asking = layout.properties[index].relation.flatMap {
      self.asking(index, $0, of: saved.place.zIndex, saved.key, in: database)
    }
    switch (asking, storage.stored(at: slot)) {
    case (let asking?, .held) where isAsSaved:
      storage.put(asking, at: slot)
      storage.setStored(at: slot)
    case (let asking?, _):
      storage.setStored(asking, at: slot, isEdited: !isAsSaved)
    // What is in the place of that one's is not there.
    case (nil, .held(let held)): held.links = []
    default: storage.forget(at: slot, isEdited: !isAsSaved && storage[slot].isEdited)
    }
  }

  /// After a remove: what is set is set anew.
  func remove() {
    let removed = asRemoved
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      storage.forget(at: slot, isEdited: true)
    }
    record = nil
    first.removed = removed
  }

  /// What a remove leaves of an object with a number from the database.
  private var asRemoved: RemovedNumber? {
    guard let record else { return removed }
    guard let birth = record.birth, let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return storage[slot].isEdited ? nil : RemovedNumber(record.database, birth, edits: storage[slot].edits)
  }
}
