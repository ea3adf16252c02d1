public import MagicJournal

/// A set of objects that an object holds.
///
/// Two members are the same object if they share their values, or if both are saved in one database under one z index. An
/// object that is the same as a member takes its place; what is not saved yet and shares its values with no member is added.
public struct MagicalSet<Element: MagicObject>: Magical {
  private var elements: [Element] = []
  /// Copies share it until one of them changes.
  private var index = MemberIndex()

  /// A set without members.
  public init() {}

  /// A set of objects; of those that are the same the last one is the member.
  public init(_ elements: some Sequence<Element>) {
    for element in elements { insert(element) }
  }

  /// Adds an object, or puts it in the place of the member that it is the same as.
  ///
  /// - Complexity: O(1) on average for an object that shares its values with a member, or for a set of saved objects; for
  ///   another saved one O(the members that were not saved when they came).
  /// - Returns: whether it was added.
  @discardableResult
  public mutating func insert(_ element: Element) -> Bool {
    let member = Member(element)
    if !isKnownUniquelyReferenced(&index) { index = MemberIndex(copying: index) }
    if let place = index.find(member, in: elements) {
      elements[place] = element
      index.set(member, at: place)
      return false
    }
    index.set(member, at: elements.count)
    elements.append(element)
    return true
  }

  /// Takes an object out of the set; it stays in the database. So do other members that are the same by now: a save may have
  /// made them one object.
  ///
  /// - Complexity: O(*n*).
  /// - Returns: the member that was the same object; `nil` if there was none.
  @discardableResult
  public mutating func remove(_ element: Element) -> Element? {
    let member = Member(element)
    guard let place = index.find(member, in: elements) else { return nil }
    index = MemberIndex()
    let removed = elements.remove(at: place)
    if member.saved != nil { elements.removeAll { Member($0).isSame(as: member) } }
    return removed
  }

  /// Takes out the members for which `shouldBeRemoved` says so; they stay in the database.
  public mutating func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
    index = MemberIndex()
    try elements.removeAll(where: shouldBeRemoved)
  }

  /// Takes out all members; they stay in the database.
  public mutating func removeAll() {
    index = MemberIndex()
    elements.removeAll()
  }

  /// Whether an object is the same as a member.
  public func contains(_ element: Element) -> Bool {
    index.find(Member(element), in: elements) != nil
  }

  public static var magicKind: Value.Kind { .set }
  public var magicValue: Value { get throws { throw MagicDataError.relation } }
  public init(magicValue: Value) throws { throw MagicDataError.relation }
}

extension MagicalSet: Collection {
  public var startIndex: Int { elements.startIndex }
  public var endIndex: Int { elements.endIndex }
  public func index(after index: Int) -> Int { index + 1 }
  public subscript(index: Int) -> Element { elements[index] }
}

extension MagicalSet: RandomAccessCollection {}

extension MagicalSet: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Element...) {
    self.init(elements)
  }
}

extension MagicalSet: RelationMembers {
  typealias Target = Element
  static var relationKind: Value.Kind { .set }
  var members: [Element] { elements }
  var names: [[UInt8]] { [] }

  init(members: [Element], names: [[UInt8]]) {
    elements = members
  }
}

/// What tells a member from others.
struct Member {
  /// The identity of the values that copies share.
  let identity: InstanceIdentity?
  private let part: Storage.Part?
  private let instance: Instance?

  init(_ object: some MagicObject) {
    // An object whose type cannot be stored is told from nothing; the update that comes says why.
    (part, instance) = Layout.first(of: object)
    identity = part?.identity
  }

  func isSame(as other: Member) -> Bool {
    identity != nil && identity == other.identity || saved != nil && saved == other.saved
  }

  /// Once it is saved. With another primary value it is meant as another object. Of two databases' objects the z indexes mean
  /// nothing to each other.
  var saved: SavedMember? {
    guard let record = part?.record, instance.map({ (try? $0.isAsRecorded()) ?? false }) ?? true else { return nil }
    return SavedMember(database: record.database, zIndex: record.place.zIndex)
  }
}

struct SavedMember: Hashable {
  let database: Identifier
  let zIndex: Int64

  /// How many instances are another object than they were: with another primary value, in another database, or saved again
  /// after a remove.
  static let moves = Locked(0)
}

/// Where a set's members stand, by what tells them apart: worked out when it is first asked for, since most sets never ask.
private final class MemberIndex {
  private var places: MemberPlaces?
  private var moves = 0

  init() {}

  init(copying other: MemberIndex) {
    (places, moves) = (other.places, other.moves)
  }

  /// - Parameter elements: all members, of which an index that was not asked yet knows nothing.
  func find(_ member: Member, in elements: [some MagicObject]) -> Int? {
    if places == nil { build(elements) }
    guard let place = places?.find(member) else {
      // A member may be another object by now.
      guard moves != SavedMember.moves.withLock(\.self) else { return nil }
      build(elements)
      return places?.find(member)
    }
    if Member(elements[place]).isSame(as: member) { return place }
    // It was another one's, which has given way, and whose memory may be this one's by now; or a rollback has taken its z index
    // back.
    build(elements)
    return places?.find(member)
  }

  private func build(_ elements: [some MagicObject]) {
    moves = SavedMember.moves.withLock(\.self)
    places = MemberPlaces(of: elements)
  }

  /// A member that was looked for.
  func set(_ member: Member, at place: Int) {
    places?.set(member, at: place)
  }
}

/// Where the members are, as far as that has been worked out.
private struct MemberPlaces {
  private var byIdentity: [InstanceIdentity: Int] = [:]
  private var bySaved: [SavedMember: Int] = [:]
  /// Members that had no z index when they came: they may have one by now.
  private var unsaved: [(member: Member, place: Int)] = []

  init(of elements: [some MagicObject]) {
    for (place, element) in elements.enumerated() { set(Member(element), at: place) }
  }

  mutating func find(_ member: Member) -> Int? {
    if let identity = member.identity, let place = byIdentity[identity] { return place }
    guard let saved = member.saved else { return nil }
    if let place = bySaved[saved] { return place }
    guard !unsaved.isEmpty else { return nil }
    unsaved.removeAll { member, place in
      guard let saved = member.saved else { return false }
      bySaved[saved] = place
      return true
    }
    return bySaved[saved]
  }

  mutating func set(_ member: Member, at place: Int) {
    if let identity = member.identity { byIdentity[identity] = place }
    if let saved = member.saved { bySaved[saved] = place } else { unsaved.append((member, place)) }
  }
}

extension MagicDataError {
  /// Relations are stored by the objects that they name, not by a value.
  static let relation = MagicDataError(.value, "an object is stored by itself and has no value of its own within another")
}
