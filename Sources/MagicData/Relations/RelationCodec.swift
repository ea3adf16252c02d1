internal import MagicJournal

/// How a property that holds objects becomes objects to save and back: made once a property.
protocol RelationCodec: Sendable {
  var kind: Value.Kind { get }
  var target: any MagicObject.Type { get }
  /// The objects of a slot that holds this property's type, and a dictionary's names.
  func members(of held: Held) throws -> (instances: [Instance], names: [[UInt8]])
  /// What a property holds whose objects were fetched; `nil` for one object that is not there.
  func slot(of links: [Link], among objects: FetchedObjects) throws -> Slot?
  /// Whether the one object of a property is there, and has a value that cannot be read.
  func isUnreadable(_ links: [Link], among objects: FetchedObjects) -> Bool
  /// What a property holds whose objects are fetched when they are asked for; `nil` for those that come with their owner.
  func slot(asking property: StoredProperty) -> Slot?
  /// Whom a slot asks that holds only the way to ask.
  func asked(_ held: Held) -> StoredProperty?
  /// Whether its objects are fetched when they are asked for.
  var isAsync: Bool { get }
}

extension RelationCodec {
  func isUnreadable(_ links: [Link], among objects: FetchedObjects) -> Bool { false }
  func slot(asking property: StoredProperty) -> Slot? { nil }
  func asked(_ held: Held) -> StoredProperty? { nil }
  var isAsync: Bool { false }
}

struct OneCodec<Target: MagicObject>: RelationCodec {
  var kind: Value.Kind { .reference }
  var target: any MagicObject.Type { Target.self }

  func members(of held: Held) throws -> (instances: [Instance], names: [[UInt8]]) {
    guard let held = held as? HeldRelation<Target> else { return ([], []) }
    return ([try Instance(of: held.value)], [])
  }

  func slot(of links: [Link], among objects: FetchedObjects) throws -> Slot? {
    guard let link = links.first, let object = objects.all(Target.self)?.find(link.target) else { return nil }
    return .held(HeldRelation(object.pointee, stored: links))
  }

  func isUnreadable(_ links: [Link], among objects: FetchedObjects) -> Bool {
    guard let link = links.first, let objects = objects.all(Target.self) else { return false }
    return objects.isUnreadable(link.target)
  }
}

struct ManyCodec<Members: RelationMembers & Magical>: RelationCodec {
  var kind: Value.Kind { Members.relationKind }
  var target: any MagicObject.Type { Members.Target.self }

  func members(of held: Held) throws -> (instances: [Instance], names: [[UInt8]]) {
    guard let held = held as? HeldRelation<Members> else { return ([], []) }
    let layout = try Layout.of(Members.Target.self)
    return (try held.value.members.map { try Instance($0, layout) }, try held.value.names)
  }

  func slot(of links: [Link], among objects: FetchedObjects) throws -> Slot? {
    // A link to an object that is not there is hidden (L-8).
    var missing: Set<Int> = []
    let objects = objects.all(Members.Target.self)
    // With room for none, this would write to the empty array that all share.
    let members =
      links.isEmpty
      ? []
      : [Members.Target](unsafeUninitializedCapacity: links.count) { members, count in
        for (place, link) in links.enumerated() {
          if let object = objects?.find(link.target), let start = members.baseAddress {
            (start + count).initialize(to: object.pointee)
            count += 1
          } else {
            missing.insert(place)
          }
        }
      }
    var shown = missing.isEmpty ? links : links.indices.filter { !missing.contains($0) }.map { links[$0] }
    guard kind == .dictionary else {
      let held = HeldRelation(try Members(members: members, names: []), stored: shown)
      if kind == .list { held.hidden = Set(missing.map { links[$0].target }) }
      return .held(held)
    }
    do {
      let value = try Members(members: members, names: shown.map(\.name))
      guard value.count < shown.count else { return .held(HeldRelation(value, stored: shown)) }
      // The others are hidden.
      let kept = try Members.distinct(shown.map(\.name))
      let distinct = try Members(members: kept.map { members[$0] }, names: kept.map { shown[$0].name })
      return .held(HeldRelation(distinct, stored: kept.map { shown[$0] }))
    } catch let error as MagicDataError where error.code == .value {
      // What a newer app knows by a key that this one cannot read is hidden as well.
      let readable = shown.indices.filter { (try? Members(members: [members[$0]], names: [shown[$0].name])) != nil }
      let kept = try Members.distinct(readable.map { shown[$0].name }).map { readable[$0] }
      shown = kept.map { shown[$0] }
      return .held(HeldRelation(try Members(members: kept.map { members[$0] }, names: shown.map(\.name)), stored: shown))
    }
  }
}

/// Objects in a slot, with the links that the database had for them.
final class HeldRelation<Wrapped: Magical>: HeldValue<Wrapped> {
  init(_ value: Wrapped, stored: [Link]?) {
    super.init(value)
    links = stored
  }

  override var holdsInstances: Bool { true }
}

/// In the place of an object that was removed, has not arrived, or cannot be read.
final class MissingObject: Held {
  let isUnreadable: Bool

  init(_ links: [Link], isUnreadable: Bool) {
    self.isUnreadable = isUnreadable
    super.init()
    self.links = links
  }

  override var isMissing: Bool { true }
}

extension Codec {
  /// `nil` for a type that holds no objects.
  static func relation<Wrapped: Magical>(_ type: Wrapped.Type) -> (any RelationCodec)? {
    if let object = type as? any MagicObject.Type { return one(object) }
    if let asked = type as? any AsyncProperty.Type { return asked.inner }
    if let many = type as? any (RelationMembers & Magical).Type { return self.many(many) }
    return nil
  }

  private static func one<Target: MagicObject>(_: Target.Type) -> any RelationCodec { OneCodec<Target>() }

  private static func many<Members: RelationMembers & Magical>(_: Members.Type) -> any RelationCodec { ManyCodec<Members>() }
}
