/// The database, within a transaction: see ``MagicData/transaction(_:)``.
public final class MagicTransaction {
  private let open: OpenTransaction
  private let depth: Int

  init(_ open: OpenTransaction) {
    self.open = open
    depth = open.depth
  }

  var scope: Scope {
    get throws {
      guard depth == open.depth else {
        throw MagicDataError(
          .transaction,
          depth < open.depth
            ? "within a nested transaction, use the one that its body was given"
            : "the nested transaction is over; what its body was given is of no use afterwards")
      }
      return .transaction(open)
    }
  }

  /// Adds or updates an object; see ``MagicData/update(_:)``. If it throws, nothing of it is stored, and the transaction can go on.
  @discardableResult
  public nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    try await scope.update(object)
  }

  /// Adds or updates many objects; see ``MagicData/update(contentsOf:progress:)``.
  public nonisolated(nonsending) func update<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)? = nil
  ) async throws {
    _ = try scope
    try await open.nested {
      let scope = Scope.transaction(open)
      var saved = 0
      var part: [Object] = []
      for object in objects {
        part.append(object)
        guard part.count == MagicTransaction.partSize else { continue }
        try await scope.update(part: part)
        saved += part.count
        part.removeAll(keepingCapacity: true)
        progress?(saved)
        try Task.checkCancellation()
      }
      guard !part.isEmpty else { return }
      try await scope.update(part: part)
      progress?(saved + part.count)
    }
  }

  /// Objects that go to the database together: enough for the hop not to count, few enough for little memory.
  private static let partSize = 1_000

  /// Removes an object; see ``MagicData/remove(_:)``.
  public nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    try await scope.remove(object)
  }

  /// Removes all objects of a type.
  public nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    try await scope.removeAll(of: Object.self)
  }

  /// All objects of a type, with what this transaction has changed so far.
  public nonisolated(nonsending) func object<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    try await scope.objects(of: Object.self)
  }

  /// The object with a primary value, with what this transaction has changed so far.
  /// - Throws: ``MagicDataError`` with `notFound` if there is none.
  public nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    try await scope.object(of: Object.self, primary: primary)
  }

  /// Whether there is an object with a primary value, with what this transaction has changed so far.
  public nonisolated(nonsending) func has<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Bool {
    try await scope.row(of: Object.self, primary) != nil
  }

  /// A transaction within this one: if `body` throws, what it did is undone, and this transaction can go on.
  @discardableResult
  public nonisolated(nonsending) func transaction<Result>(
    _ body: nonisolated(nonsending) (MagicTransaction) async throws -> Result
  ) async throws -> Result {
    _ = try scope
    return try await open.nested { try await body(MagicTransaction(open)) }
  }
}
