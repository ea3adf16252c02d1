internal import MagicJournal

extension Instance {
  /// Saves what a property holds of other objects, which are saved with this one.
  func save(
    _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, into object: inout ObjectSave.Content,
    in database: Store, _ fresh: FreshInstances, _ number: (Instance) -> Int
  ) throws {
    object.values.append(.null)
    let state = storage[slot]
    guard case .held(let held) = state.slot else { return try saveNone(index, relation, storage, slot, into: &object) }
    guard try isFetched(held, index, relation, storage, slot, in: database, noting: &object) else { return }
    var (members, names) = try members(of: held, index, relation)
    // What `init()` puts in is stored once something is set in it.
    let isKept = record?.database == database.id
    let isSet =
      try state.isEdited
      || held.links?.isEmpty ?? true && record != nil && !members.isEmpty
        && !isDefault(index, relation, members, names, fresh)
      || isKept && state.isStored && haveMoved(members, names, relation.kind, from: held.links ?? [], in: database)
    if !isSet, isKept, try isAsRecorded() || held.links?.isEmpty == false {
      let isLeftOut = leaveOutUnknown(&members, &names, in: database)
      if isLeftOut, relation.kind == .reference, layout.properties[index].role == .required {
        object.missing.insert(index)
        return
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

  /// Saves that nothing is held: no object of an optional property, which for several objects is no value (J-22).
  private func saveNone(
    _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, into object: inout ObjectSave.Content
  ) throws {
    let state = storage[slot]
    guard layout.properties[index].role == .optional else { throw unset(layout.properties[index]) }
    guard case .null = state.slot else { return }
    object.present.insert(index)
    if state.isEdited {
      object.edited.insert(index)
      object.changed.insert(index)
    }
    object.relations.append(
      RelationSave(
        index: index, kind: relation.kind, members: [], names: [],
        baseline: state.isEdited ? try baseline(relation, storage, slot, isEmpty: true) : nil,
        hidden: hidden(index, storage, slot)))
  }

  /// Whether the members are at hand. If they are not there, cannot be read or were never fetched, this is noted: what the
  /// database holds stays, and a save of the object as a whole may refuse it.
  ///
  /// - Throws: `value` if the property was set to what another object has in the database, and nobody fetched.
  private func isFetched(
    _ held: Held, _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, in database: Store,
    noting object: inout ObjectSave.Content
  ) throws -> Bool {
    let asked = relation.asked(held)
    if let asked, storage[slot].isEdited, !asked.isOf(record, index, storage.part(of: slot).identity) {
      throw MagicDataError(
        .value,
        """
        \(layout.name).\(layout.properties[index].name) was set to what \(asked.name) of another object has in the database and did not fetch yet; set \
        what its get() gives
        """)
    }
    guard held.isMissing || asked != nil else { return true }
    object.missing.insert(index)
    if let asked {
      object.unfetched.insert(index)
      object.unfetchedOf = asked.origin.id == database.id ? asked.zIndex : nil
    }
    return false
  }

  private func members(
    of held: Held, _ index: Int, _ relation: any RelationCodec
  ) throws -> (instances: [Instance], names: [[UInt8]]) {
    let (members, names) = try relation.members(of: held)
    guard relation.kind != .dictionary || Set(names).count == names.count else {
      throw MagicDataError(
        .value,
        "\(layout.name).\(layout.properties[index].name) has two keys that are encoded alike, where one is stored; give one object a key"
      )
    }
    return (members, names)
  }

  /// Takes out members that the database does not know any more, where nothing was put in since: they were removed, or are
  /// another database's by now, and are not made again by the way.
  ///
  /// - Returns: whether there was any.
  private func leaveOutUnknown(_ members: inout [Instance], _ names: inout [[UInt8]], in database: Store) -> Bool {
    let isKnown = members.map { $0.record?.database == database.id }
    guard isKnown.contains(false) else { return false }
    if !names.isEmpty { names = zip(names, isKnown).filter(\.1).map(\.0) }
    members = zip(members, isKnown).filter(\.1).map(\.0)
    return true
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

  func hidden(_ index: Int, _ storage: Storage, _ slot: Int) -> Set<Int64> {
    guard case .held(let held)? = storage.stored(at: slot) else { return [] }
    return layout.properties[index].relation?.asked(held).map { $0.shown?.hidden ?? [] } ?? held.hidden
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
}
