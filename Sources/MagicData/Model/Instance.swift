internal import MagicJournal

/// An instance seen as its properties, on its owner's side.
struct Instance {
  enum Places {
    /// Slot by slot as the properties are declared.
    case shared(Storage)
    case apart([PropertySlot])
  }

  let layout: Layout
  private let places: Places

  init<Object: MagicObject>(of object: Object) throws {
    try self.init(object, Layout.of(Object.self))
  }

  init<Object: MagicObject>(_ object: Object, _ layout: Layout) throws {
    self.layout = layout
    places = try layout.places(of: object)
  }

  /// The storage that knows where the object stands in a database.
  var first: Storage {
    switch places {
    case .shared(let storage): storage
    case .apart(let properties): properties[0].storage
    }
  }

  @inline(__always)
  func property(_ index: Int) -> (storage: Storage, slot: Int) {
    switch places {
    case .shared(let storage): (storage, index)
    case .apart(let properties): (properties[index].storage, properties[index].index)
    }
  }

  /// Equal for copies, which share their values.
  var identity: ObjectIdentifier { ObjectIdentifier(first) }

  // MARK: The object it is

  var record: Record? { first.header.record }

  /// What names the object as which the instance was fetched or saved.
  func key(_ record: Record) throws -> ObjectKey? {
    if let birth = record.birth { return .birth(birth) }
    guard let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return try storage.stored(at: slot)?.value().map { .primary($0) }
  }

  /// Names the object in a database, if it has a name there.
  func key(in database: Origin) throws -> ObjectKey? {
    if let primary = try primary() { return .primary(primary) }
    guard let record, record.origin.id == database.id else { return nil }
    return try key(record)
  }

  func primary() throws -> Value? {
    guard let index = layout.primary else { return nil }
    return try value(index)
  }

  // MARK: Saving

  /// The values to be saved, and a mark that each carries until it is set anew, for `saved`.
  ///
  /// - Parameter number: gives each object that this one holds its number in the graph that is saved.
  func save(_ number: (Instance) -> Int = { _ in 0 }) throws -> (ObjectSave, mark: UInt8) {
    var object = ObjectSave(properties: layout.properties.count)
    let record = record
    let mark = first.nextMark()
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if let relation = layout.properties[index].relation {
        storage[slot].save = mark
        try save(index, relation, storage, slot, into: &object, number)
        continue
      }
      let value = try value(index)
      storage[slot].save = mark
      guard let value else {
        guard layout.properties[index].role == .optional else { throw unset(layout.properties[index]) }
        object.values.append(.null)
        continue
      }
      object.present.insert(index)
      if storage[slot].isEdited, !isDefault(index, storage[slot], value, isNew: record == nil) {
        object.edited.insert(index)
        if try storage.stored(at: slot)?.value() != value { object.changed.insert(index) }
      }
      object.values.append(value)
    }
    if let record, let key = try key(record) {
      object.record = ObjectSave.Record(database: record.origin.id, place: record.place, key: key)
    }
    object.primary = layout.primary.map { object.values[$0] }
    return (object, mark)
  }

  private func save(
    _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, into object: inout ObjectSave,
    _ number: (Instance) -> Int
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
        // Of several objects none is left.
        if relation.kind.isLinked {
          object.relations.append(
            RelationSave(
              index: index, kind: relation.kind, members: [], names: [], baseline: try baseline(relation, storage, slot)))
        }
      }
      return
    }
    guard !held.isMissing else {
      object.missing.insert(index)
      return
    }
    let (members, names) = try relation.members(of: held)
    let isDefault =
      record == nil && !state.isStored && members.isEmpty && state.edits == layout.properties[index].initialEdits
    object.present.insert(index)
    if state.isEdited, !isDefault {
      object.edited.insert(index)
      object.changed.insert(index)
    }
    object.relations.append(
      RelationSave(
        index: index, kind: relation.kind, members: members.map(number), names: names,
        baseline: state.isEdited ? try baseline(relation, storage, slot) : nil))
  }

  /// The objects that the database held for a property when it was fetched or saved, as far as this instance showed them.
  private func baseline(_ relation: any RelationCodec, _ storage: Storage, _ slot: Int) throws -> [RelationSave.Member]? {
    guard case .held(let held)? = storage.stored(at: slot), let links = held.links else {
      return storage[slot].isStored ? [] : nil
    }
    guard !held.isMissing else { return [] }
    return try zip(relation.members(of: held).instances, links).compactMap { member, link in
      guard let record = member.record, let key = try member.key(record) else { return nil }
      return RelationSave.Member(key: key, link: link)
    }
  }

  /// What the slots of relations hold while a save is on its way.
  func heldRelations() -> [Int: Held] {
    var helds: [Int: Held] = [:]
    for index in layout.properties.indices where layout.properties[index].relation != nil {
      let (storage, slot) = property(index)
      if case .held(let held) = storage[slot].slot { helds[index] = held }
    }
    return helds
  }

  /// Whether the app has left the value as `init()` made it. (A struct's delegating `init` that sets a value to its own default cannot be told
  /// from that.)
  private func isDefault(_ index: Int, _ state: Storage.Property, _ value: Value, isNew: Bool) -> Bool {
    isNew && !state.isStored && state.edits == layout.properties[index].initialEdits
      && layout.properties[index].initial == value
  }

  /// After a save: what was set since stays set.
  func saved(
    _ saved: SavedObject, _ object: ObjectSave, mark: UInt8, held: [Int: Held] = [:], in database: Origin
  ) {
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      let isAsSaved = storage[slot].save == mark
      if layout.properties[index].relation != nil {
        savedRelation(saved.links[index], held[index], storage, slot, isAsSaved)
        continue
      }
      switch saved.stored(index, object) {
      case .unchanged:
        // It was set to what it was.
        if isAsSaved, storage[slot].isEdited { storage.setStored(at: slot) }
      case .asGiven where isAsSaved:
        storage.setStored(at: slot)
      case .asGiven:
        storage.setStored(Slot(stored: object.values[index]), at: slot, isEdited: true)
      case .other(let value):
        storage.setStored(Slot(stored: value), at: slot, isEdited: !isAsSaved && storage[slot].isEdited)
      }
    }
    let birth: Birth? = if case .birth(let birth) = saved.key { birth } else { nil }
    first.header.record = Record(origin: database, place: saved.place, birth: birth)
  }

  /// - Parameter links: as they are in the database; `nil` if the save left them as they were.
  private func savedRelation(_ links: [Link]?, _ held: Held?, _ storage: Storage, _ slot: Int, _ isAsSaved: Bool) {
    if let links { held?.links = links }
    if isAsSaved {
      if let held, held.links == nil, !held.isMissing { held.links = [] }
      storage.setStored(at: slot)
    } else if links != nil || !storage[slot].isStored {
      storage.setStored(held.map { .held($0) } ?? .null, at: slot, isEdited: true)
    }
  }

  /// After a remove: what is set is set anew.
  func removed() {
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      storage.forget(at: slot, isEdited: true)
    }
    first.header.record = nil
  }

  // MARK: Rolling back

  /// Makes the instance remember what it remembers here, if a transaction is rolled back; unless it was saved in another database since.
  func undo(in database: Origin) -> () -> Void {
    let record = record
    let memories = layout.properties.indices.map { index in
      let (storage, slot) = property(index)
      return (stored: storage.stored(at: slot), isEdited: storage[slot].isEdited, edits: storage[slot].edits)
    }
    return {
      guard self.record.map({ $0.origin.id == database.id }) ?? true else { return }
      for (index, memory) in memories.enumerated() {
        let (storage, slot) = property(index)
        let isEdited = memory.isEdited || storage[slot].edits != memory.edits
        if let stored = memory.stored {
          storage.setStored(stored, at: slot, isEdited: isEdited)
        } else {
          storage.forget(at: slot, isEdited: isEdited)
        }
      }
      first.header.record = record
    }
  }

  /// Makes an instance that was fetched forget where, if the transaction is rolled back in which it was: the row may never have been.
  func forgetting(in database: Origin) -> () -> Void {
    {
      guard record.map({ $0.origin.id == database.id }) ?? true else { return }
      for index in layout.properties.indices {
        let (storage, slot) = property(index)
        storage.forget(at: slot, isEdited: storage[slot].isEdited)
      }
      first.header.record = nil
    }
  }

  // MARK: Fetching

  /// Takes over a row. A value that cannot be read as its property's type counts as not arrived (L-8, M-6): a property that can be absent is
  /// left as it is, for another the error is thrown.
  func fetched(_ rows: FetchedRows, _ row: Int, in database: Origin) throws {
    let start = row * layout.properties.count
    for index in layout.properties.indices {
      // Objects come when all of them are there.
      if layout.properties[index].relation != nil { continue }
      let (storage, slot) = property(index)
      let property = layout.properties[index]
      let value = rows.values[start + index]
      do {
        let fetched = try property.codec.slot(of: value)
        if property.kind == .asset {
          if case .held(let held) = fetched { held.asset?.place.isKept(in: database.assets) }
          if !storage[slot].slot.hasValue, property.role == .required { storage[slot].slot = try property.codec.empty() }
        }
        guard fetched.hasValue || property.role == .optional && !storage[slot].slot.hasValue else {
          // Its default stands for what is not stored.
          storage.setStored(.null, at: slot, isEdited: false)
          continue
        }
        storage[slot].slot = fetched
        storage.setStored(at: slot)
      } catch let error as MagicDataError where error.code == .value {
        guard property.canBeAbsent else {
          throw MagicDataError(.value, "a \(layout.name) cannot be read: \(property.name): \(error.message)", cause: error)
        }
        storage.setStored(Slot(stored: value), at: slot, isEdited: false)
      }
    }
    first.header.record = Record(
      origin: database, place: rows.places[row], birth: rows.births.isEmpty ? nil : rows.births[row])
  }

  /// Takes over the objects of a property, after `fetched`.
  func fetched(_ index: Int, _ links: [Link], _ relation: any RelationCodec, among objects: FetchedObjects) throws {
    let (storage, slot) = property(index)
    let isOptional = layout.properties[index].role == .optional
    if links.isEmpty, isOptional || relation.kind == .reference {
      if isOptional { storage[slot].slot = .null }
      storage.setStored(at: slot)
    } else {
      storage[slot].slot = try relation.slot(of: links, among: objects) ?? .held(MissingObject(links))
      storage.setStored(at: slot)
    }
  }

  // MARK: Values

  private func value(_ index: Int) throws -> Value? {
    let property = layout.properties[index]
    let (storage, slot) = self.property(index)
    if property.role == .primary, !storage[slot].slot.hasValue { settlePrimary(index) }
    // It gets its name when its content is written.
    if property.kind == .asset, case .held(let held) = storage[slot].slot, held.asset?.isUnnamed == true { return .asset("") }
    do {
      let value = try storage[slot].slot.value()
      guard (value?.length ?? 0) <= Limits.valueBytes else {
        throw MagicDataError(
          .tooLarge, "\(layout.name).\(property.name) is above the limit of \(Limits.valueBytes) bytes for one value")
      }
      return value
    } catch let error as MagicDataError where error.code == .value {
      throw MagicDataError(.value, "\(layout.name).\(property.name): \(error.message)", cause: error)
    }
  }

  /// A primary value that was never set gets its default.
  private func settlePrimary(_ index: Int) {
    let (storage, slot) = property(index)
    if let value = layout.properties[index].codec.primaryDefault { storage.set(value, at: slot) }
  }

  private func unset(_ property: Layout.Property) -> MagicDataError {
    MagicDataError(.unsetValue, "\(layout.name).\(property.name) was never set; give it a value before the object is saved")
  }
}

extension Slot {
  /// What a database holds, which no property's type has read.
  fileprivate init(stored value: Value) {
    self = value == .null ? .null : .held(RawValue(value))
  }
}
