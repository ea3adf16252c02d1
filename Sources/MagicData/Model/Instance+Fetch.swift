internal import MagicJournal

extension Instance {
  /// Makes an instance of a row. A value that cannot be read as its property's type counts as not arrived
  /// (L-8, M-6): a property that can be absent is left as it is, for another the error is thrown.
  static func make<Object: MagicObject>(
    _ object: UnsafeMutablePointer<Object>, _ layout: Layout, _ row: FetchedRow, in database: Store
  ) throws {
    let record = Record(
      database: database.id, keeper: layout.asks ? database : nil, place: row.place, birth: row.birth)
    if layout.holds(row.storage) {
      row.storage.part(of: 0).record = record
      layout.compose(UnsafeMutableRawPointer(object), of: row.storage)
      return
    }
    object.initialize(to: Object())
    do {
      try fill(object, layout, row.storage, record, in: database)
    } catch {
      object.deinitialize(count: 1)
      throw error
    }
  }

  private static func fill<Object: MagicObject>(
    _ object: UnsafePointer<Object>, _ layout: Layout, _ row: Storage, _ record: Record, in database: Store
  ) throws {
    // Mostly all wrappers share a storage and all values are what slots hold: then this does nothing but move them.
    guard let (storage, first) = layout.storage(of: object) else {
      let instance = try Instance(at: object, layout)
      for index in layout.properties.indices { try instance.fetched(index, of: row, in: database) }
      instance.record = record
      return
    }
    try storage._withUnsafeGuaranteedRef { storage in
      for index in 0..<layout.fetches.count {
        let fetch = layout.fetches[index]
        if storage.take(index, of: row, at: first + fetch.slot, as: fetch.codec) { continue }
        try Instance(at: object, layout).fetched(index, of: row, in: database)
      }
      storage.part(of: first).record = record
      layout.joinReverses(storage, from: first)
    }
  }

  private func fetched(_ index: Int, of row: Storage, in database: Store) throws {
    // Objects come when all of them are there.
    if layout.relational.contains(index) { return }
    let (storage, slot) = property(index)
    if storage.take(index, of: row, at: slot, as: layout.codecs[index]) { return }
    try fetched(index, row[index].slot, in: database)
  }

  /// A value that has to be read by its property's type.
  private func fetched(_ index: Int, _ stored: Slot, in database: Store) throws {
    let (storage, slot) = property(index)
    let value = try stored.value() ?? .null
    do {
      let fetched = try layout.codecs[index].slot(of: value)
      if !layout.assets.isEmpty, case .held(let held) = fetched { held.asset?.place.isKept(in: database.assets) }
      guard fetched.hasValue || layout.roles[index] == .optional && !storage[slot].slot.hasValue else {
        // Its default, or what a migration fills in, stands for what is not stored.
        try fillIn(index, storage, slot)
        return storage.setStored(.null, at: slot, isEdited: false)
      }
      storage.put(fetched, at: slot)
      storage.setStored(at: slot)
    } catch let error as MagicDataError where error.code == .value {
      let property = layout.properties[index]
      guard property.canBeAbsent else {
        throw MagicDataError(.value, "a \(layout.name) cannot be read: \(property.name): \(error.message)", cause: error)
      }
      try fillIn(index, storage, slot)
      storage.setStored(stored, at: slot, isEdited: false)
    }
  }

  private func fillIn(_ index: Int, _ storage: Storage, _ slot: Int) throws {
    if let value = layout.fillIns[index] { storage.put(try layout.codecs[index].slot(of: value), at: slot) }
    if !layout.assets.isEmpty, storage[slot].slot.isUnset, layout.properties[index].kind == .asset {
      storage.put(try layout.codecs[index].empty(), at: slot)
    }
  }

  /// Takes over the objects of a property, after `fetched`.
  func fetched(_ index: Int, _ links: [Link], _ relation: any RelationCodec, among objects: FetchedObjects) throws {
    let (storage, slot) = property(index)
    let isOptional = layout.properties[index].role == .optional
    let isNil = isOptional && relation.kind == .reference && links.isEmpty
    if !isNil, relation.isAsync, let record, let store = record.keeper,
      let asked = asking(index, relation, of: record.place.zIndex, try key(record), in: store)
    {
      storage.put(asked, at: slot)
      storage.setStored(at: slot)
      return
    }
    if links.isEmpty, isOptional || relation.kind == .reference {
      if isOptional { storage.put(.null, at: slot) }
      storage.setStored(at: slot)
    } else {
      let found = try relation.slot(of: links, among: objects)
      storage.put(
        found ?? .held(MissingObject(links, isUnreadable: relation.isUnreadable(links, among: objects))), at: slot)
      storage.setStored(at: slot)
    }
  }

  /// What asks a database for the objects of a property; `nil` for one whose objects come with their owner.
  func asking(_ index: Int, _ relation: any RelationCodec, of zIndex: Int64, _ key: ObjectKey?, in database: Store) -> Slot? {
    let (storage, slot) = property(index)
    return relation.slot(
      asking: StoredProperty(
        origin: database, owner: layout.type, holder: storage.part(of: slot).identity, zIndex: zIndex, key: key, index: index,
        name: "\(layout.name).\(layout.properties[index].name)"))
  }
}
