internal import Foundation

/// Locks on open files, which the system takes back from who dies (`flock`).
package enum SystemLock {
  /// Takes a lock on an open file, or tells that somebody holds one that does not go with it. Where there are no such locks,
  /// there is nobody to wait for.
  ///
  /// - Parameter kind: `LOCK_SH` or `LOCK_EX`.
  package static func take(_ kind: Int32, _ descriptor: Int32) -> Bool {
    var status: Int32
    repeat { status = flock(descriptor, kind | LOCK_NB) } while status != 0 && errno == EINTR
    return status == 0 || errno != EWOULDBLOCK
  }

  /// Tries again until somebody who holds a lock lets go of it, for as long as a writer waits for a database.
  ///
  /// - Parameters:
  ///   - busy: what is said of who holds it for longer.
  ///   - attempt: `nil` if somebody holds it.
  package static func wait<Held: Sendable>(_ busy: String, _ attempt: () throws -> Held?) async throws -> Held {
    let end = ContinuousClock.now + .seconds(10)
    while true {
      if let held = try attempt() { return held }
      guard ContinuousClock.now < end else { throw MagicDataError(.busy, busy) }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
