/// The properties of a type, by their names: what a `where` is given.
///
/// `$0.title` is a stored property, or a computed one that only hands a stored one on. Of a computed property that works something out the
/// database knows nothing: the query throws ``MagicDataError`` with `query` when it is run, and loads nothing.
@dynamicMemberLookup
public struct MagicFields<Object: MagicObject> {
  public subscript<Value: MagicQueryable>(dynamicMember path: KeyPath<Object, Value>) -> MagicColumn<Value> {
    MagicColumn(magicReference: MagicReference(path))
  }

  public subscript<Value: MagicQueryable>(dynamicMember path: KeyPath<Object, Value?>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: MagicReference(path))
  }

  // Enums.

  public subscript<Value: Magical & RawRepresentable>(
    dynamicMember path: KeyPath<Object, Value>
  ) -> MagicColumn<Value> where Value.RawValue: MagicQueryable {
    MagicColumn(magicReference: MagicReference(path))
  }

  public subscript<Value: Magical & RawRepresentable>(
    dynamicMember path: KeyPath<Object, Value?>
  ) -> MagicOptionColumn<Value> where Value.RawValue: MagicQueryable {
    MagicOptionColumn(magicReference: MagicReference(path))
  }

  // `$0.$job`: of any type.

  public subscript<Value: MagicalPrimary>(dynamicMember path: KeyPath<Object, PrimaryMagicValue<Value>>) -> MagicColumn<Value> {
    MagicColumn(magicReference: MagicReference(path))
  }

  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, MagicValue<Value>>) -> MagicColumn<Value> {
    MagicColumn(magicReference: MagicReference(path))
  }

  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, OptionMagicValue<Value>>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: MagicReference(path))
  }

  @available(*, unavailable, message: "of a value of this type, write $0.$name in place of $0.name")
  @_disfavoredOverload
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, Value>) -> MagicColumn<Value> {
    MagicColumn(magicReference: MagicReference(path))
  }

  @available(*, unavailable, message: "of a value of this type, write $0.$name in place of $0.name")
  @_disfavoredOverload
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, Value?>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: MagicReference(path))
  }
}
