extension MagicQuery {
  /// All objects that are asked for, as they stand at one moment. Each fetch makes new instances, of which up to sixteen may
  /// share their memory: it is free once none of these is left.
  /// - Throws: ``MagicDataError`` with `query` if the database cannot tell what is asked, `tooLarge` if it takes more than
  ///   32,766 values (a stream: 32,764), `transaction` if the query is of a transaction that is over; nothing is loaded then.
  ///   Else as ``MagicData/object(of:)``.
  public nonisolated(nonsending) func all() async throws -> [Object] {
    try await all(in: try scope)
  }

  /// The first of the objects that are asked for; `nil` if there is none.
  /// - Throws: as ``all()``.
  public nonisolated(nonsending) func first() async throws -> Object? {
    try await first.all().first
  }

  /// The query for the first of its objects alone.
  var first: MagicQuery { limit(Swift.min(plan.limit ?? 1, 1)) }

  /// How many objects are asked for; none of them is loaded.
  ///
  /// - Throws: as ``all()``.
  /// - Complexity: as the conditions, and O(*n*) in the objects that fulfil them. Of a type with required enums, UUIDs or JSON
  ///   these are read as their types, since objects that cannot be are not counted.
  public nonisolated(nonsending) func count() async throws -> Int {
    guard let (scope, types) = try await mapped(in: try scope) else { return 0 }
    let plan = plan
    return try await scope.read(isOneStatement: types.doubtful.isEmpty) { db in
      var select = try QueryText.count(plan, types, db).statement(db)
      return try select.step() ? select.int(0) : 0
    }
  }

  /// Removes the objects that are asked for, all in one transaction, as ``MagicData/remove(_:)`` does each.
  /// - Returns: how many they were.
  /// - Throws: ``MagicDataError`` with `query`, `tooLarge`, `busy`, `full` or `notAllowed`. Nothing is removed then.
  @discardableResult
  public nonisolated(nonsending) func remove() async throws -> Int {
    guard let (scope, types) = try await mapped(in: try scope) else { return 0 }
    let plan = plan
    return try await scope.exclusively {
      try await scope.change { transaction in try transaction.remove(plan, types) }
    }
  }

  /// The objects that are asked for, one after the other, with little in memory; see ``MagicStream``.
  /// - Throws: from `next()`, as ``all()`` does; the sequence is over then.
  public func stream() -> MagicStream<Object> {
    MagicStream(query: self)
  }

  /// How SQLite goes about it, step by step: `SCAN Book` reads the whole table, `SEARCH Book USING INDEX …` looks things up.
  /// For people to read; SQLite's wording changes. Nothing while the database has never had such objects.
  /// - Throws: as ``all()``.
  public nonisolated(nonsending) func plan() async throws -> [String] {
    guard let (scope, types) = try await mapped(in: try scope) else { return [] }
    let plan = plan
    return try await scope.read { db in try QueryText.objects(plan, types, db).explanation(db) }
  }

  nonisolated(nonsending) func all(in scope: Scope) async throws -> [Object] {
    guard let (scope, types) = try await mapped(in: scope) else { return [] }
    let (plan, type, store) = (plan, types.type, scope.store)
    let fetched = try await scope.fetch(type, isOneStatement: types.doubtful.isEmpty) { db in
      try FetchedRows(plan, types, db, asInstancesIn: store)
    }
    return try scope.objects(Object.self, fetched)
  }

  /// `nil` if the database has never had such objects.
  nonisolated(nonsending) func mapped(in scope: Scope) async throws -> (Scope, QueryTypes)? {
    try plan.check()
    guard let type = try await scope.mappedForReading(Object.self) else { return nil }
    var related: [MappedType] = []
    for target in plan.targets {
      if let target = try await scope.mappedForReading(target) { related.append(target) }
    }
    return (scope, QueryTypes(plan, type, related: related, in: scope.store))
  }
}

extension LocalTransaction {
  /// Removes what is asked for.
  /// - Returns: how many objects that was.
  mutating func remove(_ plan: QueryPlan, _ types: QueryTypes) throws -> Int {
    let keys = try QueryText.keys(plan, types, db).keys(db)
    for (_, key) in keys { _ = try remove(key, types.type) }
    return keys.count
  }
}
