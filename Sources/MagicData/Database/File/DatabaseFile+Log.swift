internal import Foundation

/// SQLite finds a file's log, and the index of that, by the file's name. While somebody has the file open that had the name
/// before, they are that one's: who opens the file that has it by now would read and overwrite what the other has committed,
/// and lose what he commits himself. So would who opens a file of which somebody uses another log: under the name that it had
/// before, or one that was removed (J-34).
extension DatabaseFile {
  private struct Entry {
    weak var file: DatabaseFile?
  }

  /// Those that are open in this process, or being opened.
  private static let inUse = Locked<[Entry]>([])

  /// The file as it is about to be opened.
  ///
  /// - Throws: `busy` if the log is that of another file, which is open, or the file is open with another log.
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

  /// Whether it is open in this process once more.
  var isOpenAgain: Bool {
    DatabaseFile.inUse.withLock { entries in
      entries.contains { $0.file.map { other in other !== self && other.identity == identity } ?? false }
    }
  }

  func noteClosed() {
    DatabaseFile.inUse.withLock { entries in entries.removeAll { $0.file == nil || $0.file === self } }
  }

  static func logs(of location: DatabaseLocation) -> [FileIdentity] {
    ["-wal", "-shm"].compactMap { FileIdentity(of: location.beside($0)) }
  }

  private static func checkLog(of location: DatabaseLocation, _ entries: [Entry]) throws {
    // One that is gone is another one than any.
    let file = FileIdentity(of: location.file)
    let found = Set(logs(of: location))
    let others = entries.compactMap(\.file)
    let doing = "\(location.file.path) cannot be opened"
    for other in others {
      let theirs = other.logs.withLock { $0 }
      let isSame = file != nil && other.identity == file
      // One file's folder may have several names.
      guard isSame ? theirs.isEmpty || theirs == found : theirs.isDisjoint(with: found) else {
        throw MagicDataError(.busy, "\(doing): this process has \(isSame ? hasAnotherLog : hadTheName); close it first")
      }
    }
    // Who looks at the locks of what this process has open, or is opening, lets go of them.
    let isOpen = others.contains { $0.location.file == location.file || file != nil && $0.identity == file }
    guard !isOpen else { return }
    let user: User? = FileGates.ifNotOpen(location.file) { self.user(of: location, file) } ?? nil
    guard let user else { return }
    // What has locks and is not in this one's namespace has no number here.
    let process = user.process > 0 ? "process \(user.process)" : "a process elsewhere (in another container)"
    throw MagicDataError(.busy, "\(doing): \(process) has \(user.has); end it first")
  }

  private typealias User = (process: pid_t, has: String)

  private static let hadTheName = "the file open still that had this name before, whose log is there"
  private static let hasAnotherLog = "this file open under another name, or its log was removed"

  private static func user(of location: DatabaseLocation, _ file: FileIdentity?) -> User? {
    guard let file else { return otherUser(of: location).map { ($0, hadTheName) } }
    if let process = strayUser(of: location) { return (process, hasAnotherLog) }
    // The file that the mark was made for had the name all the time.
    if let mark = ReplicaMark.beside(location), mark.names(file) { return nil }
    return otherUser(of: location).map { ($0, hadTheName) }
  }

  /// The process that uses the log, and not the file. From its first read until it closes SQLite has a lock on the file, and
  /// within that time one on the log's index (https://www.sqlite.org/src/file/src/os_unix.c).
  private static func otherUser(of location: DatabaseLocation) -> pid_t? {
    let index = location.beside("-shm")
    // It may be closing just now: then it lets go of the index first.
    guard let process = holder(of: index, from: 128, count: 1), holder(of: location.file, from: 0x4000_0002, count: 510) == nil,
      holder(of: index, from: 128, count: 1) == process
    else { return nil }
    return process
  }

  /// The process that uses the file, and not the log beside it. One that is opening it, or closing, is that for a moment.
  private static func strayUser(of location: DatabaseLocation) -> pid_t? {
    // Who has it alone has locked it for everybody, whatever its name.
    guard let process = holder(of: location.file, from: 0x4000_0002, count: 510, isShared: true) else { return nil }
    let log = ["-shm", "-wal"].map(location.beside)
    guard log.allSatisfy({ access($0.path, F_OK) == 0 }) else { return usesLog(location.file) ? process : nil }
    // Who may not write the index reads without a lock on it, if nobody has one.
    guard holder(of: log[0], from: 128, count: 1) == nil, hasNone(process, of: log.compactMap { FileIdentity(of: $0) }),
      holder(of: location.file, from: 0x4000_0002, count: 510, isShared: true) == process
    else { return nil }
    return process
  }

  /// Whether a database has a log at all, by its header's eighteenth byte (https://www.sqlite.org/fileformat.html, 1.3.3).
  private static func usesLog(_ file: URL) -> Bool {
    let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var version: UInt8 = 0
    return pread(descriptor, &version, 1, 18) == 1 && version == 2
  }

  /// Whether a process has none of these files open, where the system tells (Linux, of the same user's).
  private static func hasNone(_ process: pid_t, of files: [FileIdentity]) -> Bool {
    let folder = "/proc/\(process)/fd"
    guard process > 0, let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
    return !names.contains { name in
      FileIdentity(of: URL(fileURLWithPath: "\(folder)/\(name)")).map(files.contains) ?? false
    }
  }

  /// Another process that has locked some of these bytes. Lets go of all locks that this one has on the file.
  ///
  /// - Parameter isShared: whether one that has locked them for itself alone does not count.
  private static func holder(of file: URL, from start: off_t, count: off_t, isShared: Bool = false) -> pid_t? {
    // A pipe in its place must not be waited for.
    let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    (lock.l_start, lock.l_len) = (start, count)
    guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
    return isShared && lock.l_type != Int16(F_RDLCK) ? nil : lock.l_pid
  }
}
