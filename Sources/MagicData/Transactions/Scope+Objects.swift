internal import MagicJournal

extension Scope {
  nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    let type = try await mapped(Object.self)
    let instance = try Instance(object, type.layout)
    return try await exclusively {
      let (save, mark) = try instance.save()
      let saved = try await change { transaction in try transaction.save(save, as: type) }
      onRollback(instance.undo(in: store.origin))
      instance.saved(saved, save, mark: mark, in: store.origin)
      return Int(saved.zIndex)
    }
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func update<Object: MagicObject>(part objects: [Object]) async throws {
    let type = try await mapped(Object.self)
    let instances = try objects.map { try Instance($0, type.layout) }
    try await exclusively {
      var index = 0
      while index < instances.count {
        // An instance that comes twice is saved twice: its second save is told apart from what the first has stored.
        var seen: Set<ObjectIdentifier> = []
        let run = instances[index...].prefix { seen.insert($0.identity).inserted }
        let saves = try run.map { try $0.save() }
        let values = saves.map(\.0)
        let saved = try await change { transaction in try values.map { try transaction.save($0, as: type) } }
        for (number, instance) in run.enumerated() {
          onRollback(instance.undo(in: store.origin))
          instance.saved(saved[number], values[number], mark: saves[number].mark, in: store.origin)
        }
        index += run.count
      }
    }
  }

  nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    let type = try await mapped(Object.self)
    let instance = try Instance(object, type.layout)
    try await exclusively {
      guard let key = try instance.key(in: store.origin),
        try await change({ transaction in try transaction.remove(key, type) })
      else {
        throw MagicDataError(
          .notSaved, "this \(type.layout.name) was never saved in this database, so it cannot be removed")
      }
      onRollback(instance.undo(in: store.origin))
      instance.removed()
    }
  }

  nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    let type = try await mapped(Object.self)
    try await exclusively { try await change { transaction in try transaction.removeAll(of: type) } }
  }

  nonisolated(nonsending) func objects<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    guard let type = try await mappedForReading(Object.self) else { return [] }
    let rows = try await read { db in try FetchedRows(type, db) }
    return try make(rows, type.layout)
  }

  /// Without those that have a required value which cannot be read as this version's type.
  func make<Object: MagicObject>(_ rows: FetchedRows, _ layout: Layout) throws -> [Object] {
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

  nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    guard let (rows, layout) = try await row(of: Object.self, primary) else {
      throw MagicDataError(
        .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
    }
    return try make(rows, 0, layout)
  }

  nonisolated(nonsending) func row<Object: MagicObject>(
    of: Object.Type, _ primary: some MagicalPrimary
  ) async throws -> (FetchedRows, Layout)? {
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
    guard let type = try await mappedForReading(Object.self) else { return nil }
    let rows = try await read(shortly: true) { db in try FetchedRows(type, db, key: .primary(value)) }
    return rows.count == 1 ? (rows, layout) : nil
  }

  func make<Object: MagicObject>(_ rows: FetchedRows, _ row: Int, _ layout: Layout) throws -> Object {
    let object = Object()
    let instance = try Instance(object, layout)
    try instance.fetched(rows, row, in: store.origin)
    onRollback(instance.forgetting(in: store.origin))
    return object
  }
}
