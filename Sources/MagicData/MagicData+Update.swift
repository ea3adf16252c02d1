extension MagicData {
  /// Adds an object, or updates it by its primary value or, without one, by the z index that it has.
  ///
  /// Only what was set since the object was fetched or saved, and differs from that, is written, so that a stale instance does
  /// not overwrite what was merged since. An `Int` primary value that was never set is set by it to the next number. An
  /// instance that was made anew, with a primary value that is held already, writes what was set in it, and no defaults. Of two
  /// updates of one instance the second waits for the first.
  /// - Returns: the z index: local to this database, and given to no other object; that one from a transaction which is rolled
  ///   back is given again.
  /// - Throws: ``MagicDataError`` with `unsetValue` if a required value was never set, `value` if one cannot be stored, `model`
  ///   if the type cannot be, `notFound` or `damaged` if the content of an asset is not to be had, `tooLarge`, `busy`, `full`
  ///   or `notAllowed`; `transaction` within a transaction, `failed` if the database is closed; `CancellationError`. Nothing is
  ///   stored then.
  @discardableResult
  public nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    try await Scope.database(store).update(object)
  }
}
