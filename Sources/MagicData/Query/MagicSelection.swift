/// The objects of a type, to be narrowed down: what ``MagicData/object(of:)-(Object.Type)`` gives where it is not awaited by
/// itself.
public struct MagicSelection<Object: MagicObject> {
  let query: MagicQuery<Object>

  /// The objects that fulfil a condition, in the order of their z indexes:
  /// `try await magic.object(of: Note.self).where { $0.stars > 3 }`.
  ///
  /// There may be none, one or many. For one of them go on with a query: `.where { $0.id == id }.first()`.
  public nonisolated(nonsending) func `where`<Condition: MagicCondition>(
    _ condition: (MagicFields<Object>) -> Condition
  ) async throws -> [Object] {
    try await query.where(condition).all()
  }
}

extension MagicSelection {
  /// The objects that fulfil a condition, as a query to be sorted, limited or counted.
  public func `where`<Condition: MagicCondition>(_ condition: (MagicFields<Object>) -> Condition) -> MagicQuery<Object> {
    query.where(condition)
  }
}
