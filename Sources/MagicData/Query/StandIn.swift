internal import MagicJournal

/// An instance in which nothing is set, with its stored properties.
struct ProbedObject {
  let properties: [(name: Substring, slot: PropertySlot, type: any Magical.Type, isOptional: Bool)]
  /// The property that it is the object of, if it stands in for one.
  let standsFor: PropertySlot?

  init<Object: MagicObject>(_ object: Object, for property: PropertySlot? = nil) {
    properties = Layout.wrappers(of: object).filter { type(of: $0.wrapper).role != .reverse }.map { label, wrapper in
      (label.dropFirst(), wrapper.property, type(of: wrapper).valueType, type(of: wrapper).role == .optional)
    }
    standsFor = property
    for property in properties { property.slot.storage.put(.unset, at: property.slot.index) }
  }

  func index(of slot: PropertySlot) -> Int? { properties.firstIndex { $0.slot.isSame(as: slot) } }
}

extension PropertySlot {
  func isSame(as other: PropertySlot) -> Bool { storage === other.storage && slot == other.slot }
}

/// Objects that stand in for those of a property, while a key path is read.
///
/// The layouts of their types are not asked: they may be in the making, for an index whose key path this is.
enum StandIn {
  struct Objects {
    let value: any Magical
    /// If the property holds one: what can be read on from there.
    var object: ProbedObject?
  }

  static func objects(of type: any Magical.Type, round: Int, for property: PropertySlot) -> Objects? {
    if let object = type as? any MagicObject.Type { return one(object, property) }
    if let many = type as? any (RelationMembers & Magical).Type { return self.many(many, round) }
    guard let asked = type as? any AsyncProperty.Type, let objects = objects(of: asked.wrapped, round: round, for: property),
      let value = asked.holding(objects.value)
    else { return nil }
    return Objects(value: value, object: objects.object)
  }

  private static func one<Object: MagicObject>(_: Object.Type, _ property: PropertySlot) -> Objects {
    let object = Object()
    return Objects(value: object, object: ProbedObject(object, for: property))
  }

  /// How many members there are in each round: none in one, for what is put in place of nothing, and many in the end, so that a
  /// part of them is told from all.
  private static let counts = [1, 3, 5, 2, 4, 0, 3, 64]

  private static func many<Members: RelationMembers & Magical>(_: Members.Type, _ round: Int) -> Objects? {
    let members = (0..<counts[round]).map { _ in
      let member = Members.Target()
      _ = ProbedObject(member)
      return member
    }
    if let keyed = Members.self as? any KeyedMembers.Type {
      return (keyed.init(standingIn: members) as? any Magical).map { Objects(value: $0) }
    }
    return (try? Members(members: members, names: [])).map { Objects(value: $0) }
  }

  // MARK: Telling them

  /// Whether a key path gave back what it read.
  static func isSame(_ value: Any, _ standIn: (any Magical)?) -> Bool {
    guard let standIn else {
      let mirror = Mirror(reflecting: value)
      return mirror.displayStyle == .optional && mirror.children.isEmpty
    }
    guard let value = value as? any Magical, type(of: value) == type(of: standIn) else { return false }
    if type(of: standIn).magicKind.isRelation {
      return parts(of: value) == parts(of: standIn) && memory(of: value) == memory(of: standIn)
    }
    return (try? value.magicValue) == (try? standIn.magicValue)
  }

  private static func parts(of value: any Magical) -> [Part] {
    if let object = value as? any MagicObject { return [Part(object)] }
    if let many = value as? any RelationMembers { return parts(of: many) }
    return (value as? any AsyncProperty)?.held.map(parts) ?? []
  }

  private static func parts<Members: RelationMembers>(of many: Members) -> [Part] {
    guard let members = try? many.members, let names = try? many.names else { return [] }
    return members.enumerated().map { Part($1, name: names.isEmpty ? [] : names[$0]) }
  }

  private static func memory(of value: any Magical) -> UInt? {
    if let keyed = value as? any KeyedMembers { return keyed.memory }
    return (value as? any AsyncProperty)?.held.flatMap(memory)
  }

  private struct Part: Equatable {
    let identity: ObjectIdentifier?
    let name: [UInt8]

    init<Object: MagicObject>(_ object: Object, name: [UInt8] = []) {
      identity = Layout.wrappers(of: object).first.map { ObjectIdentifier($0.wrapper.property.storage) }
      self.name = name
    }
  }

  /// The way over a property, if it holds objects.
  static func hop(_ property: Int, _ type: any Magical.Type) -> Hop? {
    Codec.relation(of: type).map { Hop(property: property, isMany: $0.kind.isLinked, target: $0.target) }
  }
}

/// A dictionary of objects: what its keys are may leave it with one member, or with none.
private protocol KeyedMembers {
  /// With as many of the objects as there are keys for.
  init<Object: MagicObject>(standingIn members: [Object])
  /// Where it lies: a copy lies there as well, and what was made of it, as a part of it, does not.
  var memory: UInt { get }
}

extension Dictionary: KeyedMembers where Key: Codable, Value: MagicObject {
  fileprivate init<Object: MagicObject>(standingIn members: [Object]) {
    // With no room, all empty ones lie in one place.
    self.init(minimumCapacity: 1)
    for (key, member) in zip(Example.keys(members.count, of: Key.self), members) { self[key] = member as? Value }
  }

  /// It is a single reference (the standard library's Dictionary.swift).
  fileprivate var memory: UInt { withUnsafeBytes(of: self) { $0.loadUnaligned(as: UInt.self) } }
}

extension Codec {
  fileprivate static func relation(of type: any Magical.Type) -> (any RelationCodec)? { relation(type) }
}
