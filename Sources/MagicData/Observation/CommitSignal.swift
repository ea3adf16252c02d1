/// Wakes those who wait for commits to a database.
///
/// A commit through the same store wakes them at once; its writer pays for one lock. Others are found by asking the database
/// now and then, which one of those who wait does for all: when nobody waits, nobody asks, and nothing is left running.
final class CommitSignal: Sendable {
  /// How many commits were made through the store before somebody looked at the database: one that falls between the look and
  /// the wait is not missed.
  struct Ticket: Sendable {
    fileprivate let commits: UInt64
  }

  private struct Waiter {
    /// The journal's last row that it has seen.
    let seen: Int64
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var commits: UInt64 = 0
    var isClosed = false
    var isPolled = false
    var lastID: UInt64 = 0
    var waiting: [UInt64: Waiter] = [:]

    mutating func takeAll(where isWoken: (Waiter) -> Bool = { _ in true }) -> [Waiter] {
      let woken = waiting.filter { isWoken($0.value) }
      for id in woken.keys { waiting[id] = nil }
      return Array(woken.values)
    }
  }

  /// How long a commit of another process may stay unnoticed. A poll takes some ten microseconds.
  private static let pollNanoseconds: UInt64 = 50_000_000

  private let state = Locked(State())

  var ticket: Ticket { Ticket(commits: state.withLock { $0.commits }) }
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// After each commit of this process.
  func committed() {
    let woken = state.withLock { state in
      state.commits += 1
      return state.waiting.isEmpty ? [] : state.takeAll()
    }
    for waiter in woken { waiter.continuation.resume() }
  }

  /// From here on nobody waits.
  func close() {
    let woken = state.withLock { state in
      state.isClosed = true
      return state.takeAll()
    }
    for waiter in woken { waiter.continuation.resume() }
  }

  /// Returns when there may be something to see, the signal is closed or the task is cancelled; sometimes for nothing.
  ///
  /// - Parameters:
  ///   - ticket: taken before the look at the database that found nothing.
  ///   - seen: the journal's last row that was seen then.
  ///   - poll: the journal's last row; `nil` if no other process can write.
  func wait(after ticket: Ticket, seen: Int64, poll: (@Sendable () async throws -> Int64)?) async throws {
    guard let poll else { return await sleep(after: ticket, seen: seen) }
    guard takesPoll() else { return await sleep(after: ticket, seen: seen, whilePolled: true) }
    defer { leavePoll() }
    while isQuiet(since: ticket), !Task.isCancelled {
      await sleepForAWhile(after: ticket, seen: seen)
      guard isQuiet(since: ticket), !Task.isCancelled else { return }
      let last = try await poll()
      wake { $0.seen < last }
      if seen < last { return }
    }
  }

  // MARK: Polling

  private func takesPoll() -> Bool {
    state.withLock { state in
      defer { state.isPolled = true }
      return !state.isPolled
    }
  }

  /// Wakes the others: one of them goes on with it. Of a single one nobody knows whether it waits again.
  private func leavePoll() {
    let woken = state.withLock { state in
      state.isPolled = false
      return state.takeAll()
    }
    for waiter in woken { waiter.continuation.resume() }
  }

  private func isQuiet(since ticket: Ticket) -> Bool {
    state.withLock { !$0.isClosed && $0.commits == ticket.commits }
  }

  private func wake(where isWoken: (Waiter) -> Bool) {
    for waiter in state.withLock({ $0.takeAll(where: isWoken) }) { waiter.continuation.resume() }
  }

  // MARK: Sleeping

  private func sleepForAWhile(after ticket: Ticket, seen: Int64) async {
    await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.sleep(after: ticket, seen: seen) }
      group.addTask { try await Task.sleep(nanoseconds: CommitSignal.pollNanoseconds) }
      _ = await group.nextResult()
      group.cancelAll()
    }
  }

  /// - Parameter whilePolled: not at all if the one who polled has just left.
  private func sleep(after ticket: Ticket, seen: Int64, whilePolled: Bool = false) async {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isAsleep = state.withLock { state in
          // A task is marked as cancelled before its handler runs, and the handler waits for this lock.
          guard state.commits == ticket.commits, !state.isClosed, !Task.isCancelled, !whilePolled || state.isPolled else {
            return false
          }
          state.waiting[id] = Waiter(seen: seen, continuation: continuation)
          return true
        }
        if !isAsleep { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
    }
  }
}
