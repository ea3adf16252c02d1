internal import MagicJournal

/// What a fetch gives, again after each change of what it is made of: see ``MagicData/observe(of:)``.
public struct MagicObservation<Element>: AsyncSequence, Sendable {
  typealias Fetch = nonisolated(nonsending) @Sendable (Scope) async throws -> Element

  private let store: Store
  private let types: @Sendable () throws -> [TypeSchema.Identity]
  private let fetch: Fetch

  /// - Parameters:
  ///   - types: those whose objects the result is made of.
  ///   - fetch: runs on the consumer's side, and reads through the scope that it is given.
  init(_ store: Store, of types: @Sendable @escaping () throws -> [TypeSchema.Identity], fetch: @escaping Fetch) {
    self.store = store
    self.types = types
    self.fetch = fetch
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(observation: self)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let observation: MagicObservation
    /// Where the journal was when the last element was fetched.
    private var position: JournalPosition?
    private var isOver = false

    fileprivate init(observation: MagicObservation) {
      self.observation = observation
    }

    /// The current result at first, and then the one after the next change; `nil` if the database was closed or the task was
    /// cancelled. In a transaction's body of the same database, where no change can come, it throws ``MagicDataError`` with
    /// `transaction`.
    public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
      guard !isOver else { return nil }
      // Unless an element comes of it, this call was the last one.
      isOver = true
      guard try await waitForChange() else { return nil }
      let note = PositionNote()
      do {
        let element = try await observation.fetch(.observed(observation.store, note))
        try Task.checkCancellation()
        guard let noted = note.position else { preconditionFailure("an observed fetch reads through its scope") }
        position = noted
        isOver = false
        return element
      } catch  where observation.store.isEnd(error) {
        return nil
      }
    }

    public nonisolated(nonsending) mutating func next() async throws -> Element? {
      try await next(isolation: #isolation)
    }

    /// `false` if there will be none.
    private nonisolated(nonsending) mutating func waitForChange() async throws -> Bool {
      let store = observation.store
      guard let position else { return !store.commits.isClosed && !Task.isCancelled }
      let types = try observation.types()
      let found = try await store.watch(position) { db, position -> Bool? in
        let now = try JournalPosition(db)
        guard now.row > position.row else { return nil }
        guard try position.isBeforeChange(of: types, db) else {
          position = now
          return nil
        }
        return true
      }
      return found != nil
    }
  }
}

@available(*, unavailable)
extension MagicObservation.AsyncIterator: Sendable {}
