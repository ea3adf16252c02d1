internal import MagicData
package import MagicJournal
internal import MagicReplication

/// What a server has done since it began, for `--metrics`.
package final class ServerMetrics: Sendable {
  fileprivate struct State {
    var sessions = 0
    var received = 0
    var sent = 0
    var errors: [UInt8: Int] = [:]
    /// Where in ``Held/last`` a replica's is.
    var places: [ReplicaID: Int] = [:]
    /// What replicas are known to hold of what is here: what they said, sent and were sent.
    var holds: [ReplicaID: Held] = [:]
    /// How many sequences there are in all of `holds`.
    var numbers = 0
    /// How often it was heard what a replica holds.
    var heard = 0
  }

  fileprivate struct Held {
    /// The last sequence of each replica, by its place; none of those behind the end.
    var last: [UInt64] = []
    var heard = 0

    subscript(place: Int?) -> UInt64 { place.flatMap { last.indices.contains($0) ? last[$0] : nil } ?? 0 }
  }

  private static let maxReplicas = 10_000

  private let state = Locked(State())
  /// Whether anybody asks for it.
  private let isKept: Bool
  private let maxNumbers: Int

  /// - Parameter most: how many sequences are kept in all: 32 MiB, enough for 2,000 replicas that each hold all others.
  package init(isKept: Bool, numbersAtMost most: Int = 1 << 22) {
    (self.isKept, maxNumbers) = (isKept, most)
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
  ///   - here: what is held here. Ids that are not of it a client may have made up, as many as it likes: they are not kept. Nor
  ///     is who only reads, each time under another id: it would lag for good.
  ///   - isKnown: whether the client's own id is kept nevertheless, as of one that writes or acknowledges.
  package func holds(_ held: Frontier, _ replica: ReplicaID, here: Frontier, isKnown: Bool = false) {
    guard isKept else { return }
    state.withLock { state in
      guard isKnown || here[replica] > 0 || state.holds[replica] != nil else { return }
      // A server takes no more; there are more if its folder was emptied meanwhile.
      if state.places.count > ServerMetrics.maxReplicas { (state.places, state.holds, state.numbers) = ([:], [:], 0) }
      state.note(held, replica, here)
      // The replica that has been silent for longest is left out until it comes again.
      while state.numbers > maxNumbers || state.holds.count > ServerMetrics.maxReplicas, state.holds.count > 1,
        let silent = state.holds.min(by: { $0.value.heard < $1.value.heard })?.key
      {
        state.forget(silent)
      }
    }
  }

  /// Prometheus' text format, 0.0.4.
  ///
  /// - Parameter frontier: what is here.
  package func text(sessions: Int, _ frontier: Frontier) -> String {
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
    // Once for all of them.
    let here = frontier.replicas.map { (place: state.places[$0], last: frontier[$0]) }
    add(
      "magic_sync_lag_transactions", "gauge", "Transactions here that a replica is not known to have.",
      state.holds.sorted { $0.key < $1.key }.map { replica, held in
        let lag = here.lazy.map { each in each.last - min(each.last, held[each.place]) }.clampedSum
        return ("{replica=\"\(replica)\"}", "\(lag)")
      })
    return lines.joined(separator: "\n") + "\n"
  }
}

extension ServerMetrics.State {
  /// Also one that holds nothing is behind.
  fileprivate mutating func note(_ held: Frontier, _ replica: ReplicaID, _ here: Frontier) {
    var found = forget(replica)
    for other in here.replicas where held[other] > 0 {
      let place = places[other] ?? places.count
      places[other] = place
      while found.last.count <= place { found.last.append(0) }
      found.last[place] = max(found.last[place], held[other])
    }
    heard += 1
    found.heard = heard
    holds[replica] = found
    numbers += found.last.count
  }

  @discardableResult
  fileprivate mutating func forget(_ replica: ReplicaID) -> ServerMetrics.Held {
    let found = holds.removeValue(forKey: replica) ?? ServerMetrics.Held()
    numbers -= found.last.count
    return found
  }
}
