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

  /// All values, in the order of their objects' z indexes; see ``MagicData/object(of:)`` for those that are not among them.
  ///
  /// - Parameter limit: the first so many.
  /// - Throws: ``MagicDataError``; what a conversion throws.
  @concurrent public func fetchAll(limit: Int? = nil) async throws -> [Converted] {
    try await objects(limit: limit).map(Converted.init)
  }

  /// The first value, in the order of the objects' z indexes; `nil` if there is none.
  @concurrent public func fetchFirst() async throws -> Converted? {
    try await objects(limit: 1).first.map(Converted.init)
  }

  /// The value whose object has a primary value; `nil` if there is none.
  /// - Throws: ``MagicDataError`` with `value` if a stored value cannot be read as its property's type; what the conversion throws.
  @concurrent public func fetch(primary: some MagicalPrimary) async throws -> Converted? {
    try await scope.find(Converted.Model.self, primary).map(Converted.init)
  }

  /// How many objects there are. Those with a value that this version's type cannot be read from count as well.
  @concurrent public func count() async throws -> Int {
    guard let type = try await scope.mappedForReading(Converted.Model.self) else { return 0 }
    return try await scope.read { db in try FetchedRows.count(type, db) }
  }

  private nonisolated(nonsending) func objects(limit: Int?) async throws -> [Converted.Model] {
    guard let limit else { return try await scope.objects(of: Converted.Model.self) }
    guard limit > 0, let type = try await scope.mappedForReading(Converted.Model.self) else { return [] }
    let fetched = try await scope.fetch(type, limit: limit)
    let objects = try scope.objects(Converted.Model.self, fetched)
    guard objects.count < fetched.count else { return objects }
    // Some of the first cannot be read; others follow in their place.
    return Array(try await scope.objects(of: Converted.Model.self).prefix(limit))
  }

  // MARK: Changes

  /// Adds an object with a value, or updates the one with its primary value: what differs is written. Without a primary value in the model, each
  /// save adds an object.
  ///
  /// - Returns: the object's z index.
  /// - Throws: as ``MagicData/update(_:)``.
  @discardableResult
  @concurrent public func save(_ value: Converted) async throws -> Int {
    try await scope.update(value.makeModel())
  }

  /// The same for many values in one transaction: all are stored, or none.
  @concurrent public func save(contentsOf values: some Sequence<Converted> & Sendable) async throws {
    try await MagicData(store: store).update(contentsOf: try values.map { try $0.makeModel() })
  }

  /// Removes the object with a value's primary value.
  /// - Throws: ``MagicDataError`` with `notSaved` if there was never such an object here, `model` if the model has no primary value.
  @concurrent public func delete(_ value: Converted) async throws {
    guard Converted.Model.hasPrimaryValue else {
      throw MagicDataError(
        .model, "\(Converted.Model.magicName) has no primary value to find a value's object by; remove the object itself")
    }
    try await scope.remove(value.makeModel())
  }

  /// Removes all objects of the model in one transaction.
  @concurrent public func deleteAll() async throws {
    try await scope.removeAll(of: Converted.Model.self)
  }
}
