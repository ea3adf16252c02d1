/// Whether a repeated read took long the last time: then the next one is not tried on a thread of Swift's pool first.
package final class SlowReadFlag: Sendable {
  private let last = Locked(false)

  var isLong: Bool {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }

  /// Takes the time of a read.
  func noting<Result>(longerThan duration: Duration, _ body: () throws -> Result) rethrows -> Result {
    let start = ContinuousClock.now
    defer { isLong = .now - start > duration }
    return try body()
  }
}
