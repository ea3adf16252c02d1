/// A type whose instances are kept in a ``MagicData``: a struct, or a final class, with properties in
/// ``PrimaryMagicValue``, ``MagicValue`` and ``OptionMagicValue``.
///
/// ```swift
/// struct Note: MagicObject {
///   @PrimaryMagicValue var id: String
///   @MagicValue var title: String
///   @OptionMagicValue var mood: String?
///
///   init() {}
/// }
/// ```
///
/// Copies of an instance share their values; two fetched instances do not. An instance belongs to the task that made or
/// fetched it.
public protocol MagicObject: SendableMetatype {
  /// The name of the type in the database and on every replica. By default the type's own, without what it is nested in.
  static var magicName: String { get }

  /// The indexes of the type's table: none unless the model says so.
  ///
  /// ```swift
  /// static var magicIndexes: [MagicIndex] { [MagicIndex(\Note.title), MagicIndex(\Note.mood, \Note.title)] }
  /// ```
  static var magicIndexes: [MagicIndex] { get }

  /// Makes an instance with no values but the defaults. It is called to learn the type's layout and to fetch objects.
  init()
}

extension MagicObject {
  public static var magicName: String { String(describing: self) }
  public static var magicIndexes: [MagicIndex] { [] }
}
