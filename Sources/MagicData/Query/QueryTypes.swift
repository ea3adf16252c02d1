internal import MagicJournal

/// Where the types are that a query asks about.
struct QueryTypes: Sendable {
  /// Names the file.
  let database: Identifier
  let type: MappedType
  /// Those behind relations, without those of which the database has never had objects.
  private let related: [MappedType]
  /// The columns at which the query has to look first.
  private(set) var doubtful: [ColumnExceptions.Column] = []

  init(_ plan: QueryPlan, _ type: MappedType, related: [MappedType], in store: Store) {
    database = store.id
    self.type = type
    self.related = related
    doubtful = plan.doubtful(self)
  }

  func target(of hop: Hop) -> MappedType? { related.first { $0.layout.type == hop.target } }

  /// How a condition finds the objects of a type that fulfil it.
  func access(_ condition: Condition, of type: MappedType) -> Access {
    switch condition {
    case .isNamed(let names): names.count == 1 ? .point : .list
    case .compares(let property, let bounds):
      !type.isIndexed(property) ? .scan : bounds.contains { $0.comparison == .equal } ? .point : .range
    case .isNil(let property): type.isIndexed(property) ? .point : .scan
    case .isAny(let property, _): type.isIndexed(property) ? .list : .scan
    case .holds(let hop, let inner): access(over: hop, inner)
    case .all(let parts): parts.map { access($0, of: type) }.max() ?? .scan
    case .any(let parts): parts.map { access($0, of: type) }.min() ?? .scan
    case .matches, .pair, .count, .not: .scan
    }
  }

  /// The order of a query's rows, if SQLite may be expected to find them in that without sorting, and all of them are asked
  /// for.
  func rowOrder(_ plan: QueryPlan) -> RowOrder? {
    guard !plan.isPart, type.takeAll != nil else { return nil }
    let access = access(plan.condition, of: type)
    guard let key = plan.order.first else { return access == .scan || access == .point ? .zIndex : nil }
    let property = key.route.property
    guard plan.order.count == 1, !key.isDescending, access == .range, key.route.hops.isEmpty,
      plan.condition.isWithinBounds(of: property), [.integer, .real].contains(type.layout.properties[property].kind)
    else { return nil }
    return .property(property)
  }

  /// The numbers of a query that asks for all objects between two of them, in their order or in any, and for nothing else.
  func numbers(_ plan: QueryPlan) -> ClosedRange<Int64>? {
    guard type.hasNumbers, !plan.isPart, let primary = type.layout.primary,
      plan.order.allSatisfy({ $0.route.hops.isEmpty && $0.route.property == primary && !$0.isDescending }),
      plan.condition.isOnly(about: primary)
    else { return nil }
    var (lower, upper) = (Int64?.none, Int64?.none)
    for bound in plan.condition.bounds {
      guard case .integer(let number) = bound.value, Int64.min + 1..<Int64.max ~= number else { return nil }
      switch bound.comparison {
      case .greater: lower = max(lower ?? .min, number + 1)
      case .greaterOrEqual: lower = max(lower ?? .min, number)
      case .less: upper = min(upper ?? .max, number - 1)
      case .lessOrEqual: upper = min(upper ?? .max, number)
      case .equal: return nil
      }
    }
    guard let lower, let upper, lower <= upper else { return nil }
    return lower...upper
  }

  private func access(over hop: Hop, _ inner: Condition) -> Access {
    // There is none of these objects: nothing to be looked up.
    guard let target = target(of: hop) else { return .related(.point) }
    if !hop.isMany, target.isOne(inner) { return .point }
    // Whether there is any object is asked of each owner.
    return inner.isAlways ? .scan : .related(access(inner, of: target))
  }

  /// What can be looked up best comes last.
  enum Access: Int, Comparable {
    case scan
    /// All objects of another type are looked through, and then their owners looked up.
    case scanOfRelated
    case rangeOfRelated
    case range
    case listOfRelated
    case list
    /// One value, so that what is found comes in the order of the z index.
    case point

    static func related(_ access: Access) -> Access {
      switch access {
      case .scan, .scanOfRelated: .scanOfRelated
      case .range, .rangeOfRelated: .rangeOfRelated
      case .list, .listOfRelated, .point: .listOfRelated
      }
    }

    static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }
  }
}

extension Condition {
  /// Whether every object fulfils it.
  var isAlways: Bool { if case .all(let parts) = self { parts.allSatisfy(\.isAlways) } else { false } }

  /// Whether what fulfils it has a value of a property within bounds.
  func isWithinBounds(of property: Int) -> Bool {
    switch self {
    case .compares(let compared, _): compared == property
    case .all(let parts): parts.contains { $0.isWithinBounds(of: property) }
    default: false
    }
  }

  /// Whether it is about the bounds of one property, and nothing else.
  func isOnly(about property: Int) -> Bool {
    switch self {
    case .compares(let compared, _): compared == property
    case .all(let parts): parts.allSatisfy { $0.isOnly(about: property) }
    default: false
    }
  }

  /// All bounds of one that is about nothing else.
  fileprivate var bounds: [Bound] {
    switch self {
    case .compares(_, let bounds): bounds
    case .all(let parts): parts.flatMap(\.bounds)
    default: []
    }
  }
}

extension QueryPlan {
  /// The types behind relations that it asks about.
  var targets: [any MagicObject.Type] {
    var targets: [any MagicObject.Type] = []
    func visit(_ condition: Condition) {
      condition.forEachRoute(
        { targets += $0.hops.map(\.target) },
        { hop, inner in
          targets.append(hop.target)
          visit(inner)
        })
    }
    visit(condition)
    return targets + order.flatMap { $0.route.hops.map(\.target) }
  }
}

extension MappedType {
  /// Whether one object at most fulfils a condition.
  func isOne(_ condition: Condition) -> Bool {
    switch condition {
    case .isNamed(let names): names.count == 1
    case .compares(let property, let bounds): property == layout.primary && bounds.contains { $0.comparison == .equal }
    case .all(let parts): parts.contains(where: isOne)
    default: false
    }
  }

  /// Whether a property's column can be looked up.
  func isIndexed(_ property: Int) -> Bool {
    property == layout.primary || layout.indexes.contains { $0.first == property }
  }
}
