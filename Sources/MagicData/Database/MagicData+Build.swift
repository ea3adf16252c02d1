internal import Foundation
internal import GRDB

extension MagicData {
  /// Makes a database that is there as a whole or not at all: `body` fills it under another name in the folder where it belongs.
  ///
  /// If `body` throws, or the process dies, there is no database at `location`. If somebody else has made one there meanwhile, that one
  /// stays, and the error says so.
  package static func build<Result>(
    at location: DatabaseLocation, _ body: (MagicData) async throws -> Result
  ) async throws -> Result {
    try location.check()
    let isFolderNew = location.folder.map { !FileManager.default.fileExists(atPath: $0.path) } ?? false
    try location.makeFolder()
    let aside = DatabaseLocation(
      location.file.deletingLastPathComponent().appendingPathComponent(".magic-\(UUID().uuidString.lowercased()).sqlite3"))
    defer {
      for suffix in ["", "-wal", "-shm"] { unlink(aside.file.path + suffix) }
      try? FileManager.default.removeItem(at: aside.assets)
      // Goes only if it is empty.
      if isFolderNew, let folder = location.folder { rmdir(folder.path) }
    }
    let magic = MagicData(store: try Store(.file(aside, mustExist: false)))
    let result: Result
    do {
      result = try await body(magic)
      try await magic.store.closeWhole()
    } catch {
      try? await magic.close()
      throw error
    }
    // Before the rows that name them are there.
    try AssetFolder(aside.assets).move(to: AssetFolder(location.assets))
    try move(aside.file, to: location.file)
    return result
  }

  private static func move(_ file: URL, to place: URL) throws {
    // Unlike a renaming, a link takes the place of nothing. File systems without links get a renaming.
    if link(file.path, place.path) == 0 { return }
    let number = errno
    guard number != EEXIST, !FileManager.default.fileExists(atPath: place.path) else {
      throw MagicDataError(.exists, "somebody made a database at \(place.path) meanwhile, which was left as it is; try again")
    }
    guard rename(file.path, place.path) == 0 else {
      throw MagicDataError(.notAllowed, "\(place.path) could not be made: \(String(cString: strerror(number)))")
    }
  }
}

extension Store {
  /// Closes the database, with nothing left in the WAL: else an error.
  fileprivate func closeWhole() async throws {
    do {
      _ = try await database.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
      try database.close()
    } catch {
      throw MagicDataError(error, "the database could not be completed")
    }
  }
}
