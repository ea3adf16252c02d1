/// Committed transactions from some moment on: see ``MagicData/changes()``.
public struct MagicChangeSequence: AsyncSequence, Sendable {
  public typealias Element = MagicChanges

  private let store: Store
  private let start: JournalPosition

  init(_ store: Store, after start: JournalPosition) {
    self.store = store
    self.start = start
  }

  /// Each iterator begins where the sequence does.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(store: store, last: start.row)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let store: Store
    /// The journal's last row that was read.
    private var last: Int64
    private var batch: ArraySlice<MagicChanges> = []
    private var isOver = false

    fileprivate init(store: Store, last: Int64) {
      self.store = store
      self.last = last
    }

    /// The next transaction, when there is one; `nil` if the database was closed or the task was cancelled. In a transaction's
    /// body of the same database, where none can come, it throws ``MagicDataError`` with `transaction`.
    public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> MagicChanges? {
      if batch.isEmpty, !isOver {
        isOver = true
        guard let (news, last) = try await store.watch(last, ChangeReader.batch) else { return nil }
        (self.last, batch, isOver) = (last, news[...], false)
      }
      return Task.isCancelled || store.isClosed ? nil : batch.popFirst()
    }

    public nonisolated(nonsending) mutating func next() async throws -> MagicChanges? {
      try await next(isolation: #isolation)
    }
  }
}

@available(*, unavailable)
extension MagicChangeSequence.AsyncIterator: Sendable {}
