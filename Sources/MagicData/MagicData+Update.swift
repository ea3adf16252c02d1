extension MagicData {
  /// Adds an object, or updates it by its primary value or, without one, by the z index that it has.
  ///
  /// Only what was set since the object was fetched or saved, and differs from that, is written, so that a stale instance does not
  /// overwrite what was merged since. An `Int` primary value that was never set is set by it to the next number. An instance that was made anew, with
  /// a primary value that is held already, writes what was set in it, and no defaults. Of two updates of one instance the second waits for the first.
  /// - Returns: the z index: local to this database, and never given twice.
  /// - Throws: ``MagicDataError`` with `unsetValue` if a required value was never set, `tooLarge`, `busy`, `full` or `notAllowed`. Nothing
  ///   is stored then.
  @discardableResult
  public nonisolated(nonsending) func update<Object: MagicObject>(_ object: Object) async throws -> Int {
    try await Scope.database(store).update(object)
  }
}
