package import Foundation
package import Logging
internal import MagicData

/// A value made from files, and made again when one of them was replaced. While they cannot be read, or do not fit together,
/// the value stays as it was.
package final class Reloading<Value: Sendable>: Sendable {
  private struct Known {
    var value: Value
    /// As the files were that it was made of; without those that cannot be opened.
    var states: [URL: OpenFile.State]
    /// As the files were when nothing could be made of them, and when that is tried again: what they hold may be right, and
    /// could not be read just then.
    var failed: (states: [URL: OpenFile.State], until: ContinuousClock.Instant, why: String)?
  }

  private let files: [URL]
  /// What the log says of it.
  private let says: (renewed: String, kept: String)
  private let logger: Logger
  private let make: @Sendable () throws -> Value
  private let known: Locked<Known>

  package init(
    of files: [URL], _ logger: Logger, _ says: (renewed: String, kept: String),
    _ make: @Sendable @escaping () throws -> Value
  ) throws {
    (self.files, self.logger, self.says, self.make) = (files, logger, says, make)
    // Before they are read: what is replaced meanwhile is read anew.
    let states = Reloading.states(of: files)
    known = Locked(Known(value: try make(), states: states))
  }

  /// As the files have it by now.
  package var current: Value {
    known.withLock { known in
      let states = Reloading.states(of: files)
      guard states != known.states else { return known.value }
      let failed = known.failed
      if let failed, failed.states == states, failed.until > .now { return known.value }
      do {
        known = Known(value: try make(), states: states)
        logger.notice("\(says.renewed)")
      } catch {
        let why = "\(error)"
        if failed?.states != states || failed?.why != why { logger.error("\(says.kept): \(why)") }
        known.failed = (states: states, until: .now + .seconds(1), why: why)
      }
      return known.value
    }
  }

  /// A link has the state of the file that it leads to.
  private static func states(of files: [URL]) -> [URL: OpenFile.State] {
    files.reduce(into: [:]) { $0[$1] = (try? OpenFile($1))?.state }
  }
}
