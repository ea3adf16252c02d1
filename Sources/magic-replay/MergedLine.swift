import Console
import MagicData

/// One line on the terminal that is written over and over: how much is merged. How much there is nobody knows before it is
/// read.
final class MergedLine: Sendable {
  private let start = ContinuousClock.now
  private let shown = Locked<ContinuousClock.Instant?>(nil)

  private static let pause = Duration.milliseconds(100)

  func show(_ changes: Int) {
    let now = ContinuousClock.now
    let isDue = shown.withLock { shown in
      guard changes > 0, shown.map({ now - $0 >= MergedLine.pause }) ?? true else { return false }
      shown = now
      return true
    }
    guard isDue else { return }
    let seconds = Double((now - start) / .milliseconds(1)) / 1_000
    let speed = seconds >= 0.2 ? ", \(Int(Double(changes) / seconds).grouped)/s" : ""
    Terminal.write("\r\u{1b}[Kmerged \(changes.counted("change"))\(speed)")
  }

  /// Makes room for other lines.
  func clear() {
    if shown.withLock({ $0 }) != nil { Terminal.write("\r\u{1b}[K") }
  }
}
