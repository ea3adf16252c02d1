internal import MagicJournal

/// The operations on objects: what they come to, and their asynchronous face. The blocking one is in `Scope+Blocking`.
extension Scope {
  // MARK: Writes

  private func saving(_ instance: Instance, as type: MappedType) throws -> ObjectWrite<SavedObject, Int> {
    let (save, mark) = try instance.save()
    return ObjectWrite {
      try $0.save(save, as: type)
    } finish: { saved in
      onRollback(instance.undo(in: store.origin))
      instance.saved(saved, save, mark: mark, in: store.origin)
      return Int(saved.place.zIndex)
    }
  }

  func saving<Object: MagicObject>(_ object: Object, as type: MappedType) throws -> () throws -> ObjectWrite<SavedObject, Int> {
    let instance = try Instance(object, type.layout)
    return { try saving(instance, as: type) }
  }

  private func saving(_ run: ArraySlice<Instance>, as type: MappedType) throws -> ObjectWrite<[SavedObject], Void> {
    let saves = try run.map { try $0.save() }
    let values = saves.map(\.0)
    return ObjectWrite { transaction in
      try values.map { try transaction.save($0, as: type) }
    } finish: { saved in
      for (number, instance) in run.enumerated() {
        onRollback(instance.undo(in: store.origin))
        instance.saved(saved[number], values[number], mark: saves[number].mark, in: store.origin)
      }
    }
  }

  /// Many objects, in runs that go to the database one after the other. An instance that comes twice is saved twice: its second save is told
  /// apart from what the first has stored, so it is in another run.
  func saving<Object: MagicObject>(
    all objects: [Object], as type: MappedType
  ) throws -> [() throws -> ObjectWrite<[SavedObject], Void>] {
    let instances = try objects.map { try Instance($0, type.layout) }
    var runs: [() throws -> ObjectWrite<[SavedObject], Void>] = []
    var index = 0
    while index < instances.count {
      var seen: Set<ObjectIdentifier> = []
      let run = instances[index...].prefix { seen.insert($0.identity).inserted }
      runs.append { try saving(run, as: type) }
      index += run.count
    }
    return runs
  }

  func removing<Object: MagicObject>(_ object: Object, as type: MappedType) throws -> () throws -> ObjectWrite<Bool, Void> {
    let instance = try Instance(object, type.layout)
    return {
      let key = try instance.key(in: store.origin)
      return ObjectWrite { transaction in
        try key.map { try transaction.remove($0, type) } ?? false
      } finish: { wasKnown in
        guard wasKnown else {
          throw MagicDataError(
            .notSaved, "this \(type.layout.name) was never saved in this database, so it cannot be removed")
        }
        onRollback(instance.undo(in: store.origin))
        instance.removed()
      }
    }
  }

  // MARK: Fetches

  func objects<Object: MagicObject>(_: Object.Type, _ rows: FetchedRows, _ layout: Layout) throws -> [Object] {
    var objects: [Object] = []
    objects.reserveCapacity(rows.count)
    for row in 0..<rows.count {
      do {
        objects.append(try make(rows, row, layout))
      } catch let error as MagicDataError where error.code == .value {
        continue
      }
    }
    return objects
  }

  func make<Object: MagicObject>(_ rows: FetchedRows, _ row: Int, _ layout: Layout) throws -> Object {
    let object = Object()
    let instance = try Instance(object, layout)
    try instance.fetched(rows, row, in: store.origin)
    onRollback(instance.forgetting(in: store.origin))
    return object
  }

  /// What a primary value is looked up as.
  func key<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) throws -> ObjectKey {
    let layout = try store.known(Object.self)?.layout ?? store.layout(Object.self)
    let value = try primary.magicValue
    guard let index = layout.primary else {
      throw MagicDataError(.model, "\(Object.magicName) has no primary value, so its objects cannot be looked up by one")
    }
    guard layout.properties[index].kind == value.kind else {
      throw MagicDataError(
        .model,
        """
        \(Object.magicName).\(layout.properties[index].name) is of kind \(layout.properties[index].kind), and a \
        \(Swift.type(of: primary)) was given
        """)
    }
    return .primary(value)
  }

  func missing<Object: MagicObject>(_: Object.Type) -> MagicDataError {
    MagicDataError(
      .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
  }

  // MARK: The asynchronous face

  nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    try await write(saving(object, as: mapped(Object.self)))
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func update<Object: MagicObject>(part objects: [Object]) async throws {
    for run in try await saving(all: objects, as: mapped(Object.self)) { try await write(run) }
  }

  nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    try await write(removing(object, as: mapped(Object.self)))
  }

  nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    let type = try await mapped(Object.self)
    try await exclusively { try await change { transaction in try transaction.removeAll(of: type) } }
  }

  nonisolated(nonsending) func objects<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    guard let type = try await mappedForReading(Object.self) else { return [] }
    return try objects(Object.self, try await read { db in try FetchedRows(type, db) }, type.layout)
  }

  nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    guard let (rows, layout) = try await row(of: Object.self, primary) else { throw missing(Object.self) }
    return try make(rows, 0, layout)
  }

  nonisolated(nonsending) func row<Object: MagicObject>(
    of: Object.Type, _ primary: some MagicalPrimary
  ) async throws -> (FetchedRows, Layout)? {
    let key = try key(of: Object.self, primary)
    guard let type = try await mappedForReading(Object.self) else { return nil }
    let rows = try await read(shortly: true) { db in try FetchedRows(type, db, key: key) }
    return rows.count == 1 ? (rows, type.layout) : nil
  }
}
