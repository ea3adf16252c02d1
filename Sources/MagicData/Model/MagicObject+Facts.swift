extension MagicObject {
  /// Whether the type has a ``PrimaryMagicValue``. `false` as well for a type that cannot be stored.
  public static var hasPrimaryValue: Bool {
    // The first use of a type that cannot be stored says what is wrong with it.
    (try? Layout.of(Self.self))?.primary != nil
  }

  /// Whether the object's type has a ``PrimaryMagicValue``.
  public var hasPrimaryValue: Bool { Self.hasPrimaryValue }
}

extension MagicData {
  /// The z index of an instance that was saved in this database, or fetched from it; `nil` for any other, and for one that was
  /// removed.
  ///
  /// It is what the instance knows: the database is not asked.
  public func zIndex<Object: MagicObject>(of object: Object) -> Int? {
    // A type that cannot be stored has no instance that was.
    guard let layout = try? Layout.of(Object.self), let instance = try? Instance(object, layout) else { return nil }
    return instance.zIndex(in: store)
  }
}

extension Instance {
  fileprivate func zIndex(in database: Store) -> Int? {
    // With another primary value it is meant as another object.
    guard let record, record.database == database.id, (try? isAsRecorded()) == true else { return nil }
    return Int(record.place.zIndex)
  }
}
