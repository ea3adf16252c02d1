internal import GRDB
internal import GRDBSQLite

extension Store {
  /// Brings all commits to the disk, those of other processes included (L-13), as far as this connection's snapshot has them.
  ///
  /// It asks SQLite's own open files to do it. A file descriptor of ours must never be opened on a database that is in use: closing it
  /// would release every lock that this process has on the file (https://sqlite.org/howtocorrupt.html, 2.2).
  package func syncToDisk(_ db: Connection) throws {
    guard location != nil else { return }
    // In WAL mode the journal's file is the WAL.
    for operation in [SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER] {
      var file: UnsafeMutablePointer<sqlite3_file>?
      let found = sqlite3_file_control(db.sqliteConnection, "main", operation, &file)
      guard found == SQLITE_OK, let file, let methods = file.pointee.pMethods else { continue }
      let status = methods.pointee.xSync(file, SQLITE_SYNC_FULL)
      guard status == SQLITE_OK else {
        throw DatabaseError(resultCode: ResultCode(rawValue: status), message: "the database could not be synced to the disk")
      }
    }
  }
}
