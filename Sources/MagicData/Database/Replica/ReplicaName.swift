package import GRDB
package import MagicJournal

/// What people call a replica (K-25). Nothing decides by it.
package struct ReplicaName: Sendable {
  package let text: String
  /// When somebody gave it, in milliseconds since 1970.
  package let time: Int64

  /// `nil` for a text that can be no name.
  package init?(_ text: String, time: Int64) {
    guard ReplicaName.isValid(text) else { return nil }
    (self.text, self.time) = (text, time)
  }

  package static let rule = """
    a replica's name has 1 to 64 characters (Unicode scalars), with no space at its ends, no line breaks, no control \
    characters and none that override the direction of text
    """

  package static func isValid(_ text: String) -> Bool {
    let scalars = text.unicodeScalars
    guard let first = scalars.first, let last = scalars.last, scalars.count <= 64 else { return false }
    return !isSpace(first) && !isSpace(last) && scalars.allSatisfy(isShown)
  }

  /// By ranges, and not by tables that grow with Unicode: all readers agree.
  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20, 0xA0, 0x1680, 0x2000...0x200A, 0x202F, 0x205F, 0x3000: true
    default: false
    }
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }

  /// All that the database has heard of.
  package static func all(_ db: Database) throws -> [ReplicaID: ReplicaName] {
    guard try db.has(.names) else { return [:] }
    var select = try SQL(db, Statements.selectNames)
    var names: [ReplicaID: ReplicaName] = [:]
    while try select.step() { names[try select.identifier(0)] = ReplicaName(select.text(2), time: select.integer(1)) }
    return names
  }

  package func store(of replica: ReplicaID, _ db: Database) throws {
    try db.make(.names)
    var insert = try SQL(db, Statements.insertName)
    try insert.bind(replica)
    try insert.bind(time)
    try insert.bind(text)
    try insert.run()
  }
}

/// The later of two names counts, and of two of the same time the higher by its bytes (L-3).
extension ReplicaName: Comparable {
  package static func == (left: ReplicaName, right: ReplicaName) -> Bool {
    left.time == right.time && left.text.utf8.elementsEqual(right.text.utf8)
  }

  package static func < (left: ReplicaName, right: ReplicaName) -> Bool {
    left.time == right.time ? left.text.utf8.lexicographicallyPrecedes(right.text.utf8) : left.time < right.time
  }
}
