extension MagicQuery {
  /// All objects that are asked for, as they stand at one moment. Each fetch makes new instances.
  /// - Throws: ``MagicDataError`` with `query` if the database cannot tell what is asked; nothing is loaded then.
  public nonisolated(nonsending) func all() async throws -> [Object] {
    guard let (scope, type) = try await mapped() else { return [] }
    let plan = plan
    return try scope.objects(
      Object.self, try await scope.fetch(type) { db in try FetchedRows(type, db, .objects(plan, type, db)) })
  }

  /// The first of the objects that are asked for; `nil` if there is none.
  public nonisolated(nonsending) func first() async throws -> Object? {
    guard let (scope, type) = try await mapped() else { return nil }
    let plan = limit(min(plan.limit ?? 1, 1)).plan
    let fetched = try await scope.fetch(type) { db in try FetchedRows(type, db, .objects(plan, type, db)) }
    guard fetched.count > 0 else { return nil }
    if let first = try scope.objects(Object.self, fetched).first { return first }
    // One that cannot be read.
    var rest = stream().makeAsyncIterator()
    return try await rest.next()
  }

  /// How many objects are asked for; none of them is loaded.
  public nonisolated(nonsending) func count() async throws -> Int {
    guard let (scope, type) = try await mapped() else { return 0 }
    let plan = plan
    return try await scope.read { db in
      var select = try QueryText.count(plan, type, db).statement(db)
      return try select.step() ? select.int(0) : 0
    }
  }

  /// Removes the objects that are asked for, all in one transaction, as ``MagicData/remove(_:)`` does each.
  /// - Returns: how many they were.
  /// - Throws: ``MagicDataError`` with `query`, `tooLarge`, `busy`, `full` or `notAllowed`. Nothing is removed then.
  @discardableResult
  public nonisolated(nonsending) func remove() async throws -> Int {
    guard let (scope, type) = try await mapped() else { return 0 }
    let plan = plan
    return try await scope.exclusively {
      try await scope.change { transaction in
        let keys = try QueryText.keys(plan, type, transaction.db).keys(transaction.db)
        for (_, key) in keys { _ = try transaction.remove(key, type) }
        return keys.count
      }
    }
  }

  /// The objects that are asked for, one after the other, with little in memory; see ``MagicStream``.
  public func stream() -> MagicStream<Object> {
    MagicStream(query: self)
  }

  /// How SQLite goes about it, step by step: `SCAN Book` reads the whole table, `SEARCH Book USING INDEX …` looks things up. For people to
  /// read; SQLite's wording changes.
  public nonisolated(nonsending) func plan() async throws -> [String] {
    guard let (scope, type) = try await mapped() else { return [] }
    let plan = plan
    return try await scope.read { db in try QueryText.objects(plan, type, db).explanation(db) }
  }

  /// `nil` if the database has never had such objects.
  nonisolated(nonsending) func mapped() async throws -> (Scope, MappedType)? {
    try plan.check()
    let scope = try scope
    return try await scope.mappedForReading(Object.self).map { (scope, $0) }
  }
}
