internal import GRDB
internal import MagicJournal

/// A query's SQL for one database, with what is bound to it.
struct QueryText {
  private var sql = ""
  private var values: [Value] = []
  private let type: MappedType
  /// Of a query's properties: those with columns that hold nothing out of the ordinary (`Exceptions`).
  private let plain: PropertySet

  /// SQLite's own limit on question marks (https://sqlite.org/limits.html, 9).
  private static let mostValues = 32_766

  private init(_ plan: QueryPlan, _ type: MappedType, _ db: Connection) throws {
    try plan.check()
    try Exceptions.checkKinds(of: plan, type, db)
    self.type = type
    plain = try Exceptions.none(of: plan, type, db)
  }

  func statement(_ db: Connection) throws -> SQL {
    guard values.count <= QueryText.mostValues else {
      throw MagicDataError(.tooLarge, "a query takes at most \(QueryText.mostValues) values; ask for less at once")
    }
    var statement = try SQL(db, sql)
    for value in values { try statement.bind(value) }
    return statement
  }

  // MARK: Running

  /// Of the objects that `keys` asks for, the z indexes and what names them.
  func keys(_ db: Connection) throws -> [(zIndex: Int64, key: ObjectKey)] {
    var select = try statement(db)
    var keys: [(zIndex: Int64, key: ObjectKey)] = []
    while try select.step() {
      keys.append((select.integer(0), try ObjectKey(value: select.value(1, type.stored.keyKind), of: type.stored.schema)))
    }
    return keys
  }

  func zIndexes(_ db: Connection) throws -> [Int64] {
    var select = try statement(db)
    var zIndexes: [Int64] = []
    while try select.step() { zIndexes.append(select.integer(0)) }
    return zIndexes
  }

  func explanation(_ db: Connection) throws -> [String] {
    var explain = self
    explain.sql = "EXPLAIN QUERY PLAN " + sql
    var select = try explain.statement(db)
    var lines: [String] = []
    while try select.step() { lines.append(select.text(3)) }
    return lines
  }

  // MARK: Statements

  /// What `FetchedRows` reads.
  static func objects(_ plan: QueryPlan, _ type: MappedType, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, type, db)
    text.select(text.objectColumns)
    text.append(plan)
    return text
  }

  /// The z indexes, and the keys.
  static func keys(_ plan: QueryPlan, _ type: MappedType, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, type, db)
    text.select("z_index, \(type.stored.name)")
    text.append(plan)
    return text
  }

  static func count(_ plan: QueryPlan, _ type: MappedType, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, type, db)
    if plan.limit == nil, plan.offset == 0 {
      text.select("count(*)")
      text.append(plan.condition, isRoot: true)
    } else {
      text.add("SELECT count(*) FROM (")
      text.select("1")
      text.append(plan.condition, isRoot: true)
      text.appendPart(plan)
      text.add(")")
    }
    return text
  }

  /// Some of the objects, in the order of their z indexes, if they (still) fulfil the condition.
  static func objects(_ plan: QueryPlan, at zIndexes: [Int64], _ type: MappedType, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, type, db)
    text.select(text.objectColumns)
    text.add("z_index IN ")
    text.appendList(zIndexes.map { .integer($0) })
    // Out of the planner's sight, so that the z indexes are looked up.
    text.add(" AND CASE WHEN ")
    text.append(plan.condition, isRoot: true)
    text.add(" THEN 1 END ORDER BY z_index")
    return text
  }

  /// The first of the objects behind a z index, in that order.
  static func objects(
    _ plan: QueryPlan, after zIndex: Int64, count: Int, _ type: MappedType, _ db: Connection
  ) throws -> QueryText {
    var text = try QueryText(plan, type, db)
    text.select(text.objectColumns)
    text.add("z_index > ? AND ", .integer(zIndex))
    text.append(plan.condition, isRoot: true)
    text.add(" ORDER BY z_index LIMIT ?", .integer(Int64(count)))
    return text
  }

  // MARK: Parts

  private mutating func add(_ text: String, _ bound: Value...) {
    sql += text
    values += bound
  }

  private var objectColumns: String {
    (["z_index", Statements.quoted(type.stored.keyColumn), "magic_last"]
      + type.columns.map { Statements.quoted(type.stored.columns[$0]) }
      + (type.stored.schema.hasNumbers ? ["magic_birth"] : []))
      .joined(separator: ", ")
  }

  /// Up to the condition. Incomplete objects are not shown (M-6); the plus keeps SQLite from looking for what is not null in an index.
  private mutating func select(_ columns: String) {
    add("SELECT \(columns) FROM \(Statements.quoted(type.stored.table)) WHERE ")
    if type.stored.schema.hasNumbers { add("+\(Statements.quoted(type.stored.keyColumn)) IS NOT NULL AND ") }
    for group in type.required {
      add("(" + group.map { "+\(Statements.quoted(type.stored.columns[$0])) IS NOT NULL" }.joined(separator: " OR ") + ") AND ")
    }
  }

  private mutating func append(_ plan: QueryPlan) {
    append(plan.condition, isRoot: true)
    add(" ORDER BY ")
    for key in plan.order {
      appendExpression(key.property)
      add(key.isDescending ? " DESC, " : ", ")
    }
    // Without statistics SQLite takes a range for so many rows that it would rather read all of them in the order of the z index.
    let isIndexed = type.isIndexed
    let isRange = plan.order.isEmpty && plan.condition.isServed(by: isIndexed) && !plan.condition.isPoint(by: isIndexed)
    add(isRange ? "+z_index" : "z_index")
    appendPart(plan)
  }

  private mutating func appendPart(_ plan: QueryPlan) {
    guard plan.limit != nil || plan.offset > 0 else { return }
    add(" LIMIT ?", .integer(Int64(plan.limit ?? -1)))
    if plan.offset > 0 { add(" OFFSET ?", .integer(Int64(plan.offset))) }
  }

  // MARK: Conditions

  // A condition is "true" or anything else: NULL counts as false, and comes out of AND and OR as if it were. Only NOT asks for more.
  private mutating func append(_ condition: Condition, isRoot: Bool = false) {
    switch condition {
    case .compares(let property, let bounds):
      appendComparison(property, bounds)
    case .isAny(let property, let values):
      appendValues(property, values)
    case .contains(let property, let text):
      add("(instr(\(column(property)), ?) > 0", .text(text))
      appendDefault(property, condition)
      add(")")
    case .isNil(let property):
      add(type.standing(property) == nil ? "\(column(property)) IS NULL" : "0")
    case .pair(let left, let comparison, let right):
      appendPair(left, comparison, right)
    case .all(let parts):
      appendAll(parts[...], " AND ", none: "1", isRoot: isRoot)
    case .any(let parts):
      appendAll(parts[...], " OR ", none: "0", isRoot: false)
    case .not(let inner):
      add("(")
      append(inner)
      add(") IS NOT TRUE")
    }
  }

  /// Halves within halves: SQLite takes expressions of a depth of 1,000. The ANDs of the root stay in a row, as one with what is before them.
  private mutating func appendAll(_ parts: ArraySlice<Condition>, _ word: String, none: String, isRoot: Bool) {
    guard let first = parts.first else { return add(none) }
    guard parts.count > 1 else { return append(first) }
    let middle = parts.startIndex + parts.count / 2
    if !isRoot { add("(") }
    appendAll(parts[..<middle], word, none: none, isRoot: isRoot)
    add(word)
    appendAll(parts[middle...], word, none: none, isRoot: isRoot)
    if !isRoot { add(")") }
  }

  private mutating func appendComparison(_ property: Int, _ bounds: [Condition.Bound]) {
    let kind = type.layout.properties[property].kind
    guard !bounds.contains(where: { $0.value.isNaN }) else { return add("0") }
    add("(")
    for (number, bound) in bounds.enumerated() {
      add("\(number > 0 ? " AND " : "")\(column(property)) \(bound.comparison.rawValue) ?", bound.value.withoutSign)
    }
    // Blobs, which NaN and -0.0 are, stand above all numbers (V-11).
    if kind == .real, !bounds.contains(where: { [.less, .lessOrEqual].contains($0.comparison) }) {
      add(" AND \(column(property)) <= 9e999")
    }
    appendExceptions(property, .compares(property, bounds))
    add(")")
  }

  private mutating func appendValues(_ property: Int, _ listed: [Value]) {
    let values = listed.filter { !$0.isNaN }.map(\.withoutSign)
    guard !values.isEmpty else { return add("0") }
    add("(\(column(property)) IN ")
    appendList(values)
    appendExceptions(property, .isAny(property, values))
    add(")")
  }

  /// Filled up to a power of two, so that lists of different lengths share their statements.
  private mutating func appendList(_ listed: [Value]) {
    var count = 1
    while count < listed.count { count *= 2 }
    if count > QueryText.mostValues { count = listed.count }
    add("(\(Array(repeating: "?", count: count).joined(separator: ", ")))")
    values += listed
    if let last = listed.last { values += Array(repeating: last, count: count - listed.count) }
  }

  private mutating func appendPair(_ left: Int, _ comparison: Comparison, _ right: Int) {
    let kind = type.layout.properties[left].kind
    add("(")
    appendExpression(left)
    add(" \(comparison.rawValue) ")
    appendExpression(right)
    if kind == .real {
      for property in [left, right] {
        add(" AND ")
        appendExpression(property)
        add(" <= 9e999")
      }
    }
    add(")")
  }

  // MARK: Columns

  private func column(_ property: Int) -> String {
    Statements.quoted(type.fields[property].map { type.stored.columns[$0] } ?? type.stored.keyColumn)
  }

  private mutating func appendExceptions(_ property: Int, _ condition: Condition) {
    if type.layout.properties[property].kind == .real, !plain.contains(property), condition.holds(.real(0)) {
      add(" OR \(column(property)) = \(QueryText.negativeZero)")
    }
    appendDefault(property, condition)
  }

  private mutating func appendDefault(_ property: Int, _ condition: Condition) {
    guard let value = type.standing(property), !plain.contains(property), condition.holds(value) else { return }
    add(" OR \(column(property)) IS NULL")
  }

  /// The value as it compares, where no constant is compared with it.
  private mutating func appendExpression(_ property: Int) {
    let column = column(property)
    guard !plain.contains(property) else { return add(column) }
    let isReal = type.layout.properties[property].kind == .real
    let value = isReal ? "CASE \(column) WHEN \(QueryText.negativeZero) THEN 0.0 ELSE \(column) END" : column
    if let standing = type.standing(property) { add("coalesce(\(value), ?)", standing.withoutSign) } else { add(value) }
  }

  /// As it is stored (V-11).
  private static let negativeZero = "X'8000000000000000'"
}

extension QueryPlan {
  /// All that it asks about.
  fileprivate var properties: Set<Int> {
    var seen: Set<Int> = []
    condition.forEachProperty { seen.insert($0) }
    for key in order { seen.insert(key.property) }
    return seen
  }
}

extension MappedType {
  /// The value that stands for what is not stored.
  func standing(_ property: Int) -> Value? {
    guard let value = layout.fillIns[property] ?? layout.properties[property].initial, value != .null else { return nil }
    return value
  }

  /// Whether a property's column can be looked up.
  func isIndexed(_ property: Int) -> Bool {
    property == layout.primary || layout.indexes.contains { $0.first == property }
  }
}

extension Value {
  fileprivate var isNaN: Bool { if case .real(let number) = self { number.isNaN } else { false } }

  /// -0.0 is bound as a blob, and equal to 0.0.
  fileprivate var withoutSign: Value { if case .real(0) = self { .real(0) } else { self } }
}

/// Columns where something stands that SQL would compare in another way than Swift: NULL for a default, and -0.0 and NaN as blobs.
///
/// That is rare, and what it asks for (`OR c IS NULL`, a `CASE` in the order) keeps SQLite from reading an index in its order. Where there is
/// an index, it can be asked.
private enum Exceptions {
  /// A value that is stored in a former kind is converted by Swift, where SQL cannot see it.
  static func checkKinds(of plan: QueryPlan, _ type: MappedType, _ db: Connection) throws {
    guard !type.former.isEmpty else { return }
    for property in plan.properties {
      guard let field = type.fields[property], let group = type.formerFields[property] else { continue }
      let own = Statements.quoted(type.stored.columns[field])
      let former = group.map { "\(Statements.quoted(type.stored.columns[$0])) IS NOT NULL" }.joined(separator: " OR ")
      var select = try SQL(
        db, "SELECT EXISTS (SELECT 1 FROM \(Statements.quoted(type.stored.table)) WHERE \(own) IS NULL AND (\(former)))")
      if try select.step(), select.integer(0) != 0 {
        let name = "\(type.layout.name).\(type.layout.properties[property].name)"
        throw MagicDataError(
          .query, "\(name) has values of a former kind, which a query cannot compare; set them anew in all objects first")
      }
    }
  }

  /// The properties of a query whose columns have none.
  static func none(of plan: QueryPlan, _ type: MappedType, _ db: Connection) throws -> PropertySet {
    var plain = PropertySet()
    for property in plan.properties {
      let isReal = type.layout.properties[property].kind == .real
      let hasDefault = type.standing(property) != nil
      guard let field = type.fields[property], isReal || hasDefault else {
        plain.insert(property)
        continue
      }
      guard type.isIndexed(property) else { continue }
      let (table, column) = (Statements.quoted(type.stored.table), Statements.quoted(type.stored.columns[field]))
      var exceptions: [String] = []
      if isReal { exceptions.append("EXISTS (SELECT 1 FROM \(table) WHERE \(column) >= X'')") }
      if hasDefault { exceptions.append("EXISTS (SELECT 1 FROM \(table) WHERE \(column) IS NULL)") }
      var select = try SQL(db, "SELECT \(exceptions.joined(separator: " OR "))")
      if try select.step(), select.integer(0) == 0 { plain.insert(property) }
    }
    return plain
  }
}
