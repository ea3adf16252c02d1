internal import Foundation

/// The file that a database's connections have open, under the name that it had.
final class DatabaseFile: Sendable {
  let location: DatabaseLocation
  /// As the system's calls take it: each write asks.
  private let path: [CChar]
  private let opened = Locked<FileIdentity?>(nil)
  /// SQLite's log beside it, and the index of that, as they were when it was opened.
  let logs = Locked<Set<FileIdentity>>([])

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

  /// SQLite finds the WAL and its locks by the file's name: of two processes that have it open under two names neither sees what the other commits, and one overwrites it. If the WAL, or its index,
  /// has two names, that is another database's as well.
  private func checkHasOneName() throws {
    try checkFileHasOneName()
    for suffix in ["-wal", "-shm"] {
      let file = location.beside(suffix)
      let names = DatabaseFile.names(file.path)
      guard names <= 1 else { throw DatabaseFile.linked(file, names, to: location.file) }
    }
  }

  private func checkFileHasOneName() throws {
    guard DatabaseFile.names(path) > 1 else { return }
    // Whoever puts a new database to its place gives it a second name for a moment, or for good if he is killed then.
    ScratchFolder.tidy(location.file.deletingLastPathComponent())
    for round in 0... {
      // Looked for first: with it the second name goes.
      let maker = maker
      let names = DatabaseFile.names(path)
      guard names > 1 else { return }
      guard maker != nil, round < DatabaseFile.mostLooks else {
        throw maker.map(left(in:)) ?? DatabaseFile.linked(location.file, names, to: location.file)
      }
      usleep(10_000)
    }
  }

  private static let mostLooks = 10

  private static func names(_ path: UnsafePointer<CChar>) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_nlink) : 0
  }

  /// The folder in which the file was made, if it has its name there still, or nobody may look.
  private var maker: URL? {
    let place = location.file.deletingLastPathComponent()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
    return names.lazy.filter { $0.hasPrefix(DatabaseLocation.scratchPrefix) }.map { place.appendingPathComponent($0) }.first {
      var status = stat()
      guard stat(DatabaseLocation.made(in: $0).path, &status) == 0 else { return errno == EACCES }
      return FileIdentity(status) == identity
    }
  }

  private func left(in maker: URL) -> MagicDataError {
    MagicDataError(
      .notAllowed,
      """
      \(location.file.path) has a second name in \(maker.path), which was left by whoever made it: delete that folder, as the user whose it is, unless somebody is making a database here
      """)
  }

  private static func linked(_ file: URL, _ names: Int, to database: URL) -> MagicDataError {
    MagicDataError(
      .notAllowed,
      """
      \(file.path) has \(names) names (hard links), and by two of them commits are lost: delete the other one if it is a copy's. Or, while nobody has the database open, make files of its own of \
      \(database.path) and its -wal (`cp X Y && mv Y X`), and delete its -shm; it goes on under a fresh replica id
      """)
  }

  /// Whether the path leads to the file that is open.
  var isInPlace: Bool { FileIdentity(path: path) == identity }

  /// - Throws: if the path leads to another file than the one that is open, or to none: what is written to that is nobody's any more. Also if the system does not say.
  func checkIsInPlace() throws {
    var status = stat()
    let number = stat(path, &status) == 0 ? 0 : errno
    if number == 0, FileIdentity(status) == identity { return }
    let file = location.file.path
    guard [0, ENOENT, ENOTDIR, ELOOP].contains(number) else {
      throw MagicDataError(
        [EACCES, EPERM].contains(number) ? .notAllowed : .failed,
        "\(file) cannot be looked at, and nothing was written: \(String(cString: strerror(number)))")
    }
    throw MagicDataError(
      .notFound,
      """
      \(file) was \(number == 0 ? "replaced by another file" : "moved or removed") while it was in use, and nothing is written to it any more; close it, and open the one that is meant
      """, cause: DisplacedDatabase())
  }
}

/// The file of a database that is open is not where it was.
package struct DisplacedDatabase: Error {}
