internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

extension Store {
  private static let writeCacheKilobytes = 16_000
  /// SQLite maps no more.
  private static let mostMapped = 0x7fff_0000

  private static func lookUps(_ file: DatabaseFile, _ reads: MagicData.Reads) -> ShortReadPool {
    ShortReadPool {
      var configuration = Store.configuration(mustExist: true, file, reads: reads)
      configuration.readonly = true
      configuration.busyMode = .immediateError
      return try DatabaseQueue(path: file.location.file.path, configuration: configuration)
    }
  }

  static func open(_ file: DatabaseFile, mustExist: Bool, _ reads: MagicData.Reads) throws -> (
    WriteAheadLog, DatabasePool, ShortReadPool
  ) {
    let location = file.location
    let log = WriteAheadLog(file)
    let path = location.file.path
    if mustExist {
      guard location.exists else {
        throw access(path, F_OK) != 0 && errno == EACCES
          ? MagicDataError(.notAllowed, "\(path) cannot be looked at; check the permissions of its folders")
          : MagicDataError(.notFound, "there is no database at \(path); check the path, or make one with `magic-sync init`")
      }
    } else {
      try location.makeFolder()
    }
    try location.checkHasNoOthersLog()
    do {
      let configuration = configuration(mustExist: mustExist, file, log, reads: reads)
      // SQLite lets nobody wait who makes a file one with a WAL while somebody else does.
      let isBusy = { (error: any Error) in (error as? DatabaseError)?.resultCode == .SQLITE_BUSY }
      let pool = try retrying(for: .seconds(Store.busySeconds), where: isBusy) {
        try DatabasePool(path: path, configuration: configuration)
      }
      return (log, pool, lookUps(file, reads))
    } catch let error as MagicDataError where error.code == .incompatible {
      throw MagicDataError(error.code, "\(path) could not be opened: \(error.message)", cause: error.cause)
    } catch {
      throw MagicDataError(error, "\(path) could not be opened")
    }
  }

  /// Tries again after transient errors until the time is over; blocks the thread.
  static func retrying<Result>(
    for time: Duration, where isTransient: (any Error) -> Bool, _ body: () throws -> Result
  ) throws -> Result {
    let start = ContinuousClock.now
    while true {
      do {
        return try body()
      } catch  where isTransient(error) && start.duration(to: .now) < time {
        // Nobody tells when what was in the way is gone.
        usleep(10_000)
      }
    }
  }

  /// - Parameters:
  ///   - file: `nil` in memory.
  ///   - log: for who writes to a file.
  static func configuration(
    mustExist: Bool, _ file: DatabaseFile? = nil, _ log: WriteAheadLog? = nil, reads: MagicData.Reads = .copied
  ) -> Configuration {
    var configuration = Configuration()
    configuration.maximumReaderCount = maxReads
    configuration.busyMode = .timeout(busySeconds)
    configuration.foreignKeysEnabled = false
    // A transaction of ours lasts over several accesses; the gate keeps others out of it.
    configuration.allowsUnsafeTransactions = true
    // Runs before anything is written, so that a file of somebody else's keeps what it says. (The last connection that closes
    // brings its log into it, whoever's it is.)
    configuration.prepareDatabase { db in
      try file?.noteOpening(writes: !db.configuration.readonly)
      PropertyReader.add(to: db)
      MagicTextOptions.addFunction(to: db)
      RowFunction.add(to: db)
      NextEntry.addFunction(to: db)
      try recognise(db, mustExist: mustExist)
      guard !db.configuration.readonly else {
        // Who writes does not: a read that fails has to roll the transaction back.
        if reads == .mapped { try db.execute(sql: "PRAGMA mmap_size = \(mostMapped)") }
        return
      }
      if file != nil { leaveRollbackMode(db) }
      // What a large transaction writes in any order goes into the WAL once, and not as often as SQLite's own 2 MB push it out.
      try db.execute(sql: "PRAGMA cache_size = -\(writeCacheKilobytes)")
      // What a large transaction took of the disk is given back.
      try db.execute(sql: "PRAGMA journal_size_limit = \(WriteAheadLog.keptBytes)")
      log?.follow(db)
    }
    return configuration
  }

  /// A file that says it has a rollback journal (a copy that another tool made) has to be told that it has a WAL. With one
  /// beside it SQLite takes it for one that has, and would not write so: whoever opens it without that WAL would take the other
  /// kind of locks.
  private static func leaveRollbackMode(_ db: Database) {
    guard let (file, methods) = Store.file(SQLITE_FCNTL_FILE_POINTER, of: db.sqliteConnection) else { return }
    var version: UInt8 = 0
    // Of an empty file there is nothing to read.
    guard methods.xRead(file, &version, 1, 18) == SQLITE_OK, version == 1 else { return }
    // Then GRDB makes it one with a WAL. While another connection has it open, it stays what it is.
    sqlite3_exec(db.sqliteConnection, "PRAGMA journal_mode = DELETE", nil, nil, nil)
  }

  private static func recognise(_ db: Database, mustExist: Bool) throws {
    let id = try Int.fetchOne(db, sql: "PRAGMA application_id")
    let format = try Int.fetchOne(db, sql: "PRAGMA user_version")
    if id == Statements.applicationID {
      guard format == Statements.format else {
        throw MagicDataError(
          .incompatible,
          "it has format \(format ?? 0), and this version knows \(Statements.format); use a newer version")
      }
      return
    }
    let isEmpty = try id == 0 && Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
    if isEmpty, let encoding = try String.fetchOne(db, sql: "PRAGMA encoding"), encoding != "UTF-8" {
      throw MagicDataError(
        .notADatabase,
        """
        there is nothing in it, and it is an SQLite file in \(encoding), which does not keep every text as it is; delete it, or name another path
        """)
    }
    guard isEmpty, !mustExist else {
      // Somebody may have made it one between these looks.
      if id == 0, try Int.fetchOne(db, sql: "PRAGMA application_id") == Statements.applicationID {
        return try recognise(db, mustExist: mustExist)
      }
      throw MagicDataError(
        .notADatabase,
        isEmpty
          ? "there is nothing in it, as where a program was killed, or the disk was full, while it made the database: `magic-sync init` completes it, or delete it, with its -wal and -shm"
          : "it is an SQLite file, and no MagicData database")
    }
  }
}
