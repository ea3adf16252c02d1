internal import Foundation
package import MagicData

/// What messages call files that are here for the time: nobody knows their paths.
package enum DisplayName {
  private static let names = Locked<[String: String]>([:])

  package static func set(_ name: String, of path: String) {
    names.withLock { $0[path] = name }
  }

  /// A text that may name such files.
  package static func text(_ text: String) -> String {
    names.withLock { $0.reduce(text) { $0.replacingOccurrences(of: $1.key, with: $1.value) } }
  }
}

extension ScratchFolder {
  /// What is told where it has no room for what something holds.
  package func isFull(for name: String, cause: MagicDataError) -> MagicDataError {
    MagicDataError(
      .full,
      """
      the temporary folder \(url.deletingLastPathComponent().path) has no room for what \(name) holds; make room there, or set TMPDIR \
      to another folder
      """, cause: cause)
  }
}
