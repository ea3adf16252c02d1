internal import Foundation

/// The file that a database's connections have open, under the name that it had.
final class DatabaseFile: Sendable {
  let location: DatabaseLocation
  /// As the system's calls take it: each write asks.
  private let path: [CChar]
  private let opened = Locked<FileIdentity?>(nil)

  init(_ location: DatabaseLocation) {
    self.location = location
    path = Array(location.file.path.utf8CString)
  }

  /// `nil` until the first connection is open.
  var identity: FileIdentity? { opened.withLock { $0 } }

  /// Is told when a connection is open, before it reads anything.
  ///
  /// - Parameter writes: whether it can. A reader beside it need not look again.
  /// - Throws: as `checkIsInPlace`, if it is not the first: else a part of what is read would be another database's. `notAllowed` if the file has several names.
  func noteOpening(writes: Bool) throws {
    opened.withLock { $0 = $0 ?? FileIdentity(path: path) }
    try checkIsInPlace()
    if writes { try checkHasOneName() }
  }

  /// SQLite finds the WAL and its locks by the file's name: of two processes that have it open under two names neither sees what the other commits, and one overwrites it.
  private func checkHasOneName() throws {
    var names = names
    for round in 0..<DatabaseFile.mostLooks where names > 1 {
      // Whoever puts a new database to its place gives it a second name for a moment, or for good if he is killed then.
      if round > 0 { usleep(10_000) }
      ScratchFolder.tidy(location.file.deletingLastPathComponent())
      names = self.names
    }
    guard names > 1 else { return }
    throw MagicDataError(
      .notAllowed,
      """
      \(location.file.path) has \(names) names (hard links), and by two of them commits are lost; make it a file of its own, while nobody has it open: copy it, and rename the copy \
      to its place
      """)
  }

  private static let mostLooks = 10

  private var names: Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_nlink) : 0
  }

  /// Whether the path leads to the file that is open.
  var isInPlace: Bool { FileIdentity(path: path) == identity }

  /// - Throws: if the path leads to another file than the one that is open, or to none: what is written to that is nobody's any more.
  func checkIsInPlace() throws {
    guard !isInPlace else { return }
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
