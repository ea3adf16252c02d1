internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import MagicJournal

extension MagicData {
  /// Makes a database that is there as a whole or not at all: `body` fills it under another name in the folder where it
  /// belongs.
  ///
  /// If `body` throws, or the process dies, there is no database at `location`. If somebody else has made one there meanwhile,
  /// that one stays, and the error says so.
  package static func build<Result>(
    at location: DatabaseLocation, _ body: (MagicData) async throws -> Result
  ) async throws -> Result {
    try await location.make { aside in try await fill(Store(.file(aside, mustExist: false)), body) }
  }

  /// Builds a database in place of one that is there, which goes when the new one is whole, and stays if `body` throws.
  ///
  /// - Throws: also `busy` if somebody has the one that is there open, at the beginning or at the end; `exists` if none is
  ///   there, and assets of one are.
  package static func build<Result>(
    inPlaceOf location: DatabaseLocation, _ body: (MagicData) async throws -> Result
  ) async throws -> Result {
    // What it takes the place of has to be a database of ours, or nothing.
    var unsent: Set<String> = []
    var former: OpenFile.State?
    if location.exists {
      let store = try Store(.file(location, mustExist: true))
      unsent = try await store.read { db in try UnsentAssets(db).names }
      // With nothing in its log, which the next one who only reads would bring into it once more.
      try await store.close()
      try location.alone {
        // What is written later has a later time: a file system tells times apart that are some milliseconds from each other.
        usleep(20_000)
        former = OpenFile.State(of: location.file)
      }
    }
    let replaced = ReplacedAssets(folder: AssetFolder(location.assets), unsent: unsent)
    return try await location.make(replacing: former) { aside in
      try await fill(Store(.file(aside, mustExist: false), replaced: replaced), body)
    }
  }

  /// Runs `body` on a database that nobody else knows of, and closes it with everything in its file.
  static func fill<Result>(_ store: Store, _ body: (MagicData) async throws -> Result) async throws -> Result {
    let magic = MagicData(store: store)
    do {
      let result = try await body(magic)
      try await magic.store.closeWhole()
      return result
    } catch {
      try? await magic.close()
      throw error
    }
  }
}

extension DatabaseLocation {
  private static let (scratchPurpose, asideName) = ("database", "new")

  /// What the folders are called in which databases are made, beside their places.
  static var scratchPrefix: String { ScratchFolder.hiddenPrefix + scratchPurpose + "-" }

  /// The file of the database that is made in such a folder.
  static func made(in scratch: URL) -> URL { scratch.appendingPathComponent(asideName).appendingPathComponent(ownName) }

  /// Moves what `body` makes aside, in the folder where it belongs, to this location, where nothing may be yet. The database
  /// file comes last and is never there without its assets; what is there is on the disk.
  ///
  /// - Parameter former: the file that makes way, as it was when it was looked at; `nil` if none may be there.
  /// - Throws: `busy` if that was written to meanwhile.
  func make<Result>(
    replacing former: OpenFile.State? = nil, _ body: (_ aside: DatabaseLocation) async throws -> Result
  ) async throws -> Result {
    try check()
    // Where no database is, what lies there is not its.
    let replaced = exists ? former : nil
    if replaced == nil { try checkIsClear() }
    let isFolderNew = folder.map { !FileManager.default.fileExists(atPath: $0.path) } ?? false
    try makeFolder()
    let scratch = try ScratchFolder(DatabaseLocation.scratchPurpose, in: file.deletingLastPathComponent())
    let aside = DatabaseLocation(scratch.url.appendingPathComponent(DatabaseLocation.asideName, isDirectory: true))
    try aside.makeFolder()
    defer {
      scratch.remove()
      // Goes only if it is empty.
      if isFolderNew, let folder { rmdir(folder.path) }
    }
    let result = try await body(aside)
    if let replaced, exists {
      try alone(replacing: replaced) { try replace(with: aside) }
    } else {
      try checkIsClear()
      try take(aside)
    }
    // The file is still the same.
    rename(aside.mark.path, mark.path)
    try DurableFile.sync(file.deletingLastPathComponent())
    if isFolderNew, let folder { try DurableFile.sync(folder.deletingLastPathComponent()) }
    // Not before the file is on the disk.
    unlink(unfinished.path)
    try DurableFile.sync(assets)
    return result
  }

  /// Assets that are left may be the only ones of a database that was moved away, which this one would clear up.
  private func checkIsClear() throws {
    guard !exists else { return }
    try DatabaseFile.checkLog(of: self)
    try checkHasNoOthersLog()
    if hasOthersAssets {
      throw MagicDataError(
        .exists,
        """
        \(assets.path) is left of a database that was deleted or moved away; put that back beside it, move or delete the folder, or name another path
        """)
    }
  }

  /// SQLite would take what is left of a database that was deleted or moved away for this one's: a log it deletes, which may
  /// be the only place where the last commits of that one are; a journal it puts in this one's place.
  func checkHasNoOthersLog() throws {
    let journal = DurableFile.lastWritten(beside("-journal"))?.bytes ?? 0
    // Looked at before the file: who makes a database just now has it before its journal, and something in it before its log.
    let left = !hasClearLog && (!exists || isEmpty) ? "-wal" : journal > 0 && !exists ? "-journal" : nil
    guard let left else { return }
    throw MagicDataError(
      .exists,
      """
      \(beside(left).path) is left of a database that was deleted or moved away, and may have its last commits alone; put that back beside it, or delete it, or name another path
      """)
  }

  private var unfinished: URL { assets.appendingPathComponent(AssetFolder.unfinished) }

  /// Whether the assets that are here are what somebody has left who was killed while he put a database to its place.
  var isUnfinished: Bool { access(unfinished.path, F_OK) == 0 }

  /// Whether something is where the assets belong that may be of another database.
  private var hasOthersAssets: Bool {
    guard hasAssets, !isUnfinished else { return false }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: assets.path) else { return true }
    return !names.allSatisfy { $0.hasPrefix(".") }
  }

  /// Does something while nobody else reads or writes the database, which has all in its file then.
  ///
  /// - Parameter former: the file, if another has its name afterwards. Who has opened this one and not yet read it can write
  ///   nothing to it then: SQLite looks whether a file without a WAL still has its name.
  /// - Throws: `busy` if somebody has it open and has read it, or has written to it since it was so.
  fileprivate func alone(replacing former: OpenFile.State? = nil, _ body: () throws -> Void) throws {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    func run(_ statements: String...) throws {
      for statement in statements { try check(sqlite3_exec(connection, statement, nil, nil, nil)) }
    }
    func check(_ status: Int32) throws {
      if status & 0xff == SQLITE_BUSY {
        throw MagicDataError(
          .busy, "\(file.path) is open elsewhere; close what uses it (an app, a server, a tool that follows it), and try again")
      }
      guard status == SQLITE_OK else {
        throw MagicDataError(DatabaseError(resultCode: ResultCode(rawValue: status)), "\(file.path) could not be replaced")
      }
    }
    try check(sqlite3_open_v2(file.path, &connection, SQLITE_OPEN_READWRITE, nil))
    sqlite3_busy_timeout(connection, 1_000)
    // Whoever opens a database without a log has to write one. The mode is changed only where there is none.
    var isKept: Int32 = former == nil ? 1 : 0
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    // Whoever reads a database in WAL mode holds a lock on its file until he closes it.
    try run("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA wal_checkpoint")
    if let former {
      guard OpenFile.State(of: file) == former else {
        throw MagicDataError(
          .busy,
          "\(file.path) was written to while what takes its place was made, and stays; close what uses it, and try again")
      }
      try run("PRAGMA journal_mode = DELETE")
    }
    try run("BEGIN IMMEDIATE")
    do {
      try body()
    } catch {
      if former != nil { try? run("ROLLBACK", "PRAGMA journal_mode = WAL") }
      throw error
    }
  }

  /// Puts what was made in the place of what is there. No database and no asset is deleted before the last renaming, and after
  /// an error both are as they were. Who is killed between these renamings finds the old database, and its assets under the
  /// hidden name.
  private func replace(with aside: DatabaseLocation) throws {
    let old = DatabaseLocation.hidden(beside: file)
    // Of a database that is there, a log has nothing that its file has not.
    let logs = ["-wal", "-journal"].map { (beside($0), old.beside($0)) }
    var undo: [(from: URL, to: URL)] = []
    do {
      for (from, to) in logs + [(assets, old.assets), (aside.assets, assets)]
      where FileManager.default.fileExists(atPath: from.path) {
        try move(from, to: to)
        undo.append((to, from))
      }
      guard unlink(beside("-shm").path) == 0 || errno == ENOENT else {
        throw MagicDataError(.notAllowed, "\(beside("-shm").path) could not be removed: \(String(cString: strerror(errno)))")
      }
      try move(aside.file, to: file)
    } catch {
      for (from, to) in undo.reversed() { rename(from.path, to.path) }
      throw error
    }
    // A power failure before the renamings are on the disk brings the old database back. If they cannot be brought there,
    // `make` says so.
    if (try? DurableFile.sync(file.deletingLastPathComponent())) != nil { old.removeAll() }
  }

  /// Nobody takes it away: it may have a database's only assets, after somebody was killed.
  private static func hidden(beside file: URL) -> DatabaseLocation {
    DatabaseLocation(
      file.deletingLastPathComponent().appendingPathComponent(".magic-replaced-\(UUID().uuidString.lowercased()).sqlite3"))
  }

  func beside(_ suffix: String) -> URL { URL(fileURLWithPath: file.path + suffix) }

  /// What cannot be removed stays hidden, and nobody is harmed.
  private func removeAll() {
    for suffix in ["-wal", "-journal"] { unlink(beside(suffix).path) }
    // Those of one that was moved away may be among them, and stay hidden.
    guard hasAssets, access(assets.appendingPathComponent(AssetFolder.others).path, F_OK) != 0 else { return }
    try? FileManager.default.removeItem(at: assets)
  }

  var hasAssets: Bool { FileManager.default.fileExists(atPath: assets.path) }

  private func move(_ made: URL, to place: URL) throws {
    guard rename(made.path, place.path) == 0 else {
      throw MagicDataError(.notAllowed, "\(place.path) could not be made: \(String(cString: strerror(errno)))")
    }
  }

  /// Who fails, or is killed, before the file is here leaves assets that are marked as unfinished, and the next one puts his
  /// own among them. Nobody takes them back: another one's may be among them by then.
  private func take(_ aside: DatabaseLocation) throws {
    guard !exists else { throw isTaken }
    try takeAssets(aside)
    do {
      try DurableFile.sync(assets.deletingLastPathComponent())
      try move(aside.file)
    } catch {
      // Somebody's that came meanwhile, who may use them by now.
      if exists { unlink(unfinished.path) }
      throw error
    }
  }

  private func takeAssets(_ aside: DatabaseLocation) throws {
    guard aside.hasAssets else { return }
    try DurableFile.write([UInt8](), to: aside.unfinished)
    // A folder takes the place of an empty one at most.
    if rename(aside.assets.path, assets.path) == 0 { return }
    let number = errno
    guard number == ENOTEMPTY || number == EEXIST, !hasOthersAssets else {
      throw MagicDataError(
        number == ENOTEMPTY || number == EEXIST || number == ENOTDIR ? .exists : .notAllowed,
        "\(assets.path) could not be made: \(String(cString: strerror(number)))")
    }
    // What is there under the name of a content is that content.
    let names = try FileManager.default.contentsOfDirectory(atPath: aside.assets.path).filter(AssetName.isValid)
    for name in [AssetFolder.unfinished] + names {
      try move(aside.assets.appendingPathComponent(name), to: assets.appendingPathComponent(name))
    }
    try DurableFile.sync(assets)
  }

  private var isTaken: MagicDataError {
    MagicDataError(.exists, "somebody made a database at \(file.path) meanwhile, which was left as it is")
  }

  private func move(_ made: URL) throws {
    // Unlike a renaming, a link takes the place of nothing. File systems without links get a renaming.
    if link(made.path, file.path) == 0 {
      // While it has two names nobody may open it.
      unlink(made.path)
      return
    }
    let number = errno
    guard number != EEXIST, !exists else { throw isTaken }
    guard rename(made.path, file.path) == 0 else {
      throw MagicDataError(.notAllowed, "\(file.path) could not be made: \(String(cString: strerror(number)))")
    }
  }
}

extension Store {
  /// Closes the database, with all in its file: else an error.
  fileprivate func closeWhole() async throws {
    commits.close()
    do {
      try await accessing {
        try await database.writeWithoutTransaction { [log] db in try log?.checkpoint(.truncate, onWriter: db) }
      }
      try await closeConnections()
    } catch  where !(error is CancellationError) {
      throw MagicDataError(error, "the database could not be completed")
    }
  }
}
