internal import MagicJournal

extension Scope {
  nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    let type = try await mapped(Object.self)
    let instance = try Instance(object, type.layout)
    if type.layout.hasRelations { return try await update([instance], try await types(of: Object.self))[0] }
    return try await exclusively {
      let (values, mark) = try instance.save()
      let (save, assets) = try await stage(values, of: instance)
      let saved = try await change { transaction in
        try assets.place()
        return try transaction.save(save, as: type)
      }
      onRollback(instance.undo(in: store.origin))
      instance.saved(saved, save, mark: mark, in: store.origin)
      return Int(saved.place.zIndex)
    }
  }

  /// Within a transaction: as many at a time as make a hop to the database worth while.
  nonisolated(nonsending) func update<Object: MagicObject>(part objects: [Object]) async throws {
    let type = try await mapped(Object.self)
    let instances = try objects.map { try Instance($0, type.layout) }
    if type.layout.hasRelations {
      _ = try await update(instances, try await types(of: Object.self))
      return
    }
    try await exclusively {
      var index = 0
      while index < instances.count {
        // An instance that comes twice is saved twice: its second save is told apart from what the first has stored.
        var seen: Set<ObjectIdentifier> = []
        let run = instances[index...].prefix { seen.insert($0.identity).inserted }
        let saves = try run.map { try $0.save() }
        let (values, assets) = try await stage(saves.map(\.0), of: Array(run))
        let saved = try await change { transaction in
          try assets.place()
          return try values.map { try transaction.save($0, as: type) }
        }
        for (number, instance) in run.enumerated() {
          onRollback(instance.undo(in: store.origin))
          instance.saved(saved[number], values[number], mark: saves[number].mark, in: store.origin)
        }
        index += run.count
      }
    }
  }

  /// Instances and all objects that they hold.
  private nonisolated(nonsending) func update(
    _ instances: [Instance], _ types: [ObjectIdentifier: MappedType]
  ) async throws -> [Int] {
    try await exclusively {
      let graph = try ObjectGraph(instances, types)
      let (save, assets) = try await stage(graph)
      let saved = try await change { transaction in
        try assets.place()
        return try transaction.save(save)
      }
      for (number, node) in graph.nodes.enumerated() {
        guard let saved = saved[number] else { continue }
        onRollback(node.instance.undo(in: store.origin))
        node.instance.saved(saved, save.objects[number], mark: node.mark, held: node.held, in: store.origin)
      }
      return try save.roots.map { number in
        guard let saved = saved[number] else { throw MagicDataError(.failed, "an object of the graph was not saved") }
        return Int(saved.place.zIndex)
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
    if type.layout.hasRelations {
      let types = try await typesForReading(of: type)
      return try make(try await read { db in try FetchedGraph(FetchedRows(type, db), types, db) }).compactMap { $0 }
    }
    let rows = try await read { db in try FetchedRows(type, db) }
    var objects: [Object] = []
    objects.reserveCapacity(rows.count)
    for row in 0..<rows.count {
      do {
        objects.append(try make(rows, row, type.layout))
      } catch let error as MagicDataError where error.code == .value {
        continue
      }
    }
    return objects
  }

  nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    if let (type, key) = try await look(Object.self, primary) {
      if type.layout.hasRelations {
        let types = try await typesForReading(of: type)
        let graph = try await read(shortly: true) { db in try FetchedGraph(FetchedRows(type, db, key: key), types, db) }
        if graph.types[0].rows.count > 0, let object = try (make(graph, first: true) as [Object?]).first ?? nil {
          return object
        }
      } else {
        let rows = try await read(shortly: true) { db in try FetchedRows(type, db, key: key) }
        if rows.count == 1 { return try make(rows, 0, type.layout) }
      }
    }
    throw MagicDataError(
      .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
  }

  nonisolated(nonsending) func has<Object: MagicObject>(of: Object.Type, _ primary: some MagicalPrimary) async throws -> Bool {
    guard let (type, key) = try await look(Object.self, primary) else { return false }
    return try await read(shortly: true) { db in try FetchedRows(type, db, key: key).count == 1 }
  }

  /// Where an object with a primary value would be; `nil` if there was never one of its type.
  private nonisolated(nonsending) func look<Object: MagicObject>(
    _: Object.Type, _ primary: some MagicalPrimary
  ) async throws -> (MappedType, ObjectKey)? {
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
    return (type, .primary(value))
  }

  private func make<Object: MagicObject>(_ rows: FetchedRows, _ row: Int, _ layout: Layout) throws -> Object {
    let object = Object()
    let instance = try Instance(object, layout)
    try instance.fetched(rows, row, in: store.origin)
    onRollback(instance.forgetting(in: store.origin))
    return object
  }

  /// The objects of a graph's first type, by row; `nil` for one that has a value which cannot be read.
  ///
  /// - Parameter first: what makes the first row's object unreadable is thrown.
  private func make<Object: MagicObject>(_ graph: FetchedGraph, first: Bool = false) throws -> [Object?] {
    let objects = FetchedObjects()
    var roots: [Object?] = []
    var instances: [[Instance?]] = []
    for (number, ofType) in graph.types.enumerated() {
      func make<Type: MagicObject>(_: Type.Type) throws {
        let made = FetchedObjects.OfType<Type>()
        var rows: [Instance?] = []
        for row in 0..<ofType.rows.count {
          do {
            let object = Type()
            let instance = try Instance(object, ofType.type.layout)
            try instance.fetched(ofType.rows, row, in: store.origin)
            onRollback(instance.forgetting(in: store.origin))
            made.byZIndex[ofType.rows.places[row].zIndex] = object
            rows.append(instance)
            if number == 0, let root = object as? Object { roots.append(root) }
          } catch let error as MagicDataError where error.code == .value && !(first && number == 0 && row == 0) {
            rows.append(nil)
            if number == 0 { roots.append(nil) }
          }
        }
        instances.append(rows)
        objects.add(made)
      }
      try make(ofType.type.layout.type)
    }
    for (number, ofType) in graph.types.enumerated() {
      for (place, relation) in ofType.type.relations.enumerated() {
        for (row, instance) in instances[number].enumerated() {
          try instance?.fetched(relation.index, ofType.links[place][row], relation.codec, among: objects)
        }
      }
    }
    return roots
  }
}
