internal import MagicJournal

/// What is asked of a database: objects of one type that fulfil some conditions, in some order.
///
/// ```swift
/// let books = try await magic.query(of: Book.self)
///   .where { $0.pages > 300 && $0.title.hasPrefix("S") }
///   .sorted(by: \.title)
///   .limit(20)
///   .all()
/// ```
///
/// A query asks nothing until one of `all()`, `first()`, `count()`, `sum(of:)` and its like, `stream()` or `remove()` is
/// called, and can be run again. Conditions, order and limit are worked out by SQLite; only the objects that are asked for are
/// loaded. Texts are compared and sorted by their UTF-8 bytes, so `é` in one scalar is not equal to `é` in two. Numbers compare
/// as in Swift: NaN is equal to nothing, and -0.0 to 0.0. An object that was stored before its type had some property counts
/// with that property's default, but for one of a property that holds an object: that is not in the database before its owner
/// is saved again. Of a default that is another one each time, as `Date()` and `UUID()` are, it counts with the first one that
/// the process made, and shows a new one each time it is fetched: give such a property a migration that fills it in, or make it
/// an ``OptionMagicValue``.
///
/// Objects whose required values have not all arrived from other replicas, or have a value which this version's type cannot be
/// read from, such as a case that only a newer app knows, are in no result: they are not given out, not counted, take no place
/// of a limit, are not removed, and another object that holds them is as one that holds none.
public struct MagicQuery<Object: MagicObject> {
  enum Source {
    case database(Store)
    case transaction(MagicTransaction)
  }

  private let source: Source
  var plan = QueryPlan()

  init(_ source: Source) {
    self.source = source
  }

  var scope: Scope {
    get throws {
      switch source {
      case .database(let store): .database(store)
      case .transaction(let transaction): try transaction.scope
      }
    }
  }

  var isOfDatabase: Bool { if case .database = source { true } else { false } }

  var store: Store {
    switch source {
    case .database(let store): store
    case .transaction(let transaction): transaction.store
    }
  }

  private func with(_ change: (inout QueryPlan) -> Void) -> MagicQuery {
    var query = self
    change(&query.plan)
    return query
  }

  // MARK: Conditions

  /// Only objects that fulfil a condition, as well as those of earlier calls.
  public func `where`(_ condition: (MagicFields<Object>) -> some MagicCondition) -> MagicQuery {
    let fields = MagicFields<Object>()
    let predicate = condition(fields).magicPredicate
    return with { plan in plan.add { try predicate.condition(on: fields.magicRoot) } }
  }

  // MARK: Order

  /// Which end of an order comes first.
  public enum Direction: Sendable {
    /// Nil, then from the lowest value on; NaN comes last.
    case ascending
    /// NaN, then from the highest value on; nil comes last.
    case descending
  }

  /// In the order of a property; what it leaves undecided stays in the order of before, which at first is that of the z
  /// indexes.
  ///
  /// Nil comes first and NaN last, descending the other way round. Without an index on the property all that fulfil the
  /// conditions are sorted. `\.author.name` sorts by a property of an object that each holds, which is as nil where that object
  /// is not there.
  /// - Parameter options: what texts may differ in and still be equal in the order; with any, no index gives it.
  public func sorted(
    by property: PartialKeyPath<Object>, _ direction: Direction = .ascending, options: MagicTextOptions = []
  ) -> MagicQuery {
    with { plan in plan.sort(at: 0, direction, options) { try MagicQuery.sortable(property, options) } }
  }

  /// Where the order of before leaves two undecided, in the order of another property.
  /// - Parameter options: as of ``sorted(by:_:options:)``.
  public func then(
    by property: PartialKeyPath<Object>, _ direction: Direction = .ascending, options: MagicTextOptions = []
  ) -> MagicQuery {
    with { plan in plan.sort(at: plan.order.count, direction, options) { try MagicQuery.sortable(property, options) } }
  }

  private static func sortable(_ path: PartialKeyPath<Object>, _ options: MagicTextOptions) throws -> PropertyRoute {
    let route = try PropertyPath.route(of: path)
    let layout = try Layout.of(any: route.hops.last?.target ?? Object.self)
    let property = layout.properties[route.property]
    guard property.kind != .coded else {
      throw MagicDataError(.query, "\(layout.name).\(property.name) is stored as JSON, which has no order to sort by")
    }
    guard options.isEmpty || property.kind == .text else {
      throw MagicDataError(.query, "\(layout.name).\(property.name) is no text, so it is sorted without options")
    }
    return route
  }

  // MARK: Part

  /// At most this many of them, wherever in the query it stands.
  public func limit(_ count: Int) -> MagicQuery {
    with { plan in plan.cut(count, "limit") { $0.limit = count } }
  }

  /// Without the first ones.
  public func offset(_ count: Int) -> MagicQuery {
    with { plan in plan.cut(count, "offset") { $0.offset = count } }
  }
}

/// What a query asks for, by the indexes of its type's properties: what crosses to the database.
struct QueryPlan: Sendable {
  struct Key: Sendable {
    let route: PropertyRoute
    let isDescending: Bool
    let options: MagicTextOptions
  }

  private(set) var condition = Condition.all([])
  private(set) var order: [Key] = []
  var limit: Int?
  var offset = 0
  /// Whether only some of those that fulfil the condition are asked for.
  var isPart: Bool { limit != nil || offset > 0 }
  /// What went wrong first while the query was made.
  private var failure: MagicDataError?

  func check() throws {
    if let failure { throw failure }
  }

  private mutating func fail(_ error: any Error) {
    failure = failure ?? MagicDataError(error, "a query could not be made")
  }

  mutating func add(_ added: () throws -> Condition) {
    do {
      condition = .both(condition, try added())
    } catch {
      fail(error)
    }
  }

  mutating func sort<Object>(
    at place: Int, _ direction: MagicQuery<Object>.Direction, _ options: MagicTextOptions, _ route: () throws -> PropertyRoute
  ) {
    do {
      order.insert(Key(route: try route(), isDescending: direction == .descending, options: options), at: place)
    } catch {
      fail(error)
    }
  }

  mutating func cut(_ count: Int, _ name: String, _ change: (inout QueryPlan) -> Void) {
    guard count >= 0 else {
      return fail(MagicDataError(.query, "the \(name) of a query is \(count), and cannot be negative"))
    }
    change(&self)
  }
}
