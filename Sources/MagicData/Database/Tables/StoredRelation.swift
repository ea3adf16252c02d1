package import MagicJournal

/// Where a field's objects are: the target's table, and the table of links if a field holds several.
package struct StoredRelation: Sendable {
  package let kind: Value.Kind
  /// Without its fields.
  package let target: StoredType
  /// The name of the table of links, if the kind has one.
  let unquoted: String
  let table: String

  init(kind: Value.Kind, target: StoredType, table: String) {
    (self.kind, self.target) = (kind, target)
    (unquoted, self.table) = (table, Statements.quoted(table))
  }

  /// Both ends are z indexes. A link to an object that has no row is kept and not shown (L-8).
  var createTable: String {
    let columns =
      switch kind {
      case .list: "owner INTEGER NOT NULL, position INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (owner, position)"
      case .dictionary: "owner INTEGER NOT NULL, key BLOB NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (owner, key)"
      default: "owner INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (owner, target)"
      }
    return "CREATE TABLE \(table) (\(columns)) WITHOUT ROWID"
  }

  /// - Parameter free: as what an index of some name is to be made.
  func createIndex(_ free: (String) throws -> String) rethrows -> String {
    "CREATE INDEX \(Statements.quoted(try free(unquoted + ".reverse"))) ON \(table) (target, owner)"
  }

  /// Target and, of a dictionary, the key, in the order in which an instance has them.
  var select: String { "SELECT target, \(key) FROM \(table) WHERE owner = ? ORDER BY \(order)" }

  /// Selects the links of several owners, with the owner as the last column.
  func selectMany(asRange: Bool) -> String {
    let owners = asRange ? "BETWEEN ? AND ?" : "IN (\(ZIndexBatch.marks))"
    return "SELECT target, \(key), owner FROM \(table) WHERE owner \(owners) ORDER BY owner, \(order)"
  }

  /// The column by which the links of one owner are told apart, and ordered.
  var order: String { kind == .list ? "position" : key == "NULL" ? "target" : key }

  private var key: String { kind == .dictionary ? "key" : "NULL" }

  /// The link of a row with target and key.
  func link(_ row: borrowing SQL) -> Link {
    Link(target: row.integer(0), name: kind == .dictionary ? row.bytes(1) : [])
  }

  var insert: String {
    switch kind {
    case .list: "INSERT INTO \(table) (owner, target, position) VALUES (?, ?, ?)"
    case .dictionary: "INSERT OR REPLACE INTO \(table) (owner, target, key) VALUES (?, ?, ?)"
    default: "INSERT OR IGNORE INTO \(table) (owner, target) VALUES (?, ?)"
    }
  }

  /// One element of a set or a dictionary.
  var deleteElement: String {
    kind == .dictionary
      ? "DELETE FROM \(table) WHERE owner = ? AND key = ?" : "DELETE FROM \(table) WHERE owner = ? AND target = ?"
  }

  var deleteAll: String { "DELETE FROM \(table) WHERE owner = ?" }
}
