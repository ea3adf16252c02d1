internal import MagicData

/// Hands events to all who ask for them. Goes away with the last replicator that has it, which ends their sequences.
package final class EventSource: Sendable {
  private struct State {
    var lastID = 0
    var listeners: [Int: AsyncStream<MagicReplicationEvent>.Continuation] = [:]
  }

  /// A listener that does not listen costs no more memory than this; the conflicts of one pull (`ToldConflicts`) leave room for
  /// what else is told.
  static let buffered = 4_000

  private let state = Locked(State())

  deinit { finish() }

  /// Ends the sequences that there are.
  func finish() {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
  }

  /// - Parameter most: how many events wait for whoever is slow; then the oldest are dropped.
  func stream(keeping most: Int) -> AsyncStream<MagicReplicationEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: MagicReplicationEvent.self, bufferingPolicy: .bufferingNewest(most))
    let id = state.withLock { state in
      state.lastID += 1
      state.listeners[state.lastID] = continuation
      return state.lastID
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    return stream
  }

  private func remove(_ id: Int) {
    // The continuation is let go of outside the lock: its end may call back.
    _ = state.withLock { $0.listeners.removeValue(forKey: id) }
  }

  /// Whether anybody listens.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  package func tell(_ event: MagicReplicationEvent) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
  }
}
