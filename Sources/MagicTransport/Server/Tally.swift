internal import MagicData
internal import MagicJournal
internal import MagicReplication

/// What a server has done since it began, for `--metrics`.
final class Tally: Sendable {
  private struct State {
    var sessions = 0
    var received = 0
    var sent = 0
    var errors: [UInt8: Int] = [:]
    /// Transactions that are here and that a client did not hold when it last said so.
    var lags: [ReplicaID: UInt64] = [:]
  }

  private static let maxReplicas = 10_000

  private let state = Locked(State())

  func ended(in received: Int, out sent: Int, failure: WireError?) {
    state.withLock { state in
      state.sessions += 1
      state.received += received
      state.sent += sent
      if let failure { state.errors[failure.code.rawValue, default: 0] += 1 }
    }
  }

  func held(_ frontier: Frontier, by replica: ReplicaID, _ held: [HeldRun]) {
    // It said nothing of what it holds.
    guard !held.isEmpty else { return }
    let own = Dictionary(held.map { ($0.replica, $0.last) }) { first, _ in first }
    let lag = frontier.replicas.reduce(UInt64(0)) { sum, replica in
      sum + frontier[replica] - min(frontier[replica], own[replica] ?? 0)
    }
    state.withLock { state in
      if state.lags.count >= Tally.maxReplicas, state.lags[replica] == nil { state.lags = [:] }
      state.lags[replica] = lag
    }
  }

  /// Prometheus' text format, 0.0.4.
  func text(sessions: Int) -> String {
    let state = state.withLock { $0 }
    var lines: [String] = []
    func add(_ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: String)]) {
      lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
      lines += values.map { "\(name)\($0.labels) \($0.value)" }
    }
    add("magic_sync_sessions", "gauge", "Sessions that are open.", [("", "\(sessions)")])
    add("magic_sync_connections_total", "counter", "Connections that are over.", [("", "\(state.sessions)")])
    add("magic_sync_received_bytes_total", "counter", "Bytes of frames received.", [("", "\(state.received)")])
    add("magic_sync_sent_bytes_total", "counter", "Bytes of frames sent.", [("", "\(state.sent)")])
    add(
      "magic_sync_errors_total", "counter", "Connections refused or broken off, by the code of the wire.",
      state.errors.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") })
    add(
      "magic_sync_lag_transactions", "gauge", "Transactions here that a replica lacked when it last asked.",
      state.lags.sorted { $0.key < $1.key }.map { ("{replica=\"\($0.key)\"}", "\($0.value)") })
    return lines.joined(separator: "\n") + "\n"
  }
}
