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
  /// How closing them ended; `nil` until it has.
  let closed = Locked<Result<Void, any Error>?>(nil)
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
  let file: DatabaseFile?
  /// Lets this process's writers to the file in, one after the other.
  let gate: Gate
  let longReads = Gate(places: maxLongReads)
  let turns = YieldCounter()
  let commits = CommitSignal()
  package let lastState = LastState()
  let types = Locked(KnownTypes())
  /// The folder of a temporary database, or of the assets of one in memory; it goes away with the store.
  let scratch: ScratchFolder?

  /// How long a write waits for another process's before it gives up.
  static let busySeconds: TimeInterval = 10
  /// A long read has its connection until a thread of Swift's pool is free. What blocks such a thread until it has a connection
  /// must not have to wait for that: so there are some left for it, which are opened only if they are needed.
  static let (maxLongReads, maxReads) = (5, 128)

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
      let file = DatabaseFile(location)
      self.file = file
      (log, database, lookUps) = try Store.open(file, mustExist: false, .copied)
      gate = FileGates.gate(of: location.file)
    case .file(let location, let mustExist):
      scratch = nil
      self.location = location
      identity = Identity(of: location, surroundings)
      assets = AssetFolder(location.assets)
      try location.check()
      // One that has to be there and is not is told as that.
      let file = try mustExist && !location.exists ? DatabaseFile(location) : DatabaseFile.claim(location)
      self.file = file
      // Of a file that is there, before SQLite has it open: see `ifNotOpen`.
      let known = FileGates.gate(of: location.file)
      (log, database, lookUps) = try Store.open(file, mustExist: mustExist, reads)
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
    // Nobody has it any more. GRDB would close who writes last, and that would delete a log without which others cannot read.
    if closed.withLock({ $0 == nil }) { _ = try? closeAll(empties: true) }
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
}
