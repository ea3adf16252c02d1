extension MagicData {
  /// Removes an object. The instance keeps its values, and can be saved again; but for an asset that was fetched, whose file
  /// goes away with the last object that names it: an update throws `notFound` then. Who may want it back assigns what
  /// ``MagicAsset/load()`` returns to ``MagicAsset/value`` beforehand.
  ///
  /// An object that was removed already, here or by a merge, stays removed. An instance of a type without a primary value that
  /// was removed itself is as one that was never saved: it is an object of its own when it is saved again.
  /// - Throws: ``MagicDataError`` with `notSaved` if there was never such an object here; else as ``removeAll(of:)``.
  public nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    try await Scope.database(store).remove(object)
  }

  /// Removes all objects of a type in one transaction, also those that a fetch does not give out.
  /// - Throws: ``MagicDataError`` with `model` if the type cannot be stored, or was changed in a way that no migration
  ///   declares; `tooLarge` if they are more than one transaction can have; `busy`, `full` or `notAllowed`; `transaction`
  ///   within a transaction; `CancellationError`. Nothing is removed then.
  public nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    try await Scope.database(store).removeAll(of: Object.self)
  }
}
