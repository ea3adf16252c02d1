internal import MagicJournal

extension Scope {
  nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    let type = try await mapped(Object.self)
    let boxed = try BoxedObject(object, type.layout)
    return try await exclusively {
      let (save, edits) = try boxed.save()
      let saved = try await change { transaction in try transaction.save(save, as: type) }
      onRollback(boxed.undo(in: store.id))
      boxed.saved(saved, edits: edits)
      return Int(saved.record.zIndex)
    }
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func update<Object: MagicObject>(part objects: [Object]) async throws {
    let type = try await mapped(Object.self)
    let boxed = try objects.map { try BoxedObject($0, type.layout) }
    try await exclusively {
      var index = 0
      while index < boxed.count {
        // An instance that comes twice is saved twice: its second save is told apart from what the first has stored.
        var seen: Set<ObjectIdentifier> = []
        let run = boxed[index...].prefix { seen.insert($0.identity).inserted }
        let saves = try run.map { try $0.save() }
        let values = saves.map(\.0)
        let saved = try await change { transaction in try values.map { try transaction.save($0, as: type) } }
        for (number, object) in run.enumerated() {
          onRollback(object.undo(in: store.id))
          object.saved(saved[number], edits: saves[number].edits)
        }
        index += run.count
      }
    }
  }

  nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    let type = try await mapped(Object.self)
    let boxed = try BoxedObject(object, type.layout)
    try await exclusively {
      guard let key = try boxed.primary().map({ .primary($0) }) ?? boxed.record?.key,
        try await change({ transaction in try transaction.remove(key, type) })
      else {
        throw MagicDataError(
          .notSaved, "this \(type.layout.name) was never saved in this database, so it cannot be removed")
      }
      onRollback(boxed.undo(in: store.id))
      boxed.removed()
    }
  }

  nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    let type = try await mapped(Object.self)
    try await exclusively { try await change { transaction in try transaction.removeAll(of: type) } }
  }

  nonisolated(nonsending) func objects<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    guard let type = try await mappedForReading(Object.self) else { return [] }
    let id = store.id
    return try await read { db in try FetchedObject.all(of: type, in: id, db) }.compactMap { row in
      do {
        return try make(row, type.layout)
      } catch let error as MagicDataError where error.code == .value {
        return nil
      }
    }
  }

  nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    guard let (row, layout) = try await row(of: Object.self, primary) else {
      throw MagicDataError(
        .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
    }
    return try make(row, layout)
  }

  nonisolated(nonsending) func row<Object: MagicObject>(
    of: Object.Type, _ primary: some MagicalPrimary
  ) async throws -> (FetchedObject, Layout)? {
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
    let id = store.id
    let rows = try await read(shortly: true) { db in try FetchedObject.all(of: type, in: id, db, key: .primary(value)) }
    return rows.first.map { ($0, layout) }
  }

  private func make<Object: MagicObject>(_ row: FetchedObject, _ layout: Layout) throws -> Object {
    let object = Object()
    do {
      let boxed = try BoxedObject(object, layout)
      try boxed.fetched(row)
      onRollback(boxed.forgetting(in: store.id))
    } catch let error as MagicDataError {
      throw MagicDataError(error.code, "a \(layout.name) cannot be read: \(error.message)", cause: error)
    }
    return object
  }
}
