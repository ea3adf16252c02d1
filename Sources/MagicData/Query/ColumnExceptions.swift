internal import GRDB
internal import MagicJournal

/// Columns where something stands that SQL would compare in another way than Swift: NULL for a default, and -0.0 and NaN as blobs.
///
/// That is rare, and what it asks for (`OR c IS NULL`, a `CASE` in the order) keeps SQLite from reading an index in its order. Where there is
/// an index, it can be asked.
struct ColumnExceptions {
  /// By type: the properties of a query with columns that have none.
  private var plain: [ObjectIdentifier: PropertySet] = [:]

  init(_ plan: QueryPlan, _ types: QueryTypes, _ db: Connection) throws {
    for (type, properties) in plan.properties(types) {
      try ColumnExceptions.checkKinds(of: properties, type, db)
      plain[ObjectIdentifier(type)] = try ColumnExceptions.none(of: properties, type, db)
    }
  }

  func arePossible(in property: Int, of type: MappedType) -> Bool {
    !(plain[ObjectIdentifier(type)]?.contains(property) ?? false)
  }

  /// A value that is stored in a former kind is converted by Swift, where SQL cannot see it.
  private static func checkKinds(of properties: Set<Int>, _ type: MappedType, _ db: Connection) throws {
    guard !type.former.isEmpty else { return }
    for property in properties {
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

  private static func none(of properties: Set<Int>, _ type: MappedType, _ db: Connection) throws -> PropertySet {
    var plain = PropertySet()
    for property in properties {
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

extension QueryPlan {
  /// The values that it asks about, by type.
  fileprivate func properties(_ types: QueryTypes) -> [(MappedType, Set<Int>)] {
    var seen: [ObjectIdentifier: (MappedType, Set<Int>)] = [:]
    func see(_ route: PropertyRoute, of type: MappedType) {
      guard let hop = route.hops.first else {
        seen[ObjectIdentifier(type), default: (type, [])].1.insert(route.property)
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
    return Array(seen.values)
  }
}

extension MappedType {
  /// The value that stands for what is not stored.
  func standing(_ property: Int) -> Value? {
    guard let value = layout.fillIns[property] ?? layout.properties[property].initial, value != .null else { return nil }
    return value
  }
}
