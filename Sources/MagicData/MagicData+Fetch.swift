extension MagicData {
  /// All objects of a type, in the order of their z indexes. Each fetch makes new instances.
  ///
  /// Objects whose required values have not all arrived from other replicas are not among them, nor are those that have one
  /// which this version's type cannot be read from, such as a case that only a newer app knows. They are kept.
  /// - Throws: ``MagicDataError`` with `model` if the type cannot be stored, or was changed in a way that no migration
  ///   declares; `notADatabase` if the file is damaged; `failed` if the database is closed; `transaction` within a transaction
  ///   of a database in memory; `CancellationError`. The first use of a type may have to add columns or indexes, and throws
  ///   `busy`, `full`, `notAllowed` or, within a transaction, `transaction` if it cannot.
  public nonisolated(nonsending) func object<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    try await Scope.database(store).objects(of: Object.self)
  }

  /// The object with a primary value.
  /// - Throws: ``MagicDataError`` with `notFound` if there is none, `value` if a stored value cannot be read as its property's
  ///   type, `model` if the type has no primary value or one of another kind; else as ``object(of:)``.
  public nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    try await Scope.database(store).object(of: Object.self, primary: primary)
  }

  /// Whether there is an object with a primary value, also one with values that this version of the app cannot read.
  /// - Throws: ``MagicDataError`` with `model` if the type has no primary value or one of another kind; else as
  ///   ``object(of:)``.
  public nonisolated(nonsending) func has<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Bool {
    try await Scope.database(store).has(of: Object.self, primary)
  }
}
