internal import Foundation
internal import Logging
internal import MagicData

/// What is made of files, and made anew once one of them was replaced. As long as they cannot be read, or do not go together, the one before holds on.
final class Renewed<Value: Sendable>: Sendable {
  private struct Known {
    var value: Value
    /// Of the files that it was made of, or could not be; without those that are not there.
    var states: [URL: OpenFile.State]
  }

  private let files: [URL]
  /// What the log says of it.
  private let says: (renewed: String, kept: String)
  private let logger: Logger
  private let make: @Sendable () throws -> Value
  private let known: Locked<Known>

  init(
    of files: [URL], _ logger: Logger, _ says: (renewed: String, kept: String),
    _ make: @Sendable @escaping () throws -> Value
  ) throws {
    (self.files, self.logger, self.says, self.make) = (files, logger, says, make)
    // Before they are read: what is replaced meanwhile is read anew.
    let states = Renewed.states(of: files)
    known = Locked(Known(value: try make(), states: states))
  }

  /// As the files have it by now.
  var current: Value {
    known.withLock { known in
      let states = Renewed.states(of: files)
      guard states != known.states else { return known.value }
      known.states = states
      do {
        known.value = try make()
        logger.notice("\(says.renewed)")
      } catch {
        logger.error("\(says.kept): \(error)")
      }
      return known.value
    }
  }

  /// A link has the state of the file that it leads to.
  private static func states(of files: [URL]) -> [URL: OpenFile.State] {
    files.reduce(into: [:]) { $0[$1] = (try? OpenFile($1))?.state }
  }
}
