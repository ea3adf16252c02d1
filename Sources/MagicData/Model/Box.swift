internal import MagicJournal

/// Where an object stands in a database: what its first property's box knows.
///
/// A class, since each box has room for one and few have one.
final class Record: Sendable {
  /// The database file; a copy of a file has the same, so the key is checked as well.
  let store: Identifier
  let zIndex: Int64
  let key: ObjectKey

  init(store: Identifier, zIndex: Int64, key: ObjectKey) {
    self.store = store
    self.zIndex = zIndex
    self.key = key
  }
}

/// The storage of one property. A wrapper holds a reference to it, so that copies of a struct share their values.
class Box {
  /// What an instance knows of the database. A transaction that is rolled back puts it back.
  struct Memory {
    /// Only in the box of an object's first property, and only once it was saved or fetched.
    var record: Record?
    /// The value as it is in the database, as far as this instance knows: what was fetched, or saved last.
    var stored: Value?
    fileprivate var savedEdits = 0
  }

  var memory = Memory()
  /// Counts assignments. An assignment that happens while a save is on its way is not taken for saved.
  fileprivate(set) var edits = 0

  /// Whether the value was set since it was fetched or saved.
  var isEdited: Bool { edits != memory.savedEdits }

  /// After a save of what was set when `edits` was read. `value` is in the database; `nil` if that did not change.
  func saved(_ value: Value?, edits: Int) {
    if let value { memory.stored = value }
    memory.savedEdits = edits
  }

  /// After a remove: what is set is set anew.
  func removed() {
    memory = Memory(savedEdits: -1)
  }

  /// What was not set since the fetch counts as not set still.
  func forget() {
    memory.record = nil
    memory.stored = nil
  }

  /// After a fetch: the defaults that `init()` set are no edits of the user's.
  func fetched(_ value: Value) throws {
    if value != .null { try load(value) }
    memory = Memory(stored: value, savedEdits: edits)
  }

  /// After a fetch of a value that this property's type cannot have: it stays in the database until another is set.
  func unreadable(_ value: Value) {
    memory = Memory(stored: value, savedEdits: edits)
  }

  /// The value for the database; `nil` if it was never set.
  func encoded() throws -> Value? {
    preconditionFailure("a box has a type")
  }

  fileprivate func load(_ value: Value) throws {
    preconditionFailure("a box has a type")
  }
}

class TypedBox<Wrapped: Magical>: Box {
  enum Content {
    case unset
    case null
    case value(Wrapped)
  }

  private(set) var content: Content
  private let place: Place

  init(_ content: Content, _ place: Place) {
    self.content = content
    self.place = place
    super.init()
    if case .value = content { edits = 1 }
  }

  /// The value. A program that reads one which was never set stops here.
  final var value: Wrapped {
    guard case .value(let value) = content else {
      preconditionFailure(
        """
        The value declared at \(place.file):\(place.line) (\(Wrapped.self)) was read before it was set; set it first, give it a \
        default, or make it an @OptionMagicValue
        """)
    }
    return value
  }

  final var hasValue: Bool {
    if case .value = content { true } else { false }
  }

  final func set(_ value: Wrapped?) {
    content = value.map(Content.value) ?? .null
    edits += 1
  }

  override func encoded() throws -> Value? {
    switch content {
    case .unset: nil
    case .null: .null
    case .value(let value): try value.magicValue
    }
  }

  override fileprivate func load(_ value: Value) throws {
    content = .value(try Wrapped(magicValue: value))
  }
}

/// The storage of a primary value, which gets its default no sooner than it is needed: a fetched object never needs it.
final class PrimaryBox<Wrapped: MagicalPrimary>: TypedBox<Wrapped> {
  func settle() {
    if !hasValue, let value = Wrapped.magicDefault() { set(value) }
  }

  override func encoded() throws -> Value? {
    settle()
    return try super.encoded()
  }
}

/// Where a property is declared.
struct Place {
  let file: StaticString
  let line: UInt
}

/// What the layout needs to know of a property's wrapper.
protocol MagicProperty {
  static var role: PropertyRole { get }
  static var kind: Value.Kind { get }
  var box: Box { get }
  /// Whether it can be read when the database has no value for it: `init()` gave it one, or it may be nil.
  var canBeAbsent: Bool { get }
}

enum PropertyRole: Sendable {
  case primary, required, optional
}
