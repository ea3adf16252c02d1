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
    /// What replicas are known to hold: what they said, sent and were sent.
    var holds: [ReplicaID: Frontier] = [:]
  }

  private static let maxReplicas = 10_000

  private let state = Locked(State())

  func moved(in received: Int = 0, out sent: Int = 0) {
    state.withLock { state in
      state.received += received
      state.sent += sent
    }
  }

  func ended(_ failure: WireError?) {
    state.withLock { state in
      state.sessions += 1
      if let failure { state.errors[failure.code.rawValue, default: 0] += 1 }
    }
  }

  func holds(_ held: [HeldRun], _ replica: ReplicaID) {
    var frontier = Frontier()
    for run in held { frontier[run.replica] = max(frontier[run.replica], run.last) }
    holds(frontier, replica)
  }

  func holds(_ frontier: Frontier, _ replica: ReplicaID) {
    state.withLock { state in
      if state.holds.count >= Tally.maxReplicas, state.holds[replica] == nil { state.holds = [:] }
      for other in frontier.replicas {
        state.holds[replica, default: Frontier()][other] = max(state.holds[replica]?[other] ?? 0, frontier[other])
      }
      // Also one that holds nothing is behind.
      if frontier.replicas.isEmpty, state.holds[replica] == nil { state.holds[replica] = Frontier() }
    }
  }

  /// Prometheus' text format, 0.0.4.
  ///
  /// - Parameter frontier: what is here.
  func text(sessions: Int, _ frontier: Frontier) -> String {
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
      "magic_sync_lag_transactions", "gauge", "Transactions here that a replica is not known to have.",
      state.holds.sorted { $0.key < $1.key }.map { replica, held in
        let lag = frontier.replicas.reduce(UInt64(0)) { $0 + frontier[$1] - min(frontier[$1], held[$1]) }
        return ("{replica=\"\(replica)\"}", "\(lag)")
      })
    return lines.joined(separator: "\n") + "\n"
  }
}
