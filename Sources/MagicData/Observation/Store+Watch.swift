internal import GRDB

extension Store {
  /// Returns after a commit that is later than a position, or when the database is closed or the task cancelled.
  package func waitForCommit(after row: Int64) async throws {
    _ = try await watch(row) { db, row in try JournalPosition(db).row > row ? true : nil }
  }

  /// Throws when the database's file is removed or replaced; returns when the task is cancelled.
  package func waitUntilDisplaced() async throws {
    while !Task.isCancelled {
      try checkIsInPlace()
      try? await Task.sleep(for: .seconds(1))
    }
  }

  /// The journal's last row.
  package func lastRow() async throws -> Int64 {
    try await readBriefly { db in try JournalPosition(db).row }
  }

  package var isClosed: Bool { commits.isClosed }

  /// Looks at the database at once, and then after each commit, whoever made it, until `look` finds something.
  ///
  /// - Parameters:
  ///   - state: what `look` remembers from one look to the next.
  ///   - look: reads one snapshot.
  /// - Returns: `nil` if the database was closed or the task was cancelled.
  /// - Throws: `MagicDataError` with `transaction` where the body of one that holds the gate would wait for a commit.
  func watch<State: Sendable, News: Sendable>(
    _ state: State, _ look: @Sendable @escaping (Connection, inout State) throws -> News?
  ) async throws -> (news: News, state: State)? {
    var state = state
    do {
      try checkIsInPlace()
      while !commits.isClosed, !Task.isCancelled {
        let ticket = commits.ticket
        let (news, after, seen) = try await readBriefly { [state] db in
          var state = state
          let news = try look(db, &state)
          return (news, state, try JournalPosition(db).row)
        }
        if let news { return (news, after) }
        state = after
        // Nobody commits before it is over.
        guard !RunningTransaction.isBody(holding: self) else {
          throw MagicDataError(
            .transaction,
            "within a transaction's body nothing is committed, so this would wait for ever; wait for changes when the transaction is over"
          )
        }
        try await commits.wait(after: ticket, seen: seen, poll: isShared ? poll : nil)
      }
      return nil
    } catch  where isEnd(error) {
      return nil
    }
  }

  /// Whether an error says no more than that there is nothing to wait for any longer.
  func isEnd(_ error: any Error) -> Bool {
    error is CancellationError || commits.isClosed
  }

  /// Whether other processes, or other openings in this one, may write to the same file.
  private var isShared: Bool { location != nil }

  /// In a file that is not in its place nothing is ever committed again, by anybody else.
  ///
  /// `PRAGMA data_version` would be as cheap, and means something only if the same connection is asked each time; GRDB's pool
  /// gives any.
  private var poll: @Sendable () async throws -> Int64 {
    { [self] in
      try checkIsInPlace()
      return try await readBriefly { db in try JournalPosition(db).row }
    }
  }
}
