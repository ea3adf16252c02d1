extension MagicData {
  /// A query for objects of a type: all of them, until it says more.
  public func query<Object: MagicObject>(of: Object.Type) -> MagicQuery<Object> {
    MagicQuery(.database(store))
  }

  /// The objects of a type, to be narrowed down by a condition: `try await magic.object(of: Note.self).where { $0.stars > 3 }`.
  ///
  /// Awaited by itself, as in `try await magic.object(of: Note.self)`, the call gives all objects in an array.
  public func object<Object: MagicObject>(of: Object.Type) -> MagicSelection<Object> {
    MagicSelection(query: query(of: Object.self))
  }

  /// How many objects of a type there are, without those that a fetch does not give out.
  /// - Throws: as ``object(of:)``.
  public nonisolated(nonsending) func count<Object: MagicObject>(of: Object.Type) async throws -> Int {
    try await query(of: Object.self).count()
  }
}

extension MagicTransaction {
  /// A query that sees what this transaction has changed so far; see ``MagicQuery``.
  public func query<Object: MagicObject>(of: Object.Type) -> MagicQuery<Object> {
    MagicQuery(.transaction(self))
  }

  /// The objects of a type, to be narrowed down by a condition, with what this transaction has changed so far.
  public func object<Object: MagicObject>(of: Object.Type) -> MagicSelection<Object> {
    MagicSelection(query: query(of: Object.self))
  }

  /// How many objects of a type there are, with what this transaction has changed so far.
  public nonisolated(nonsending) func count<Object: MagicObject>(of: Object.Type) async throws -> Int {
    try await query(of: Object.self).count()
  }
}
