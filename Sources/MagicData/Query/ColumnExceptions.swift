internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// Columns where something stands that SQL would compare in another way than Swift: NULL for a default, and -0.0 and NaN as
/// blobs.
///
/// That is rare, and what it asks for (`OR c IS NULL`, a `CASE` in the order) keeps SQLite from reading an index in its order.
/// Where there is an index that leads with the column, it can be asked; for one that has it further behind there is another of
/// the exceptions alone.
struct ColumnExceptions {
  /// A property of a type.
  struct Column {
    let type: MappedType
    let property: Int

    func isSame(as other: Column) -> Bool { type === other.type && property == other.property }
  }

  /// Those that were looked at and have none.
  private var plain: [Column] = []

  /// - Parameter doubtful: the query's columns of which only the database can tell.
  init(_ doubtful: [Column], _ db: Connection) throws {
    for column in doubtful {
      try ColumnExceptions.checkKinds(of: column, db)
      if try ColumnExceptions.areNone(in: column, db) { plain.append(column) }
    }
  }

  func arePossible(in property: Int, of type: MappedType) -> Bool {
    let column = Column(type: type, property: property)
    return column.mayHaveExceptions && !plain.contains { $0.isSame(as: column) }
  }

  /// A value that is stored in a former kind is converted by Swift, where SQL cannot see it.
  private static func checkKinds(of column: Column, _ db: Connection) throws {
    let (type, property) = (column.type, column.property)
    guard let field = type.fields[property], let group = type.formerFields[property] else { return }
    // It goes through the whole table if there are none. What a transaction has written that is under way may be rolled back,
    // and the next one have its place.
    let position = sqlite3_txn_state(db.sqliteConnection, nil) == SQLITE_TXN_WRITE ? nil : try JournalPosition(db)
    guard position == nil || type.withoutFormer.withLock({ $0[property] }) != position else { return }
    let own = Statements.quoted(type.stored.columns[field])
    let former = group.map { "\(Statements.quoted(type.stored.columns[$0])) IS NOT NULL" }.joined(separator: " OR ")
    var select = try SQL(
      db, "SELECT EXISTS (SELECT 1 FROM \(Statements.quoted(type.stored.table)) WHERE \(own) IS NULL AND (\(former)))")
    if try select.step(), select.integer(0) != 0 {
      let name = "\(type.layout.name).\(type.layout.properties[property].name)"
      throw MagicDataError(
        .query,
        "\(name) has values of a former kind, which a query cannot compare; give them another value in all objects first")
    }
    if let position { type.withoutFormer.withLock { $0[property] = position } }
  }

  private static func areNone(in column: Column, _ db: Connection) throws -> Bool {
    guard column.mayHaveExceptions, column.canBeAsked else { return false }
    let table = Statements.quoted(column.type.stored.table)
    let exceptions = column.exceptions.map { "EXISTS (SELECT 1 FROM \(table) WHERE \($0))" }
    var select = try SQL(db, "SELECT \(exceptions.joined(separator: " OR "))")
    return try select.step() && select.integer(0) == 0
  }
}

extension ColumnExceptions.Column {
  private var isReal: Bool { type.layout.properties[property].kind == .real }
  private var hasDefault: Bool { type.standing(property) != nil }
  fileprivate var mayHaveExceptions: Bool { type.fields[property] != nil && (isReal || hasDefault) }

  /// What is true of an exception, each in SQL.
  fileprivate var exceptions: [String] {
    guard let field = type.fields[property] else { return [] }
    let name = Statements.quoted(type.stored.columns[field])
    return (isReal ? ["\(name) >= X''"] : []) + (hasDefault ? ["\(name) IS NULL"] : [])
  }

  fileprivate var canBeAsked: Bool {
    type.hasIndexes && (type.isIndexed(property) || type.layout.indexes.contains { $0.contains(property) })
  }

  fileprivate var isDoubtful: Bool { type.formerFields[property] != nil || mayHaveExceptions && canBeAsked }

  /// Which rows an index of the exceptions alone has; `nil` if there are none, or an index of the column finds them.
  var exceptionIndex: String? {
    mayHaveExceptions && canBeAsked && !type.isIndexed(property) ? exceptions.joined(separator: " OR ") : nil
  }
}

extension QueryPlan {
  /// The columns that it asks about of which only the database can tell whether they have exceptions.
  func doubtful(_ types: QueryTypes) -> [ColumnExceptions.Column] {
    var doubtful: [ColumnExceptions.Column] = []
    func see(_ route: PropertyRoute, of type: MappedType) {
      guard let hop = route.hops.first else {
        let column = ColumnExceptions.Column(type: type, property: route.property)
        if column.isDoubtful, !doubtful.contains(where: { $0.isSame(as: column) }) { doubtful.append(column) }
        return
      }
      if let target = types.target(of: hop) {
        see(PropertyRoute(hops: Array(route.hops.dropFirst()), property: route.property), of: target)
      }
    }
    func visit(_ condition: Condition, of type: MappedType) {
      condition.forEachRoute(
        { see($0, of: type) }, { hop, inner in if let target = types.target(of: hop) { visit(inner, of: target) } })
    }
    visit(condition, of: types.type)
    for key in order { see(key.route, of: types.type) }
    return doubtful
  }
}

extension MappedType {
  /// The value that stands for what is not stored.
  func standing(_ property: Int) -> Value? {
    guard let value = layout.fillIns[property] ?? layout.properties[property].initial, value != .null else { return nil }
    return value
  }
}
