/// The properties of an object, by their names: what a `where` is given.
///
/// `$0.title` is a stored property, or a computed one that only hands a stored one on. Of a computed property that works
/// something out the database knows nothing: the query throws ``MagicDataError`` with `query` when it is run, and loads
/// nothing.
///
/// A property that holds an object has that object's properties, at least eight relations deep: `$0.author.name == "W"`. Where
/// an object of the way is not there (it is nil, was removed, or has not arrived), nothing can be said of it: each comparison
/// with a value is false, and its negation true, as if the property behind it were nil. So `$0.author.name != "W"` is true of a
/// book without an author; `$0.author != nil && $0.author.name != "W"` is not. Two properties that are both not there are
/// equal, as nil is to nil: `$0.author.name == $0.editor.name` is true of a book without either.
@dynamicMemberLookup
public struct MagicFields<Object: MagicObject> {
  let magicRoot: FieldsRoot
  /// From the objects that are asked about to these. An error waits until the query is run.
  let magicHops: Result<[Hop], MagicDataError>

  init() {
    (magicRoot, magicHops) = (FieldsRoot(), .success([]))
  }

  fileprivate init(_ root: FieldsRoot, _ hops: Result<[Hop], MagicDataError>) {
    (magicRoot, magicHops) = (root, hops)
  }

  private func reference<Value>(_ path: PartialKeyPath<Object>) -> MagicReference<Value> {
    MagicReference(
      root: magicRoot,
      route: attempt {
        let (route, hops) = (try PropertyPath.route(of: path), try magicHops.get())
        return hops.isEmpty ? route : PropertyRoute(hops: hops + route.hops, property: route.property)
      })
  }

  private func hops(_ path: PartialKeyPath<Object>) -> Result<[Hop], MagicDataError> {
    attempt {
      let hops = try magicHops.get() + PropertyPath.hops(of: path)
      guard 2 * hops.count < MagicPredicate.deepest else { throw MagicDataError.tooDeep() }
      return hops
    }
  }

  private func attempt<Success>(_ make: () throws -> Success) -> Result<Success, MagicDataError> {
    do { return .success(try make()) } catch { return .failure(MagicDataError(error, "a query could not be made")) }
  }

  // MARK: Values

  /// A value: `$0.title`.
  public subscript<Value: MagicQueryable>(dynamicMember path: KeyPath<Object, Value>) -> MagicColumn<Value> {
    MagicColumn(magicReference: reference(path))
  }

  /// A value that may be nil: `$0.mood`.
  public subscript<Value: MagicQueryable>(dynamicMember path: KeyPath<Object, Value?>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: reference(path))
  }

  // Enums.

  /// An enum, by its raw value: `$0.level`.
  public subscript<Value: Magical & RawRepresentable>(
    dynamicMember path: KeyPath<Object, Value>
  ) -> MagicColumn<Value> where Value.RawValue: MagicQueryable {
    MagicColumn(magicReference: reference(path))
  }

  /// An enum that may be nil.
  public subscript<Value: Magical & RawRepresentable>(
    dynamicMember path: KeyPath<Object, Value?>
  ) -> MagicOptionColumn<Value> where Value.RawValue: MagicQueryable {
    MagicOptionColumn(magicReference: reference(path))
  }

  // `$0.$job`: of any type.

  /// A primary value: `$0.$id`.
  public subscript<Value: MagicalPrimary>(dynamicMember path: KeyPath<Object, PrimaryMagicValue<Value>>) -> MagicColumn<Value> {
    MagicColumn(magicReference: reference(path))
  }

  /// A value of any type: `$0.$job`.
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, MagicValue<Value>>) -> MagicColumn<Value> {
    MagicColumn(magicReference: reference(path))
  }

  /// A value of any type that may be nil.
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, OptionMagicValue<Value>>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: reference(path))
  }

  @available(*, unavailable, message: "of a value of this type, write $0.$name in place of $0.name")
  @_disfavoredOverload
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, Value>) -> MagicColumn<Value> {
    MagicColumn(magicReference: reference(path))
  }

  @available(*, unavailable, message: "of a value of this type, write $0.$name in place of $0.name")
  @_disfavoredOverload
  public subscript<Value: Magical>(dynamicMember path: KeyPath<Object, Value?>) -> MagicOptionColumn<Value> {
    MagicOptionColumn(magicReference: reference(path))
  }

  // MARK: An object

  /// The properties of the object that a property holds: `$0.author.name`.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, Target>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that may be nil: `$0.cover.name`. `$0.cover == nil` asks whether it is there.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, Target?>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that is fetched later.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, AsyncMagical<Target>>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that is fetched later, and may be nil.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, AsyncMagical<Target>?>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object, by its wrapper: `$0.$author.name`.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, MagicValue<Target>>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that may be nil, by its wrapper.
  public subscript<Target: MagicObject>(dynamicMember path: KeyPath<Object, OptionMagicValue<Target>>) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that is fetched later, by its wrapper.
  public subscript<Target: MagicObject>(
    dynamicMember path: KeyPath<Object, MagicValue<AsyncMagical<Target>>>
  ) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  /// The fields of an object that is fetched later and may be nil, by its wrapper.
  public subscript<Target: MagicObject>(
    dynamicMember path: KeyPath<Object, OptionMagicValue<AsyncMagical<Target>>>
  ) -> MagicFields<Target> {
    MagicFields<Target>(magicRoot, hops(path))
  }

  // MARK: Several objects

  /// The objects that a property holds: `$0.photos.contains { $0.name == "sea" }`.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, Many>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property that may be nil, which counts as one that holds none.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, Many?>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property whose objects are fetched later.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, AsyncMagical<Many>>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property whose objects are fetched later, and that may be nil.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, AsyncMagical<Many>?>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property, by its wrapper: `$0.$photos.isEmpty`.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, MagicValue<Many>>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property that may be nil, by its wrapper.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, OptionMagicValue<Many>>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property whose objects are fetched later, by its wrapper.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, MagicValue<AsyncMagical<Many>>>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }

  /// The members of a property whose objects are fetched later and that may be nil, by its wrapper.
  public subscript<Many: AsyncMagicalCollection>(
    dynamicMember path: KeyPath<Object, OptionMagicValue<AsyncMagical<Many>>>
  ) -> MagicMembers<Many.AsyncObject> {
    MagicMembers(magicRoot, hops(path))
  }
}
