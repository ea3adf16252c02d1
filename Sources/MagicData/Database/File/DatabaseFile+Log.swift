internal import Foundation

/// SQLite finds a file's log, and the index of that, by the file's name. While somebody has the file open that had the name before, they are that one's: who opens the file that has it by now would
/// read and overwrite what the other has committed, and lose what he commits himself (J-34).
extension DatabaseFile {
  private struct Entry {
    weak var file: DatabaseFile?
  }

  /// Those that are open in this process, or being opened.
  private static let inUse = Locked<[Entry]>([])

  /// The file as it is about to be opened.
  ///
  /// - Throws: `busy` if the log is that of another file, which is open.
  static func claim(_ location: DatabaseLocation) throws -> DatabaseFile {
    try patiently {
      try inUse.withLock { entries in
        try checkLog(of: location, entries)
        let file = DatabaseFile(location)
        entries.removeAll { $0.file == nil }
        entries.append(Entry(file: file))
        return file
      }
    }
  }

  /// One that was let go of without being closed is open until what it was about is done.
  private static func patiently<Result>(_ look: () throws -> Result) throws -> Result {
    try Store.retrying(for: .seconds(2), where: { ($0 as? MagicDataError)?.code == .busy }, look)
  }

  /// - Throws: as `claim`, of a place that is to get a file.
  static func checkLog(of location: DatabaseLocation) throws {
    try patiently { try inUse.withLock { entries in try checkLog(of: location, entries) } }
  }

  /// The log is there by now, if there is any.
  func noteOpened() {
    let found = DatabaseFile.logs(of: location)
    logs.withLock { $0 = Set(found) }
  }

  func noteClosed() {
    DatabaseFile.inUse.withLock { entries in entries.removeAll { $0.file == nil || $0.file === self } }
  }

  private static func logs(of location: DatabaseLocation) -> [FileIdentity] {
    ["-wal", "-shm"].compactMap { FileIdentity(of: location.beside($0)) }
  }

  private static func checkLog(of location: DatabaseLocation, _ entries: [Entry]) throws {
    // One that is gone is another one than any.
    let file = FileIdentity(of: location.file)
    let found = logs(of: location)
    guard !found.isEmpty else { return }
    let others = entries.compactMap(\.file)
    let doing = "\(location.file.path) cannot be opened"
    let isOthers = others.contains { other in other.identity != file && other.logs.withLock { !$0.isDisjoint(with: found) } }
    guard !isOthers else {
      throw MagicDataError(
        .busy, "\(doing): this process has the file open still that had this name before, whose log is there; close it first")
    }
    // The file that the mark was made for had the name all the time.
    if let file, let mark = ReplicaMark.beside(location), mark.names(file) { return }
    // Who looks at the locks of what this process has open, or is opening, lets go of them.
    guard !others.contains(where: { $0.location.file == location.file }) else { return }
    let process: pid_t? = FileGates.ifNotOpen(location.file) { otherUser(of: location) } ?? nil
    guard let process else { return }
    throw MagicDataError(
      .busy, "\(doing): process \(process) has the file open still that had this name before, whose log is there; end it first")
  }

  /// The process that uses the log, and not the file. From its first read until it closes SQLite has a lock on the file, and within that time one on the log's index
  /// (https://www.sqlite.org/src/file/src/os_unix.c).
  private static func otherUser(of location: DatabaseLocation) -> pid_t? {
    let index = location.beside("-shm")
    // It may be closing just now: then it lets go of the index first.
    guard let process = holder(of: index, from: 128, count: 1), holder(of: location.file, from: 0x4000_0002, count: 510) == nil,
      holder(of: index, from: 128, count: 1) == process
    else { return nil }
    return process
  }

  /// Another process that has locked some of these bytes. Lets go of all locks that this one has on the file.
  private static func holder(of file: URL, from start: off_t, count: off_t) -> pid_t? {
    let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    (lock.l_start, lock.l_len) = (start, count)
    guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
    return lock.l_pid
  }
}
