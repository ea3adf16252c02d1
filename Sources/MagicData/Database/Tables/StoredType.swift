package import MagicJournal

/// A type, the table that holds its objects, and the SQL for that table.
package final class StoredType: Sendable {
  package let id: Int
  package let schema: TypeSchema
  package let table: String
  /// The column that names an object: its primary value, or its birth. Where the primary value is a number, the birth of one
  /// that is named so stands in `magic_birth`, beside the number that it has.
  package let keyColumn: String
  /// By field id: a column, or a table of links.
  package let columns: [String]
  /// By field id: where relations lead.
  package let relations: [StoredRelation?]
  /// The fields that have a table of links in place of a column.
  let linked: [Int]
  package let hasRelations: Bool
  /// The fields that name assets.
  let assets: [Int]

  let quotedColumns: [String]
  private let texts: StatementCache
  let quotedTable: String
  let quotedKey: String

  init(id: Int, schema: TypeSchema, table: String, columns: [String] = [], relations: [StoredRelation?] = []) {
    self.id = id
    self.schema = schema
    self.table = table
    self.columns = columns
    self.relations = relations
    quotedColumns = columns.map(Statements.quoted)
    linked = schema.fields.indices.filter { schema.fields[$0].kind.isLinked }
    assets = schema.fields.indices.filter { schema.fields[$0].kind == .asset }
    hasRelations = relations.contains { $0 != nil }
    keyColumn =
      schema.primary.map { StoredType.reserved.contains($0.name.text.lowercased()) ? "\($0.name)~2" : $0.name.text }
      ?? "magic_birth"
    quotedTable = Statements.quoted(table)
    texts = StatementCache(of: table)
    quotedKey = Statements.quoted(keyColumn)
  }

  /// A field with its column or table of links, and where it leads.
  typealias Field = (field: TypeSchema.Field, column: String, target: StoredType?)

  /// The type with more fields, which may have rivals among those that a statement names.
  func appending(_ fields: [Field]) -> StoredType {
    var schema = schema
    for field in fields { schema.append(field.field) }
    let relations = fields.map { field in
      field.target.map { StoredRelation(kind: field.field.kind, target: $0, table: field.column) }
    }
    return StoredType(
      id: id, schema: schema, table: table, columns: columns + fields.map(\.column), relations: self.relations + relations)
  }

  /// The type as a relation's target is known: its objects can be found and named.
  var withoutFields: StoredType {
    StoredType(id: id, schema: TypeSchema(name: schema.name, primary: schema.primary), table: table)
  }

  var hasLinks: Bool { !linked.isEmpty }

  /// The kind of the column that names an object.
  package var keyKind: Value.Kind { schema.primary?.kind ?? .bytes }

  // MARK: Names

  private static let reserved: Set<String> = ["z_index", "magic_birth", "magic_last"]

  /// Those of its columns, and of those that it has without fields.
  var columnNames: TakenNames { TakenNames(StoredType.reserved.union([keyColumn]).union(columns)) }

  // MARK: SQL

  /// The table with the columns of all fields.
  func createTable() -> String {
    let key =
      schema.hasNumbers
      ? "INTEGER UNIQUE, magic_birth BLOB" : "\(schema.primary == nil ? "BLOB" : keyKind.columnType) NOT NULL UNIQUE"
    let fields = schema.fields.indices.filter { !schema.fields[$0].kind.isLinked }.map { ", \(column($0))" }.joined()
    return """
      CREATE TABLE \(quotedTable) (
        z_index INTEGER PRIMARY KEY, \(quotedKey) \(key), magic_last INTEGER NOT NULL\(fields))
      """
  }

  /// What finds objects by what names them, where the table does not.
  ///
  /// - Parameter free: as what an index of some name is to be made.
  func createIndex(_ free: (String) throws -> String) rethrows -> String? {
    guard schema.hasNumbers else { return nil }
    let index = Statements.quoted(try free("magic_birth.\(table)"))
    return "CREATE UNIQUE INDEX \(index) ON \(quotedTable) (magic_birth) WHERE magic_birth IS NOT NULL"
  }

  /// A field's table of links, if it has one.
  func createLinks(_ field: Int) -> String? {
    relations[field].flatMap { $0.kind.isLinked ? $0.createTable : nil }
  }

  /// Adds a field's column.
  func createColumn(_ field: Int) -> String { "ALTER TABLE \(quotedTable) ADD COLUMN \(column(field))" }

  private func column(_ field: Int) -> String { "\(quotedColumns[field]) \(schema.fields[field].kind.columnType)" }

  /// What a field has beside its column or table.
  ///
  /// - Parameter free: as what an index or a trigger of some name is to be made.
  func createIndexes(_ field: Int, _ free: (String) throws -> String) rethrows -> [String] {
    let column = quotedColumns[field]
    if schema.fields[field].kind == .asset { return try watchAsset(column, "\(table).\(columns[field])", free) }
    guard let relation = relations[field] else { return [] }
    if relation.kind.isLinked { return [try relation.createIndex(free)] }
    // A reverse is a look-up.
    let index = Statements.quoted(try free("\(table).\(columns[field])"))
    return ["CREATE INDEX \(index) ON \(quotedTable) (\(column)) WHERE \(column) IS NOT NULL"]
  }

  /// Whoever names an asset is found by a look-up, and a name that a row lets go of, on whatever way, is noted in the same
  /// transaction.
  private func watchAsset(
    _ column: String, _ name: String, _ free: (String) throws -> String
  ) rethrows -> [String] {
    let note = "BEGIN INSERT OR IGNORE INTO magic_dropped_asset (name) VALUES (OLD.\(column)); END"
    return try [
      // On some file systems names that differ in case are one file.
      "CREATE INDEX \(Statements.quoted(free(name + ".asset"))) ON \(quotedTable) (\(column) COLLATE NOCASE) WHERE \(column) IS NOT NULL",
      """
      CREATE TRIGGER \(Statements.quoted(free(name + ".replaced"))) AFTER UPDATE OF \(column) ON \(quotedTable)
      WHEN OLD.\(column) IS NOT NULL AND NEW.\(column) IS NOT OLD.\(column) \(note)
      """,
      """
      CREATE TRIGGER \(Statements.quoted(free(name + ".removed"))) AFTER DELETE ON \(quotedTable)
      WHEN OLD.\(column) IS NOT NULL \(note)
      """,
    ]
  }

  /// A row that names an asset.
  func selectAsset(_ field: Int) -> String {
    "SELECT 1 FROM \(quotedTable) WHERE \(quotedColumns[field]) = ? COLLATE NOCASE LIMIT 1"
  }

  func selectAssetsOfDigits(_ field: Int) -> String {
    let column = "\(quotedColumns[field]) COLLATE NOCASE"
    return "SELECT \(quotedColumns[field]) FROM \(quotedTable) WHERE \(column) >= ? AND \(column) < ?"
  }

  func selectAssets(_ field: Int) -> String {
    "SELECT DISTINCT \(quotedColumns[field]) FROM \(quotedTable) WHERE \(quotedColumns[field]) IS NOT NULL"
  }

  /// The fields with links that compete with others for a name (J-16).
  func linkedRivals(of fields: [Int]) -> [Int] {
    guard schema.hasRivals else { return [] }
    let slots = Set(fields.map { schema.slots[$0] })
    return linked.filter { slots.contains(schema.slots[$0]) && !fields.contains($0) }
  }

  /// Whether the objects that these fields name are all among some links.
  func names(onlyIn links: [Int: [Link]], _ fields: [FieldValue]) -> Bool {
    !hasRelations || fields.allSatisfy { relations[$0.field] == nil || links[$0.field] != nil }
  }

  /// Whether a write of these fields may show elements that are hidden: those of a field that a rival had won over (M-14).
  package func needsFold(_ fields: [FieldValue]) -> Bool {
    schema.hasRivals && fields.contains { schema.fields[$0.field].kind.hasElements }
  }

  /// What a field of one owner holds, of the objects that have a row.
  func selectShown(_ field: Int, _ relation: StoredRelation) -> String {
    texts[.shown(field)] {
      let target = "JOIN \(relation.target.quotedTable) t ON t.z_index = "
      guard relation.kind.isLinked else {
        return "SELECT t.z_index FROM \(quotedTable) o \(target)o.\(quotedColumns[field]) WHERE o.z_index = ?"
      }
      let key = relation.kind == .dictionary ? ", l.key" : ""
      return "SELECT t.z_index\(key) FROM \(relation.table) l \(target)l.target WHERE l.owner = ? ORDER BY l.\(relation.order)"
    }
  }

  /// The objects that hold another in a field, and have one of each group of `required`: a look-up in an index from the target.
  func selectOwners(_ field: Int, _ relation: StoredRelation, required: [[Int]]) -> String {
    texts[.owners(field, required: required)] {
      let shown = shown(required, in: "o.")
      let complete = shown.isEmpty ? "" : "AND \(Statements.all(shown)) "
      guard relation.kind.isLinked else {
        return "SELECT o.z_index FROM \(quotedTable) o WHERE o.\(quotedColumns[field]) = ? AND o.z_index > ? \(complete)"
          + "ORDER BY o.z_index LIMIT ?"
      }
      return "SELECT DISTINCT l.owner FROM \(relation.table) l JOIN \(quotedTable) o ON o.z_index = l.owner "
        + "WHERE l.target = ? AND l.owner > ? \(complete)ORDER BY l.owner LIMIT ?"
    }
  }

  /// Finds an object by what names it. One that has a number without being named by it is another.
  private func isNamed(byBirth isBirth: Bool) -> String {
    guard schema.hasNumbers else { return "\(quotedKey) = ?" }
    return isBirth ? "magic_birth = ?" : "\(quotedKey) = ? AND magic_birth IS NULL"
  }

  /// What names an object, as a column.
  var name: String { schema.hasNumbers ? "coalesce(magic_birth, \(quotedKey))" : quotedKey }

  func selectZIndex(_ key: ObjectKey) -> String {
    texts[.zIndex(isBirth: key.isBirth)] {
      "SELECT z_index, magic_last FROM \(quotedTable) WHERE \(isNamed(byBirth: key.isBirth))"
    }
  }
  func selectLast(isBirth: Bool) -> String {
    texts[.selectLast(isBirth: isBirth)] {
      "SELECT magic_last FROM \(quotedTable) WHERE z_index = ? AND \(isNamed(byBirth: isBirth))"
    }
  }
  var selectKey: String { texts[.key] { "SELECT \(name) FROM \(quotedTable) WHERE z_index = ?" } }
  var selectKeys: String { "SELECT z_index, \(name), magic_last FROM \(quotedTable) ORDER BY z_index" }
  var selectKeysAfter: String {
    texts[.keysAfter] {
      "SELECT z_index, \(name), magic_last FROM \(quotedTable) WHERE z_index > ? ORDER BY z_index LIMIT ?"
    }
  }
  /// The z indexes of the objects at both ends of a range of numbers, and whether any object is named by its birth.
  var selectZIndexesOfNumbers: String {
    texts[.zIndexesOfNumbers] {
      let zIndex = "(SELECT z_index FROM \(quotedTable) WHERE \(quotedKey) = ?)"
      return "SELECT \(zIndex), \(zIndex), EXISTS (SELECT 1 FROM \(quotedTable) WHERE magic_birth IS NOT NULL)"
    }
  }
  var selectNumber: String { "SELECT \(quotedKey) FROM \(quotedTable) WHERE z_index = ?" }
  /// Sets the number of an object that is named by its birth.
  var updateNumber: String { "UPDATE \(quotedTable) SET \(quotedKey) = ? WHERE magic_birth = ?" }
  /// Selects the highest number below a bound.
  var selectHighest: String {
    "SELECT \(quotedKey) FROM \(quotedTable) WHERE \(quotedKey) < ? ORDER BY \(quotedKey) DESC LIMIT 1"
  }
  var count: String { "SELECT count(*) FROM \(quotedTable)" }
  var selectAny: String { "SELECT 1 FROM \(quotedTable) LIMIT 1" }
  var updateLast: String { texts[.updateLast] { "UPDATE \(quotedTable) SET magic_last = ? WHERE z_index = ?" } }
  /// The highest z index of an object with a row, and of one without.
  var selectHighestZIndex: String {
    texts[.highest] {
      "SELECT (SELECT max(z_index) FROM \(quotedTable)), (SELECT max(z_index) FROM magic_absent WHERE type = ?)"
    }
  }
  var delete: String { texts[.delete] { "DELETE FROM \(quotedTable) WHERE z_index = ?" } }

  /// Inserts rows, without those whose object has one.
  func insert(_ fields: [Int], rows: Int = 1) -> WriteText {
    texts.write(.insert(fields, rows: rows)) {
      let columns =
        ["z_index", quotedKey] + (schema.hasNumbers ? ["magic_birth"] : []) + ["magic_last"] + fields.map { quotedColumns[$0] }
      let marks = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
      let values = Array(repeating: marks, count: rows).joined(separator: ", ")
      let into = "INTO \(quotedTable) (\(columns.joined(separator: ", "))) VALUES \(values)"
      // Of several rows SQLite keeps each page that it writes, so as to undo them, unless nothing can stop it halfway.
      return rows > 1 ? "INSERT OR IGNORE \(into)" : "INSERT \(into) ON CONFLICT DO NOTHING"
    }
  }

  /// Sets `fields` and empties their rivals of the same name (J-16), and tells a `NextEntry` of the object's last one.
  ///
  /// - Parameter all: all fields that are written, those with links among them.
  func update(_ fields: [Int], among all: @autoclosure () -> [Int], isBirth: Bool) -> WriteText {
    let written = hasLinks ? all() : fields
    return texts.write(.update(written, isBirth: isBirth)) {
      var sets = [NextEntry.assignment] + fields.map { quotedColumns[$0] + " = ?" }
      if schema.hasRivals {
        let slots = Set(written.map { schema.slots[$0] })
        let rivals = schema.slots.indices.filter {
          slots.contains(schema.slots[$0]) && !written.contains($0) && relations[$0]?.kind.isLinked != true
        }
        sets += rivals.map { quotedColumns[$0] + " = NULL" }
      }
      return "UPDATE \(quotedTable) SET \(sets.joined(separator: ", ")) WHERE z_index = ? AND \(isNamed(byBirth: isBirth))"
    }
  }

  /// Which objects are read.
  enum Condition: Hashable, Sendable {
    case nothing, key, zIndex
    /// Those of a `ZIndexBatch`.
    case zIndexes(asRange: Bool)

    fileprivate func sql(_ quotedKey: String) -> String {
      switch self {
      case .nothing: ""
      case .key: " WHERE \(quotedKey) = ?"
      case .zIndex: " WHERE z_index = ?"
      case .zIndexes(asRange: false): " WHERE z_index IN (\(ZIndexBatch.marks))"
      case .zIndexes(asRange: true): " WHERE z_index BETWEEN ? AND ?"
      }
    }
  }

  /// What a fetch reads; see `select`.
  func columns(_ fields: [Int]) -> String {
    (["z_index", quotedKey] + fields.map { quotedColumns[$0] } + (schema.hasNumbers ? ["magic_birth"] : []))
      .joined(separator: ", ")
  }

  /// z index, primary value or birth, and `fields`; with numbers, then the birth. Of the one with a key, at last, its last
  /// entry.
  func select(_ fields: [Int], by condition: Condition = .nothing) -> String {
    texts[.select(fields, condition)] {
      "SELECT \(columns(fields))\(condition == .key ? ", magic_last" : "") FROM \(quotedTable)\(condition.sql(quotedKey)) ORDER BY z_index"
    }
  }

  /// Selects rows for `RowFunction`, in no order; `nil` if it does not take so many columns.
  func take(_ fields: [Int], by condition: Condition = .nothing) -> String? {
    guard fields.count + 3 <= RowFunction.mostColumns else { return nil }
    return texts[.take(fields, condition)] {
      "\(RowFunction.start)\(columns(fields))) FROM \(quotedTable)\(condition.sql(quotedKey))"
    }
  }

  /// Selects all rows between two z indexes for `RowFunction`, by rising ones and without them, for who counts them
  /// (`ParallelRange`).
  ///
  /// - Parameter hasBirths: `false` if births are not to be read: then there are no rows once any object has one.
  func takeRange(_ fields: [Int], hasBirths: Bool) -> String? {
    guard fields.count + 2 <= RowFunction.mostColumns else { return nil }
    return texts[.takeRange(fields, hasBirths: hasBirths)] {
      let columns = [quotedKey] + fields.map { quotedColumns[$0] } + (hasBirths ? ["magic_birth"] : [])
      // SQLite finds a bound once, where it would ask a condition again for each row.
      let end = hasBirths ? "?2" : "coalesce((SELECT ?1 - 1 FROM \(quotedTable) WHERE magic_birth IS NOT NULL LIMIT 1), ?2)"
      // An index that has all of them has them in another order.
      return """
        \(RowFunction.start)\(columns.joined(separator: ", "))) FROM \(quotedTable) NOT INDEXED WHERE z_index BETWEEN ?1 AND \(end)
        """
    }
  }

  /// The conditions of objects that can be shown. One whose claim has not arrived has no number (M-19).
  func shown(_ required: [[Int]], in prefix: String = "") -> [String] {
    (schema.hasNumbers ? ["\(prefix)\(quotedKey) IS NOT NULL"] : []) + required.map { isThere($0, in: prefix) }
  }

  /// The conditions of objects of a query's table that can be shown, under some name in quotes, followed by AND; the plus keeps
  /// SQLite from looking for what is not null in an index.
  func shownFirst(_ required: [[Int]], as name: String) -> String {
    let shown = shown(required, in: "+\(name).")
    return shown.isEmpty ? "" : Statements.all(shown) + " AND "
  }

  /// That an object cannot be shown: the opposite of all that `shown` asks for. `nil` where there is nothing that it could
  /// lack, or so much that an index of such rows would cost each write more than it saves.
  func hidden(_ required: [[Int]]) -> String? {
    // In one order, however a model has its properties: another text would be another index.
    let missing = required.map { each($0, "IS NULL", joinedBy: "AND") }.sorted()
    let conditions = (schema.hasNumbers ? ["\(quotedKey) IS NULL"] : []) + missing
    guard 1...Statements.mostInRow ~= conditions.count else { return nil }
    return conditions.joined(separator: " OR ")
  }

  /// Whether there is any row of which this is true: a look into an index of such rows alone.
  func anyHidden(_ hidden: String) -> String {
    // Else the plan would say that it scans.
    "EXISTS (SELECT 1 FROM \(quotedTable) WHERE z_index > 0 AND (\(hidden)))"
  }

  /// That one of a group of fields has a value.
  private func isThere(_ group: [Int], in prefix: String = "") -> String {
    each(group, "IS NOT NULL", joinedBy: "OR", in: prefix)
  }

  private func each(_ group: [Int], _ condition: String, joinedBy word: String, in prefix: String = "") -> String {
    let conditions = group.map { "\(prefix)\(quotedColumns[$0]) \(condition)" }
    return conditions.count == 1 ? conditions[0] : "(" + conditions.joined(separator: " \(word) ") + ")"
  }
}

extension Value.Kind {
  /// Whether objects of this kind of field stand in a table of links.
  package var isLinked: Bool {
    switch self {
    case .list, .set, .dictionary: true
    default: false
    }
  }

  fileprivate var columnType: String {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text, .asset: "TEXT"
    case .reference: "INTEGER"
    case .bytes, .coded, .list, .set, .dictionary: "BLOB"
    }
  }
}

extension ObjectKey {
  var isBirth: Bool { if case .birth = self { true } else { false } }
}
