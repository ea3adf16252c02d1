internal import Dispatch
internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// What writers append to (SQLite's WAL), and what brings it into the database's file: a checkpoint.
///
/// SQLite has the writer make them, within a commit, each thousand pages: twenty to forty milliseconds of waiting for the disk,
/// which are half of what small transactions cost. Here they are made beside the writers, on connections of their own. The
/// writer waits for one only where the WAL would go on growing.
final class WriteAheadLog: Sendable {
  private struct State {
    /// Pages that the WAL held at the last commit, and at the beginning of the last checkpoint of it.
    var pages = 0
    var checked = 0
    /// Pages for which its file is long enough, as far as is known.
    var room = 0
    var isRunning = false
    var isEnded = false
  }

  private let file: DatabaseFile
  private let state = Locked(State())
  /// One checkpoint after the other.
  private let queue = DispatchQueue(label: "MagicData.WriteAheadLog", qos: .utility)

  /// SQLite's own: so much is written to the WAL before it is brought into the file.
  static let step = 1_000
  /// From so much on the writer waits: what is written while a checkpoint runs is left in the WAL, which begins anew only when
  /// it holds nothing more.
  static let most = 8_000
  /// To so much the WAL is cut when it begins anew: more pages than it mostly has, each with its header
  /// (https://www.sqlite.org/walformat.html, 2.2).
  static let keptBytes = headerBytes + (most + 2 * step) * pageBytes

  fileprivate static let headerBytes = 32
  private static let pageBytes = 4_096 + 24

  init(_ file: DatabaseFile) {
    self.file = file
  }

  /// Is told of each commit of the connection from now on, in place of SQLite's own checkpoints.
  ///
  /// The log has to live as long as the connection.
  func follow(_ db: Database) {
    sqlite3_wal_hook(
      db.sqliteConnection,
      { log, connection, name, pages in
        guard let log else { return SQLITE_OK }
        if !Unmanaged<WriteAheadLog>.fromOpaque(log).takeUnretainedValue().grew(to: Int(pages)) {
          // On the writer's own connection, which keeps others from writing meanwhile if none does.
          Store.waiting(0, connection) { _ = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_FULL, nil, nil) }
        }
        // What is committed stays so, whatever becomes of a checkpoint.
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Pages that a small transaction mostly writes; for one that writes more the file grows with its pages.
  private static let spare = 4
  /// What the file grows by: more leaves the processor's cache until it is written over.
  private static let zeros = [UInt8](repeating: 0, count: 65_536)

  /// Has the WAL's file long enough for the next commit, with zeros, which SQLite takes for nothing: to append a page costs a
  /// file system three times what it costs to write over one.
  ///
  /// Within a transaction that writes: nobody else appends meanwhile.
  func makeRoom(_ db: Database) {
    let needed = state.withLock { $0.pages + WriteAheadLog.spare > $0.room ? $0.pages + WriteAheadLog.spare : nil }
    guard let needed, let (log, methods) = Store.file(SQLITE_FCNTL_JOURNAL_POINTER, of: db.sqliteConnection) else { return }
    var bytes: sqlite3_int64 = 0
    guard methods.xFileSize(log, &bytes) == SQLITE_OK else { return }
    if bytes < WriteAheadLog.headerBytes + needed * WriteAheadLog.pageBytes,
      bytes < WriteAheadLog.keptBytes - WriteAheadLog.zeros.count,
      // On a disk that is full the commit fails, or does not.
      methods.xWrite(log, WriteAheadLog.zeros, Int32(WriteAheadLog.zeros.count), bytes) == SQLITE_OK
    {
      bytes += sqlite3_int64(WriteAheadLog.zeros.count)
    }
    state.withLock { $0.room = (Int(bytes) - WriteAheadLog.headerBytes) / WriteAheadLog.pageBytes }
  }

  private enum Step {
    case nothing, start, wait, writersOwn
  }

  /// - Returns: false if the WAL is long, and no checkpoint can be made beside the writer.
  private func grew(to pages: Int) -> Bool {
    let step = state.withLock { state -> Step in
      // It began anew, and its file may have been cut.
      if pages < state.pages { (state.checked, state.room) = (0, 0) }
      state.pages = pages
      guard pages - state.checked >= WriteAheadLog.step else { return .nothing }
      // Closing failed, and somebody writes on.
      if state.isEnded {
        state.checked = pages
        return .writersOwn
      }
      // A large transaction alone need not wait for anybody.
      if pages >= WriteAheadLog.most, state.isRunning || state.checked > 0 { return .wait }
      defer { state.isRunning = true }
      return state.isRunning ? .nothing : .start
    }
    switch step {
    case .nothing: return true
    case .start:
      queue.async { [self] in checkpoint(isWhole: false) }
      return true
    case .wait: return queue.sync { checkpoint(isWhole: true) } != nil
    case .writersOwn: return false
    }
  }

  /// Makes one on the connection that writes, after the one that runs beside it, if there is one.
  func checkpoint(_ mode: Database.CheckpointMode, onWriter db: Database) throws {
    queue.sync {}
    _ = try db.checkpoint(mode)
    // It may have been cut.
    state.withLock { $0.room = 0 }
  }

  /// Whether a connection's log has nothing that is not in the file, as the log's index says
  /// (https://www.sqlite.org/walformat.html, 2.1: `mxFrame`, and `nBackfill`).
  static func isInFile(_ db: Database) -> Bool {
    guard let (file, methods) = Store.file(SQLITE_FCNTL_FILE_POINTER, of: db.sqliteConnection), methods.iVersion >= 2 else {
      return false
    }
    var index: UnsafeMutableRawPointer?
    guard methods.xShmMap(file, 0, 32_768, 0, &index) == SQLITE_OK, let index else { return false }
    return index.load(fromByteOffset: 96, as: UInt32.self) >= index.load(fromByteOffset: 16, as: UInt32.self)
  }

  /// Waits for the checkpoint that runs; there will be no other.
  ///
  /// - Parameter empties: whether all is brought into the file before, and the WAL is short then. While others read from it or
  ///   write to it, it stays: they take it in when they close, and nobody waits for them for long.
  /// - Returns: false if it should, and no checkpoint could be made.
  @discardableResult
  func end(empties: Bool) -> Bool {
    queue.sync {
      guard !state.withLock(\.isEnded) else { return true }
      let isEmpty = empties ? checkpoint(isWhole: true) : false
      if isEmpty == true, shorten() { checkpoint(isWhole: true) }
      state.withLock { $0.isEnded = true }
      return isEmpty != nil
    }
  }

  /// Whoever opens a file for the first time reads its WAL from the beginning, and takes nothing of it for granted. One of a
  /// single page is written in place of a long one, by a commit that changes nothing but SQLite's own count of changes; without
  /// one the next opening would have to write.
  ///
  /// - Returns: whether there is such a commit.
  private func shorten() -> Bool {
    guard let identity = file.identity, state.withLock(\.checked) > WriteAheadLog.step else { return false }
    let status = WriteAheadLog.opened(file.location.file, identity) { connection in
      sqlite3_exec(
        connection, "PRAGMA journal_size_limit = 0; PRAGMA application_id = \(Statements.applicationID)", nil, nil, nil)
    }
    return status == SQLITE_OK
  }

  /// Leaves nothing in the WAL that SQLite would read, unless somebody has the file open still: of a backup that is put in the
  /// file's place it would make a mixture of both. As much stays as a WAL begins with, in zeros, which SQLite takes for
  /// nothing: without that the next opening would have to write.
  func clear() {
    let location = file.location
    guard let identity = file.identity else { return }
    // Two who close at once are in each other's way.
    for round in 0..<3 where !location.hasClearLog {
      if round > 0 { usleep(.random(in: 500..<4_000)) }
      _ = WriteAheadLog.opened(location.file, identity, alone: true) { connection in
        guard sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK,
          FileIdentity(path: location.file.path) == identity
        else { return }
        // By its name another file's might be found meanwhile.
        if let (log, methods) = Store.file(SQLITE_FCNTL_JOURNAL_POINTER, of: connection) {
          _ = methods.xTruncate(log, sqlite3_int64(WriteAheadLog.headerBytes))
        }
      }
    }
  }

  // MARK: Checkpoints

  /// - Parameter isWhole: nobody writes meanwhile, so that nothing is left in the WAL; if that cannot be had shortly, as much
  ///   as there is.
  /// - Returns: whether all is in the file; `nil` if no checkpoint could be made. Somebody else's counts.
  @discardableResult
  private func checkpoint(isWhole: Bool) -> Bool? {
    defer { state.withLock { $0.isRunning = false } }
    var (pages, copied): (Int32, Int32) = (-1, -1)
    var status = SQLITE_CANTOPEN
    // Of a file that is elsewhere by now, or whose WAL is, that cannot be found by its name.
    if let identity = file.identity, file.isInPlace {
      for excludes in isWhole ? [true, false] : [false] {
        let found = WriteAheadLog.held(file.location.file, identity, excludesWriters: excludes) { [state] connection in
          var status = SQLITE_BUSY
          // Busy is who makes one. Who keeps others from writing waits for that, for a tenth of a second.
          for round in 0..<(excludes ? 20 : 1) where status == SQLITE_BUSY {
            if round > 0 { usleep(5_000) }
            status = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied) & 0xff
          }
          // Before the WAL can begin anew, if there was something in it.
          if pages >= 0 { state.withLock { $0.checked = min(Int(pages), $0.pages) } }
          return status
        }
        status = found ?? status
        if status == SQLITE_OK { break }
      }
    }
    // It failed, or is somebody else's: the next try is worth it when more has been written.
    if pages < 0 { state.withLock { $0.checked = $0.pages } }
    guard status == SQLITE_OK || status == SQLITE_BUSY else { return nil }
    return status == SQLITE_OK && copied == pages
  }

  /// Does something on a connection while the WAL cannot begin anew.
  ///
  /// Up to version 3.51.2 SQLite takes pages of a new WAL for those of the old one if a writer begins it while a checkpoint
  /// begins (https://www.sqlite.org/wal.html, The WAL-Reset Bug): commits are lost, and the file is damaged. Another connection
  /// reads meanwhile: from the WAL, and then no writer can begin it anew; or, if all of that is in the file, from the file
  /// alone, and then no checkpoint can write to it.
  ///
  /// - Parameters:
  ///   - identity: of the file that is meant.
  ///   - excludesWriters: whether nobody can write meanwhile.
  /// - Returns: `nil` if the file could not be opened, or somebody writes for long.
  static func held<Result>(
    _ file: URL, _ identity: FileIdentity, excludesWriters: Bool = false, _ body: (OpaquePointer) -> Result
  ) -> Result? {
    opened(file, identity) { reader -> Result? in
      let begin = excludesWriters ? "BEGIN IMMEDIATE; PRAGMA schema_version" : "BEGIN; PRAGMA schema_version"
      defer { sqlite3_exec(reader, "ROLLBACK", nil, nil, nil) }
      guard sqlite3_exec(reader, begin, nil, nil, nil) == SQLITE_OK else { return nil }
      return opened(file, identity, body)
    } ?? nil
  }

  /// Makes no database.
  ///
  /// - Parameter alone: whether nobody else may have it open, nor get it open meanwhile.
  private static func opened<Result>(
    _ file: URL, _ identity: FileIdentity, alone: Bool = false, _ body: (OpaquePointer) -> Result
  ) -> Result? {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    // SQLite would go after a link that was left there, to another WAL.
    guard FileIdentity(path: file.path) == identity,
      sqlite3_open_v2(file.path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let connection
    else { return nil }
    sqlite3_busy_timeout(connection, alone ? 0 : 100)
    sqlite3_wal_autocheckpoint(connection, 0)
    if alone {
      var isKept: Int32 = 1
      sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
      // Where SQLite is built with a limit of its own (Apple's is), closing would cut the WAL to nothing.
      let mode = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_size_limit = -1"
      guard sqlite3_exec(connection, mode, nil, nil, nil) == SQLITE_OK else { return nil }
    }
    // A connection that has read nothing does not know of the WAL, which is another file: both are the one's that is meant.
    guard sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil) == SQLITE_OK,
      FileIdentity(path: file.path) == identity
    else { return nil }
    return body(connection)
  }
}

extension DatabaseLocation {
  /// Whether there is nothing in SQLite's log.
  var hasClearLog: Bool { (DurableFile.lastWritten(beside("-wal"))?.bytes ?? 0) <= WriteAheadLog.headerBytes }
}
