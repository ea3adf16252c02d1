internal import MagicJournal

/// A property's type that holds several objects: `MagicalSet`, an array, a dictionary.
protocol RelationMembers {
  associatedtype Target: MagicObject
  static var relationKind: Value.Kind { get }
  /// For a dictionary in the order of `names`.
  var members: [Target] { get throws }
  var count: Int { get }
  /// Canonical JSON of a dictionary's keys (V-15); empty for the others.
  var names: [[UInt8]] { get throws }
  init(members: [Target], names: [[UInt8]]) throws
  /// Which of some names are kept: of those that Swift holds equal, as one text in two normal forms, the first.
  static func distinct(_ names: [[UInt8]]) throws -> [Int]
}

extension RelationMembers {
  static func distinct(_ names: [[UInt8]]) -> [Int] { Array(names.indices) }
}

extension Array: RelationMembers where Element: MagicObject {
  typealias Target = Element
  static var relationKind: Value.Kind { .list }
  var members: [Element] { self }
  var names: [[UInt8]] { [] }
  init(members: [Element], names: [[UInt8]]) { self = members }
}

extension Dictionary: RelationMembers where Key: Codable, Value: MagicObject {
  typealias Target = Value
  static var relationKind: MagicJournal.Value.Kind { .dictionary }
  private var inOrder: [(name: [UInt8], member: Value)] {
    get throws {
      try map { (try CanonicalJSON.bytes(of: $0.key), $0.value) }.sorted { $0.0.lexicographicallyPrecedes($1.0) }
    }
  }
  var members: [Value] { get throws { try inOrder.map(\.member) } }
  var names: [[UInt8]] { get throws { try inOrder.map(\.name) } }

  init(members: [Value], names: [[UInt8]]) throws {
    self.init(minimumCapacity: members.count)
    for (name, member) in zip(names, members) { self[try CanonicalJSON.read(Key.self, from: .coded(name))] = member }
  }

  static func distinct(_ names: [[UInt8]]) throws -> [Int] {
    var keys: Set<Key> = []
    return try names.indices.filter { keys.insert(try CanonicalJSON.read(Key.self, from: .coded(names[$0]))).inserted }
  }
}
