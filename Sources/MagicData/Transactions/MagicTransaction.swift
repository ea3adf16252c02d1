/// The database, within a transaction: see ``MagicData/transaction(_:)``.
public final class MagicTransaction {
  private let place: TransactionPlace

  init(_ open: OpenTransaction) {
    place = TransactionPlace(open)
  }

  var scope: Scope { get throws { try place.scope } }
  var store: Store { place.open.store }

  /// Adds or updates an object; see ``MagicData/update(_:)``. If it throws, nothing of it is stored, and the transaction can go
  /// on.
  @discardableResult
  public nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    try await place.scope.update(object)
  }

  /// Adds or updates many objects; see ``MagicData/update(contentsOf:progress:)``.
  public nonisolated(nonsending) func update<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)? = nil
  ) async throws {
    try place.check()
    try await place.open.nested { try await updateWhole(objects, progress) }
  }

  /// Removes an object; see ``MagicData/remove(_:)``.
  public nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    try await place.scope.remove(object)
  }

  /// Removes many objects; see ``MagicData/remove(contentsOf:progress:)``. If it throws, none is removed, and the transaction
  /// can go on.
  public nonisolated(nonsending) func remove<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ removed: Int) -> Void)? = nil
  ) async throws {
    try place.check()
    try await place.open.nested { try await removeWhole(objects, progress) }
  }

  /// Removes all objects of a type.
  public nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    try await place.scope.removeAll(of: Object.self)
  }

  /// All objects of a type, with what this transaction has changed so far.
  public nonisolated(nonsending) func object<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    try await place.scope.objects(of: Object.self)
  }

  /// The object with a primary value, with what this transaction has changed so far.
  /// - Throws: ``MagicDataError`` with `notFound` if there is none.
  public nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    try await place.scope.object(of: Object.self, primary: primary)
  }

  /// Whether there is an object with a primary value, with what this transaction has changed so far.
  public nonisolated(nonsending) func has<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Bool {
    try await place.scope.has(of: Object.self, primary)
  }

  /// A transaction within this one: if `body` throws, what it did is undone, and this transaction can go on. If it ends while a
  /// call within it is under way, that is refused, or, if it is writing just then, the whole transaction is rolled back, with
  /// the error `transaction`.
  @discardableResult
  public nonisolated(nonsending) func transaction<Result>(
    _ body: nonisolated(nonsending) (MagicTransaction) async throws -> Result
  ) async throws -> Result {
    try place.check()
    return try await place.open.nested { try await body(MagicTransaction(place.open)) }
  }
}

extension MagicTransaction {
  /// If it throws, whoever calls it undoes what was done.
  nonisolated(nonsending) func updateWhole<Object: MagicObject>(
    _ objects: some Sequence<Object>, _ progress: ((_ saved: Int) -> Void)?
  ) async throws {
    var parts = Parts(objects, first: try SavePipeline.first(of: Object.self))
    var line = SavePipeline(place.innermost)
    do {
      while let part = parts.next() {
        try await line.save(part)
        let done = line.isOnItsWay ? parts.taken - part.count : parts.taken
        if done > 0 { progress?(done) }
        try Task.checkCancellation()
      }
      if line.isOnItsWay {
        try await line.settle()
        progress?(parts.taken)
      }
    } catch {
      await line.stop()
      throw error
    }
  }

  /// If it throws, whoever calls it undoes what was done.
  nonisolated(nonsending) func removeWhole<Object: MagicObject>(
    _ objects: some Sequence<Object>, _ progress: ((_ removed: Int) -> Void)?
  ) async throws {
    let scope = Scope.transaction(place.innermost, isPart: true)
    var (parts, seen) = (Parts(objects), [InstanceIdentity: Instance]())
    while let part = parts.next() {
      try await scope.remove(part: part, &seen)
      progress?(parts.taken)
      try Task.checkCancellation()
    }
  }
}
