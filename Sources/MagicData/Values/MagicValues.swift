extension MagicData {
  /// The objects of a model as plain values.
  public func values<Converted: MagicConvertible>(of: Converted.Type) -> MagicValues<Converted> {
    MagicValues(store: store)
  }
}

/// The objects of a model as values of a type that is made from it; see ``MagicData/values(of:)``.
///
/// Objects are fetched, converted and saved off the caller's actor.
public struct MagicValues<Converted: MagicConvertible>: Sendable {
  let store: Store

  private var scope: Scope { .database(store) }

  // MARK: Fetches

  /// All values, in the order of their objects' z indexes or of a property of the model; see ``MagicData/object(of:)`` for
  /// those that are not among them.
  ///
  /// - Parameter limit: the first so many.
  /// - Throws: as ``MagicQuery/all()``; what a conversion throws.
  public nonisolated(nonsending) func fetchAll(
    sort property: PartialKeyPath<Converted.Model>? = nil, _ direction: MagicQuery<Converted.Model>.Direction = .ascending,
    limit: Int? = nil
  ) async throws -> [Converted] {
    try await all(query.sorted(property, direction).limited(limit).plan)
  }

  /// The values of the objects that fulfil a condition; see ``MagicQuery``.
  /// - Throws: as ``MagicQuery/all()``; what a conversion throws.
  public nonisolated(nonsending) func fetchAll(
    where condition: (MagicFields<Converted.Model>) -> some MagicCondition,
    sort property: PartialKeyPath<Converted.Model>? = nil,
    _ direction: MagicQuery<Converted.Model>.Direction = .ascending, limit: Int? = nil
  ) async throws -> [Converted] {
    try await all(query.where(condition).sorted(property, direction).limited(limit).plan)
  }

  /// The first value, in the order of the objects' z indexes or of a property of the model; `nil` if there is none.
  /// - Throws: as ``MagicQuery/first()``; what the conversion throws.
  public nonisolated(nonsending) func fetchFirst(
    sort property: PartialKeyPath<Converted.Model>? = nil, _ direction: MagicQuery<Converted.Model>.Direction = .ascending
  ) async throws -> Converted? {
    try await first(query.sorted(property, direction).plan)
  }

  /// The first value among the objects that fulfil a condition.
  /// - Throws: as ``MagicQuery/first()``; what the conversion throws.
  public nonisolated(nonsending) func fetchFirst(
    where condition: (MagicFields<Converted.Model>) -> some MagicCondition,
    sort property: PartialKeyPath<Converted.Model>? = nil,
    _ direction: MagicQuery<Converted.Model>.Direction = .ascending
  ) async throws -> Converted? {
    try await first(query.where(condition).sorted(property, direction).plan)
  }

  /// The value whose object has a primary value; `nil` if there is none.
  /// - Throws: ``MagicDataError`` with `value` if a stored value cannot be read as its property's type, `model` if the model
  ///   has no primary value or one of another kind; else as ``MagicData/object(of:)``; what the conversion throws.
  @concurrent public func fetch(primary: some MagicalPrimary) async throws -> Converted? {
    guard let found = try await scope.find(Converted.Model.self, primary) else { return nil }
    return try Converted(scope.object(Converted.Model.self, found))
  }

  /// How many objects there are.
  /// - Throws: as ``MagicQuery/count()``.
  public nonisolated(nonsending) func count() async throws -> Int {
    try await query.count()
  }

  /// How many objects fulfil a condition.
  /// - Throws: as ``MagicQuery/count()``.
  public nonisolated(nonsending) func count(
    where condition: (MagicFields<Converted.Model>) -> some MagicCondition
  ) async throws -> Int {
    try await query.where(condition).count()
  }

  /// The values of objects that fulfil a condition, and again after each change; see ``MagicQuery/observe()``.
  /// - Throws: from `next()`, as ``MagicQuery/observe()`` does, and what a conversion throws; the sequence is over then.
  public func observe(
    where condition: (MagicFields<Converted.Model>) -> some MagicCondition,
    sort property: PartialKeyPath<Converted.Model>? = nil,
    _ direction: MagicQuery<Converted.Model>.Direction = .ascending, limit: Int? = nil
  ) -> MagicObservation<[Converted]> {
    observe(query.where(condition).sorted(property, direction).limited(limit).plan)
  }

  /// The values of all objects, and again after each change; see ``MagicQuery/observe()``.
  public func observe(
    sort property: PartialKeyPath<Converted.Model>? = nil, _ direction: MagicQuery<Converted.Model>.Direction = .ascending,
    limit: Int? = nil
  ) -> MagicObservation<[Converted]> {
    observe(query.sorted(property, direction).limited(limit).plan)
  }

  private func observe(_ plan: QueryPlan) -> MagicObservation<[Converted]> {
    let (values, store) = (self, store)
    return MagicObservation(
      store, of: { try store.layout(Converted.Model.self).reached() },
      fetch: { scope in
        guard case .observed(_, let note) = scope else {
          preconditionFailure("an observation fetches through a scope of its own")
        }
        return try await values.all(plan, note)
      })
  }

  @concurrent private func all(_ plan: QueryPlan, _ note: PositionNote) async throws -> [Converted] {
    var query = query
    query.plan = plan
    return try await query.all(in: .observed(store, note)).map(Converted.init)
  }

  private var query: MagicQuery<Converted.Model> { MagicQuery(.database(store)) }

  /// Off the caller's actor. A key path and a condition cannot go there; what they come to can.
  @concurrent private func all(_ plan: QueryPlan) async throws -> [Converted] {
    var query = query
    query.plan = plan
    return try await query.all().map(Converted.init)
  }

  @concurrent private func first(_ plan: QueryPlan) async throws -> Converted? {
    var query = query
    query.plan = plan
    return try await query.first().map(Converted.init)
  }

  // MARK: Changes

  /// Adds an object with a value, or updates the one with its primary value: what differs is written. Without a primary value
  /// in the model, and where `makeModel()` leaves a number to the database, each save adds an object.
  ///
  /// - Returns: the object's z index.
  /// - Throws: as ``MagicData/update(_:)``; what `makeModel()` throws.
  @discardableResult
  @concurrent public func save(_ value: Converted) async throws -> Int {
    try await scope.update(value.makeModel())
  }

  /// Saves many values in one transaction: all are stored, or none.
  /// - Throws: as ``MagicData/update(contentsOf:progress:)``; what `makeModel()` throws.
  @concurrent public func save(contentsOf values: some Sequence<Converted> & Sendable) async throws {
    try await MagicData(store: store).update(contentsOf: try values.map { try $0.makeModel() })
  }

  /// Removes the object with a value's primary value.
  /// - Throws: ``MagicDataError`` with `notSaved` if there was never such an object here, `model` if the model has no primary
  ///   value; else as ``MagicData/remove(_:)``; what `makeModel()` throws.
  @concurrent public func delete(_ value: Converted) async throws {
    guard Converted.Model.hasPrimaryValue else {
      throw MagicDataError(
        .model, "\(Converted.Model.magicName) has no primary value to find a value's object by; remove the object itself")
    }
    try await scope.remove(value.makeModel())
  }

  /// Removes all objects of the model in one transaction.
  /// - Throws: as ``MagicData/removeAll(of:)``.
  @concurrent public func deleteAll() async throws {
    try await scope.removeAll(of: Converted.Model.self)
  }
}

extension MagicQuery {
  fileprivate func sorted(_ property: PartialKeyPath<Object>?, _ direction: Direction) -> MagicQuery {
    property.map { sorted(by: $0, direction) } ?? self
  }

  fileprivate func limited(_ count: Int?) -> MagicQuery {
    count.map(limit) ?? self
  }
}
