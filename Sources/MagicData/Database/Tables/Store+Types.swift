internal import MagicJournal

extension Store {
  /// What is known of a type without a look at the database.
  func known(_ type: any MagicObject.Type) -> MappedType? {
    types.withLock { $0.mapped[ObjectIdentifier(type)] }
  }

  /// The type's layout, if no other type of its name is in use here.
  func layout<Object: MagicObject>(_ type: Object.Type) throws -> Layout {
    let layout = try Layout.of(type)
    try types.withLock { try $0.claim(layout.schema.identity, for: type) }
    return layout
  }

  /// Only of what is committed: a field id that was rolled back could be given to another field.
  func remember(_ mapped: MappedType, as type: any MagicObject.Type) {
    types.withLock { types in
      if mapped.fieldCount >= types.fieldCount { types.mapped[ObjectIdentifier(type)] = mapped }
    }
  }

  /// Who writes has to know of the fields that a merge or another process has added (`LocalTransaction.current`); who reads
  /// does not, since no field that is known ever changes.
  func forgetTypes(before fieldCount: Int) {
    types.withLock { types in
      guard types.fieldCount < fieldCount else { return }
      types.fieldCount = fieldCount
      types.mapped = types.mapped.filter { $0.value.fieldCount >= fieldCount }
    }
  }
}

/// The app's types that a store has met.
struct KnownTypes {
  var mapped: [ObjectIdentifier: MappedType] = [:]
  /// The most fields that the database was seen to have.
  var fieldCount = 0
  var names: [TypeSchema.Identity: any MagicObject.Type] = [:]

  /// Two Swift types of one name would read and write each other's objects.
  mutating func claim(_ name: TypeSchema.Identity, for type: any MagicObject.Type) throws {
    if let other = names[name], other != type {
      throw MagicDataError(
        .model,
        """
        \(String(reflecting: other)) and \(String(reflecting: type)) are both stored as \(name.name); give one of them a static \
        magicName of its own
        """)
    }
    names[name] = type
  }
}
