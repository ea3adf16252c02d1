internal import Dispatch
internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// What writers append to (SQLite's WAL), and what brings it into the database's file: a checkpoint.
///
/// SQLite has the writer make them, within a commit, each thousand pages: twenty to forty milliseconds of waiting for the disk, which are most of what small
/// transactions cost. Here they are made beside the writers, on connections of their own. The writer waits for one only where the WAL would go on growing.
final class WriteAheadLog: Sendable {
  private struct State {
    /// That is open.
    var file: FileIdentity?
    /// Pages that the WAL held at the last commit, and at the beginning of the last checkpoint of it.
    var pages = 0
    var checked = 0
    var isRunning = false
    var isEnded = false
  }

  private let location: DatabaseLocation
  private let state = Locked(State())
  /// One checkpoint after the other.
  private let queue = DispatchQueue(label: "MagicData.WriteAheadLog", qos: .utility)

  /// SQLite's own: so much is written to the WAL before it is brought into the file.
  static let step = 1_000
  /// From so much on the writer waits: what is written while a checkpoint runs is left in the WAL, which begins anew only when it holds nothing more.
  static let most = 8_000
  /// To so much the WAL is cut when it begins anew: more pages than it mostly has, each with its header (https://www.sqlite.org/walformat.html, 2.2).
  static let keptBytes = 32 + (most + 2 * step) * (4_096 + 24)
  /// What nobody minds reading when the file is opened.
  private static let short = 50

  init(_ location: DatabaseLocation) {
    self.location = location
  }

  /// Is told of each commit of the connection from now on, in place of SQLite's own checkpoints.
  ///
  /// The log has to live as long as the connection.
  func follow(_ db: Database) {
    state.withLock { $0.file = FileIdentity(of: location.file) }
    sqlite3_wal_hook(
      db.sqliteConnection,
      { log, connection, name, pages in
        guard let log else { return SQLITE_OK }
        if !Unmanaged<WriteAheadLog>.fromOpaque(log).takeUnretainedValue().grew(to: Int(pages)) {
          sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
        // What is committed stays so, whatever becomes of a checkpoint.
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// - Returns: false if the WAL is long, and no checkpoint can be made beside the writer.
  private func grew(to pages: Int) -> Bool {
    let (starts, waits) = state.withLock { state -> (Bool, Bool) in
      // It began anew.
      if pages < state.pages { state.checked = 0 }
      state.pages = pages
      guard pages - state.checked >= WriteAheadLog.step, !state.isEnded else { return (false, false) }
      // A large transaction alone need not wait for anybody.
      if pages >= WriteAheadLog.most, state.isRunning || state.checked > 0 { return (false, true) }
      defer { state.isRunning = true }
      return (!state.isRunning, false)
    }
    if starts { queue.async { [self] in checkpoint(SQLITE_CHECKPOINT_PASSIVE) } }
    return waits ? queue.sync { checkpoint(SQLITE_CHECKPOINT_PASSIVE) } : true
  }

  /// Waits for the checkpoint that runs, if there is one. Who writes meanwhile starts the next; so this is for the writer's own use.
  func settle() { queue.sync {} }

  /// Waits for the checkpoint that runs; there will be no other.
  ///
  /// - Parameter empties: whether all is brought into the file before, and the WAL is short then. While others read from it or write to it, it stays: they take it in when
  ///   they close, and nobody waits for them for long.
  func end(empties: Bool) {
    queue.sync {
      if empties, checkpoint(SQLITE_CHECKPOINT_FULL) { shorten() }
      state.withLock { $0.isEnded = true }
    }
  }

  /// Whoever opens a file for the first time reads its WAL from the beginning, and takes nothing of it for granted. One of a single page is written in place of a long one,
  /// by a commit that changes nothing; without one the next opening would have to write.
  private func shorten() {
    guard state.withLock({ $0.checked }) > WriteAheadLog.short else { return }
    _ = WriteAheadLog.opened(location.file) { connection in
      sqlite3_exec(
        connection, "PRAGMA journal_size_limit = 0; PRAGMA application_id = \(Statements.applicationID)", nil, nil, nil)
        == SQLITE_OK
    }
  }

  // MARK: Checkpoints

  /// - Returns: false if none could be made; somebody else's counts.
  @discardableResult
  private func checkpoint(_ mode: Int32) -> Bool {
    defer { state.withLock { $0.isRunning = false } }
    let (file, isEnded) = state.withLock { ($0.file, $0.isEnded) }
    guard !isEnded else { return true }
    var pages: Int32 = -1
    // Of a file that is elsewhere by now the WAL cannot be found by its name; one that has that name is another file's.
    let isMade =
      file != nil && FileIdentity(of: location.file) == file
      && WriteAheadLog.held(location.file) { [state] connection in
        let status = sqlite3_wal_checkpoint_v2(connection, nil, mode, &pages, nil)
        // Before the WAL can begin anew.
        if pages >= 0 { state.withLock { $0.checked = Int(pages) } }
        return [SQLITE_OK, SQLITE_BUSY].contains(status & 0xff)
      }
    // It failed, or is somebody else's: the next try is worth it when more has been written.
    if pages < 0 { state.withLock { $0.checked = $0.pages } }
    return isMade
  }

  /// Does something on a connection while the WAL cannot begin anew.
  ///
  /// Up to version 3.51.2 SQLite takes pages of a new WAL for those of the old one if a writer begins it while a checkpoint begins (https://www.sqlite.org/wal.html, The WAL-Reset Bug):
  /// commits are lost, and the file is damaged. Another connection reads meanwhile: from the WAL, and then no writer can begin it anew; or, if all of that is in
  /// the file, from the file alone, and then no checkpoint can write to it.
  ///
  /// - Returns: false if the file could not be opened, or `body` says so.
  static func held(_ file: URL, _ body: (OpaquePointer) -> Bool) -> Bool {
    opened(file) { reader in
      guard sqlite3_exec(reader, "BEGIN; PRAGMA schema_version", nil, nil, nil) == SQLITE_OK else { return false }
      defer { sqlite3_exec(reader, "COMMIT", nil, nil, nil) }
      return opened(file) { connection in
        // A connection that has read nothing does not know of the WAL.
        guard sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil) == SQLITE_OK else { return false }
        return body(connection)
      }
    }
  }

  private static func opened(_ file: URL, _ body: (OpaquePointer) -> Bool) -> Bool {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    // Never makes a file.
    guard sqlite3_open_v2(file.path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let connection
    else { return false }
    sqlite3_busy_timeout(connection, 100)
    return body(connection)
  }
}
