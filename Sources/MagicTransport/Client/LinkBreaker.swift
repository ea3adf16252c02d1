internal import MagicData

/// Breaks a connection off from outside, and each that comes after it.
final class LinkBreaker: Sendable {
  private struct State {
    var breaking: (@Sendable () -> Void)?
    var isBroken = false
  }

  private let state = Locked(State())

  var isBroken: Bool { state.withLock { $0.isBroken } }

  /// - Parameter breaking: ends the connection that there is from now on.
  func begin(_ breaking: @Sendable @escaping () -> Void) {
    let isBroken = state.withLock { state in
      state.breaking = breaking
      return state.isBroken
    }
    if isBroken { breaking() }
  }

  /// The connection is over.
  func end() {
    state.withLock { $0.breaking = nil }
  }

  /// `false` if there is no connection; none is broken off later then.
  func breakOff() -> Bool {
    let breaking = state.withLock { state in
      state.isBroken = state.breaking != nil
      return state.breaking
    }
    breaking?()
    return breaking != nil
  }
}
