import Console
import Foundation
import MagicReplication

/// One line on the terminal that is written over and over: how far, how fast, how much longer.
struct ProgressBar {
  private let clock = ContinuousClock()
  private var start: ContinuousClock.Instant?
  private var phase: MagicProgress.Phase?
  private var isShown = false

  mutating func show(_ progress: MagicProgress) {
    let now = clock.now
    if phase != progress.phase { (phase, start) = (progress.phase, now) }
    let seconds = start.map { Double(($0.duration(to: now) / .milliseconds(1))) / 1_000 } ?? 0
    let line = ProgressBar.line(progress, seconds: seconds, width: Terminal.width)
    Terminal.write("\r\u{1b}[K" + line)
    isShown = true
  }

  /// Makes room for other lines.
  mutating func clear() {
    if isShown { Terminal.write("\r\u{1b}[K") }
    isShown = false
  }

  /// - Parameter seconds: since the beginning.
  static func line(_ progress: MagicProgress, seconds: Double, width: Int) -> String {
    let share = progress.totalTransactions == 0 ? 1 : Double(progress.transactions) / Double(progress.totalTransactions)
    var text = " \(Int(share * 100)) %  \(progress.changes.grouped) changes"
    if seconds >= 0.2 {
      text += ", \(Int(Double(progress.changes) / seconds).grouped)/s"
      if share > 0, share < 1 { text += ", \(remaining(seconds * (1 - share) / share)) left" }
    }
    let name = progress.phase == .pull ? "pulling " : "pushing "
    let room = min(30, width - name.count - text.count - 3)
    guard room >= 5 else { return String((name + text).prefix(max(0, width - 1))) }
    let filled = Int(share * Double(room))
    return name + "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled) + "]" + text
  }

  private static func remaining(_ seconds: Double) -> String {
    let seconds = Int(min(seconds, 359_999).rounded(.up))
    return seconds < 60
      ? "\(seconds) s"
      : seconds < 3_600 ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds / 3_600) h \(seconds / 60 % 60) min"
  }
}
