internal import Dispatch
internal import Foundation

/// A bounded queue from a thread that reads to one that takes, in order. Where the queue is full, the thread that reads
/// prepares its elements itself, and so does some of the other's work.
///
/// What was taken is released by the thread that made it: to free another thread's memory is to wait for its heap.
// @unchecked: `state` is touched only while `changed` is locked, `batch`, `weight` and `prepare` only by the thread that gives.
final class ConsumerQueue<Element: Sendable>: @unchecked Sendable {
  private struct State {
    var given: [[Element]] = []
    var taken: [[Element]] = []
    /// The weight of what was given and is not taken yet.
    var weight = 0
    var failure: (any Error)?
  }

  private let prepare: (inout Element) throws -> Void
  private let take: @Sendable (Element) throws -> Void
  private let taker = DispatchQueue(label: "reading")
  private let changed = NSCondition()
  private var state = State()
  private var batch: [Element] = []
  private var weight = 0
  private var last = ContinuousClock.now

  /// To change threads for each would take longer than to take it.
  private static var atOnce: Int { 256 }
  private static var most: Int { 8_192 }
  /// Nobody who looks on waits for longer.
  private static var longest: Duration { .milliseconds(50) }

  /// - Parameter prepare: what of the taking can be done on the thread that reads.
  init(prepare: @escaping (inout Element) throws -> Void, _ take: @Sendable @escaping (Element) throws -> Void) {
    (self.prepare, self.take) = (prepare, take)
  }

  /// - Parameter weight: of which 8,192 wait at most, or one element.
  /// - Throws: what taking one of those before has thrown, after which nothing is taken; what `prepare` throws; what
  ///   `checkCancelled` throws, which is asked while it waits.
  func give(_ element: Element, weight: Int, _ checkCancelled: () throws -> Void) throws {
    batch.append(element)
    self.weight += weight
    let now = ContinuousClock.now
    guard self.weight >= ConsumerQueue.atOnce || now - last >= ConsumerQueue.longest else { return }
    last = now
    try handOn(checkCancelled)
  }

  /// Waits until all is taken.
  func finish(_ checkCancelled: () throws -> Void) throws {
    try handOn(checkCancelled)
    try changed.withLock { try wait(checkCancelled) { $0.weight == 0 } }
  }

  /// Takes nothing any more, but for what is being taken.
  func stop() {
    changed.withLock { state.failure = state.failure ?? CancellationError() }
    taker.sync {}
  }

  private func handOn(_ checkCancelled: () throws -> Void) throws {
    var taken: [[Element]] = []
    let hasRoom: (State) -> Bool = { [weight] in $0.weight == 0 || $0.weight + weight <= ConsumerQueue.most }
    if !changed.withLock({ hasRoom(state) }) {
      for index in batch.indices { try prepare(&batch[index]) }
    }
    try changed.withLock {
      try wait(checkCancelled, until: hasRoom)
      state.given.append(batch)
      state.weight += weight
      swap(&taken, &state.taken)
    }
    taker.async { [self, weight] in takeNext(weight) }
    (batch, weight) = ([], 0)
  }

  /// Waits for `isDone`, with `changed` locked by the caller.
  private func wait(_ checkCancelled: () throws -> Void, until isDone: (State) -> Bool) throws {
    while state.failure == nil, !isDone(state) {
      _ = changed.wait(until: Date(timeIntervalSinceNow: 0.1))
      try checkCancelled()
    }
    if let failure = state.failure { throw failure }
  }

  private func takeNext(_ weight: Int) {
    let next = changed.withLock { state.failure == nil ? state.given.removeFirst() : [] }
    let result = Result { for element in next { try take(element) } }
    changed.withLock {
      state.taken.append(next)
      state.weight -= weight
      if case .failure(let error) = result { state.failure = state.failure ?? error }
      changed.signal()
    }
  }
}
