internal import MagicData
internal import NIOCore

/// Limits the connections that have not said who they are, and the sessions (Protocol/wire.md, limits).
final class ConnectionLimits: Sendable {
  private struct State {
    var lastID = 0
    /// Rising by their time of coming.
    var strangers: [Int: any Channel] = [:]
    var sessions: [Int: String] = [:]
    var counts: [String: Int] = [:]
  }

  private let state = Locked(State())

  /// Lets a connection in. The one that has been silent longest has to go if there is no room.
  func enter(_ channel: any Channel) -> Int {
    let (id, gone) = state.withLock { state in
      state.lastID += 1
      state.strangers[state.lastID] = channel
      guard state.strangers.count > WireLimits.strangers, let oldest = state.strangers.keys.min() else {
        return (state.lastID, (any Channel)?.none)
      }
      return (state.lastID, state.strangers.removeValue(forKey: oldest))
    }
    gone?.close(promise: nil)
    return id
  }

  /// It has said who it is. `false` if there are too many from its address, or in all.
  func admit(_ id: Int, from address: String) -> Bool {
    state.withLock { state in
      // Who is refused stays a moment to hear it (W-13), and counts as before until it has gone.
      guard state.sessions.count < WireLimits.sessions, state.counts[address, default: 0] < WireLimits.sessionsOfAddress else {
        return false
      }
      state.strangers[id] = nil
      state.sessions[id] = address
      state.counts[address, default: 0] += 1
      return true
    }
  }

  func leave(_ id: Int) {
    state.withLock { state in
      state.strangers[id] = nil
      guard let address = state.sessions.removeValue(forKey: id) else { return }
      state.counts[address] = state.counts[address].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }

  var sessions: Int { state.withLock { $0.sessions.count } }
}
