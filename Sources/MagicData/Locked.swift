internal import Foundation

/// A value behind a lock. (`Synchronization.Mutex` needs macOS 15 and iOS 18.)
// @unchecked: `state` is touched only while `lock` is held.
final class Locked<State>: @unchecked Sendable {
  private let lock = NSLock()
  private var state: State

  init(_ state: State) {
    self.state = state
  }

  func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }
}
