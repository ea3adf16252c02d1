internal import MagicJournal

/// Conditions on objects that others hold.
///
/// Each of them has two forms. One looks up the objects that fulfil the condition, by an index of their own type if there is
/// one, and through the relation's index those that hold them: `author IN (SELECT z_index FROM Author WHERE name = ?)`. The
/// other is asked of an owner that is found already: `EXISTS (… WHERE z_index = author AND name = ?)`, which takes a look-up
/// for each.
extension QueryText {
  // MARK: Names

  /// A table that comes into scope, under its own name or, if that is there already, `Author~2` and so on.
  mutating func subject(_ type: MappedType) -> Subject {
    let (name, table) = named(type.stored.quotedTable, type.stored.table)
    return Subject(type: type, name: name, table: table)
  }

  /// - Returns: the name in quotes, and what stands behind `FROM`.
  private mutating func named(_ quoted: String, _ table: String) -> (name: String, table: String) {
    let name = names.take(table)
    return name == table ? (quoted, quoted) : (Statements.quoted(name), "\(quoted) AS \(Statements.quoted(name))")
  }

  mutating func inScope(_ body: (inout QueryText) -> Void) {
    let outer = names
    body(&self)
    names = outer
  }

  // MARK: Conditions

  mutating func appendHeld(_ hop: Hop, _ inner: Condition, of owner: Subject, isFound: Bool) {
    guard let type = types.target(of: hop), let relation = owner.type.relation(hop) else { return add("0") }
    let isAsked = isFound || inner.isAlways
    let isOne = !hop.isMany && type.isOne(inner)
    inScope { text in
      let target = text.subject(type)
      if hop.isMany {
        let (links, table) = text.named(relation.table, relation.unquoted)
        text.add(
          isAsked
            ? "EXISTS (SELECT 1 FROM \(table) CROSS JOIN \(target.table) ON \(target.name).z_index = \(links).target "
              + "WHERE \(links).owner = \(owner.name).z_index AND "
            : "\(owner.name).z_index IN (SELECT \(links).owner FROM \(target.table) CROSS JOIN \(table) "
              + "ON \(links).target = \(target.name).z_index WHERE ")
      } else {
        let column = owner.column(hop.property)
        text.add(
          isOne
            ? "\(column) = (SELECT \(target.name).z_index FROM \(target.table) WHERE "
            : isAsked
              ? "EXISTS (SELECT 1 FROM \(target.table) WHERE \(target.name).z_index = \(column) AND "
              : "\(column) IN (SELECT \(target.name).z_index FROM \(target.table) WHERE ")
      }
      text.appendShown(target)
      text.append(inner, of: target, isFound: isAsked && !isOne, isRoot: true)
      text.appendReadable(target)
      text.add(")")
    }
  }

  mutating func appendCount(_ hop: Hop, _ comparison: Comparison, _ number: Int, of owner: Subject) {
    guard let type = types.target(of: hop), let relation = owner.type.relation(hop) else {
      return add(comparison.holds(0, number) ? "1" : "0")
    }
    inScope { text in
      let target = text.subject(type)
      let (links, table) = text.named(relation.table, relation.unquoted)
      text.add(
        "(SELECT count(*) FROM \(table) CROSS JOIN \(target.table) ON \(target.name).z_index = \(links).target "
          + "WHERE \(links).owner = \(owner.name).z_index AND ")
      text.appendShown(target)
      text.add("1")
      text.appendReadable(target)
      text.add(") \(comparison.rawValue) ?", .integer(Int64(number)))
    }
  }

  /// That an object can be shown, followed by AND (M-6).
  ///
  /// - Parameter isRead: whether its row is looked at in any case. One of the query's own type need not be.
  mutating func appendShown(_ subject: Subject, isRead: Bool = true) {
    let (type, name) = (subject.type, subject.name)
    guard name == type.stored.quotedTable else { return add(type.stored.shownFirst(type.required, as: name)) }
    add(isRead ? type.shown : type.shownUnlessAll)
  }

  /// After a condition, that an object's required values can be read as their types, as far as that is in doubt.
  mutating func appendReadable(_ subject: Subject) {
    let (type, stored) = (subject.type, subject.type.stored)
    guard type.layout.hasReaders else { return }
    let readable = type.layout.properties.enumerated().compactMap { index, property in
      property.reader.map { reader in
        let former = (type.formerFields[index] ?? []).map { ", \(subject.name).\(Statements.quoted(stored.columns[$0]))" }
        return "magic_reads(\(reader), \(subject.column(index))\(former.joined()))"
      }
    }
    add(" AND " + Statements.all(readable))
  }

  // MARK: Values

  /// A property's value as it compares and sorts; NULL behind an object that is not there.
  mutating func appendExpression(_ route: PropertyRoute, of subject: Subject) {
    guard let hop = route.hops.first else { return appendValue(route.property, of: subject) }
    guard let type = types.target(of: hop) else { return add("NULL") }
    inScope { text in
      let target = text.subject(type)
      text.add("(SELECT ")
      text.appendExpression(PropertyRoute(hops: Array(route.hops.dropFirst()), property: route.property), of: target)
      text.add(" FROM \(target.table) WHERE ")
      text.appendShown(target)
      text.add("\(target.name).z_index = \(subject.column(hop.property))")
      text.appendReadable(target)
      text.add(")")
    }
  }

  /// The type that a property at the end of a way is of.
  func end(of route: PropertyRoute, from type: MappedType) -> MappedType? {
    route.hops.last.map { types.target(of: $0) } ?? type
  }
}

extension MappedType {
  fileprivate func relation(_ hop: Hop) -> StoredRelation? { fields[hop.property].flatMap { stored.relations[$0] } }
}
