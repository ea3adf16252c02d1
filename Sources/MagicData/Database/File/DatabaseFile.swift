internal import Foundation

/// The file that a database's connections have open, under the name that it had.
final class DatabaseFile: Sendable {
  let location: DatabaseLocation
  private let opened = Locked<FileIdentity?>(nil)

  init(_ location: DatabaseLocation) {
    self.location = location
  }

  /// `nil` until the first connection is open.
  var identity: FileIdentity? { opened.withLock { $0 } }

  /// Is told when a connection is open, before it reads anything.
  ///
  /// - Throws: as `checkIsInPlace`, if it is not the first: else a part of what is read would be another database's.
  func noteOpening() throws {
    opened.withLock { $0 = $0 ?? FileIdentity(of: location.file) }
    try checkIsInPlace()
  }

  /// - Throws: if the path leads to another file than the one that is open, or to none: what is written to that is nobody's any more.
  func checkIsInPlace() throws {
    guard FileIdentity(of: location.file) != identity else { return }
    throw MagicDataError(
      .notFound,
      """
      \(location.file.path) was \(location.exists ? "replaced by another file" : "moved or removed") while it was in use. What was written to it since is where it is now, if it \
      was moved, and gone with it else; start again with the one that is meant
      """, cause: DisplacedDatabase())
  }
}

/// The file of a database that is open is not where it was.
package struct DisplacedDatabase: Error {}
