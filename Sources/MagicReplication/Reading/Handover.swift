internal import Dispatch
internal import Foundation

/// Hands on what one thread reads to another, which takes it in the same order: what follows is read meanwhile. Little waits in between.
///
/// What was taken comes back to the thread that gave it, which lets go of it: a heap keeps threads waiting that let go of what others have made.
// @unchecked: `state` is touched only while `changed` is locked, `batch` and `weight` only by the thread that gives.
final class Handover<Element: Sendable>: @unchecked Sendable {
  private struct State {
    var given: [[Element]] = []
    var taken: [[Element]] = []
    /// Of what was given and is not taken yet.
    var weight = 0
    var failure: (any Error)?
  }

  private let take: @Sendable (Element) throws -> Void
  private let taker = DispatchQueue(label: "reading")
  private let changed = NSCondition()
  private var state = State()
  private var batch: [Element] = []
  private var weight = 0

  /// To change threads for each would take longer than to take it.
  private static var atOnce: Int { 256 }
  private static var most: Int { 4_096 }

  init(_ take: @Sendable @escaping (Element) throws -> Void) {
    self.take = take
  }

  /// - Throws: what taking one of those before has thrown; nothing is taken after that.
  func give(_ element: Element, weight: Int) throws {
    batch.append(element)
    self.weight += weight
    if self.weight >= Handover.atOnce { try handOn() }
  }

  /// Waits until all is taken.
  func finish() throws {
    try handOn()
    taker.sync {}
    if let failure = changed.withLock({ state.failure }) { throw failure }
  }

  private func handOn() throws {
    var taken: [[Element]] = []
    try changed.withLock {
      while state.weight > 0, state.weight + weight > Handover.most, state.failure == nil { changed.wait() }
      if let failure = state.failure { throw failure }
      state.given.append(batch)
      state.weight += weight
      swap(&taken, &state.taken)
    }
    taker.async { [self, weight] in takeNext(weight) }
    (batch, weight) = ([], 0)
  }

  private func takeNext(_ weight: Int) {
    let next = changed.withLock { state.failure == nil ? state.given.removeFirst() : [] }
    let result = Result { for element in next { try take(element) } }
    changed.withLock {
      state.taken.append(next)
      state.weight -= weight
      if case .failure(let error) = result { state.failure = error }
      changed.signal()
    }
  }
}
