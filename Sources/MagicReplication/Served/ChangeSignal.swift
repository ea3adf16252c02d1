internal import MagicData

/// Counts changes, and wakes those who wait for one.
package final class ChangeSignal: Sendable {
  private struct State {
    var count = 0
    var lastID = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Locked(State())

  package init() {}

  package var count: Int { state.withLock { $0.count } }

  package func tell() {
    let woken = state.withLock { state in
      state.count += 1
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in woken { continuation.resume() }
  }

  /// Returns once there were more changes than `seen`, or when the task is cancelled.
  package func wait(after seen: Int) async {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.count == seen, !Task.isCancelled else { return true }
          state.waiting[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
    }
  }
}
