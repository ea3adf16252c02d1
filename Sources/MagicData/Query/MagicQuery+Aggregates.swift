internal import MagicJournal

extension MagicQuery {
  /// What the values of a property come to together, 0 if there are none. No object is loaded.
  ///
  /// Nil adds nothing, and with a NaN among them the sum is NaN. `\.author?.age` is a property of an object that each holds.
  /// - Throws: ``MagicDataError`` with `value` if the sum of integers is more than one holds (one of reals is infinite then),
  ///   `query` if the values are not stored as numbers. Else as ``all()``.
  /// - Complexity: as ``count()``.
  public nonisolated(nonsending) func sum<Number: MagicOrdered & Numeric>(
    of property: KeyPath<Object, Number>
  ) async throws -> Number {
    try await sum(of: property, as: Number.self)
  }

  /// The sum of a property that may be nil: of the values that are there.
  public nonisolated(nonsending) func sum<Number: MagicOrdered & Numeric>(
    of property: KeyPath<Object, Number?>
  ) async throws -> Number {
    try await sum(of: property, as: Number.self)
  }

  /// The mean of a property's values as they are stored: the sum through their count; `nil` if there are none.
  /// - Throws: `query` if the values are not stored as numbers. Else as ``all()``.
  /// - Complexity: as ``count()``.
  public nonisolated(nonsending) func average<Number: MagicOrdered & Numeric>(
    of property: KeyPath<Object, Number>
  ) async throws -> Double? {
    try await total(of: property, Number.magicKind)?.average
  }

  /// The average of a property that may be nil: of the values that are there.
  public nonisolated(nonsending) func average<Number: MagicOrdered & Numeric>(
    of property: KeyPath<Object, Number?>
  ) async throws -> Double? {
    try await total(of: property, Number.magicKind)?.average
  }

  /// The least of a property's values, which neither nil nor NaN is; `nil` if there are none.
  /// - Throws: as ``all()``.
  /// - Complexity: as ``first()`` of what is sorted by the property, or, of a part, as ``all()``, but for the objects.
  public nonisolated(nonsending) func min<Ordered: MagicOrdered>(
    of property: KeyPath<Object, Ordered>
  ) async throws -> Ordered? {
    try await extreme(of: property, .ascending)
  }

  /// The lowest value of a property that may be nil.
  public nonisolated(nonsending) func min<Ordered: MagicOrdered>(
    of property: KeyPath<Object, Ordered?>
  ) async throws -> Ordered? {
    try await extreme(of: property, .ascending)
  }

  /// The greatest of a property's values, which neither nil nor NaN is; `nil` if there are none.
  /// - Throws: as ``all()``.
  /// - Complexity: as ``first()`` of what is sorted by the property, or, of a part, as ``all()``, but for the objects.
  public nonisolated(nonsending) func max<Ordered: MagicOrdered>(
    of property: KeyPath<Object, Ordered>
  ) async throws -> Ordered? {
    try await extreme(of: property, .descending)
  }

  /// The highest value of a property that may be nil.
  public nonisolated(nonsending) func max<Ordered: MagicOrdered>(
    of property: KeyPath<Object, Ordered?>
  ) async throws -> Ordered? {
    try await extreme(of: property, .descending)
  }

  // MARK: Asking

  private nonisolated(nonsending) func sum<Number: MagicOrdered & Numeric>(
    of property: PartialKeyPath<Object>, as: Number.Type
  ) async throws -> Number {
    guard let total = try await total(of: property, Number.magicKind) else { return .zero }
    guard let sum = total.sum else {
      throw MagicDataError(
        .value, "the sum of values of \(Object.magicName) is more than \(Number.self) holds; ask for their average")
    }
    return try Number(magicValue: sum)
  }

  private nonisolated(nonsending) func total(of property: PartialKeyPath<Object>, _ kind: Value.Kind) async throws -> Total? {
    guard kind == .integer || kind == .real else {
      throw MagicDataError(.query, "values of \(Object.magicName) that are stored as \(kind) cannot be added up")
    }
    return try await ask(property) { plan, route, types, db in
      var select = try QueryText.total(of: route, isReal: kind == .real, plan, types, db).statement(db)
      guard try select.step(), select.int(0) > 0 else { return nil }
      return kind == .real
        ? .real(select.isNull(1) || select.int(2) != 0 ? .nan : select.real(1), count: select.int(0))
        : .integers(high: select.integer(1), low: select.integer(2), count: select.int(0))
    }
  }

  private nonisolated(nonsending) func extreme<Ordered: MagicOrdered>(
    of property: PartialKeyPath<Object>, _ direction: Direction
  ) async throws -> Ordered? {
    let found = try await ask(property) { plan, route, types, db in
      let kind = Ordered.magicKind
      var select = try QueryText.extreme(
        of: route, isReal: kind == .real, isDescending: direction == .descending, plan, types, db
      ).statement(db)
      return try select.step() ? select.value(0, kind) : nil
    }
    return try found.map { try Ordered(magicValue: $0) }
  }

  /// `nil` also if the database has never had such objects.
  private nonisolated(nonsending) func ask<Answer: Sendable>(
    _ property: PartialKeyPath<Object>,
    _ body: @Sendable @escaping (QueryPlan, PropertyRoute, QueryTypes, Connection) throws -> Answer?
  ) async throws -> Answer? {
    // It has to be known what is known of a property that is sorted by.
    let sorted = then(by: property)
    guard let (scope, types) = try await sorted.mapped(in: try scope), let route = sorted.plan.order.last?.route else {
      return nil
    }
    let plan = plan
    return try await scope.read(isOneStatement: types.doubtful.isEmpty) { db in try body(plan, route, types, db) }
  }
}

/// What numbers come to.
private enum Total: Sendable {
  /// Their upper and their lower halves, of which SQLite can add up more than a table has.
  case integers(high: Int64, low: Int64, count: Int)
  case real(Double, count: Int)

  /// `nil` if that is more than an integer holds.
  var sum: Value? {
    switch self {
    case .integers(let high, let low, _):
      let upper = high + (low >> 32)
      return Int64(Int32.min)...Int64(Int32.max) ~= upper ? .integer(upper << 32 | low & 0xffff_ffff) : nil
    case .real(let sum, _): return .real(sum)
    }
  }

  var average: Double {
    switch self {
    case .integers(let high, let low, let count): (Double(high) * 0x1p32 + Double(low)) / Double(count)
    case .real(let sum, let count): sum / Double(count)
    }
  }
}
