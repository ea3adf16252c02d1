internal import Dispatch

/// Lets so many in at a time, in the order in which they came; the others wait, tasks without a thread.
///
/// With one place it keeps the writers of this process apart: a transaction stays in while its body waits for other things,
/// when SQLite's own queue would let others write into it.
package final class Gate: Sendable {
  private enum Waiting {
    case task(CheckedContinuation<Void, any Error>)
    case thread(DispatchSemaphore)

    func letIn() {
      switch self {
      case .task(let continuation): continuation.resume()
      case .thread(let semaphore): semaphore.signal()
      }
    }
  }

  /// Tells one who waits from others.
  private final class Ticket: Sendable {}

  private struct State {
    var free: Int
    /// In the order in which they came; those before `first` were let in, and some of the others may have given up. To take one
    /// out of the line's beginning or middle would move all behind it.
    private var line: [Ticket] = []
    private var first = 0
    private var waiting: [ObjectIdentifier: Waiting] = [:]

    /// The line is compacted when those in it that have given up outnumber those that wait by more than this.
    private static let mostGone = 32

    init(free: Int) {
      self.free = free
    }

    /// Whether there was a place.
    mutating func enter() -> Bool {
      guard free > 0 else { return false }
      free -= 1
      return true
    }

    /// Enters as above; if there is no place, the waiter joins the line.
    mutating func enter(with ticket: Ticket, or waiter: @autoclosure () -> Waiting) -> Bool {
      if enter() { return true }
      line.append(ticket)
      waiting[ObjectIdentifier(ticket)] = waiter()
      return false
    }

    /// - Returns: `nil` for one that was let in, or did not stand in the line.
    mutating func remove(_ ticket: Ticket) -> Waiting? {
      guard let waiter = waiting.removeValue(forKey: ObjectIdentifier(ticket)) else { return nil }
      if line.count > 2 * waiting.count + State.mostGone {
        line = line[first...].filter { waiting[ObjectIdentifier($0)] != nil }
        first = 0
      }
      return waiter
    }

    /// Takes out the first of those who wait.
    mutating func next() -> Waiting? {
      while first < line.count {
        first += 1
        if let waiter = remove(line[first - 1]) { return waiter }
      }
      return nil
    }
  }

  private let state: Locked<State>

  package init(places: Int) {
    state = Locked(State(free: places))
  }

  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  package nonisolated(nonsending) func enter() async throws {
    // Mostly there is a place, and nothing is needed to wait with.
    if state.withLock({ $0.enter() }) { return }
    let ticket = Ticket()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if state.withLock({ $0.enter(with: ticket, or: .task(continuation)) }) { return continuation.resume() }
        // It was cancelled before it stood in the line.
        if Task.isCancelled { giveUp(ticket) }
      }
    } onCancel: {
      giveUp(ticket)
    }
  }

  private func giveUp(_ ticket: Ticket) {
    guard case .task(let continuation)? = state.withLock({ $0.remove(ticket) }) else { return }
    continuation.resume(throwing: CancellationError())
  }

  /// Holds up the thread, for so long at most. `false` if it was not let in.
  func enter(within seconds: Double) -> Bool {
    let (ticket, semaphore) = (Ticket(), DispatchSemaphore(value: 0))
    if state.withLock({ $0.enter(with: ticket, or: .thread(semaphore)) }) { return true }
    if semaphore.wait(timeout: .now() + seconds) == .success { return true }
    // It may have been let in at the last moment.
    return state.withLock { $0.remove(ticket) } == nil
  }

  package func leave() {
    let next = state.withLock { state -> Waiting? in
      if let next = state.next() { return next }
      state.free += 1
      return nil
    }
    next?.letIn()
  }
}
