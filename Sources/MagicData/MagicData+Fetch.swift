internal import MagicJournal

extension MagicData {
  /// All objects of a type, in the order of their z indexes. Each fetch makes new instances.
  ///
  /// Objects whose required values have not all arrived from other replicas are not among them, nor are those that have one which this
  /// version's type cannot be read from, such as a case that only a newer app knows. They are kept.
  public nonisolated(nonsending) func object<Object: MagicObject>(of: Object.Type) async throws -> [Object] {
    let type = try await store.mapped(Object.self)
    let id = store.id
    let rows = try await store.read { db in try FetchedObject.all(of: type, in: id, db) }
    return try rows.compactMap { row in
      do {
        return try MagicData.make(row, type.layout)
      } catch let error as MagicDataError where error.code == .value {
        return nil
      }
    }
  }

  /// The object with a primary value.
  /// - Throws: ``MagicDataError`` with `notFound` if there is none, `value` if a stored value cannot be read as its property's type.
  public nonisolated(nonsending) func object<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Object {
    guard let (row, layout) = try await row(of: Object.self, primary) else {
      throw MagicDataError(
        .notFound, "there is no \(Object.magicName) with this primary value; has(of:primary:) tells beforehand")
    }
    return try MagicData.make(row, layout)
  }

  /// Whether there is an object with a primary value.
  public nonisolated(nonsending) func has<Object: MagicObject>(
    of: Object.Type, primary: some MagicalPrimary
  ) async throws -> Bool {
    try await row(of: Object.self, primary) != nil
  }

  private nonisolated(nonsending) func row<Object: MagicObject>(
    of: Object.Type, _ primary: some MagicalPrimary
  ) async throws -> (FetchedObject, Layout)? {
    let type = try await store.mapped(Object.self)
    let value = try primary.magicValue
    guard let index = type.layout.primary else {
      throw MagicDataError(.model, "\(Object.magicName) has no primary value, so its objects cannot be looked up by one")
    }
    guard type.layout.properties[index].kind == value.kind else {
      throw MagicDataError(
        .model,
        """
        \(Object.magicName).\(type.layout.properties[index].name) is of kind \(type.layout.properties[index].kind), and a \
        \(Swift.type(of: primary)) was given
        """)
    }
    let id = store.id
    let rows = try await store.read { db in try FetchedObject.all(of: type, in: id, db, key: .primary(value)) }
    return rows.first.map { ($0, type.layout) }
  }

  private static func make<Object: MagicObject>(_ row: FetchedObject, _ layout: Layout) throws -> Object {
    let object = Object()
    do {
      try BoxedObject(object, layout).fetched(row)
    } catch let error as MagicDataError {
      throw MagicDataError(error.code, "a \(layout.name) cannot be read: \(error.message)", cause: error)
    }
    return object
  }
}
