internal import MagicJournal

/// The objects of a ``MagicQuery``, loaded some at a time as they are asked for.
///
/// Between two batches nothing is held and nothing runs, so others can write, and whoever stops asking need not tell anyone.
/// What they write shows: each object is as it stands when its batch is loaded, and fulfils the conditions then; those that do
/// not any more, or are gone, are left out. None comes twice. A sorted query, and one that an index serves, keeps to the
/// objects and the order that it found at the beginning, for which it needs 8 bytes an object; any other goes along the z
/// indexes, so that objects which are added meanwhile come last.
public struct MagicStream<Object: MagicObject>: AsyncSequence {
  public typealias Element = Object

  let query: MagicQuery<Object>

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(query)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let query: MagicQuery<Object>
    private var source: (scope: Scope, types: QueryTypes)?
    private var cursor: QueryCursor
    private var batch: [Object] = []
    /// How many objects of the batch were given.
    private var given = 0

    fileprivate init(_ query: MagicQuery<Object>) {
      self.query = query
      cursor = QueryCursor(query.plan)
    }

    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Object? {
      try await advance()
    }

    public nonisolated(nonsending) mutating func next() async throws -> Object? {
      try await advance()
    }

    private nonisolated(nonsending) mutating func advance() async throws -> Object? {
      while true {
        if given < batch.count {
          given += 1
          return batch[given - 1]
        }
        guard !cursor.isAtEnd else { return nil }
        try await load()
      }
    }

    private nonisolated(nonsending) mutating func load() async throws {
      do {
        if source == nil { source = try await query.mapped(in: try query.scope) }
        guard let (scope, queried) = source else { return cursor.end() }
        let before = cursor
        let type = queried.type
        let types = type.layout.hasRelations ? try await scope.typesForReading(of: type) : []
        let (fetched, after) = try await scope.read { db in
          var cursor = before
          let rows = try cursor.next(queried, db)
          return (try Scope.Fetched(rows, type, types, db), cursor)
        }
        (batch, given) = (try scope.objects(Object.self, fetched), 0)
        cursor = after
      } catch {
        cursor.end()
        throw error
      }
    }
  }
}

/// How far a stream has come.
struct QueryCursor: Sendable {
  private enum Place: Sendable {
    case start
    /// Goes along the z indexes, with what is still to be left out and to be given.
    case after(zIndex: Int64, skip: Int, limit: Int?)
    case listed(ArraySlice<Int64>)
    case end
  }

  /// Enough for the hop to the database not to count, few enough for little memory.
  static let batch = 256

  private let plan: QueryPlan
  private var place = Place.start

  init(_ plan: QueryPlan) {
    self.plan = plan
  }

  var isAtEnd: Bool { if case .end = place { true } else { false } }

  mutating func end() {
    place = .end
  }

  mutating func next(_ types: QueryTypes, _ db: Connection) throws -> FetchedRows {
    switch place {
    case .start:
      if plan.order.isEmpty, types.access(plan.condition, of: types.type) == .scan {
        place = .after(zIndex: 0, skip: plan.offset, limit: plan.limit)
      } else {
        place = .listed(try QueryText.keys(plan, types, db).zIndexes(db)[...])
      }
      return try next(types, db)
    case .after(let zIndex, let skip, let limit):
      return try next(after: zIndex, skip: skip, limit: limit, types, db)
    case .listed(let zIndexes):
      var batch = Array(zIndexes.prefix(QueryCursor.batch))
      guard !batch.isEmpty else {
        place = .end
        return FetchedRows()
      }
      var text = try QueryText.objects(plan, at: batch, types, db)
      // What is asked with many values leaves less room for those of a batch.
      while text.hasTooManyValues, batch.count > 1 {
        batch.removeLast(batch.count / 2)
        text = try QueryText.objects(plan, at: batch, types, db)
      }
      place = batch.count < zIndexes.count ? .listed(zIndexes.dropFirst(batch.count)) : .end
      return try FetchedRows(types.type, text.statement(db)).ordered(as: batch)
    case .end:
      return FetchedRows()
    }
  }

  private mutating func next(
    after zIndex: Int64, skip: Int, limit: Int?, _ types: QueryTypes, _ db: Connection
  ) throws -> FetchedRows {
    var zIndex = zIndex
    if skip > 0 {
      var skipped = plan
      (skipped.limit, skipped.offset) = (1, skip - 1)
      guard let last = try QueryText.keys(skipped, types, db).zIndexes(db).first else {
        place = .end
        return FetchedRows()
      }
      zIndex = last
    }
    let count = min(QueryCursor.batch, limit ?? .max)
    let rows = try FetchedRows(types.type, QueryText.objects(plan, after: zIndex, count: count, types, db).statement(db))
    let rest = limit.map { $0 - rows.count }
    if rows.count < count || rest == 0 {
      place = .end
    } else {
      place = .after(zIndex: rows.places.last?.zIndex ?? zIndex, skip: 0, limit: rest)
    }
    return rows
  }
}
