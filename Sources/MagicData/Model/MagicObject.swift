public import MagicJournal

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
///
/// Objects can be values of other objects' properties: one (`@MagicValue var author: Author`), or several in a ``MagicalSet``,
/// an array or a dictionary. To an encoder of the app's they are their z index, or null while they are not saved; they are
/// never decoded, and a value that is stored can hold none.
public protocol MagicObject: Magical, Codable {
  /// The name of the type in the database and on every replica. By default the type's own, without what it is nested in.
  static var magicName: String { get }

  /// The indexes of the type's table: none unless the model says so.
  ///
  /// ```swift
  /// static var magicIndexes: [MagicIndex] { [MagicIndex(\Note.title), MagicIndex(\Note.mood, \Note.title)] }
  /// ```
  static var magicIndexes: [MagicIndex] { get }

  /// Makes an instance with no values but the defaults. It is called to learn the type's layout and to fetch objects; not for
  /// an object of a struct that has no properties but magical ones, whose values are all stored.
  init()

  /// What changed in the model that stored objects do not show by themselves. By default nothing.
  ///
  /// A property that is new needs no migration if it may be `nil` or has a default. Asked once, when the type is first used.
  static func createMigrations() -> [MagicMigration]
}

extension MagicObject {
  public static var magicName: String { String(describing: self) }
  public static var magicIndexes: [MagicIndex] { [] }

  public static func createMigrations() -> [MagicMigration] { [] }

  public static var magicKind: Value.Kind { .reference }
  public var magicValue: Value { get throws { throw MagicDataError.relation } }
  public init(magicValue: Value) throws { throw MagicDataError.relation }

  /// Encodes the z index that the object was saved or fetched under; null if it was not, or has another primary value since.
  public func encode(to encoder: any Encoder) throws {
    // What is stored is read again, and an object is not.
    guard !(encoder is CanonicalEncoder) else {
      throw MagicDataError(
        .value, "it holds a \(Self.magicName), and a value can hold no objects; give the model a property for that")
    }
    var container = encoder.singleValueContainer()
    let instance = try Instance(of: self)
    if let record = instance.record, try instance.isAsRecorded() {
      try container.encode(record.place.zIndex)
    } else {
      try container.encodeNil()
    }
  }

  /// Always throws: a z index alone does not make an object.
  public init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: decoder.codingPath, debugDescription: "a \(Self.self) cannot be decoded; fetch it from its database"))
  }
}
