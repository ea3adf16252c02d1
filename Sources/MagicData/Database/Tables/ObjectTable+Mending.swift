internal import GRDB
package import MagicJournal

/// For who finds and mends what SQL did to a type's tables: nothing that stands there is believed.
extension ObjectTable {
  /// What the schema speaks of and is not there, as a sentence; `nil` if all is.
  package func lack() throws -> String? {
    let stored = type.schema.fields.indices.filter { !type.schema.fields[$0].kind.isLinked }
    let own = ["z_index", type.keyColumn, "magic_last"] + (type.schema.hasNumbers ? ["magic_birth"] : [])
    if let lack = try lack(type.table, own + stored.map { type.columns[$0] }) { return lack }
    for field in type.linked {
      if let relation = type.relations[field], let lack = try lack(relation.unquoted, ["owner"]) { return lack }
    }
    return nil
  }

  private func lack(_ table: String, _ columns: [String]) throws -> String? {
    let there = try Set(String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table]))
    guard !there.isEmpty else { return "the table \(table) is not there" }
    return columns.first { !there.contains($0) }.map { "the table \(table) lacks its column \($0)" }
  }

  /// Every object that has a row, then every one that has none, with no name where it cannot be read.
  package func forEachPlaceAsIs(_ body: (ObjectKey?, ObjectPlace, _ isShown: Bool) throws -> Void) throws {
    var rows = try SQL(db, type.selectKeys)
    while try rows.step() {
      try body(name(rows, 1), ObjectPlace(zIndex: rows.integer(0), last: rows.place(2)), true)
    }
    var absent = try SQL(db, Statements.selectAllAbsent)
    try absent.bind(type.id)
    while try absent.step() {
      try body(name(absent, 0), ObjectPlace(zIndex: absent.integer(1), last: absent.place(2)), false)
    }
  }

  private func name(_ select: borrowing SQL, _ column: Int32) -> ObjectKey? {
    try? ObjectKey(value: select.value(column, type.keyKind), of: type.schema)
  }

  /// Whether another object than this one has the row at a z index.
  package func isTaken(_ zIndex: Int64, fromOther key: ObjectKey) throws -> Bool {
    var select = try SQL(db, type.selectKey)
    try select.bind(zIndex)
    return try select.step() && name(select, 0) != key
  }

  /// Whether an object without a row has a z index.
  package func isAbsents(_ zIndex: Int64) throws -> Bool {
    var select = try SQL(db, Statements.selectAbsentKey)
    try select.bind(type.id)
    try select.bind(zIndex)
    return try select.step()
  }

  /// Gives a row another z index, with its links.
  ///
  /// - Returns: `false`, and nothing is changed, if it has that one already, or another object does.
  package func move(_ zIndex: Int64, to other: Int64) throws -> Bool {
    guard zIndex != other, try key(at: other) == nil else { return false }
    let links = type.linked.compactMap { type.relations[$0].map { ($0.table, "owner") } }
    for (table, column) in [(type.quotedTable, "z_index")] + links {
      var update = try SQL(db, "UPDATE \(table) SET \(column) = ? WHERE \(column) = ?")
      try update.bind(other)
      try update.bind(zIndex)
      try update.run()
    }
    return true
  }

  /// Takes away what stands at a z index, and keeps no name for it.
  package func drop(_ zIndex: Int64, isShown: Bool) throws {
    guard isShown else {
      var delete = try SQL(db, Statements.deleteAbsentAt)
      try delete.bind(type.id)
      try delete.bind(zIndex)
      try delete.run()
      return
    }
    var delete = try SQL(db, type.delete)
    try delete.bind(zIndex)
    try delete.run()
    try unlink(zIndex)
  }
}
