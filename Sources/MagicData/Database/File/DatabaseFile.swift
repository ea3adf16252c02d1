internal import Foundation

/// The file that a database's connections have open, under the name that it had.
final class DatabaseFile: Sendable {
  let location: DatabaseLocation
  /// As the system's calls take them: each write asks.
  private let path: [CChar]
  private let logPath: [CChar]
  private let opened = Locked<FileIdentity?>(nil)
  /// SQLite's log beside it, and the index of that, as they were when it was opened.
  let logs = Locked<Set<FileIdentity>>([])
  private let log = Locked<FileIdentity?>(nil)

  init(_ location: DatabaseLocation) {
    self.location = location
    path = Array(location.file.path.utf8CString)
    logPath = Array(location.beside(DatabaseFile.logSuffix).path.utf8CString)
  }

  private static let logSuffix = "-wal"

  /// `nil` until the first connection is open.
  var identity: FileIdentity? { opened.withLock { $0 } }

  /// To be called when a connection is open, before it reads anything.
  ///
  /// - Parameter writes: whether it can. A reader beside it need not look again.
  /// - Throws: as `checkIsInPlace`, if it is not the first: else a part of what is read would be another database's.
  ///   `notAllowed` if the file has several names.
  func noteOpening(writes: Bool) throws {
    opened.withLock { $0 = $0 ?? FileIdentity(path: path) }
    try checkIsInPlace()
    if writes { try checkHasOneName() }
  }

  /// SQLite finds the WAL and its locks by the file's name: of two processes that have it open under two names neither sees
  /// what the other commits, and one overwrites it. If the WAL, or its index, has two names, that is another database's as
  /// well.
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
        throw maker.map { left(in: $0, names) } ?? DatabaseFile.linked(location.file, names, to: location.file)
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

  private func left(in maker: URL, _ names: Int) -> MagicDataError {
    guard FileIdentity(of: DatabaseLocation.made(in: maker)) == identity else {
      return DatabaseFile.linked(
        location.file, names, to: location.file, "; one may be in \(maker.path), which this user cannot look into")
    }
    return MagicDataError(
      .notAllowed,
      """
      \(location.file.path) has a second name in \(maker.path), which was left by whoever made it: delete that folder, as the user whose it is, unless somebody is making a database here
      """)
  }

  private static func linked(_ file: URL, _ names: Int, to database: URL, _ where: String = "") -> MagicDataError {
    MagicDataError(
      .notAllowed,
      """
      \(file.path) has \(names) names (hard links)\(`where`), and by two of them commits are lost: delete the other one if it is a copy's. Or, while nobody has the database open, make files of its own of \
      \(database.path) and its -wal (`cp X Y && mv Y X`), and delete its -shm; it goes on under a fresh replica id
      """)
  }

  /// Notes which log it has, which is there by now if there is any.
  func noteOpened() {
    let found = Set(DatabaseFile.logs(of: location))
    logs.withLock { $0 = found }
    log.withLock { $0 = FileIdentity(path: logPath) }
  }

  /// Whether the file that is open has its name, and its log that one's.
  var isInPlace: Bool {
    guard FileIdentity(path: path) == identity else { return false }
    return log.withLock { $0 } == nil || hasLog
  }

  /// Whether the log is still there by its name.
  var hasLog: Bool { log.withLock { $0 }.map { FileIdentity(path: logPath) == $0 } ?? false }

  /// Whether another log has that name by now: SQLite would delete it in place of this one's.
  var hasOthersLog: Bool {
    guard let log = log.withLock({ $0 }), let found = FileIdentity(path: logPath) else { return false }
    return found != log
  }

  /// Whether another file has the name by now, and SQLite would take this one's log for that one's.
  var isReplaced: Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFLNK && FileIdentity(status) != identity
  }

  /// Whether nobody else finds what is in the log of a file that is not in its place: the log was left behind, or has gone
  /// itself. It may have been moved with the file.
  var hasLogAlone: Bool {
    !isReplaced && !isOpenAgain && (FileIdentity(path: path) == identity || hasLog)
  }

  /// - Throws: if the path leads to another file than the one that is open, or to none, or that of its log does: what is
  ///   written to them is nobody's any more. Also if the system does not say.
  func checkIsInPlace() throws {
    try DatabaseFile.check(path, is: identity) { location.file.path }
    guard let log = log.withLock({ $0 }) else { return }
    try DatabaseFile.check(logPath, is: log, isLog: true) { location.beside(DatabaseFile.logSuffix).path }
  }

  private static func check(_ path: [CChar], is identity: FileIdentity?, isLog: Bool = false, _ name: () -> String) throws {
    var status = stat()
    let number = lstat(path, &status) == 0 ? 0 : errno
    if number == 0, FileIdentity(status) == identity { return }
    let file = name()
    let wayOut =
      isLog ? "end whatever has the database open, and open it again" : "close it, and then open the one that is meant"
    guard [0, ENOENT, ENOTDIR, ELOOP].contains(number) else {
      throw MagicDataError(
        [EACCES, EPERM].contains(number) ? .notAllowed : .failed,
        "\(file) cannot be looked at, and nothing was written: \(String(cString: strerror(number)))")
    }
    throw MagicDataError(
      .notFound,
      """
      \(file) was \(number == 0 ? "replaced by another file" : "moved or removed") while it was in use, and nothing is written to it any more; \(wayOut)
      """, cause: DisplacedDatabase())
  }
}

/// The file of a database that is open is not where it was.
package struct DisplacedDatabase: Error {}
