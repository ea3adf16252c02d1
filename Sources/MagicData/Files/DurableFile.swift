package import Foundation

/// Writes whole files so that a crash leaves the old content or the new, and never a part (F-4).
package enum DurableFile {
  /// Makes a file, or replaces it.
  ///
  /// - Parameter mode: who may read it, as far as the process's mask lets them.
  package static func write(_ bytes: some ContiguousBytes, to file: URL, mode: mode_t = 0o666) throws {
    let temporary = try writeTemporary(bytes, beside: file, mode)
    guard rename(temporary.path, file.path) == 0 else { throw failure("could not be written", file, removing: temporary) }
    try syncFolder(of: file)
  }

  /// Writes a content that comes in parts: `body` hands them to its argument.
  ///
  /// - Parameter permissions: those that it gets, where the file system knows any, whatever the process's mask lets; without
  ///   them those of any new file.
  package static func write(
    to file: URL, permissions: mode_t? = nil, _ body: ((Data) throws -> Void) throws -> Void
  ) throws {
    let temporary = temporary(beside: file)
    try writeNew(temporary, permissions ?? 0o666) { descriptor in
      if let permissions { _ = fchmod(descriptor, permissions) }
      try body { part in _ = try part.withUnsafeBytes { try append($0, to: descriptor, temporary) } }
    }
    guard rename(temporary.path, file.path) == 0 else { throw failure("could not be written", file, removing: temporary) }
    try syncFolder(of: file)
  }

  /// Makes a file. `false` if there is one already; that stays as it is.
  package static func create(_ bytes: some ContiguousBytes, at file: URL) throws -> Bool {
    let temporary = try writeTemporary(bytes, beside: file)
    defer { unlink(temporary.path) }
    guard link(temporary.path, file.path) == 0 else {
      if errno == EEXIST { return false }
      // A file system without hard links: the name itself is the lock, and a crash right here leaves a file cut short.
      return try createInPlace(bytes, at: file)
    }
    try syncFolder(of: file)
    return true
  }

  /// Brings a file's content to the disk, whoever wrote it.
  package static func sync(_ file: URL) throws {
    let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw failure("could not be opened", file)
    }
    defer { close(descriptor) }
    // Some file systems of networks know no sync of a folder.
    guard flush(descriptor) || errno == EINVAL || errno == ENOTSUP else { throw failure("could not be synced", file) }
  }

  static func flush(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // There, fsync leaves it in the disk's own cache.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  /// The first bytes of a file, and its length.
  package static func head(of file: URL, _ count: Int) throws -> (bytes: [UInt8], length: Int) {
    // A pipe in its place must not be waited for.
    let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("could not be opened", file) }
    defer { close(descriptor) }
    let length = lseek(descriptor, 0, SEEK_END)
    guard length >= 0 else { throw failure("could not be read", file) }
    return (try read(descriptor, min(count, Int(length)), file), Int(length))
  }

  /// Bytes from the middle of a file; fewer at its end.
  package static func part(of file: URL, at offset: Int, _ count: Int) throws -> [UInt8] {
    let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("could not be opened", file) }
    defer { close(descriptor) }
    return try read(descriptor, count, file, at: offset)
  }

  /// The error to throw if nobody may tell this user whether the file is there.
  package static func isHidden(_ file: URL) -> MagicDataError? {
    access(file.path, F_OK) != 0 && errno == EACCES ? failure("cannot be looked at", file) : nil
  }

  /// A file of at most `limit` bytes.
  package static func read(_ file: URL, atMost limit: Int) throws -> [UInt8] {
    let (bytes, length) = try head(of: file, limit)
    guard length <= limit else {
      throw MagicDataError(.damaged, "\(file.path) has \(length) bytes, and \(limit) are the most that are read")
    }
    return bytes
  }

  private static func read(_ descriptor: Int32, _ count: Int, _ file: URL, at offset: Int = 0) throws -> [UInt8] {
    guard count > 0 else { return [] }
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset + filled))
        if got < 0 && errno == EINTR { continue }
        guard got > 0 else {
          failed = got < 0
          return
        }
        filled += got
      }
    }
    guard !failed else { throw failure("could not be read", file) }
    return bytes
  }

  /// A name that nobody has, in the folder of another file.
  static func temporary(beside file: URL) -> URL {
    file.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString.lowercased()).tmp")
  }

  /// Gives a file a temporary name in place of its own.
  ///
  /// - Returns: where it is now.
  package static func setAside(_ file: URL) throws -> URL {
    let temporary = temporary(beside: file)
    // Under that name an old one would be what somebody killed has left. Of another user's file it may fail: then that is one
    // from now on.
    utimes(file.path, nil)
    guard rename(file.path, temporary.path) == 0 else { throw failure("could not be renamed", file) }
    return temporary
  }

  /// Whether a file may have been left here by a crash.
  package static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(".") && name.hasSuffix(".tmp") && UUID(uuidString: String(name.dropFirst().dropLast(4))) != nil
  }

  /// When a file was last written, in seconds, and how long it is; `nil` if it is gone, or no file.
  package static func lastWritten(_ file: URL) -> (seconds: Double, bytes: Int)? {
    var status = stat()
    guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return (Double(time.tv_sec), Int(status.st_size))
  }

  /// The permissions of a file that is there, for what takes its place.
  package static func permissions(of file: URL) -> mode_t? {
    var status = stat()
    guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return status.st_mode & 0o777
  }

  /// When a file was last written, or came to have its name, in seconds; `nil` if it is gone, or no file. What is put back from
  /// a copy has the times of writing that it had before.
  static func lastPlaced(_ file: URL) -> Double? {
    var status = stat()
    guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Darwin)
      let (written, changed) = (status.st_mtimespec, status.st_ctimespec)
    #else
      let (written, changed) = (status.st_mtim, status.st_ctim)
    #endif
    return Double(max(written.tv_sec, changed.tv_sec))
  }

  /// The time of day, in seconds, of whoever keeps a folder: a share's clock may be another than this machine's.
  ///
  /// - Parameter isGuess: whether nothing hangs on it, so that nothing is written.
  package static func clock(of folder: URL, isGuess: Bool = false) throws -> Double {
    if isGuess { return Date().timeIntervalSince1970 }
    let file = try writeTemporary([UInt8](), beside: folder.appendingPathComponent("clock"))
    defer { unlink(file.path) }
    return lastWritten(file)?.seconds ?? 0
  }

  /// A new file with a name of its own in the folder of another, on the disk: to be renamed, or unlinked.
  static func writeTemporary(_ bytes: some ContiguousBytes, beside file: URL, _ mode: mode_t = 0o666) throws -> URL {
    let temporary = temporary(beside: file)
    try writeNew(bytes, temporary, mode)
    return temporary
  }

  private static func createInPlace(_ bytes: some ContiguousBytes, at file: URL) throws -> Bool {
    do {
      try writeNew(bytes, file)
    } catch let error as MagicDataError where error.code == .exists {
      return false
    }
    try syncFolder(of: file)
    return true
  }

  private static func writeNew(_ bytes: some ContiguousBytes, _ file: URL, _ mode: mode_t = 0o666) throws {
    try writeNew(file, mode) { descriptor in
      _ = try bytes.withUnsafeBytes { try append($0, to: descriptor, file) }
    }
  }

  private static func writeNew(_ file: URL, _ mode: mode_t = 0o666, _ body: (Int32) throws -> Void) throws {
    let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw failure("could not be made", file) }
    defer { close(descriptor) }
    do {
      try body(descriptor)
      guard flush(descriptor) else { throw failure("could not be synced", file) }
    } catch {
      // Whoever finds a part under the name would take it for the whole.
      unlink(file.path)
      throw error
    }
  }

  /// Writes all of a piece behind what an open file was given before.
  ///
  /// - Returns: how many bytes that is.
  package static func append(_ piece: UnsafeRawBufferPointer, to descriptor: Int32, _ file: URL) throws -> Int {
    var rest = piece[...]
    while !rest.isEmpty {
      let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw failure("could not be written", file) }
      rest = rest.dropFirst(count)
    }
    return piece.count
  }

  private static func syncFolder(of file: URL) throws {
    try sync(file.deletingLastPathComponent())
  }

  package static func failure(_ what: String, _ file: URL, removing temporary: URL? = nil) -> MagicDataError {
    let number = errno
    if let temporary { unlink(temporary.path) }
    let code: MagicDataError.Code =
      switch number {
      case ENOSPC, EDQUOT: .full
      case EACCES, EPERM, EROFS: .notAllowed
      case EEXIST: .exists
      case ENOENT: .notFound
      default: .failed
      }
    return MagicDataError(code, "\(file.path) \(what): \(String(cString: strerror(number)))")
  }
}
