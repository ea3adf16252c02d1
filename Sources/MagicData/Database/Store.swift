internal import Dispatch
package import Foundation
internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

/// An open database file: connections, the tables of the journal, and what is known of the app's types.
package final class Store: Sendable {
  package enum Kind: Sendable {
    case file(DatabaseLocation, mustExist: Bool)
    case temporary
    case memory
  }

  let database: any DatabaseWriter
  /// To the connections of `database`.
  let accesses = UsageCounter()
  /// `nil` for a database in memory, which has one connection for everything.
  let lookUps: ShortReadPool?
  /// `nil` in memory.
  let log: WriteAheadLog?
  package let location: DatabaseLocation?
  package let surroundings: Surroundings
  /// Whether this opening made the database.
  package let isNew: Bool
  /// Names the file to the objects that are fetched from it.
  let id: Identifier
  /// Where the assets are.
  package let assets: AssetFolder
  let identity: Identity
  /// The assets of the database in whose place this one comes, if it does: they go then.
  package let replaced: ReplacedAssets?
  /// `nil` in memory.
  private let file: DatabaseFile?
  /// Of this process's writers to the file.
  let gate: Gate
  let longReads = Gate(places: maxLongReads)
  let turns = YieldCounter()
  let commits = CommitSignal()
  package let lastState = LastState()
  private let types = Locked<Types>(Types())
  /// Of a database in memory, for its assets, and of a temporary one; goes away with the store.
  private let scratch: ScratchFolder?

  /// How long a write waits for another process's before it gives up.
  static let busySeconds: TimeInterval = 10
  /// A long read has its connection until a thread of Swift's pool is free. What blocks such a thread until it has a connection
  /// must not have to wait for that: so there are some left for it, which are opened only if they are needed.
  private static let (maxLongReads, maxReads) = (5, 128)
  private static let writeCacheKilobytes = 16_000
  /// SQLite maps no more.
  private static let mostMapped = 0x7fff_0000

  /// - Parameters:
  ///   - isForReading: a copy of another database keeps its id until it is written to or takes part in an exchange.
  ///   - replaced: the assets of the database in whose place this one comes.
  package init(
    _ kind: Kind, _ surroundings: Surroundings = .system, reads: MagicData.Reads = .copied, isForReading: Bool = false,
    replaced: ReplacedAssets? = nil
  ) throws {
    self.surroundings = surroundings
    self.replaced = replaced
    switch kind {
    case .memory:
      location = nil
      identity = Identity(of: nil, surroundings)
      // Where none can be made an asset cannot be written, which says so then, and all else works.
      scratch = try? ScratchFolder("memory")
      // The scratch folder is locked, and who copies assets locks the folder around theirs.
      let outer = scratch?.url ?? FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())", isDirectory: true)
      let place = DatabaseLocation(outer.appendingPathComponent("database", isDirectory: true))
      if scratch != nil { try place.makeFolder() }
      assets = AssetFolder(place.assets)
      database = try DatabaseQueue(configuration: Store.configuration(mustExist: false))
      lookUps = nil
      (file, log) = (nil, nil)
      gate = Gate(places: 1)
    case .temporary:
      let scratch = try ScratchFolder("data")
      self.scratch = scratch
      // As above.
      let location = DatabaseLocation(scratch.url.appendingPathComponent("database", isDirectory: true))
      self.location = location
      identity = Identity(of: nil, surroundings)
      assets = AssetFolder(location.assets)
      (file, log, database, lookUps) = try Store.open(DatabaseFile(location), mustExist: false, .copied)
      gate = FileGates.gate(of: location.file)
    case .file(let location, let mustExist):
      scratch = nil
      self.location = location
      identity = Identity(of: location, surroundings)
      assets = AssetFolder(location.assets)
      // One that has to be there and is not is told as that.
      let claimed = try mustExist && !location.exists ? DatabaseFile(location) : DatabaseFile.claim(location)
      // Of a file that is there, before SQLite has it open: see `ifNotOpen`.
      let known = FileGates.gate(of: location.file)
      (file, log, database, lookUps) = try Store.open(claimed, mustExist: mustExist, reads)
      gate = withExtendedLifetime(known) { FileGates.gate(of: location.file) }
    }
    do {
      // A database that is there already is opened without waiting for whoever writes to it.
      isNew = try database.read(Store.name) == nil
      if isNew {
        try database.write { [identity, assets] db in
          try Store.prepare(db, assets, surroundings)
          try identity.markNew(db)
        }
      } else if !isForReading {
        try Store.assure(identity, file, database)
      }
      id = try database.read(identity.store)
      file?.noteOpened()
      if !isNew { try database.read(assets.noteDropped) }
      // Where it cannot be, nothing can be placed either, which says so.
      if !isForReading { try? assets.finish() }
    } catch {
      throw MagicDataError(error, "the database could not be prepared")
    }
  }

  /// Reads of a file that may be a database's, unless this process has that open, or had and may again: if something else of it
  /// opened and closed that, the system would let go of SQLite's locks on it.
  ///
  /// - Returns: `nil` if it has; nothing was read.
  package static func ifNotOpen<Result>(_ file: URL, _ read: () throws -> Result) rethrows -> Result? {
    try FileGates.ifNotOpen(file, read)
  }

  /// Throws if the path leads to another file than the one that is open, or to none: what is written to that is nobody's any
  /// more.
  package func checkIsInPlace() throws { try file?.checkIsInPlace() }

  deinit {
    // Before the pool's: the last connection that closes takes the WAL into the file, if it can write.
    log?.end(empties: false)
    try? lookUps?.end()
    if !isClosed, let file, !file.isInPlace { try? bringIn(displaced: file) }
    if scratch != nil { try? database.close() }
  }

  func close() async throws {
    try checkOutsideItsTransaction()
    commits.close()
    try await closeConnections(empties: true)
  }

  /// Waits for those who read, which have to be given a thread of Swift's pool to end; so it is not spent on one.
  ///
  /// - Parameter empties: whether SQLite's WAL is brought into the file before.
  func closeConnections(empties: Bool = false) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async { [self] in
        continuation.resume(
          with: Result {
            accesses.end()
            try closeUnused(empties: empties)
          })
      }
    }
  }

  func closeBlocking() throws {
    try checkOutsideItsTransaction()
    guard accesses.end(within: Store.patience, commits.close) else {
      throw MagicDataError(
        .busy,
        "the database could not be closed: somebody in this process reads it or writes to it; try again when that has ended")
    }
    try closeUnused(empties: true)
  }

  /// Closes all connections, once nobody uses one and nobody can any more.
  private func closeUnused(empties: Bool) throws {
    let ended = Result { try lookUps?.end() }
    var brought = Result<Void, any Error>.success(())
    // Nobody writes to the WAL any more.
    if let log, !log.end(empties: empties) {
      if let file, !file.isInPlace {
        brought = Result { try bringIn(displaced: file) }
      } else {
        // What stays in the WAL the next opening finds there.
        try? bringIn(.full)
      }
    }
    // Connections that read go last, and leave a WAL that is in the file already: without one the next opening would have to
    // write, also of who only reads, and while another process holds the lock (GRDB 102, 739).
    do {
      try database.close()
    } catch {
      accesses.goOn()
      throw error
    }
    file?.noteClosed()
    if empties {
      log?.clear()
      scratch?.remove()
    }
    try ended.get()
    try brought.get()
  }

  /// The same of a file that has not its name any more, or whose log has not. Somebody may have opened it with another log,
  /// whose locks are elsewhere than this one's: so nobody else may have it open, nor open it meanwhile, by SQLite's lock on the
  /// file itself. But beside another file that has the name by now nothing may stay: it would be taken for that one's.
  ///
  /// Of a log that is in the file already there is nothing to bring, and so it is cut in any case. But where another program
  /// has begun one in its place, that stays, and nothing is done.
  ///
  /// - Throws: `busy` if nobody else finds what stays in the log.
  private func bringIn(displaced file: DatabaseFile) throws {
    guard let log else { return }
    let mustClear = file.isReplaced && file.hasLog
    let isInFile = database.unsafeReentrantWrite(WriteAheadLog.isInFile)
    guard !isInFile || !file.hasOthersLog else {
      // The last connection that closes would delete the log by its name.
      return database.unsafeReentrantWrite(Store.keepLog)
    }
    // Each has a lock on it until it is closed.
    (database as? DatabasePool)?.invalidateReadOnlyConnections()
    func bring() throws {
      try database.unsafeReentrantWrite { db in
        guard let (handle, methods) = Store.file(SQLITE_FCNTL_FILE_POINTER, of: db.sqliteConnection) else { return }
        let isAlone = methods.xLock(handle, SQLITE_LOCK_EXCLUSIVE) == SQLITE_OK
        defer { _ = methods.xUnlock(handle, SQLITE_LOCK_SHARED) }
        guard isAlone || isInFile || mustClear else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        try Store.waiting(0.1, db.sqliteConnection) { try log.checkpoint(.truncate, onWriter: db) }
      }
    }
    do {
      // A connection may be closing just now.
      try Store.retrying(for: .milliseconds(100), where: { _ in true }, bring)
    } catch {
      guard file.hasLogAlone else { return }
      let path = file.location.file.path
      throw MagicDataError(
        .busy,
        """
        the last commits to \(path) are in its log alone (\(path)-wal): the file was moved, or the log removed, while it was open, and it is open elsewhere; close it there, and then move the file back \
        beside that log, and open it
        """, cause: error)
    }
  }

  /// On the writer's own connection; also where that has let go of the database last.
  private func bringIn(_ mode: Database.CheckpointMode) throws {
    guard let log else { return }
    try database.unsafeReentrantWrite { db in
      try Store.waiting(0.1, db.sqliteConnection) { try log.checkpoint(mode, onWriter: db) }
    }
  }

  private static func lookUps(_ file: DatabaseFile, _ reads: MagicData.Reads) -> ShortReadPool {
    ShortReadPool {
      var configuration = Store.configuration(mustExist: true, file, reads: reads)
      configuration.readonly = true
      configuration.busyMode = .immediateError
      return try DatabaseQueue(path: file.location.file.path, configuration: configuration)
    }
  }

  private static func open(_ file: DatabaseFile, mustExist: Bool, _ reads: MagicData.Reads) throws -> (
    DatabaseFile, WriteAheadLog, DatabasePool, ShortReadPool
  ) {
    let location = file.location
    let log = WriteAheadLog(file)
    let path = location.file.path
    try location.check()
    if mustExist {
      guard location.exists else {
        throw access(path, F_OK) != 0 && errno == EACCES
          ? MagicDataError(.notAllowed, "\(path) cannot be looked at; check the permissions of its folders")
          : MagicDataError(.notFound, "there is no database at \(path); check the path, or make one with `magic-sync init`")
      }
    } else {
      try location.makeFolder()
    }
    do {
      let configuration = configuration(mustExist: mustExist, file, log, reads: reads)
      // SQLite lets nobody wait who makes a file one with a WAL while somebody else does.
      let isBusy = { (error: any Error) in (error as? DatabaseError)?.resultCode == .SQLITE_BUSY }
      let pool = try retrying(for: .seconds(Store.busySeconds), where: isBusy) {
        try DatabasePool(path: path, configuration: configuration)
      }
      return (file, log, pool, lookUps(file, reads))
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
        usleep(10_000)
      }
    }
  }

  /// - Parameters:
  ///   - file: `nil` in memory.
  ///   - log: for who writes to a file.
  private static func configuration(
    mustExist: Bool, _ file: DatabaseFile? = nil, _ log: WriteAheadLog? = nil, reads: MagicData.Reads = .copied
  ) -> Configuration {
    var configuration = Configuration()
    configuration.maximumReaderCount = maxReads
    configuration.busyMode = .timeout(busySeconds)
    configuration.foreignKeysEnabled = false
    // A transaction of ours lasts over several accesses; the gate keeps others out of it.
    configuration.allowsUnsafeTransactions = true
    // Runs before the file is changed in any way, so that a file of somebody else's stays as it was.
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
          "the database has format \(format ?? 0), and this version knows \(Statements.format); use a newer version")
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
          ? "there is nothing in it, as where a program was killed while it made the database: `magic-sync init` completes it, or delete it"
          : "it is an SQLite file, and no MagicData database")
    }
  }

  /// The id of the file; `nil` if it is new.
  private static func name(_ db: Database) throws -> Identifier? {
    guard try Int.fetchOne(db, sql: "PRAGMA application_id") == Statements.applicationID else { return nil }
    return try DatabaseState(db).store
  }

  /// Makes the tables of a database that is new, unless another process just did.
  private static func prepare(_ db: Database, _ assets: AssetFolder, _ surroundings: Surroundings) throws {
    guard try name(db) == nil else { return }
    // What others place who have the database open by now is its own.
    try assets.noteOthers()
    try db.execute(sql: Statements.create)
    var generator = Chance(surroundings)
    let replica = Identifier.random(using: &generator)
    let row = try JournalWriter.row(of: replica, db)
    var insert = try SQL(db, Statements.insertDatabase)
    try insert.bind(Identifier.random(using: &generator))
    try insert.bind(row)
    try insert.bind(Stamp.earliest)
    for _ in 0..<2 { try insert.bind(Identifier.random(using: &generator)) }
    try insert.run()
  }

  /// What is known of a type without a look at the database.
  func known(_ type: any MagicObject.Type) -> MappedType? {
    types.withLock { $0.mapped[ObjectIdentifier(type)] }
  }

  /// The type's layout, if no other type of its name is in use here.
  func layout<Object: MagicObject>(_ type: Object.Type) throws -> Layout {
    let layout = try Layout.of(type)
    try types.withLock { try $0.claim(layout.schema.identity, for: type) }
    return layout
  }

  /// Only of what is committed: a field id that was rolled back could be given to another field.
  func remember(_ mapped: MappedType, as type: any MagicObject.Type) {
    types.withLock { types in
      if mapped.fieldCount >= types.fieldCount { types.mapped[ObjectIdentifier(type)] = mapped }
    }
  }

  /// Who writes has to know of the fields that a merge or another process has added (`LocalTransaction.current`); who reads
  /// does not, since no field that is known ever changes.
  func forgetTypes(before fieldCount: Int) {
    types.withLock { types in
      guard types.fieldCount < fieldCount else { return }
      types.fieldCount = fieldCount
      types.mapped = types.mapped.filter { $0.value.fieldCount >= fieldCount }
    }
  }

  private struct Types {
    var mapped: [ObjectIdentifier: MappedType] = [:]
    /// The most fields that the database was seen to have.
    var fieldCount = 0
    var names: [TypeSchema.Identity: any MagicObject.Type] = [:]

    /// Two Swift types of one name would read and write each other's objects.
    mutating func claim(_ name: TypeSchema.Identity, for type: any MagicObject.Type) throws {
      if let other = names[name], other != type {
        throw MagicDataError(
          .model,
          """
          \(String(reflecting: other)) and \(String(reflecting: type)) are both stored as \(name.name); give one of them a static \
          magicName of its own
          """)
      }
      names[name] = type
    }
  }
}

/// Random numbers from the surroundings.
package struct Chance: RandomNumberGenerator {
  private let surroundings: Surroundings

  package init(_ surroundings: Surroundings) {
    self.surroundings = surroundings
  }

  package mutating func next() -> UInt64 { surroundings.random() }
}
