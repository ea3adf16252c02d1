internal import Dispatch

/// Lets so many in at a time, in the order in which they came; the others wait, tasks without a thread.
///
/// With one place it keeps the writers of this process apart: a transaction stays in while its body waits for other things, when SQLite's
/// own queue would let others write into it.
final class Gate: Sendable {
  private enum Waiting {
    case task(Ticket, CheckedContinuation<Void, any Error>)
    case thread(DispatchSemaphore)

    func letIn() {
      switch self {
      case .task(_, let continuation): continuation.resume()
      case .thread(let semaphore): semaphore.signal()
      }
    }

    /// Whether it is the one that this is the ticket or the semaphore of.
    func `is`(_ other: AnyObject) -> Bool {
      switch self {
      case .task(let ticket, _): ticket === other
      case .thread(let semaphore): semaphore === other
      }
    }
  }

  /// Tells a task in the line from others.
  private final class Ticket: Sendable {}

  private struct State {
    var free: Int
    var waiting: [Waiting] = []

    /// Whether there was a place.
    mutating func enter() -> Bool {
      guard free > 0 else { return false }
      free -= 1
      return true
    }

    /// The same, and else the waiter stands in the line.
    mutating func enter(or waiter: @autoclosure () -> Waiting) -> Bool {
      if enter() { return true }
      waiting.append(waiter())
      return false
    }
  }

  private let state: Locked<State>

  init(places: Int) {
    state = Locked(State(free: places))
  }

  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  nonisolated(nonsending) func enter() async throws {
    // Mostly there is a place, and nothing is needed to wait with.
    if state.withLock({ $0.enter() }) { return }
    let ticket = Ticket()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if state.withLock({ $0.enter(or: .task(ticket, continuation)) }) { return continuation.resume() }
        // It was cancelled before it stood in the line.
        if Task.isCancelled { giveUp(ticket) }
      }
    } onCancel: {
      giveUp(ticket)
    }
  }

  private func giveUp(_ ticket: Ticket) {
    guard case .task(_, let continuation)? = remove(ticket) else { return }
    continuation.resume(throwing: CancellationError())
  }

  /// - Returns: `nil` for one that was let in.
  private func remove(_ waiter: any AnyObject & Sendable) -> Waiting? {
    state.withLock { state in
      state.waiting.firstIndex { $0.is(waiter) }.map { state.waiting.remove(at: $0) }
    }
  }

  /// Holds up the thread, for so long at most. `false` if it was not let in.
  func enter(within seconds: Double) -> Bool {
    let semaphore = DispatchSemaphore(value: 0)
    if state.withLock({ $0.enter(or: .thread(semaphore)) }) { return true }
    if semaphore.wait(timeout: .now() + seconds) == .success { return true }
    // It may have been let in at the last moment.
    return remove(semaphore) == nil
  }

  func leave() {
    let next = state.withLock { state -> Waiting? in
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.letIn()
  }
}
