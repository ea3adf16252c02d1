internal import GRDB
internal import GRDBSQLite

extension Store {
  /// Brings all commits to the disk, those of other processes included (L-13), as far as this connection's snapshot has them.
  ///
  /// It asks SQLite's own open files to do it. A file descriptor of ours must never be opened on a database that is in use:
  /// closing it would release every lock that this process has on the file (https://sqlite.org/howtocorrupt.html, 2.2).
  package func syncToDisk(_ db: Connection) throws {
    guard location != nil else { return }
    // In WAL mode the journal's file is the WAL.
    for operation in [SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER] {
      guard let (file, methods) = Store.file(operation, of: db.sqliteConnection) else { continue }
      let status = methods.xSync(file, SQLITE_SYNC_FULL)
      guard status == SQLITE_OK else {
        throw DatabaseError(resultCode: ResultCode(rawValue: status), message: "the database could not be synced to the disk")
      }
    }
  }

  /// Has SQLite leave the log and its index where they are when the connection closes.
  static func keepLog(_ db: Database) {
    var isKept: Int32 = 1
    _ = sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
  }

  /// A file that SQLite has open: to open it beside that, and close it, would let go of SQLite's locks.
  ///
  /// - Parameter operation: that asks for the database's file, or for the journal's.
  static func file(
    _ operation: Int32, of connection: OpaquePointer?
  ) -> (file: UnsafeMutablePointer<sqlite3_file>, methods: sqlite3_io_methods)? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection, "main", operation, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods
    else { return nil }
    return (file, methods.pointee)
  }
}
