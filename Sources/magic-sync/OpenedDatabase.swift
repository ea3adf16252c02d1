import Foundation
import MagicData

/// A database that a command works on, and whether the command made it.
struct OpenedDatabase {
  private let magic: MagicData
  private let location: DatabaseLocation
  private let made: (file: Bool, folder: Bool)

  /// - Parameter mustExist: a database that is not there is an error, not made.
  init(_ path: String, mustExist: Bool) throws {
    guard !path.isEmpty else { throw MagicDataError(.notFound, "the database's path is empty") }
    location = DatabaseLocation(URL(fileURLWithPath: path))
    made = (!location.exists, location.folder.map { !FileManager.default.fileExists(atPath: $0.path) } ?? false)
    magic = MagicData(store: try Store(.file(location, mustExist: mustExist)))
  }

  var isNew: Bool { made.file }
  var path: String { location.file.path }

  /// Runs `body` and closes the database, so that SQLite tidies up its files. If it fails, a database that was made for it goes away.
  func use<Result>(_ body: (MagicData) async throws -> Result) async throws -> Result {
    do {
      let result = try await body(magic)
      try await magic.close()
      return result
    } catch {
      try? await magic.close()
      if made.file {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        if made.folder, let folder = location.folder { try? FileManager.default.removeItem(at: folder) }
      }
      throw error
    }
  }
}
