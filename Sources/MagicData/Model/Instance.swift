internal import MagicJournal

/// An instance seen as its properties, on its owner's side.
struct Instance {
  enum Places {
    /// Slot by slot as the wrappers are declared, from one on.
    case shared(Storage, from: Int)
    /// Property by property; then the reverses.
    case apart([PropertySlot])
  }

  let layout: Layout
  let places: Places

  init(_ layout: Layout, _ places: Places) {
    (self.layout, self.places) = (layout, places)
  }

  init<Object: MagicObject>(of object: Object) throws {
    try self.init(object, Layout.of(Object.self))
  }

  init<Object: MagicObject>(_ object: Object, _ layout: Layout) throws {
    self.layout = layout
    places = try layout.places(of: object)
  }

  /// An instance whose type is known to be this one.
  init<Object: MagicObject>(at object: UnsafePointer<Object>, _ layout: Layout) throws {
    self.layout = layout
    places = try layout.places(at: object)
  }

  /// What knows where the object stands in a database.
  var first: Storage.Part {
    switch places {
    case .shared(let storage, let first): storage.part(of: first)
    case .apart(let properties): properties[0].part
    }
  }

  @inline(__always)
  func property(_ index: Int) -> (storage: Storage, slot: Int) {
    switch places {
    case .shared(let storage, let first): (storage, first + layout.slots[index])
    case .apart(let properties): (properties[index].storage, properties[index].index)
    }
  }

  /// Equal for copies, which share their values.
  var identity: InstanceIdentity { first.identity }

  /// Which property a wrapper belongs to.
  func index(of slot: PropertySlot) -> Int? {
    layout.properties.indices.first { index in
      let (storage, place) = property(index)
      return storage === slot.storage && place == slot.index
    }
  }

  // MARK: The object it is

  var record: Record? {
    get { first.record }
    nonmutating set {
      switch (first.record, newValue) {
      case (let before?, let record?) where before.database != record.database || before.place.zIndex != record.place.zIndex:
        SavedMember.moves.withLock { $0 += 1 }
      // As long as it is none no set finds more than before, and many go at once.
      case (.some, nil): first.wasAnother = true
      case (nil, .some) where first.wasAnother:
        first.wasAnother = false
        SavedMember.moves.withLock { $0 += 1 }
      default: break
      }
      first.record = newValue
      first.removed = nil
      // Reverses have to know as well.
      switch places {
      case .shared(let storage, let first): layout.joinReverses(storage, from: first)
      case .apart(let properties):
        for reverse in properties.dropFirst(layout.properties.count) { reverse.setReverse(newValue) }
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
  func storedPrimary() throws -> Value? {
    guard let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return try storage.stored(at: slot)?.value()
  }

  /// A number that a transaction gave which was rolled back is none.
  func primary() throws -> Value? {
    guard let index = layout.primary, !isTakenBack(index) else { return nil }
    return try value(index)
  }

  /// Whether a number that an instance shows was given by a transaction that was rolled back: neither the app has set it, nor
  /// has a database.
  func isTakenBack(_ index: Int) -> Bool {
    guard layout.isAutomatic(index) else { return false }
    let (storage, slot) = property(index)
    return !storage[slot].isEdited && !storage[slot].isStored
  }

  /// Whether it shows the number of an object that it was.
  var isRemoved: Bool { removed != nil }

  /// The object that the instance was until it was removed, if the app has set no other number since.
  var removed: RemovedNumber? {
    guard let removed = first.removed, let index = layout.primary else { return nil }
    let (storage, slot) = property(index)
    return storage[slot].edits == removed.edits ? removed : nil
  }

  // MARK: Values

  func value(_ index: Int) throws -> Value? {
    let (storage, slot) = self.property(index)
    if layout.roles[index] == .primary { settlePrimary(index) }
    // It gets its name when its content is written.
    if !layout.assets.isEmpty, storage[slot].slot.isUnnamed { return .asset("") }
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
    storage.settle(value, at: slot)
  }

  func unset(_ property: Layout.Property) -> MagicDataError {
    MagicDataError(.unsetValue, "\(layout.name).\(property.name) was never set; give it a value before the object is saved")
  }
}
