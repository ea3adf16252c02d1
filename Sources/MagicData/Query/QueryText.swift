internal import GRDB
internal import MagicJournal

/// A query's SQL for one database, with what is bound to it.
struct QueryText {
  private(set) var sql = ""
  private var values: [Value] = []
  let types: QueryTypes
  let exceptions: ColumnExceptions
  /// Whether it may come again with other values: a long list, or chain, has a text for each length, and such a statement takes
  /// a hundred kilobytes and more.
  var isShared: Bool { !isOneLength && values.count <= QueryText.mostShared }
  /// Whether it has a list, or a chain, of a length that hardly comes again.
  var isOneLength = false
  /// The names of the tables in whose scope the text is.
  var names = TakenNames()

  /// SQLite's own limit on question marks (https://sqlite.org/limits.html, 9).
  static let mostValues = 32_766

  /// The values of a text that is kept for others: above what a list is filled up to, with room for what is asked beside it.
  private static let mostShared = 1_536

  /// The parts of a chain in such a text: an app writes so many, and those of a longer one come from a loop.
  static let mostSharedParts = 32

  private init(_ plan: QueryPlan, _ types: QueryTypes, _ db: Connection) throws {
    try plan.check()
    self.types = types
    exceptions = try ColumnExceptions(types.doubtful, db)
    // So that they need not grow.
    sql.reserveCapacity(500)
    values.reserveCapacity(4)
  }

  func statement(_ db: Connection) throws -> SQL {
    try checkValues()
    var statement = try SQL(db, sql, isKept: isShared)
    try bind(to: &statement)
    return statement
  }

  /// So many that lists are no longer filled up, since a query takes so many at most.
  var hasMany: Bool { values.count > 2_048 }

  var hasTooManyValues: Bool { values.count > QueryText.mostValues }

  /// Before SQLite says so, in its words.
  private func checkValues() throws {
    guard !hasTooManyValues else {
      throw MagicDataError(.tooLarge, "a query takes at most \(QueryText.mostValues) values; ask for less at once")
    }
  }

  func bind(to statement: inout SQL) throws {
    for value in values { try statement.bind(value) }
  }

  // MARK: Running

  /// The z indexes of the objects that `keys` asks for, and what names them.
  func keys(_ db: Connection) throws -> [(zIndex: Int64, key: ObjectKey)] {
    let stored = types.type.stored
    var select = try statement(db)
    var keys: [(zIndex: Int64, key: ObjectKey)] = []
    while try select.step() {
      keys.append((select.integer(0), try ObjectKey(value: select.value(1, stored.keyKind), of: stored.schema)))
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

  /// What `FetchedRows` reads. Which objects can be shown and read is asked by SQL only if it tells how many come: who makes
  /// objects of the rows finds out by the way.
  static func objects(_ plan: QueryPlan, _ types: QueryTypes, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.select(types.type.columnNames, shown: plan.isPart, isRead: plan.offset == 0)
    text.append(plan, of: all, readable: plan.isPart)
    return text
  }

  /// The text for `RowFunction`, in no order. SQLite finds the rows on the same way, and has nothing to sort on it.
  static func taken(_ plan: QueryPlan, _ types: QueryTypes, in order: RowOrder, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.subject(types.type)
    text.add(RowFunction.start)
    text.add(types.type.columnNames)
    text.add(") FROM ")
    // What an index tells alone is asked of it alone. Where SQLite follows it to the rows itself, it takes the index's columns
    // of each from the index again.
    let isOfIndexAlone = if case .property(let property) = order { plan.condition.isOnly(about: property) } else { false }
    if isOfIndexAlone { text.add("(SELECT z_index FROM ") }
    text.add(all.table)
    text.add(" WHERE ")
    text.append(plan.condition, of: all, isRoot: true)
    if isOfIndexAlone {
      text.add(") CROSS JOIN ")
      text.add(all.table)
      text.add(" USING (z_index)")
    }
    try text.checkValues()
    return text
  }

  /// The z indexes, and the keys.
  static func keys(_ plan: QueryPlan, _ types: QueryTypes, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.select("z_index, \(types.type.stored.name)")
    text.append(plan, of: all)
    return text
  }

  static func count(_ plan: QueryPlan, _ types: QueryTypes, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    // An index may have all that the count asks about, if that is not also what each row has. Behind a relation something is
    // looked at for each in any case, and SQLite lets texts stand within each other only so deep.
    if let hidden = types.type.hidden, plan.targets.isEmpty {
      text.add("SELECT CASE WHEN \(types.type.stored.anyHidden(hidden)) THEN (")
      text.appendCount(plan)
      text.add(") ELSE (")
      text.appendCount(plan, shown: false)
      text.add(") END")
      // One that is not kept is compiled each time, and once is enough.
      if text.isShared { return text }
      text = try QueryText(plan, types, db)
    }
    text.appendCount(plan)
    return text
  }

  /// - Parameter shown: whether it is asked of each.
  private mutating func appendCount(_ plan: QueryPlan, shown: Bool = true) {
    guard shown || plan.isPart || !plan.condition.isAlways || types.type.layout.hasReaders else {
      // With any condition, whatever it comes to, SQLite would go through the table.
      return add("SELECT count(*) FROM \(types.type.stored.quotedTable)")
    }
    inScope { text in
      if plan.isPart { text.add("SELECT count(*) FROM (") }
      let all = text.select(plan.isPart ? "1" : "count(*)", shown: shown, isRead: false)
      text.append(plan.condition, of: all, isRoot: true)
      text.appendReadable(all)
      guard plan.isPart else { return }
      text.appendPart(plan)
      text.add(")")
    }
  }

  /// How many values of a property there are, with what they come to: of integers the sums of their upper and of their lower
  /// halves, of reals the sum, and whether one is NaN.
  static func total(
    of route: PropertyRoute, isReal: Bool, _ plan: QueryPlan, _ types: QueryTypes, _ db: Connection
  ) throws -> QueryText {
    // A NaN stands as a blob behind all numbers.
    let sums = isReal ? "sum(value), max(value) > 9e999" : "sum(value >> 32), sum(value & 4294967295)"
    return try values(of: route, plan, types, db, isRead: false, "SELECT count(value), \(sums) FROM (", ")")
  }

  /// The least or the greatest value of a property that is neither nil nor NaN.
  static func extreme(
    of route: PropertyRoute, isReal: Bool, isDescending: Bool, _ plan: QueryPlan, _ types: QueryTypes, _ db: Connection
  ) throws -> QueryText {
    let condition = isReal ? "value <= 9e999" : "value IS NOT NULL"
    let order = isDescending ? "DESC" : "ASC"
    return try values(
      of: route, plan, types, db, isRead: true, "SELECT value FROM (",
      ") WHERE \(condition) ORDER BY value \(order) LIMIT 1")
  }

  private static func values(
    of route: PropertyRoute, _ plan: QueryPlan, _ types: QueryTypes, _ db: Connection, isRead: Bool, _ before: String,
    _ behind: String
  ) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.subject(types.type)
    text.add(before)
    text.add("SELECT ")
    text.appendExpression(route, of: all)
    text.add(" AS value FROM \(all.table) WHERE ")
    text.appendShown(all, isRead: isRead)
    if plan.isPart {
      text.append(plan, of: all)
    } else {
      text.append(plan.condition, of: all, isRoot: true)
      text.appendReadable(all)
      // Else SQLite would follow the relations each time that the value is named.
      if !route.hops.isEmpty { text.add(" LIMIT -1") }
    }
    text.add(behind)
    return text
  }

  /// Some of the objects, in the order of their z indexes, if they (still) fulfil the condition.
  static func objects(_ plan: QueryPlan, at zIndexes: [Int64], _ types: QueryTypes, _ db: Connection) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.select(types.type.columnNames)
    text.add("z_index IN ")
    text.appendList(zIndexes.map { .integer($0) })
    // Out of the planner's sight, so that the z indexes are looked up.
    text.add(" AND CASE WHEN ")
    text.append(plan.condition, of: all, isFound: true, isRoot: true)
    text.appendReadable(all)
    text.add(" THEN 1 END ORDER BY z_index")
    return text
  }

  /// The first of the objects behind a z index, in that order.
  static func objects(
    _ plan: QueryPlan, after zIndex: Int64, count: Int, _ types: QueryTypes, _ db: Connection
  ) throws -> QueryText {
    var text = try QueryText(plan, types, db)
    let all = text.select(types.type.columnNames)
    text.add("z_index > ? AND ", .integer(zIndex))
    text.append(plan.condition, of: all, isFound: true, isRoot: true)
    text.appendReadable(all)
    text.add(" ORDER BY z_index LIMIT ?", .integer(Int64(count)))
    return text
  }

  // MARK: Parts

  mutating func add(_ text: String) {
    sql += text
  }

  mutating func add(_ text: String, _ bound: Value) {
    sql += text
    values.append(bound)
  }

  mutating func bind(_ more: [Value]) {
    values += more
  }

  /// Up to the condition.
  ///
  /// - Parameters:
  ///   - shown: whether only what can be shown is asked for.
  ///   - isRead: whether the rows are looked at in any case, or hardly any.
  private mutating func select(_ columns: String, shown: Bool = true, isRead: Bool = true) -> Subject {
    let all = subject(types.type)
    add("SELECT \(columns) FROM \(all.table) WHERE ")
    if shown { appendShown(all, isRead: isRead) }
    return all
  }

  private mutating func append(_ plan: QueryPlan, of all: Subject, readable: Bool = true) {
    append(plan.condition, of: all, isRoot: true)
    if readable { appendReadable(all) }
    add(" ORDER BY ")
    for key in plan.order {
      appendKey(key, of: all)
      add(key.isDescending ? " DESC, " : ", ")
    }
    // Without statistics SQLite takes a range for so many rows that it would rather read all of them in the order of the z
    // index.
    let access = types.access(plan.condition, of: types.type)
    add(plan.order.isEmpty && access != .scan && access != .point ? "+z_index" : "z_index")
    appendPart(plan)
  }

  private mutating func appendKey(_ key: QueryPlan.Key, of all: Subject) {
    guard !key.options.isEmpty else { return appendExpression(key.route, of: all) }
    add(key.options.start)
    appendExpression(key.route, of: all)
    add(")")
  }

  private mutating func appendPart(_ plan: QueryPlan) {
    guard plan.isPart else { return }
    add(" LIMIT ?", .integer(Int64(plan.limit ?? -1)))
    if plan.offset > 0 { add(" OFFSET ?", .integer(Int64(plan.offset))) }
  }
}
