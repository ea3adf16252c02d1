import MagicJournal
import MagicTransport
import Testing

/// The figures of a server, which is asked for them for as long as it runs.
@Suite struct ServerMetricsTests {
  /// By the last digits of the replicas.
  private func lags(_ metrics: ServerMetrics, _ here: Frontier) -> [Int: Int] {
    var lags: [Int: Int] = [:]
    for line in metrics.text(sessions: 0, here).split(separator: "\n") where line.hasPrefix("magic_sync_lag_transactions{") {
      let parts = line.split(separator: "\"")
      lags[Int(parts[1].suffix(8), radix: 16) ?? -1] = Int(parts[2].dropFirst(2))
    }
    return lags
  }

  private func replica(_ number: Int) -> ReplicaID { ReplicaID(1, UInt64(number)) }

  private func frontier(_ numbers: ClosedRange<Int>, _ last: UInt64) -> Frontier {
    numbers.reduce(into: Frontier()) { $0[replica($1)] = last }
  }

  @Test func aReplicaLagsByWhatItLacks() {
    let metrics = ServerMetrics(isKept: true)
    let here = frontier(1...3, 10)
    metrics.holds(frontier(2...3, 7), replica(1), here: here)
    metrics.holds(frontier(1...3, 20), replica(2), here: here)
    // What was said last, of one more; and what was said before holds on.
    metrics.holds(frontier(1...1, 4), replica(1), here: here)
    // Who has written nothing, and has not acknowledged anything, is nobody's concern.
    metrics.holds(frontier(1...3, 1), replica(9), here: here)
    #expect(lags(metrics, here) == [1: 12, 2: 0])
    metrics.holds(Frontier(), replica(9), here: here, isKnown: true)
    #expect(lags(metrics, frontier(1...3, 11)) == [1: 15, 2: 0, 9: 33])
  }

  /// What each of many holds of all the others is more than there is room for: the ones that were here last count.
  @Test func whatIsRememberedOfManyIsBounded() {
    let metrics = ServerMetrics(isKept: true, numbersAtMost: 1_000)
    let here = frontier(1...100, 5)
    for number in 1...100 { metrics.holds(frontier(1...100, 4), replica(number), here: here) }
    #expect(lags(metrics, here) == Dictionary(uniqueKeysWithValues: (91...100).map { ($0, 100) }))
    metrics.holds(here, replica(91), here: here)
    metrics.holds(here, replica(1), here: here)
    #expect(lags(metrics, here).filter { $0.value == 0 }.keys.sorted() == [1, 91])
    #expect(lags(metrics, here).count == 10 && lags(metrics, here)[92] == nil)
  }
}
