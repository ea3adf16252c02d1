internal import MagicJournal

extension MagicData {
  /// Removes an object. The instance keeps its values, and can be saved again.
  ///
  /// An object that was removed already, here or by a merge, stays removed.
  /// - Throws: ``MagicDataError`` with `notSaved` if there was never such an object here.
  public nonisolated(nonsending) func remove<Object: MagicObject>(_ object: Object) async throws {
    let boxed = try BoxedObject(object, Layout.of(Object.self))
    try await boxed.inTurn {
      guard let key = try boxed.primary().map({ .primary($0) }) ?? boxed.record?.key else {
        throw MagicData.notSaved(Object.self)
      }
      let type = try await store.mapped(Object.self)
      guard try await store.change({ transaction in try transaction.remove(key, type) }) else {
        throw MagicData.notSaved(Object.self)
      }
      boxed.removed()
    }
  }

  /// Removes all objects of a type in one transaction.
  public nonisolated(nonsending) func removeAll<Object: MagicObject>(of: Object.Type) async throws {
    let type = try await store.mapped(Object.self)
    try await store.change { transaction in try transaction.removeAll(of: type) }
  }

  private static func notSaved<Object: MagicObject>(_ type: Object.Type) -> MagicDataError {
    MagicDataError(.notSaved, "this \(type.magicName) was never saved in this database, so it cannot be removed")
  }
}
