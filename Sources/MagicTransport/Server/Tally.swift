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
    /// What replicas are known to hold of what is here: what they said, sent and were sent.
    var holds: [ReplicaID: Frontier] = [:]
  }

  private static let maxReplicas = 10_000

  private let state = Locked(State())
  /// Whether anybody asks for it.
  private let isKept: Bool

  init(isKept: Bool) {
    self.isKept = isKept
  }

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

  func holds(_ held: [HeldRun], _ replica: ReplicaID, here: Frontier, isKnown: Bool = false) {
    guard isKept else { return }
    var frontier = Frontier()
    for run in held { frontier[run.replica] = max(frontier[run.replica], run.last) }
    holds(frontier, replica, here: here, isKnown: isKnown)
  }

  /// It has sent a segment, so it has a right to.
  func took(_ header: SegmentHeader, from replica: ReplicaID) {
    guard isKept else { return }
    var frontier = Frontier()
    frontier[header.replica] = header.last
    holds(frontier, replica, here: frontier, isKnown: true)
  }

  /// - Parameters:
  ///   - here: what is held here. Ids that are not of it a client may have made up, as many as it likes: they are not kept.
  ///   - isKnown: whether the client's own id is kept nevertheless.
  func holds(_ held: Frontier, _ replica: ReplicaID, here: Frontier, isKnown: Bool = false) {
    guard isKept else { return }
    state.withLock { state in
      guard isKnown || here[replica] > 0 || state.holds[replica] != nil else { return }
      if state.holds.count >= Tally.maxReplicas, state.holds[replica] == nil { state.holds = [:] }
      for other in here.replicas where held[other] > 0 {
        state.holds[replica, default: Frontier()][other] = max(state.holds[replica]?[other] ?? 0, held[other])
      }
      // Also one that holds nothing is behind.
      if state.holds[replica] == nil { state.holds[replica] = Frontier() }
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
        let lag = frontier.replicas.map { frontier[$0] - min(frontier[$0], held[$0]) }.clampedSum
        return ("{replica=\"\(replica)\"}", "\(lag)")
      })
    return lines.joined(separator: "\n") + "\n"
  }
}
