internal import Foundation

/// SQLite finds a file's log, and the index of that, by the file's name. While somebody has the file open that had the name before, they are that one's: who opens the file that has it by now would
/// read and overwrite what the other has committed, and lose what he commits himself (J-34).
extension DatabaseFile {
  private struct Entry {
    weak var file: DatabaseFile?
  }

  /// Those that are open in this process.
  private static let inUse = Locked<[Entry]>([])

  /// The log is there by now, if there is any.
  func noteOpened() {
    let found = DatabaseFile.logs(of: location)
    logs.withLock { $0 = Set(found) }
    DatabaseFile.inUse.withLock { entries in
      entries.removeAll { $0.file == nil }
      entries.append(Entry(file: self))
    }
  }

  func noteClosed() {
    DatabaseFile.inUse.withLock { entries in entries.removeAll { $0.file == nil || $0.file === self } }
  }

  private static func logs(of location: DatabaseLocation) -> [FileIdentity] {
    ["-wal", "-shm"].compactMap { FileIdentity(of: location.beside($0)) }
  }

  /// Before SQLite has the file open.
  ///
  /// - Throws: `busy` if the log is another file's that is open.
  static func checkLog(of location: DatabaseLocation) throws {
    guard let file = FileIdentity(of: location.file) else { return }
    let found = logs(of: location)
    let isOthers = inUse.withLock { entries in
      entries.contains { entry in
        guard let other = entry.file, other.identity != file else { return false }
        return other.logs.withLock { !$0.isDisjoint(with: found) }
      }
    }
    let doing = "\(location.file.path) cannot be opened"
    guard !isOthers else {
      throw MagicDataError(
        .busy, "\(doing): this process has the file open still that had this name before, whose log is there; close it first")
    }
    // The file that the mark was made for had the name all the time.
    if let mark = ReplicaMark.beside(location), mark.names(file) { return }
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
