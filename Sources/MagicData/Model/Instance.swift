internal import MagicJournal

/// An instance seen as its properties, on its owner's side.
struct Instance {
  enum Places {
    /// Slot by slot as the wrappers are declared.
    case shared(Storage)
    /// Property by property; then the reverses.
    case apart([PropertySlot])
  }

  let layout: Layout
  let places: Places

  init<Object: MagicObject>(of object: Object) throws {
    try self.init(object, Layout.of(Object.self))
  }

  init<Object: MagicObject>(_ object: Object, _ layout: Layout) throws {
    self.layout = layout
    places = try layout.places(of: object)
  }

  /// Of an instance that is of no other type.
  init<Object: MagicObject>(at object: UnsafePointer<Object>, _ layout: Layout) throws {
    self.layout = layout
    places = try layout.places(at: object)
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
    case .shared(let storage): (storage, layout.slots[index])
    case .apart(let properties): (properties[index].storage, properties[index].index)
    }
  }

  /// Equal for copies, which share their values.
  var identity: ObjectIdentifier { ObjectIdentifier(first) }

  /// Which property a wrapper belongs to.
  func index(of slot: PropertySlot) -> Int? {
    layout.properties.indices.first { index in
      let (storage, place) = property(index)
      return storage === slot.storage && place == slot.index
    }
  }

  // MARK: The object it is

  var record: Record? {
    get { first.header.record }
    nonmutating set {
      first.header.record = newValue
      first.header.removed = nil
      // A reverse that stands alone has to know as well.
      if case .apart(let properties) = places {
        for reverse in properties.dropFirst(layout.properties.count) { reverse.storage.header.record = newValue }
      }
    }
  }

  /// What names the object as which the instance was fetched or saved.
  func key(_ record: Record) throws -> ObjectKey? {
    try record.key(record.birth == nil ? storedPrimary() : nil)
  }

  /// Whether the primary value is that of the object as which the instance was fetched or saved.
  func isAsRecorded() throws -> Bool {
    guard record != nil else { return false }
    guard let primary = try primary() else { return true }
    return try primary == storedPrimary()
  }

  /// Names the object in a database, if it has a name there.
  func key(in database: Store) throws -> ObjectKey? {
    let primary = try primary()
    if let record {
      let isAsKnown = try primary == storedPrimary()
      if record.database == database.id, isAsKnown || primary == nil { return try key(record) }
      // A number that another database gave may be any object's here.
      if record.birth != nil, isAsKnown { return nil }
    }
    if let removed { return removed.database == database.id ? .birth(removed.birth) : nil }
    return primary.map { .primary($0) }
  }

  /// The primary value that the object had when it was fetched or saved.
  private func storedPrimary() throws -> Value? {
    guard let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return try storage.stored(at: slot)?.value()
  }

  /// A number that a transaction gave which was rolled back is none.
  func primary() throws -> Value? {
    guard let index = layout.primary, !isTakenBack(index) else { return nil }
    return try value(index)
  }

  /// Whether a number that an instance shows was given by a transaction that was rolled back: neither the app has set it, nor has a database.
  func isTakenBack(_ index: Int) -> Bool {
    guard layout.isAutomatic(index) else { return false }
    let (storage, slot) = property(index)
    return !storage[slot].isEdited && !storage[slot].isStored
  }

  /// Whether it shows the number of an object that it was.
  var isRemoved: Bool { removed != nil }

  /// The object that the instance was until it was removed, if the app has set no other number since.
  private var removed: RemovedNumber? {
    guard let removed = first.header.removed, let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return storage[slot].edits == removed.edits ? removed : nil
  }

  // MARK: Saving

  /// The values to be saved, and a mark that each carries until it is set anew, for `saved`.
  ///
  /// - Parameter number: gives each object that this one holds its number in the graph that is saved.
  /// - Parameter database: where it is saved.
  func save(in database: Store, _ number: (Instance) -> Int = { _ in 0 }) throws -> (ObjectSave, mark: UInt8) {
    var object = ObjectSave.Content()
    object.values.reserveCapacity(layout.properties.count)
    let record = record
    let mark = first.nextMark()
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if layout.relational.contains(index), let relation = layout.properties[index].relation {
        storage[slot].save = mark
        try save(index, relation, storage, slot, into: &object, in: database, number)
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
      let edit = try edit(of: index, isNew: record == nil)
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
    object.removed = removed.map { ObjectSave.Removed(database: $0.database, birth: $0.birth) }
    return (ObjectSave(object), mark)
  }

  private func save(
    _ index: Int, _ relation: any RelationCodec, _ storage: Storage, _ slot: Int, into object: inout ObjectSave.Content,
    in database: Store, _ number: (Instance) -> Int
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
          baseline: state.isEdited ? try baseline(relation, storage, slot) : nil, hidden: hidden(storage, slot)))
      return
    }
    if let asked = relation.asked(held), state.isEdited, !asked.isOf(record, index, storage) {
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
    if !state.isEdited, record?.database == database.id {
      // Nothing was put in since; what the database does not know any more was removed, and is not made again by the way.
      let isKnown = members.map { $0.record != nil }
      if isKnown.contains(false) {
        if !names.isEmpty { names = zip(names, isKnown).filter(\.1).map(\.0) }
        members = zip(members, isKnown).filter(\.1).map(\.0)
      }
    }
    let isDefault =
      record == nil && !state.isStored && members.isEmpty && state.edits == layout.initialEdits[index]
    object.present.insert(index)
    if state.isEdited, !isDefault {
      object.edited.insert(index)
      object.changed.insert(index)
    }
    object.relations.append(
      RelationSave(
        index: index, kind: relation.kind, members: members.map(number), names: names,
        baseline: state.isEdited ? try baseline(relation, storage, slot) : nil, hidden: hidden(storage, slot)))
  }

  private func hidden(_ storage: Storage, _ slot: Int) -> Set<Int64> {
    if case .held(let held)? = storage.stored(at: slot) { held.hidden } else { [] }
  }

  /// The objects that the database held for a property when it was fetched or saved, as far as this instance showed them.
  private func baseline(_ relation: any RelationCodec, _ storage: Storage, _ slot: Int) throws -> [RelationSave.Member]? {
    guard case .held(let held)? = storage.stored(at: slot) else { return storage[slot].isStored ? [] : nil }
    // What was never fetched is told from what the database holds.
    if relation.asked(held) != nil { return nil }
    guard let links = held.links else { return [] }
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

  /// Whether a value was set since the instance was fetched or saved, and whether it differs from what the database held then (L-7).
  @inline(__always)
  func edit(of index: Int, isNew: Bool) throws -> (isEdited: Bool, isChanged: Bool) {
    let (storage, slot) = property(index)
    guard storage[slot].isEdited, try !isNew || !isDefault(index, storage[slot]) else { return (false, false) }
    guard storage[slot].isStored else { return (true, true) }
    return (true, try storage.stored(at: slot)?.value() != storage[slot].slot.value())
  }

  /// Whether the app has left the value as `init()` made it. (A struct's delegating `init` that sets a value to its own default cannot be told
  /// from that.)
  private func isDefault(_ index: Int, _ state: Storage.Property) throws -> Bool {
    guard !state.isStored, state.edits == layout.initialEdits[index] else { return false }
    return try layout.properties[index].initial == state.slot.value()
  }

  /// After a save: what was set since stays set.
  func saved(
    _ saved: SavedObject, _ object: ObjectSave, mark: UInt8, held: [Int: Held] = [:], in database: Store
  ) {
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      let isAsSaved = storage[slot].save == mark
      if layout.relational.contains(index) {
        savedRelation(saved.links[index], held[index], storage, slot, isAsSaved)
        continue
      }
      if index == layout.primary, let number = saved.number {
        if isAsSaved {
          storage[slot].slot = .integer(number)
          storage.setStored(at: slot)
        } else {
          storage.setStored(.integer(number), at: slot, isEdited: true)
        }
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
    record = Record(database: database.id, keeper: layout.asks ? database : nil, place: saved.place, birth: birth)
  }

  /// - Parameter links: as they are in the database; `nil` if the save left them as they were.
  private func savedRelation(_ links: [Link]?, _ held: Held?, _ storage: Storage, _ slot: Int, _ isAsSaved: Bool) {
    if let links, let held {
      held.links = links
      if case .held(let before)? = storage.stored(at: slot) { held.hidden.formUnion(before.hidden) }
    }
    if isAsSaved {
      if let held, held.links == nil, !held.isMissing { held.links = [] }
      storage.setStored(at: slot)
    } else if links != nil || !storage[slot].isStored {
      storage.setStored(held.map { .held($0) } ?? .null, at: slot, isEdited: true)
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
    first.header.removed = removed
  }

  /// What a remove leaves of an object with a number from the database.
  private var asRemoved: RemovedNumber? {
    guard let record else { return removed }
    guard let birth = record.birth, let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return storage[slot].isEdited ? nil : RemovedNumber(record.database, birth, edits: storage[slot].edits)
  }

  // MARK: Rolling back

  /// What the instance remembers of a database here, for the case that a transaction is rolled back.
  ///
  /// - Parameter isPart: whether it is about to learn of a save of no more than its changes: then the rest needs no memory.
  func memory(of database: Store, isPart: Bool = false) -> InstanceMemory {
    let record = record
    var edited = PropertySet()
    var isNew = record == nil
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if storage[slot].isEdited { edited.insert(index) }
      if storage[slot].isStored { isNew = false }
    }
    guard !isNew else {
      return InstanceMemory(instance: self, database: database, content: .new(edited), removed: first.header.removed)
    }
    var properties: [InstanceMemory.Property] = []
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if isPart, !edited.contains(index), storage[slot].isStored, !layout.relational.contains(index) { continue }
      let stored = storage.stored(at: slot)
      let held: Held? = if case .held(let held)? = stored { held } else { nil }
      properties.append(
        InstanceMemory.Property(
          index: index, stored: stored, links: held?.links, isEdited: storage[slot].isEdited, edits: storage[slot].edits,
          number: layout.isAutomatic(index) ? storage[slot].slot : nil))
    }
    return InstanceMemory(
      instance: self, database: database, content: .known(record, properties), removed: first.header.removed)
  }

  /// The memory of an instance that was fetched, for the case that the transaction is rolled back in which it was: the row may never have
  /// been.
  func memoryOfNothing(in database: Store) -> InstanceMemory {
    InstanceMemory(instance: self, database: database, content: .nothing, removed: nil)
  }

  /// Puts a memory back, unless the instance was saved in another database since.
  fileprivate func restore(_ content: InstanceMemory.Content, of database: Store, _ undone: UndoneEntries) {
    guard record.map({ $0.database == database.id }) ?? true else { return }
    let isThere = !undone.haveMade(record)
    switch content {
    case .new(let edited):
      // Whatever was set since was set before the save or after it. A number that was given is taken back.
      forget { edited.contains($0) }
    case .known(_, let properties):
      for memory in properties {
        let (storage, slot) = property(memory.index)
        let isEdited = memory.isEdited || storage[slot].edits != memory.edits
        if let number = memory.number, storage[slot].edits == memory.edits { storage[slot].slot = number }
        if let stored = memory.stored {
          if case .held(let held) = stored { held.links = memory.links }
          storage.setStored(stored, at: slot, isEdited: isEdited)
        } else {
          storage.forget(at: slot, isEdited: isEdited)
        }
      }
    case .nothing:
      // The number of an object that is there means it.
      forget { layout.isAutomatic($0) && isThere }
    }
    record =
      switch content {
      case .known(let before, _): before
      // What nothing else names is the same object all the same, if it was there before; what it holds now is not known.
      case .nothing where isThere && layout.primary == nil: record?.withoutEntries
      case .new, .nothing: nil
      }
  }

  private func forget(isEdited: (Int) -> Bool) {
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      storage.forget(at: slot, isEdited: storage[slot].isEdited || isEdited(index))
    }
  }

  // MARK: Fetching

  /// Makes an instance of a row. A value that cannot be read as its property's type counts as not arrived
  /// (L-8, M-6): a property that can be absent is left as it is, for another the error is thrown.
  static func make<Object: MagicObject>(
    _ object: UnsafeMutablePointer<Object>, _ layout: Layout, _ rows: FetchedRows, _ row: Int, in database: Store
  ) throws {
    let record = Record(
      database: database.id, keeper: layout.asks ? database : nil, place: rows.places[row], birth: rows.birth(row))
    if layout.compose(object, of: rows[row], record) { return }
    object.initialize(to: Object())
    do {
      try fill(object, layout, rows[row], record, in: database)
    } catch {
      object.deinitialize(count: 1)
      throw error
    }
  }

  private static func fill<Object: MagicObject>(
    _ object: UnsafePointer<Object>, _ layout: Layout, _ stored: UnsafeMutablePointer<Slot>, _ record: Record,
    in database: Store
  ) throws {
    // Mostly all wrappers share a storage and all values are what slots hold: then this does nothing but move them.
    guard let storage = layout.storage(of: object) else {
      let instance = try Instance(at: object, layout)
      for index in layout.properties.indices { try instance.fetched(index, &stored[index], in: database) }
      instance.record = record
      return
    }
    try storage._withUnsafeGuaranteedRef { storage in
      for index in 0..<layout.fetches.count {
        let fetch = layout.fetches[index]
        if storage.properties[fetch.slot].take(&stored[index], as: fetch.codec) { continue }
        try Instance(at: object, layout).fetched(index, &stored[index], in: database)
      }
      storage.header.record = record
    }
  }

  private func fetched(_ index: Int, _ stored: inout Slot, in database: Store) throws {
    // Objects come when all of them are there.
    if layout.relational.contains(index) { return }
    let (storage, slot) = property(index)
    if storage[slot].take(&stored, as: layout.codecs[index]) { return }
    try fetched(index, stored, in: database)
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
      storage[slot].slot = fetched
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
    if let value = layout.fillIns[index] { storage[slot].slot = try layout.codecs[index].slot(of: value) }
    if !layout.assets.isEmpty, storage[slot].slot.isUnset, layout.properties[index].kind == .asset {
      storage[slot].slot = try layout.codecs[index].empty()
    }
  }

  /// Takes over the objects of a property, after `fetched`.
  func fetched(_ index: Int, _ links: [Link], _ relation: any RelationCodec, among objects: FetchedObjects) throws {
    let (storage, slot) = property(index)
    let isOptional = layout.properties[index].role == .optional
    let isNil = isOptional && relation.kind == .reference && links.isEmpty
    if !isNil, let record, let store = record.keeper,
      let asked = relation.slot(
        asking: StoredProperty(
          origin: store, owner: layout.type, holder: ObjectIdentifier(storage), zIndex: record.place.zIndex, index: index,
          name: "\(layout.name).\(layout.properties[index].name)"))
    {
      storage[slot].slot = asked
      storage.setStored(at: slot)
      return
    }
    if links.isEmpty, isOptional || relation.kind == .reference {
      if isOptional { storage[slot].slot = .null }
      storage.setStored(at: slot)
    } else {
      storage[slot].slot = try relation.slot(of: links, among: objects) ?? .held(MissingObject(links))
      storage.setStored(at: slot)
    }
  }

  // MARK: Values

  func value(_ index: Int) throws -> Value? {
    let (storage, slot) = self.property(index)
    if layout.roles[index] == .primary { settlePrimary(index) }
    // It gets its name when its content is written.
    if !layout.assets.isEmpty, case .held(let held) = storage[slot].slot, held.asset?.isUnnamed == true { return .asset("") }
    do {
      let value = try storage[slot].slot.value()
      guard (value?.length ?? 0) <= Limits.valueBytes else {
        throw MagicDataError(
          .tooLarge,
          "\(layout.name).\(layout.properties[index].name) is above the limit of \(Limits.valueBytes) bytes for one value")
      }
      return value
    } catch let error as MagicDataError where error.code == .value {
      throw MagicDataError(.value, "\(layout.name).\(layout.properties[index].name): \(error.message)", cause: error)
    }
  }

  /// A primary value that was never set gets its default.
  func settlePrimary(_ index: Int) {
    let (storage, slot) = property(index)
    guard !storage[slot].slot.hasValue, let value = layout.codecs[index].primaryDefault else { return }
    storage.set(value, at: slot)
  }

  func unset(_ property: Layout.Property) -> MagicDataError {
    MagicDataError(.unsetValue, "\(layout.name).\(property.name) was never set; give it a value before the object is saved")
  }
}

/// What an instance remembers of a database: a transaction that is rolled back puts it back.
struct InstanceMemory {
  fileprivate struct Property {
    let index: Int
    let stored: Slot?
    /// Of objects: what the database held for them.
    let links: [Link]?
    let isEdited: Bool
    let edits: UInt32
    /// A number, which a save may change.
    let number: Slot?
  }

  fileprivate enum Content {
    /// Of an instance that was never saved nor fetched: what had been set.
    case new(PropertySet)
    case known(Record?, [Property])
    case nothing
  }

  fileprivate let instance: Instance
  fileprivate let database: Store
  fileprivate let content: Content
  fileprivate let removed: RemovedNumber?

  /// - Returns: whether an instance of which nothing else is known still means its object.
  func restore(_ undone: UndoneEntries) -> Bool {
    instance.restore(content, of: database, undone)
    if instance.record == nil { instance.first.header.removed = removed }
    return if case .nothing = content { instance.record?.database == database.id } else { false }
  }
}

/// What a rollback undoes: the entries of a transaction from an ordinal on.
struct UndoneEntries {
  let transaction: TransactionName
  let first: UInt32

  /// Whether the object that an instance was is one of those that never were.
  func haveMade(_ record: Record?) -> Bool {
    guard let birth = record?.birth else { return false }
    return birth.transaction == transaction && birth.ordinal >= first
  }
}
