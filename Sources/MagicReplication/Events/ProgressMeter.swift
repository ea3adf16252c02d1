internal import MagicData

/// Counts what moves, tells of it now and then, and stops what was cancelled. Used by one pull or push, on one thread at a
/// time.
package final class ProgressMeter {
  private let events: EventSource
  private let phase: MagicProgress.Phase
  private let total: Int
  private let clock = ContinuousClock()
  private var told: ContinuousClock.Instant?
  private var transactions = 0
  private var changes = 0

  /// How often it tells, and after how many transactions it looks at the clock at the latest.
  private static let (pause, stride) = (Duration.milliseconds(100), 64)

  package init(_ events: EventSource, _ phase: MagicProgress.Phase, of total: Int) {
    self.events = events
    self.phase = phase
    self.total = total
  }

  package func moved(changes: Int, transactions count: Int = 1) throws {
    try Task.checkCancellation()
    transactions += count
    self.changes += changes
    guard transactions == total || transactions.isMultiple(of: ProgressMeter.stride) || changes >= ProgressMeter.stride else {
      return
    }
    let now = clock.now
    if transactions != total, let told, now - told < ProgressMeter.pause { return }
    told = now
    events.tell(
      .progress(
        MagicProgress(
          phase: phase, transactions: transactions, totalTransactions: max(total, transactions), changes: self.changes))
    )
  }
}
