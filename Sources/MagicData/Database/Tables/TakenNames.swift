import GRDB

/// Names that are in use.
///
/// SQLite tells names apart by their bytes, but for ASCII's capitals, and whoever keeps prepared statements by their text tells
/// these apart as Swift does, which has `é` and `e` with an accent for the same.
struct TakenNames {
  private var names: Set<String>

  init(_ names: some Sequence<String> = []) { self.names = Set(names.map { $0.lowercased() }) }

  /// `name`, or `name~2`, `name~3` and so on, which is in use from now on.
  mutating func take(_ name: String, isTaken: (String) throws -> Bool) rethrows -> String {
    let free = try TakenNames.free(name) { name in try names.contains(name.lowercased()) || isTaken(name) }
    names.insert(free.lowercased())
    return free
  }

  mutating func take(_ name: String) -> String { take(name) { _ in false } }

  /// `name`, or `name~2`, `name~3` and so on.
  static func free(_ name: String, isTaken: (String) throws -> Bool) rethrows -> String {
    guard try isTaken(name) else { return name }
    var number = 2
    while try isTaken("\(name)~\(number)") { number += 1 }
    return "\(name)~\(number)"
  }
}

/// The names that tables of objects and of links have or are to have.
struct TableNames {
  private var taken: TakenNames

  init(of types: [StoredType]) {
    taken = TakenNames(
      types.flatMap { type in [type.table] + type.linked.map { type.columns[$0] } })
  }

  mutating func take(_ name: String, _ db: Database) throws -> String {
    // By bytes, as SQLite looks: a mark that combines with the `_` makes no other name of it.
    // `pragma_page_count` and others are SQLite's own where no table is named so.
    let isReserved = ["sqlite_", "pragma_", "magic_"].contains { name.lowercased().utf8.starts(with: $0.utf8) }
    return try taken.take(isReserved ? "~" + name : name, isTaken: db.has)
  }
}

extension Connection {
  /// Whether there is a table, an index or something else of a name.
  func has(_ name: String) throws -> Bool {
    var select = try SQL(self, Statements.has)
    try select.bind(name)
    return try select.step()
  }
}
