internal import GRDB
internal import MagicJournal

/// The operations on objects: what they come to, and their asynchronous face. The blocking one is in `Scope+Blocking`.
extension Scope {
  // MARK: Writes

  /// An instance whose type holds no others.
  private func saving(_ instance: Instance, as type: MappedType) throws -> ObjectWrite<SavedObject, Int> {
    let (save, mark) = try instance.save(in: store, FreshInstances())
    return ObjectWrite(assets: try instance.assets(of: save, in: store)) { transaction, assets in
      try transaction.save(assets.naming(save), as: type)
    } finish: { saved, assets in
      onRollback(instance.memory(of: store, isPart: saved.isPart))
      instance.saved(saved, assets.naming(save), mark: mark, in: store)
      return Int(saved.place.zIndex)
    }
  }

  func saving<Object: MagicObject>(_ object: Object, as type: MappedType) throws -> () throws -> ObjectWrite<SavedObject, Int> {
    let instance = try Instance(object, type.layout)
    return { try saving(instance, as: type) }
  }

  func saving(_ run: ArraySlice<Instance>, as type: MappedType) throws -> ObjectWrite<SavedRun, Void> {
    try savingPacked(run, as: type) ?? savingApart(run, as: type)
  }

  /// `nil` if one of the objects has to go its way alone.
  private func savingPacked(_ instances: ArraySlice<Instance>, as type: MappedType) throws -> ObjectWrite<SavedRun, Void>? {
    guard var run = ObjectRun(of: type, in: store.id) else { return nil }
    var marks: [UInt8] = []
    let fresh = FreshInstances()
    run.reserve(instances.count)
    marks.reserveCapacity(instances.count)
    for instance in instances {
      guard let mark = try instance.save(into: &run, fresh) else { return nil }
      marks.append(mark)
    }
    return ObjectWrite { [run] transaction, _ in
      try transaction.save(run)
    } finish: { [run, marks] saved, _ in
      for (number, instance) in instances.enumerated() {
        let object = run.objects[number]
        if let (other, object) = saved.others[number] {
          onRollback(instance.memory(of: store, isPart: other.isPart))
          instance.saved(other, object, mark: marks[number], in: store)
          continue
        }
        onRollback(instance.memory(of: store, isPart: object.place != nil))
        let (place, birth) = (saved.places[number], saved.births.isEmpty ? nil : saved.births[number])
        if instance.saved(object, at: place, birth, mark: marks[number], in: store) { continue }
        instance.saved(run.saved(number, at: place, birth), run.object(number), mark: marks[number], in: store)
      }
    }
  }

  private func savingApart(_ instances: ArraySlice<Instance>, as type: MappedType) throws -> ObjectWrite<SavedRun, Void> {
    var objects: [ObjectSave] = []
    var marks: [UInt8] = []
    let fresh = FreshInstances()
    objects.reserveCapacity(instances.count)
    marks.reserveCapacity(instances.count)
    for instance in instances {
      let (object, mark) = try instance.save(in: store, fresh)
      objects.append(object)
      marks.append(mark)
    }
    return ObjectWrite(assets: try instances.assets(of: objects, in: store)) { [objects] transaction, assets in
      let objects = assets.naming(objects)
      return SavedRun(apart: try transaction.save(objects, as: type), objects)
    } finish: { [marks] saved, _ in
      for (number, instance) in instances.enumerated() {
        guard let (saved, object) = saved.others[number] else { continue }
        onRollback(instance.memory(of: store, isPart: saved.isPart))
        instance.saved(saved, object, mark: marks[number], in: store)
      }
    }
  }

  /// Many objects, in runs that go to the database one after the other.
  func saving<Object: MagicObject>(
    all objects: [Object], as type: MappedType
  ) throws -> [() throws -> ObjectWrite<SavedRun, Void>] {
    var runs = SaveRuns(try objects.map { try Instance($0, type.layout) })
    var writes: [() throws -> ObjectWrite<SavedRun, Void>] = []
    while let run = runs.next() {
      if !run.isEmpty { writes.append { try saving(run, as: type) } }
    }
    return writes
  }

  /// Instances and all objects that they hold.
  func saving<Object: MagicObject>(
    graphs objects: [Object], as type: MappedType, among types: [ObjectIdentifier: MappedType]
  ) throws -> () throws -> ObjectWrite<[SavedObject?], [Int]> {
    let instances = try objects.map { try Instance($0, type.layout) }
    return {
      let graph = try ObjectGraph(instances, types, in: store)
      let save = graph.save
      let assets = try graph.nodes.map(\.instance).assets(of: save.objects, in: store)
      return ObjectWrite(assets: assets) { transaction, assets in
        try transaction.save(assets.naming(save))
      } finish: { saved, assets in
        let save = assets.naming(save)
        for (number, node) in graph.nodes.enumerated() {
          guard let saved = saved[number] else { continue }
          onRollback(node.instance.memory(of: store, isPart: saved.isPart))
          node.instance.saved(saved, save.objects[number], mark: node.mark, held: node.held, in: store)
        }
        return try save.roots.map { number in
          guard let saved = saved[number] else { throw MagicDataError(.failed, "an object of the graph was not saved") }
          return Int(saved.place.zIndex)
        }
      }
    }
  }

  /// - Parameter seen: instances that were removed before, which is enough; kept, so that no other gets the identity of one.
  func removing<Object: MagicObject>(
    _ objects: [Object], as type: MappedType, _ seen: inout [InstanceIdentity: Instance]
  ) throws -> () throws -> ObjectWrite<Void, Void> {
    let instances = try objects.map { try Instance($0, type.layout) }
      .filter { seen.updateValue($0, forKey: $0.identity) == nil }
    return {
      let keys = try instances.map { try $0.key(in: store) }
      return ObjectWrite { transaction, _ in
        for key in keys {
          guard let key, try transaction.remove(key, type) else {
            throw MagicDataError(
              .notSaved, "this \(type.layout.name) was never saved in this database, so it cannot be removed")
          }
        }
      } finish: { _, _ in
        // One that another database knows goes on as that one's.
        for instance in instances where instance.record.map({ $0.database == store.id }) ?? true {
          onRollback(instance.memory(of: store))
          instance.remove()
        }
      }
    }
  }

  /// What a primary value is looked up as.
  func key<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) throws -> ObjectKey {
    try (store.known(Object.self)?.layout ?? store.layout(Object.self)).key(primary)
  }

  func missing<Object: MagicObject>(_: Object.Type) -> MagicDataError {
    MagicDataError(
      .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
  }

  // MARK: The asynchronous face

  nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    let type = try await mapped(Object.self)
    guard type.layout.hasRelations else { return try await write(saving(object, as: type)) }
    return try await write(saving(graphs: [object], as: type, among: types(of: Object.self)))[0]
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func update<Object: MagicObject>(part objects: [Object]) async throws {
    let type = try await mapped(Object.self)
    guard type.layout.hasRelations else {
      for run in try saving(all: objects, as: type) { try await write(run) }
      return
    }
    _ = try await write(saving(graphs: objects, as: type, among: types(of: Object.self)))
  }

  nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    var seen: [InstanceIdentity: Instance] = [:]
    try await remove(part: [object], &seen)
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func remove<Object: MagicObject>(
    part objects: [Object], _ seen: inout [InstanceIdentity: Instance]
  ) async throws {
    let type = try await mapped(Object.self)
    try await write(removing(objects, as: type, &seen))
  }

  nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    let type = try await mapped(Object.self)
    try await exclusively { try await change { transaction in try transaction.removeAll(of: type) } }
  }

  @inline(__always) nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    guard let found = try await find(Object.self, primary) else { throw missing(Object.self) }
    return try object(Object.self, found)
  }

  nonisolated(nonsending) func has<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) async throws -> Bool {
    let key = try key(of: Object.self, primary)
    guard let type = try await mappedForReading(Object.self) else { return false }
    return try await row(type, key) != nil
  }
}
