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

  private func save(
    _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, into object: inout ObjectSave.Content,
    in database: Store, _ fresh: FreshInstances, _ number: (Instance) -> Int
  ) throws {
    object.values.append(.null)
    let state = storage[slot]
    guard case .held(let held) = state.slot else {
      guard layout.properties[index].role == .optional else { throw unset(layout.properties[index]) }
      guard case .null = state.slot else { return }
      object.present.insert(index)
      if state.isEdited {
        object.edited.insert(index)
        object.changed.insert(index)
      }
      // None is left, which for several objects is no value (J-22).
      object.relations.append(
        RelationSave(
          index: index, kind: relation.kind, members: [], names: [],
          baseline: state.isEdited ? try baseline(relation, storage, slot, isEmpty: true) : nil,
          hidden: hidden(index, storage, slot)))
      return
    }
    if let asked = relation.asked(held), state.isEdited, !asked.isOf(record, index, storage.part(of: slot).identity) {
      throw MagicDataError(
        .value,
        """
        \(layout.name).\(layout.properties[index].name) was set to what \(asked.name) of another object has in the database and did not fetch yet; set \
        what its get() gives
        """)
    }
    let asked = relation.asked(held)
    guard !held.isMissing, asked == nil else {
      object.missing.insert(index)
      if let asked {
        object.unfetched.insert(index)
        object.unfetchedOf = asked.origin.id == database.id ? asked.zIndex : nil
      }
      return
    }
    var (members, names) = try relation.members(of: held)
    guard relation.kind != .dictionary || Set(names).count == names.count else {
      throw MagicDataError(
        .value,
        "\(layout.name).\(layout.properties[index].name) has two keys that are encoded alike, where one is stored; give one object a key"
      )
    }
    // What `init()` puts in is stored once something is set in it.
    let isKept = record?.database == database.id
    let isSet =
      try state.isEdited
      || held.links?.isEmpty ?? true && record != nil && !members.isEmpty
        && !isDefault(index, relation, members, names, fresh)
      || isKept && state.isStored && haveMoved(members, names, relation.kind, from: held.links ?? [], in: database)
    if !isSet, isKept, try isAsRecorded() || held.links?.isEmpty == false {
      // Nothing was put in since; what the database does not know any more was removed, or is another database's by now, and is
      // not made again by the way.
      let isKnown = members.map { $0.record?.database == database.id }
      if isKnown.contains(false) {
        if relation.kind == .reference, layout.properties[index].role == .required {
          object.missing.insert(index)
          return
        }
        if !names.isEmpty { names = zip(names, isKnown).filter(\.1).map(\.0) }
        members = zip(members, isKnown).filter(\.1).map(\.0)
      }
    }
    let isDefault =
      record == nil && !state.isKnown && state.edits == layout.initialEdits[index]
      && isDefault(index, relation, members, names, fresh)
    object.present.insert(index)
    if isSet, !isDefault {
      object.edited.insert(index)
      object.changed.insert(index)
    }
    object.relations.append(
      RelationSave(
        index: index, kind: relation.kind, members: members.map(number), names: names,
        baseline: isSet ? try baseline(relation, storage, slot, isEmpty: members.isEmpty) : nil,
        hidden: hidden(index, storage, slot),
        isDefault: isDefault && !members.isEmpty))
  }

  /// Whether a member is another object by now than the one that was put in: it was given another primary value, or was removed
  /// and saved again. Not while there are members that the database does not know any more, of which the owner says nothing by
  /// the way.
  private func haveMoved(
    _ members: [Instance], _ names: [[UInt8]], _ kind: Value.Kind, from links: [Link], in database: Store
  ) throws -> Bool {
    let places = members.compactMap { $0.record?.database == database.id ? $0.record?.place.zIndex : nil }
    guard places.count == members.count else { return false }
    let targets = links.map(\.target)
    var areOthers = !links.isEmpty && places != targets
    if areOthers, kind == .set {
      // They may have become one.
      areOthers = Set(places) != Set(targets)
    } else if areOthers, kind == .dictionary {
      // A key that another writer has encoded in another way stands for no other object.
      let held = Dictionary(links.map { ($0.name, $0.target) }) { $1 }
      areOthers = zip(names, places).contains { name, place in held[name].map { $0 != place } ?? false }
    }
    return try areOthers || members.contains { try !$0.isAsRecorded() }
  }

  private func hidden(_ index: Int, _ storage: Storage, _ slot: Int) -> Set<Int64> {
    guard case .held(let held)? = storage.stored(at: slot) else { return [] }
    return layout.properties[index].relation?.asked(held).map { $0.shown?.hidden ?? [] } ?? held.hidden
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

  /// The objects that the database held for a property when it was fetched or saved, as far as this instance showed them.
  ///
  /// - Parameter isEmpty: whether there are none now.
  private func baseline(
    _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, isEmpty: Bool
  ) throws -> [RelationSave.Member]? {
    guard case .held(let held)? = storage.stored(at: slot) else { return storage[slot].isStored ? [] : nil }
    // What was never fetched is told from what the database holds.
    if let asked = relation.asked(held) { return asked.shown?.links.map { RelationSave.Member(key: nil, link: $0) } }
    // Of an object that was met, what was put in beside it stays, and all goes that nothing is put in place of.
    guard let links = held.links else { return isEmpty ? nil : [] }
    guard !held.isMissing else { return links.map { RelationSave.Member(key: nil, link: $0) } }
    return try zip(relation.members(of: held).instances, links).map { member, link in
      // A member may have been removed since, or saved in another database.
      guard let known = member.record, known.database == record?.database, known.place.zIndex == link.target else {
        return RelationSave.Member(key: nil, link: link)
      }
      return RelationSave.Member(key: try member.key(known), link: link)
    }
  }

  /// What the slots of relations hold while a save is on its way.
  func heldRelations() -> [Int: Held] {
    var helds: [Int: Held] = [:]
    for index in layout.properties.indices where layout.relational.contains(index) {
      let (storage, slot) = property(index)
      if case .held(let held) = storage[slot].slot { helds[index] = held }
    }
    return helds
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
