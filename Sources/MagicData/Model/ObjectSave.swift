internal import MagicJournal

/// An instance's values on their way to the database: what crosses from the caller's side.
///
/// It goes through many hands, so it is one reference: to copy what it holds, reference by reference, costs more than to write
/// a row.
final class ObjectSave: Sendable {
  /// The object as which an instance was fetched or saved.
  struct Record: Sendable {
    let database: Identifier
    let place: ObjectPlace
    let key: ObjectKey
    /// The primary value that the object had there.
    let primary: Value?
  }

  /// The object that an instance with a number was until it was removed.
  struct Removed: Sendable {
    let database: Identifier
    let birth: Birth
  }

  /// What it is made of.
  struct Content: Sendable {
    /// By property; null for what was never set.
    var values: [Value] = []
    /// What has a value, if only null.
    var present = PropertySet()
    /// What was set since the instance was fetched or saved.
    var edited = PropertySet()
    /// What was set and differs from what the database held then (L-7).
    var changed = PropertySet()
    /// What shows something else than what is stored, and was not set: looked for where the instance is to be another object
    /// than it was.
    var filledIn = PropertySet()
    /// Objects that were there when the instance was fetched, and are not.
    var missing = PropertySet()
    /// Those among them that were never asked for.
    var unfetched = PropertySet()
    /// The z index of the object that they would ask for, if that is this database's.
    var unfetchedOf: Int64?
    var relations: [RelationSave] = []
    var record: Record?
    var removed: Removed?
    var primary: Value?

    func record(in database: Identifier) -> Record? {
      guard let record, record.database == database else { return nil }
      // With another primary value it is another object.
      return primary == record.primary ? record : nil
    }
  }

  let content: Content

  var values: [Value] { content.values }
  var present: PropertySet { content.present }
  var edited: PropertySet { content.edited }
  var changed: PropertySet { content.changed }
  var missing: PropertySet { content.missing }
  var unfetched: PropertySet { content.unfetched }
  var unfetchedOf: Int64? { content.unfetchedOf }
  var relations: [RelationSave] { content.relations }
  var record: Record? { content.record }
  var removed: Removed? { content.removed }
  var primary: Value? { content.primary }

  init(_ content: Content) {
    self.content = content
  }

  /// Another one that differs in what `change` does.
  func with(_ change: (inout Content) throws -> Void) rethrows -> ObjectSave {
    var content = content
    try change(&content)
    return ObjectSave(content)
  }

  /// The object as which the instance was fetched or saved in a database, if it is still meant.
  func record(in database: Identifier) -> Record? { content.record(in: database) }

  /// Whether the instance has a number that another database gave it: here the number may be any other object's.
  func hasForeignNumber(in database: Identifier) -> Bool {
    if let removed { return removed.database != database }
    guard let record, record.database != database, record.key.isBirth else { return false }
    return primary == record.primary
  }

  /// Whether its primary value is one that the app has set.
  func isMadeByApp(for database: Identifier) -> Bool {
    removed == nil && record(in: database) == nil && !hasForeignNumber(in: database)
  }

  /// As if the app had made the instance.
  var allEdited: ObjectSave {
    with {
      $0.edited = $0.present.subtracting($0.filledIn)
      $0.changed = $0.edited
    }
  }
}

/// The objects of one property on their way to the database.
struct RelationSave: Sendable {
  /// An object that the database held for the property.
  struct Member: Sendable {
    /// `nil` for one whose instance does not know it any more.
    let key: ObjectKey?
    let link: Link
  }

  let index: Int
  let kind: Value.Kind
  /// Numbers in the graph that is saved.
  let members: [Int]
  /// The keys of a dictionary's members.
  let names: [[UInt8]]
  /// What a change is told from; `nil` if nothing is known, or nothing was set.
  let baseline: [Member]?
  /// The z indexes of an array's objects that the instance does not show.
  let hidden: Set<Int64>
  /// Whether there are members, and they are those that `init()` puts in.
  var isDefault = false
}

/// What a save did, for the instance that was saved.
struct SavedObject: Sendable {
  enum Extent: Sendable {
    /// Everything is in the database as it was given; what was never set is null there.
    case all
    /// What was changed.
    case changes
    /// What was set; the rest is as it stands here.
    case edits(row: [Value], edited: PropertySet)

    var isMet: Bool { if case .edits = self { true } else { false } }
  }

  enum Stored {
    case unchanged
    case asGiven
    case other(Value)
  }

  var place: ObjectPlace
  let key: ObjectKey
  let extent: Extent
  /// What the instance does not know yet: the number that the object has claimed by this save, or has by now.
  var number: Int64? = nil
  /// By property: the links that were written.
  var links: [Int: [Link]] = [:]

  /// Whether it was no more than the object's changes.
  var isPart: Bool { if case .changes = extent { number == nil } else { false } }

  /// What the database holds of a property.
  func stored(_ index: Int, _ object: ObjectSave) -> Stored {
    switch extent {
    case .all: object.present.contains(index) ? .asGiven : .other(.null)
    case .changes: object.changed.contains(index) ? .asGiven : .unchanged
    case .edits(let row, let edited):
      edited.contains(index) || row[index] == object.values[index] ? .asGiven : .other(row[index])
    }
  }
}
