internal import Dispatch

/// Lets so many in at a time, in the order in which they came; the others wait, tasks without a thread.
///
/// With one place it keeps the writers of this process apart: a transaction stays in while its body waits for other things, when SQLite's
/// own queue would let others write into it.
final class Gate: Sendable {
  private enum Waiting {
    case task(CheckedContinuation<Void, Never>)
    case thread(DispatchSemaphore)

    func letIn() {
      switch self {
      case .task(let continuation): continuation.resume()
      case .thread(let semaphore): semaphore.signal()
      }
    }
  }

  private struct State {
    var free: Int
    var waiting: [Waiting] = []

    /// Whether there was a place.
    mutating func enter(or waiter: @autoclosure () -> Waiting) -> Bool {
      guard free == 0 else {
        free -= 1
        return true
      }
      waiting.append(waiter())
      return false
    }
  }

  private let state: Locked<State>

  init(places: Int) {
    state = Locked(State(free: places))
  }

  nonisolated(nonsending) func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { $0.enter(or: .task(continuation)) }
      if isFree { continuation.resume() }
    }
  }

  /// Holds up the thread, for so long at most. `false` if it was not let in.
  func enter(within seconds: Double) -> Bool {
    let semaphore = DispatchSemaphore(value: 0)
    if state.withLock({ $0.enter(or: .thread(semaphore)) }) { return true }
    if semaphore.wait(timeout: .now() + seconds) == .success { return true }
    return state.withLock { state in
      let index = state.waiting.firstIndex { waiter in
        if case .thread(let other) = waiter { other === semaphore } else { false }
      }
      // It may have been let in at the last moment.
      guard let index else { return true }
      state.waiting.remove(at: index)
      return false
    }
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
