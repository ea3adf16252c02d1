/// Where the types are that a query asks about.
struct QueryTypes: Sendable {
  let type: MappedType
  /// Those behind relations, without those of which the database has never had objects.
  private let related: [ObjectIdentifier: MappedType]

  init(_ type: MappedType, related: [MappedType] = []) {
    self.type = type
    self.related = Dictionary(related.map { (ObjectIdentifier($0.layout.type), $0) }, uniquingKeysWith: { known, _ in known })
  }

  func target(of hop: Hop) -> MappedType? { related[ObjectIdentifier(hop.target)] }

  /// How a condition finds the objects of a type that fulfil it.
  func access(_ condition: Condition, of type: MappedType) -> Access {
    switch condition {
    case .isNamed(let keys): keys.count == 1 ? .point : .list
    case .compares(let property, let bounds):
      !type.isIndexed(property) ? .scan : bounds.contains { $0.comparison == .equal } ? .point : .range
    case .isNil(let property): type.isIndexed(property) ? .point : .scan
    case .isAny(let property, _): type.isIndexed(property) ? .list : .scan
    case .holds(let hop, let inner):
      switch target(of: hop).map({ access(inner, of: $0) }) {
      // There is none of these objects: nothing to be looked up.
      case nil: .related(.point)
      case .point? where !hop.isMany && inner.namesOne: .point
      // Whether there is any object is asked of each owner.
      case .scan? where inner.isAlways: .scan
      case let access?: .related(access)
      }
    case .all(let parts): parts.map { access($0, of: type) }.max() ?? .scan
    case .any(let parts): parts.map { access($0, of: type) }.min() ?? .scan
    case .contains, .pair, .count, .not: .scan
    }
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

  /// Whether one object at most fulfils it.
  var namesOne: Bool {
    switch self {
    case .isNamed(let keys): keys.count == 1
    case .all(let parts): parts.contains(where: \.namesOne)
    default: false
    }
  }
}

extension QueryPlan {
  /// The types behind relations that it asks about.
  var targets: [any MagicObject.Type] {
    var targets: [any MagicObject.Type] = []
    func visit(_ condition: Condition) {
      condition.forEachRoute({ targets += $0.hops.map(\.target) }) { hop, inner in
        targets.append(hop.target)
        visit(inner)
      }
    }
    visit(condition)
    return targets + order.flatMap { $0.route.hops.map(\.target) }
  }
}

extension MappedType {
  /// Whether a property's column can be looked up.
  func isIndexed(_ property: Int) -> Bool {
    property == layout.primary || layout.indexes.contains { $0.first == property }
  }
}
