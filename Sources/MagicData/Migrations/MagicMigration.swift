internal import MagicJournal

/// A change of a model that its stored objects do not show by themselves: what ``MagicObject/createMigrations()`` lists.
///
/// ```swift
/// struct Note: MagicObject {
///   @PrimaryMagicValue var id: String
///   @MagicValue var heading: String
///   @MagicValue var stars: Double
///   @MagicValue var colour: String
///
///   init() {}
///
///   static func createMigrations() -> [MagicMigration] {
///     [
///       .renamed("title", to: \Note.$heading),
///       .converted("stars", from: Int.self, to: \Note.$stars) { Double($0) },
///       .filled(\Note.$colour, with: "white"),
///       .removed("mood"),
///     ]
///   }
/// }
/// ```
///
/// A migration changes how objects are read, and nothing that is stored: it writes no journal entry, drops no column, and takes
/// no time. Other replicas may run older and newer versions of the app for as long as they like. So a declaration stays in the
/// model for good, as long as there may be a database, or a journal, that the older model wrote.
public struct MagicMigration {
  enum Step {
    case renamed
    case converted(FormerKind)
    case filled(Value)
    case removed
    /// What the declaration itself is wrong in.
    case refused(any Error)
  }

  /// The name that values are stored under, if the step names it.
  let name: String?
  let step: Step
  /// The property of an instance; `nil` if the instance is of another type.
  let property: ((any MagicObject) -> PropertySlot?)?

  // MARK: Names

  /// A property has another name than its values are stored under.
  ///
  /// The values keep their first name, in the journal and as the column's, and the model's is an alias: older versions of the
  /// app read what newer ones write, and the other way round. A property that is renamed once more is still declared with its
  /// first name.
  public static func renamed<Object: MagicObject, Value: Magical>(
    _ first: String, to property: KeyPath<Object, MagicValue<Value>>
  ) -> MagicMigration {
    MagicMigration(name: first, step: .renamed) { ($0 as? Object)?[keyPath: property].property }
  }

  /// A property whose value an object may lack has another name than its values are stored under.
  public static func renamed<Object: MagicObject, Value: Magical>(
    _ first: String, to property: KeyPath<Object, OptionMagicValue<Value>>
  ) -> MagicMigration {
    MagicMigration(name: first, step: .renamed) { ($0 as? Object)?[keyPath: property].property }
  }

  /// A property is gone. Its values stay where they are, for older versions of the app, and no property can take its name.
  ///
  /// An older version that requires the value does not show objects that a newer one makes; in a file in which nobody's object
  /// ever had the value, its use of the type throws ``MagicDataError`` with `model`.
  public static func removed(_ name: String) -> MagicMigration {
    MagicMigration(name: name, step: .removed, property: nil)
  }

  // MARK: Values

  /// A property is stored as another kind than before, under the same name.
  ///
  /// What was last written in the former kind, before or by an older version of the app, is read through `convert`; what is set
  /// is stored in the property's own kind. For each former kind there is one step, each to what the property is today. A type
  /// whose values are stored in the same kind as before (`Date` and `Double`, `URL` and `String`) needs no step, and can have
  /// none: its values could not be told apart.
  ///
  /// - Parameters:
  ///   - name: what the values are stored under: the property's name or, of one that was renamed, its first.
  ///   - former: what the property was.
  ///   - convert: is called for each fetched value, on any thread, while the database is read: what it asks of that through
  ///     ``MagicData/blocking`` throws ``MagicDataError`` with `transaction`, and it must not wait for anybody who asks. If it
  ///     throws, the value counts as one that cannot be read: a property with a default, or that may be `nil`, shows that, and
  ///     without one the object is not shown.
  public static func converted<Object: MagicObject, Former: Magical, Value: Magical>(
    _ name: String, from former: Former.Type, to property: KeyPath<Object, MagicValue<Value>>,
    _ convert: @Sendable @escaping (Former) throws -> Value
  ) -> MagicMigration {
    MagicMigration(name: name, step: .converted(FormerKind(convert))) { ($0 as? Object)?[keyPath: property].property }
  }

  /// A property whose value an object may lack is stored as another kind than before, under the same name.
  public static func converted<Object: MagicObject, Former: Magical, Value: Magical>(
    _ name: String, from former: Former.Type, to property: KeyPath<Object, OptionMagicValue<Value>>,
    _ convert: @Sendable @escaping (Former) throws -> Value
  ) -> MagicMigration {
    MagicMigration(name: name, step: .converted(FormerKind(convert))) { ($0 as? Object)?[keyPath: property].property }
  }

  /// What objects show for a required property that they have no value for: those that were stored before there was such a
  /// property, and those that an older version of the app makes.
  ///
  /// It is not stored until the app sets it. New objects need a value as before.
  public static func filled<Object: MagicObject, Value: Magical>(
    _ property: KeyPath<Object, MagicValue<Value>>, with value: Value
  ) -> MagicMigration {
    let step: Step
    do { step = .filled(try value.magicValue) } catch { step = .refused(error) }
    return MagicMigration(name: nil, step: step) { ($0 as? Object)?[keyPath: property].property }
  }
}

/// A kind that a property was stored as, and how such a value is read today.
struct FormerKind: Sendable {
  let kind: Value.Kind
  private let read: @Sendable (Value) throws -> Value

  init<Former: Magical>(_ convert: @Sendable @escaping (Former) throws -> some Magical) {
    kind = Former.magicKind
    read = { try convert(Former(magicValue: $0)).magicValue }
  }

  /// A value that cannot be read stays as it is, and counts as not arrived, as any other that its property's type cannot read
  /// (L-8).
  func readable(_ value: Value) -> Value {
    guard value != .null else { return .null }
    do { return try read(value) } catch { return value }
  }
}
