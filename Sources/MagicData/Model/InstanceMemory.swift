internal import MagicJournal

/// What an instance remembers of a database: a transaction that is rolled back puts it back.
struct InstanceMemory {
  fileprivate struct Property {
    let index: Int
    let stored: Slot?
    /// The links that the database held for a property's objects.
    let links: [Link]?
    let isEdited: Bool
    let isKnown: Bool
    let edits: UInt32
    /// A number, which a save may change.
    let number: Slot?
  }

  fileprivate enum Content {
    /// An instance of which the database holds nothing: what had been set, and what a database has held before.
    case new(PropertySet, known: PropertySet)
    case known(Record?, [Property])
    /// An instance that was fetched, when the transaction had made so many changes.
    case fetched(after: Int)
  }

  fileprivate let instance: Remembered
  fileprivate let database: Store
  fileprivate let content: Content
  fileprivate let removed: RemovedNumber?

  /// Whether nobody has the instance any more.
  var isGone: Bool { instance.instance == nil }

  /// - Returns: whether an instance that was fetched still means its object.
  func restore(_ undone: UndoneChanges) -> Bool {
    guard let instance = instance.instance else { return false }
    guard case .fetched(let changes) = content else {
      restoreContent(instance, undone)
      return false
    }
    // What the instance shows was there before anything that is undone.
    if changes > undone.changes { restoreContent(instance, undone) }
    return instance.record?.database == database.id
  }

  private func restoreContent(_ instance: Instance, _ undone: UndoneChanges) {
    instance.restore(content, of: database, undone)
    if instance.record == nil { instance.first.removed = removed }
  }
}

private enum Remembered {
  /// One that the transaction has saved or removed.
  case kept(Instance)
  /// One that it has fetched: nobody is told of a rollback who has let go of it.
  case shared(Layout, Weak, first: Int)

  struct Weak {
    weak var storage: Storage?
  }

  init(weakly instance: Instance) {
    if case .shared(let storage, let first) = instance.places {
      self = .shared(instance.layout, Weak(storage: storage), first: first)
    } else {
      self = .kept(instance)
    }
  }

  var instance: Instance? {
    switch self {
    case .kept(let instance): instance
    case .shared(let layout, let weak, let first): weak.storage.map { Instance(layout, .shared($0, from: first)) }
    }
  }
}

/// What a rollback undoes: all but the first changes of a transaction, with its entries from an ordinal on.
struct UndoneChanges {
  let transaction: TransactionName
  /// How many changes are left.
  let changes: Int
  let first: UInt32

  /// Whether the object that an instance was is one of those that never were.
  func haveMade(_ record: Record?) -> Bool {
    guard let birth = record?.birth else { return false }
    return birth.transaction == transaction && birth.ordinal >= first
  }
}

extension Instance {
  /// What the instance remembers of a database here, for the case that a transaction is rolled back.
  ///
  /// - Parameter isPart: whether it is about to learn of a save of no more than its changes: then the rest needs no memory.
  func memory(of database: Store, isPart: Bool = false) -> InstanceMemory {
    let record = record
    var (edited, known) = (PropertySet(), PropertySet())
    var isNew = record == nil
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if storage[slot].isEdited { edited.insert(index) }
      if storage[slot].isKnown { known.insert(index) }
      if storage[slot].isStored { isNew = false }
    }
    guard !isNew else {
      return InstanceMemory(
        instance: .kept(self), database: database, content: .new(edited, known: known), removed: first.removed)
    }
    var properties: [InstanceMemory.Property] = []
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      if isPart, !edited.contains(index), storage[slot].isStored, !layout.relational.contains(index) { continue }
      let stored = storage.stored(at: slot)
      let held: Held? = if case .held(let held)? = stored { held } else { nil }
      properties.append(
        InstanceMemory.Property(
          index: index, stored: stored, links: held?.links, isEdited: storage[slot].isEdited,
          isKnown: storage[slot].isKnown, edits: storage[slot].edits,
          number: index == layout.primary && layout.schema.hasNumbers ? storage[slot].slot : nil))
    }
    return InstanceMemory(
      instance: .kept(self), database: database, content: .known(record, properties), removed: first.removed)
  }

  /// The memory of an instance that was fetched, for the case that the transaction is rolled back in which it was: if that had
  /// made changes by then, the row may never have been.
  func memory(ofFetchIn database: Store, after changes: Int) -> InstanceMemory {
    InstanceMemory(instance: Remembered(weakly: self), database: database, content: .fetched(after: changes), removed: nil)
  }

  /// Puts a memory back, unless the instance was saved in another database since.
  fileprivate func restore(_ content: InstanceMemory.Content, of database: Store, _ undone: UndoneChanges) {
    guard record.map({ $0.database == database.id }) ?? true else { return }
    let isThere = !undone.haveMade(record)
    switch content {
    case .new(let edited, let known):
      // Whatever was set since was set before the save or after it. A number that was given is taken back.
      for index in layout.properties.indices { forgetSave(of: index) }
      forget(isEdited: edited.contains, isKnown: known.contains)
    case .known(_, let properties):
      for memory in properties {
        let (storage, slot) = property(memory.index)
        let isEdited = memory.isEdited || storage[slot].edits != memory.edits
        if let number = memory.number, storage[slot].edits == memory.edits { storage.put(number, at: slot) }
        if let stored = memory.stored {
          if case .held(let held) = stored { held.links = memory.links }
          if layout.relational.contains(memory.index), !isEdited { storage.put(stored, at: slot) }
          storage.setStored(stored, at: slot, isEdited: isEdited)
        } else {
          forgetSave(of: memory.index)
          storage.forget(at: slot, isEdited: isEdited, isKnown: memory.isKnown)
        }
      }
    case .fetched:
      // The number of an object that is there means it.
      forget(isEdited: { layout.isAutomatic($0) && isThere })
    }
    record =
      switch content {
      case .known(let before, _): before
      // What nothing else names is the same object all the same, if it was there before; what it holds now is not known.
      case .fetched where isThere && layout.primary == nil: record?.withoutEntries
      case .new, .fetched: nil
      }
  }

  private func forget(isEdited: (Int) -> Bool, isKnown: ((Int) -> Bool)? = nil) {
    for index in layout.properties.indices {
      let (storage, slot) = property(index)
      storage.forget(at: slot, isEdited: storage[slot].isEdited || isEdited(index), isKnown: isKnown?(index))
    }
  }

  /// What a property holds was never in a database.
  private func forgetSave(of index: Int) {
    let (storage, slot) = property(index)
    if case .held(let held) = storage[slot].slot { held.links = nil }
  }
}
