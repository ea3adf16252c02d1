public import Foundation
internal import GRDB
internal import MagicJournal

extension MagicData {
  /// Copies the database, as it is at one moment, to a place where there is none; it can be in use meanwhile.
  ///
  /// The copy is a replica of its own: it has all objects, the whole journal and the data set, and a replica id of its own, so
  /// that both can be written to and sync with each other and with others. It has the assets as well. It is there as a whole,
  /// and on the disk, or not at all: if this fails or the process dies, no database is at `path`; a process that dies may leave
  /// a folder whose name begins with `.magic-scratch-`, and the one that it is in, where another try goes well, and takes it
  /// away. One that dies between the last two steps leaves the assets at their place without a database, where another try goes
  /// well, too. What this database has written is on the disk too then, as before a push.
  ///
  /// - Parameter path: as in ``init(path:reads:)-(URL,_)``, in any folder that can be written to.
  /// - Throws: ``MagicDataError`` with `exists`, `notFound` (no such folder), `notADatabase` (no place for one), `full`,
  ///   `notAllowed` or `busy` (another program has locked the folder that the assets' folder is in); `CancellationError`.
  /// - Complexity: O(file). Memory is flat; SQLite's WAL grows by what is written meanwhile.
  public func backup(to path: URL) async throws {
    let target = try DatabaseLocation(checking: path)
    try target.check()
    let places = [target.file] + (target.isUnfinished ? [] : [target.assets])
    for place in places where FileManager.default.fileExists(atPath: place.path) {
      throw MagicDataError(.exists, "\(place.path) is there already, and was left as it is; name another place")
    }
    let (store, assets) = (store, store.assets.url)
    if target.file.standardizedFileURL.path.hasPrefix(assets.standardizedFileURL.path + "/") {
      throw MagicDataError(.notAllowed, "\(path.path) is among the database's own assets; name a place outside of them")
    }
    guard !store.isClosed else { throw UsageCounter.closed }
    // What the snapshot names stays until it is copied.
    let pin = try await store.assets.pin()
    defer { withExtendedLifetime(pin) {} }
    try await target.make { aside in
      try await store.copy(to: aside.file)
      try await MagicData.fill(Store(.file(aside, mustExist: true), store.surroundings)) { copy in
        try await copy.store.write { [surroundings = store.surroundings] db in
          _ = try DatabaseState.becomeReplica(surroundings, db)
        }
      }
      // Others' assets may be among them, as of what was removed meanwhile.
      guard store.assets.exists else { return }
      let place = aside.assets
      try await store.assets.travelling { checkCancelled in try DurableFolder.copyAssets(assets, to: place, checkCancelled) }
    }
  }

  /// Copies the database to a path; see ``backup(to:)-(URL)``.
  public func backup(to path: String) async throws {
    guard !path.isEmpty else { throw MagicDataError(.notFound, "the backup's path is empty") }
    try await backup(to: URL(fileURLWithPath: path))
  }
}

extension Store {
  /// Copies one snapshot into a new file, as it is, by SQLite's own means.
  ///
  /// - Parameter isSentOn: whether somebody may get what is in it from there.
  package func copy(to file: URL, isSentOn: Bool = true) async throws {
    try await read { [self] db in
      // From the first look on it is one snapshot. All of it is on the disk before anybody can send it on (J-21).
      _ = try DatabaseState(db)
      if isSentOn { try syncToDisk(db) }
      do {
        let copy = try DatabaseQueue(path: file.path)
        try copy.writeWithoutTransaction { copy in
          // A statement fails if the task was cancelled.
          try db.backup(to: copy, pagesPerStep: Store.backupPages) { _ in try db.execute(sql: "SELECT 1") }
        }
        try copy.close()
      } catch let error as CancellationError {
        throw error
      } catch {
        throw MagicDataError(error, "the copy \(file.path) could not be written")
      }
    }
  }

  /// Between two looks at whether the task was cancelled: 4 MiB.
  private static let backupPages: CInt = 1_024
}
