internal import Foundation

/// A value behind a lock. (`Synchronization.Mutex` needs macOS 15 and iOS 18.)
// @unchecked: `state` is touched only while `lock` is held.
package final class Locked<State>: @unchecked Sendable {
  private let lock = NSLock()
  // Exclusive by the lock; to check it with each access takes as long as the lock.
  @exclusivity(unchecked) private var state: State

  package init(_ state: State) {
    self.state = state
  }

  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }
}
