extension MagicData {
  /// Runs several updates, removes and reads as one: all of it is stored, or nothing.
  ///
  /// What is stored is one transaction of the journal, with one entry for each object: replicas apply it whole. If `body`
  /// throws, or its task was cancelled, everything is rolled back, and the instances that were saved are as if they had not
  /// been. Other writes of this process wait until it is over, those of other processes for as long as SQLite lets them; reads
  /// go on, and see nothing of it.
  ///
  /// - Parameter body: is given the transaction, which takes one call at a time and is of no use afterwards. A write to the
  ///   database itself would wait for the body to end; that is an error, also in tasks that the body starts, until it has
  ///   ended. (It cannot be told in a detached task: do not await such a one.) A read of the database itself sees nothing of
  ///   the transaction; of one in memory it is that error, too. A function that is given the transaction is
  ///   `nonisolated(nonsending)`.
  /// - Throws: what `body` throws; `CancellationError`; ``MagicDataError`` with `busy`, `full`, `notAllowed` or `tooLarge`,
  ///   `transaction` within another one of the same database, `failed` if the database is closed.
  @discardableResult
  public nonisolated(nonsending) func transaction<Result>(
    _ body: nonisolated(nonsending) (MagicTransaction) async throws -> Result
  ) async throws -> Result {
    try await store.exclusively {
      // Whoever closes waits for its end: else a connection could be closed, or stay, in the middle of it.
      try await store.accessing {
        let open = try await OpenTransaction.begin(store)
        do {
          let result = try await RunningTransaction.run(of: store) { try await body(MagicTransaction(open)) }
          try Task.checkCancellation()
          try await open.commit()
          return result
        } catch {
          await open.rollback()
          throw error
        }
      }
    }
  }

  /// Adds or updates many objects in one transaction: all are stored, or none.
  ///
  /// - Parameter progress: is called with the number of objects that are done, about every thousand.
  /// - Throws: as ``update(_:)``; `CancellationError`.
  public nonisolated(nonsending) func update<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ saved: Int) -> Void)? = nil
  ) async throws {
    try await transaction { transaction in try await transaction.updateWhole(objects, progress) }
  }

  /// Removes many objects in one transaction: all are removed, or none.
  ///
  /// - Parameter progress: is called with the number of objects that are done, about every thousand.
  /// - Throws: as ``remove(_:)``; `CancellationError`.
  public nonisolated(nonsending) func remove<Object: MagicObject>(
    contentsOf objects: some Sequence<Object>, progress: ((_ removed: Int) -> Void)? = nil
  ) async throws {
    try await transaction { transaction in try await transaction.removeWhole(objects, progress) }
  }
}
