import MagicJournal
import MagicTransport
import Testing

/// The figures of a server, which is asked for them for as long as it runs.
@Suite struct TallyTests {
  /// By the last digits of the replicas.
  private func lags(_ tally: Tally, _ here: Frontier) -> [Int: Int] {
    var lags: [Int: Int] = [:]
    for line in tally.text(sessions: 0, here).split(separator: "\n") where line.hasPrefix("magic_sync_lag_transactions{") {
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
    let tally = Tally(isKept: true)
    let here = frontier(1...3, 10)
    tally.holds(frontier(2...3, 7), replica(1), here: here)
    tally.holds(frontier(1...3, 20), replica(2), here: here)
    // What was said last, of one more; and what was said before holds on.
    tally.holds(frontier(1...1, 4), replica(1), here: here)
    // Who has written nothing, and has not acknowledged anything, is nobody's concern.
    tally.holds(frontier(1...3, 1), replica(9), here: here)
    #expect(lags(tally, here) == [1: 12, 2: 0])
    tally.holds(Frontier(), replica(9), here: here, isKnown: true)
    #expect(lags(tally, frontier(1...3, 11)) == [1: 15, 2: 0, 9: 33])
  }

  /// What each of many holds of all the others is more than there is room for: the ones that were here last count.
  @Test func whatIsRememberedOfManyIsBounded() {
    let tally = Tally(isKept: true, numbersAtMost: 1_000)
    let here = frontier(1...100, 5)
    for number in 1...100 { tally.holds(frontier(1...100, 4), replica(number), here: here) }
    #expect(lags(tally, here) == Dictionary(uniqueKeysWithValues: (91...100).map { ($0, 100) }))
    tally.holds(here, replica(91), here: here)
    tally.holds(here, replica(1), here: here)
    #expect(lags(tally, here).filter { $0.value == 0 }.keys.sorted() == [1, 91])
    #expect(lags(tally, here).count == 10 && lags(tally, here)[92] == nil)
  }
}
