internal import GRDB
internal import MagicJournal

/// Fetches: what they read, and the objects that are made of it.
extension Scope {
  /// What a fetch reads: rows or, of a type that holds objects, a graph.
  enum Fetched: Sendable {
    case rows(FetchedRows, Layout)
    case graph(FetchedGraph)

    /// - Parameter types: where the types of all objects are that a graph may have; the first is `type`.
    init(_ type: MappedType, _ types: [MappedType], _ db: Connection, in store: Store) throws {
      self = try Fetched(FetchedRows(all: type, db, asInstancesIn: store), type, types, db)
    }

    init(_ rows: FetchedRows, _ type: MappedType, _ types: [MappedType], _ db: Connection) throws {
      self = type.layout.hasRelations ? .graph(try FetchedGraph(rows, types, db)) : .rows(rows, type.layout)
    }
  }

  /// What a look-up finds, likewise.
  enum Found: Sendable {
    case row(FetchedRow, Layout)
    case graph(FetchedGraph)

    /// - Parameter types: as of what is fetched.
    init?(_ key: ObjectKey, _ type: MappedType, _ types: [MappedType], _ db: Connection) throws {
      if type.layout.hasRelations {
        let rows = try FetchedRows(type, db, key: key)
        guard rows.count > 0 else { return nil }
        self = .graph(try FetchedGraph(rows, types, db))
      } else {
        guard let row = try FetchedRow.find(key, type, db) else { return nil }
        self = .row(row, type.layout)
      }
    }
  }

  /// Those that can be read.
  func objects<Object: MagicObject>(_: Object.Type, _ fetched: Fetched) throws -> [Object] {
    switch fetched {
    case .graph(let graph): return try make(graph)
    case .rows(let rows, let layout):
      // With room for none, this would write to the empty array that all share.
      guard rows.count > 0 else { return [] }
      return try Array(unsafeUninitializedCapacity: rows.count) { objects, count in
        guard let start = objects.baseAddress else { return }
        guard let instances = rows.takeInstances() else {
          count = try make(start, rows, layout, in: store)
          return
        }
        count = instances.move(to: start)
        guard case .transaction = self else { return }
        for index in 0..<count { try remember(start + index, layout, in: store) }
      }
    }
  }

  /// The one that was looked for; what makes it unreadable is thrown.
  func object<Object: MagicObject>(_: Object.Type, _ found: Found) throws -> Object {
    switch found {
    case .graph(let graph): return try first(graph)
    case .row(let row, let layout):
      return try withUnsafeTemporaryAllocation(of: Object.self, capacity: 1) { memory in
        guard let object = memory.baseAddress else { preconditionFailure("there is memory for an instance") }
        try make(object, row, layout, in: store)
        return object.move()
      }
    }
  }

  nonisolated(nonsending) func fetch(_ type: MappedType) async throws -> Fetched {
    let types = type.layout.hasRelations ? try await typesForReading(of: type) : []
    // One statement sees one moment by itself.
    return try await read(isOneStatement: types.isEmpty, pace: type.pace) { [store] db in
      try Fetched(type, types, db, in: store)
    }
  }

  /// The object with a primary value; `nil` if there is none that can be shown.
  nonisolated(nonsending) func find<Object: MagicObject>(_: Object.Type, _ primary: some MagicalPrimary) async throws -> Found?
  {
    // A type that is known is asked for once, and without a call that may wait.
    var type = store.known(Object.self)
    let key = try type?.layout.key(primary) ?? key(of: Object.self, primary)
    if type == nil { type = try await mappedForReading(Object.self) }
    guard let type else { return nil }
    guard type.layout.hasRelations else { return try await row(type, key).map { .row($0, type.layout) } }
    let types = try await typesForReading(of: type)
    return try await read { db in try Found(key, type, types, db) }
  }

  /// The objects of rows that are read by whoever asks.
  ///
  /// - Parameter isOneStatement: whether the rows are.
  nonisolated(nonsending) func fetch(
    _ type: MappedType, isOneStatement: Bool, _ rows: @Sendable @escaping (Connection) throws -> FetchedRows
  ) async throws -> Fetched {
    let types = type.layout.hasRelations ? try await typesForReading(of: type) : []
    return try await read(isOneStatement: isOneStatement && types.isEmpty) { db in try Fetched(rows(db), type, types, db) }
  }

  nonisolated(nonsending) func objects<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    guard let type = try await mappedForReading(Object.self) else { return [] }
    return try objects(Object.self, try await fetch(type))
  }

  // MARK: Instances

  private func first<Object: MagicObject>(_ graph: FetchedGraph) throws -> Object {
    let objects: [Object] = try make(graph, first: true)
    guard let object = objects.first else { throw missing(Object.self) }
    return object
  }

  /// Makes the objects of rows one behind the other, without those that have a value which cannot be read.
  /// - Returns: how many they are; if it throws, there is none.
  private func make<Object: MagicObject>(
    _ objects: UnsafeMutablePointer<Object>, _ rows: FetchedRows, _ layout: Layout, in store: Store
  ) throws -> Int {
    var count = 0
    for row in 0..<rows.count {
      do {
        try make(objects + count, rows[row], layout, in: store)
        count += 1
      } catch let error as MagicDataError where error.code == .value {
        continue
      } catch {
        objects.deinitialize(count: count)
        throw error
      }
    }
    return count
  }

  private func make<Object: MagicObject>(
    _ object: UnsafeMutablePointer<Object>, _ row: FetchedRow, _ layout: Layout, in store: Store
  ) throws {
    try Instance.make(object, layout, row, in: store)
    try remember(object, layout, in: store)
  }

  /// For the case that the transaction is rolled back: what was read before its first change was there before it.
  private func remember<Object: MagicObject>(
    _ object: UnsafeMutablePointer<Object>, _ layout: Layout, in store: Store
  ) throws {
    guard case .transaction(let place, _) = self, place.open.changes > 0 else { return }
    place.open.remember(try Instance(at: object, layout).memory(ofFetchIn: store, after: place.open.changes))
  }

  /// The objects of a graph that were asked for, of those that can be read.
  ///
  /// - Parameter first: what makes the first row's object unreadable is thrown.
  func make<Object: MagicObject>(_ graph: FetchedGraph, first: Bool = false) throws -> [Object] {
    let objects = try makeAll(graph, first: first).all(Object.self)
    return (0..<graph.count).compactMap { objects?[$0]?.pointee }
  }

  /// The objects of a graph, each once and holding each other.
  func makeAll(_ graph: FetchedGraph, first: Bool = false) throws -> FetchedObjects {
    let objects = FetchedObjects()
    for (number, ofType) in graph.types.enumerated() {
      try make(ofType, ofType.type.layout.type, into: objects, first: first && number == 0)
    }
    for ofType in graph.types where !ofType.type.relations.isEmpty {
      try relate(ofType, ofType.type.layout.type, among: objects)
    }
    return objects
  }

  private func make<Object: MagicObject>(
    _ ofType: FetchedGraph.OfType, _: Object.Type, into objects: FetchedObjects, first: Bool
  ) throws {
    let made = FetchedObjects.OfType<Object>(ofType.rowsByZIndex, count: ofType.rows.count)
    objects.add(made)
    let (store, layout) = (store, ofType.type.layout)
    for row in 0..<ofType.rows.count {
      try made.add { object in
        do {
          try make(object, ofType.rows[row], layout, in: store)
          return true
        } catch let error as MagicDataError where error.code == .value && !(first && row == 0) {
          return false
        }
      }
    }
  }

  private func relate<Object: MagicObject>(
    _ ofType: FetchedGraph.OfType, _: Object.Type, among objects: FetchedObjects
  ) throws {
    guard let made = objects.all(Object.self) else { return }
    for row in 0..<ofType.rows.count {
      guard let object = made[row] else { continue }
      let instance = try Instance(at: object, ofType.type.layout)
      for (place, relation) in ofType.type.relations.enumerated() {
        try instance.fetched(relation.index, ofType.links[place][row], relation.codec, among: objects)
      }
    }
  }
}
