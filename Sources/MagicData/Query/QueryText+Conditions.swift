internal import MagicJournal

extension QueryText {
  /// The objects that a condition is about: a table under a name of its own.
  struct Subject {
    let type: MappedType
    /// In quotes.
    let name: String
    let table: String

    func column(_ property: Int) -> String {
      "\(name).\(type.quotedColumns[property])"
    }
  }

  /// A condition is "true" or anything else: NULL counts as false, and comes out of AND and OR as if it were. Only NOT asks for
  /// more.
  ///
  /// - Parameter isFound: the objects are found by something else, so that nothing of this is to be looked up beforehand.
  mutating func append(_ condition: Condition, of subject: Subject, isFound: Bool = false, isRoot: Bool = false) {
    switch condition {
    case .compares(let property, let bounds):
      appendComparison(property, bounds, of: subject)
    case .isAny(let property, let values):
      appendValues(property, values, of: subject)
    case .matches(let property, let match):
      add("(")
      append(match, of: subject.column(property))
      appendDefault(property, condition, of: subject)
      add(")")
    case .isNil(let property):
      add(subject.type.standing(property) == nil ? "\(subject.column(property)) IS NULL" : "0")
    case .pair(let left, let comparison, let right):
      appendPair(left, comparison, right, of: subject)
    case .isNamed(let names):
      appendNames(names, of: subject)
    case .holds(let hop, let inner):
      appendHeld(hop, inner, of: subject, isFound: isFound)
    case .count(let hop, let comparison, let number):
      appendCount(hop, comparison, number, of: subject)
    case .all(let parts) where parts.count == 1:
      append(parts[0], of: subject, isFound: isFound)
    case .all(let parts):
      noteChain(of: parts.count)
      // One part finds the objects; the others are asked of those.
      let accesses = isFound ? [] : parts.map { types.access($0, of: subject.type) }
      let finder = accesses.max().flatMap { best in best == .scan ? nil : accesses.firstIndex(of: best) }
      appendAll(
        parts.enumerated().map { ($1, isFound || finder.map { [number = $0] in $0 != number } ?? false) }[...], " AND ",
        none: "1",
        of: subject, isRoot: isRoot)
    case .any(let parts):
      noteChain(of: parts.count)
      appendAll(parts.map { ($0, isFound) }[...], " OR ", none: "0", of: subject, isRoot: false)
    case .not(let inner):
      add("(")
      append(inner, of: subject, isFound: isFound)
      add(") IS NOT TRUE")
    }
  }

  /// A long chain has a text for each length, and no other to be filled up to.
  private mutating func noteChain(of count: Int) {
    if count > QueryText.mostSharedParts { isOneLength = true }
  }

  /// Halves within halves: SQLite takes expressions of a depth of 1,000. The ANDs of the root, if they are not so many, stay in
  /// a row, as one with what is before them.
  private mutating func appendAll(
    _ parts: ArraySlice<(Condition, isFound: Bool)>, _ word: String, none: String, of subject: Subject, isRoot: Bool
  ) {
    guard let first = parts.first else { return add(none) }
    guard parts.count > 1 else { return append(first.0, of: subject, isFound: first.isFound) }
    let middle = parts.startIndex + parts.count / 2
    let isInRow = isRoot && parts.count <= Statements.mostInRow
    if !isInRow { add("(") }
    appendAll(parts[..<middle], word, none: none, of: subject, isRoot: isRoot)
    add(word)
    appendAll(parts[middle...], word, none: none, of: subject, isRoot: isRoot)
    if !isInRow { add(")") }
  }

  private mutating func appendComparison(_ property: Int, _ bounds: [Condition.Bound], of subject: Subject) {
    let kind = subject.type.layout.properties[property].kind
    guard !bounds.contains(where: { $0.value.isNaN }) else { return add("0") }
    let column = subject.column(property)
    add("(")
    for (number, bound) in bounds.enumerated() {
      if number > 0 { add(" AND ") }
      add(column)
      add(" \(bound.comparison.rawValue) ?", bound.value.withoutSign)
    }
    // Blobs, which NaN and -0.0 are, stand above all numbers (V-11).
    if kind == .real, !bounds.contains(where: { [.less, .lessOrEqual].contains($0.comparison) }) {
      add(" AND \(column) <= 9e999")
    }
    appendExceptions(property, .compares(property, bounds), of: subject)
    add(")")
  }

  private mutating func appendValues(_ property: Int, _ listed: [Value], of subject: Subject) {
    let values = listed.filter { !$0.isNaN }.map(\.withoutSign)
    guard !values.isEmpty else { return add("0") }
    add("(\(subject.column(property)) IN ")
    appendList(values)
    appendExceptions(property, .isAny(property, values), of: subject)
    add(")")
  }

  private mutating func append(_ match: TextMatch, of column: String) {
    let text = match.options.folding(column)
    switch match.place {
    case .whole: add("\(text) = ?", .text(match.part))
    case .beginning: add("instr(\(text), ?) = 1", .text(match.part))
    // By bytes, of which a text may hold any. Of none SQLite takes all.
    case .end where !match.part.isEmpty:
      let suffix = Array(match.part.utf8)
      add("substr(CAST(\(text) AS BLOB), ?) = ?", .integer(Int64(-suffix.count)))
      bind([.bytes(suffix)])
    case .end, .anywhere: add("instr(\(text), ?) > 0", .text(match.part))
    }
  }

  /// One place or one name at most for each.
  private mutating func appendNames(_ names: [ObjectName], of subject: Subject) {
    let stored = subject.type.stored
    var (zIndexes, primaries): ([Value], [Value]) = ([], [])
    for name in names {
      if let place = name.place, place.database == types.database {
        zIndexes.append(.integer(place.zIndex))
      } else if let primary = name.primary {
        primaries.append(primary)
      }
    }
    let key = "\(subject.name).\(Statements.quoted(stored.keyColumn))"
    switch (zIndexes.isEmpty, primaries.isEmpty) {
    case (true, true): add("0")
    case (false, true): appendEqual("\(subject.name).z_index", zIndexes)
    // A number means the object that has it, however it was given (J-28).
    case (true, false): appendEqual(key, primaries)
    case (false, false):
      add("(")
      appendEqual("\(subject.name).z_index", zIndexes)
      add(" OR ")
      appendEqual(key, primaries)
      add(")")
    }
  }

  private mutating func appendEqual(_ column: String, _ values: [Value]) {
    if values.count == 1 { return add("\(column) = ?", values[0]) }
    add("\(column) IN ")
    appendList(values)
  }

  /// Filled up to a power of two, so that lists of different lengths share their statements: short ones, since a query takes so
  /// many values at most.
  mutating func appendList(_ listed: [Value]) {
    var count = 1
    while count < listed.count { count *= 2 }
    if count > 1_024 || hasMany {
      count = listed.count
      isOneLength = true
    }
    add("(\(Array(repeating: "?", count: count).joined(separator: ", ")))")
    bind(listed)
    if let last = listed.last { bind(Array(repeating: last, count: count - listed.count)) }
  }

  private mutating func appendPair(
    _ left: PropertyRoute, _ comparison: Comparison, _ right: PropertyRoute, of subject: Subject
  ) {
    let isReal = end(of: left, from: subject.type).map { $0.layout.properties[left.property].kind == .real } ?? false
    add("(")
    appendExpression(left, of: subject)
    // Both may be nil, and equal.
    add(comparison == .equal ? " IS " : " \(comparison.rawValue) ")
    appendExpression(right, of: subject)
    if isReal {
      for route in [left, right] {
        add(" AND coalesce(")
        appendExpression(route, of: subject)
        add(", 0.0) <= 9e999")
      }
    }
    add(")")
  }

  // MARK: Columns

  private mutating func appendExceptions(_ property: Int, _ condition: Condition, of subject: Subject) {
    if subject.type.layout.properties[property].kind == .real, exceptions.arePossible(in: property, of: subject.type),
      condition.holds(.real(0))
    {
      add(" OR \(subject.column(property)) = \(QueryText.negativeZero)")
    }
    appendDefault(property, condition, of: subject)
  }

  private mutating func appendDefault(_ property: Int, _ condition: Condition, of subject: Subject) {
    guard let value = subject.type.standing(property), exceptions.arePossible(in: property, of: subject.type),
      condition.holds(value)
    else { return }
    add(" OR \(subject.column(property)) IS NULL")
  }

  /// The value as it compares, where no constant is compared with it. All NaNs are one, behind all numbers.
  mutating func appendValue(_ property: Int, of subject: Subject) {
    let column = subject.column(property)
    guard exceptions.arePossible(in: property, of: subject.type) else { return add(column) }
    let isReal = subject.type.layout.properties[property].kind == .real
    let value =
      isReal
      ? "CASE WHEN \(column) = \(QueryText.negativeZero) THEN 0.0 WHEN \(column) > 9e999 THEN X'' ELSE \(column) END" : column
    guard let standing = subject.type.standing(property) else { return add(value) }
    add("coalesce(\(value), ?)", standing.isNaN ? .bytes([]) : standing.withoutSign)
  }

  /// As it is stored (V-11).
  private static let negativeZero = "X'8000000000000000'"
}

extension Value {
  fileprivate var isNaN: Bool { if case .real(let number) = self { number.isNaN } else { false } }

  /// -0.0 is bound as a blob, and equal to 0.0.
  fileprivate var withoutSign: Value { if case .real(0) = self { .real(0) } else { self } }
}
