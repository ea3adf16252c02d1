package import Foundation

/// Which file a path means. A path that ends in .sqlite, .sqlite3 or .db is the database file, with its assets in a folder
/// beside it; any other is a folder that holds `default.sqlite3` and `files/`.
package struct DatabaseLocation: Sendable, Equatable {
  package let file: URL
  package let assets: URL
  /// The folder that belongs to the database alone, if it has one.
  package let folder: URL?

  private static let extensions: Set<String> = ["sqlite", "sqlite3", "db"]

  package init(_ path: URL) {
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder)
    if DatabaseLocation.extensions.contains(path.pathExtension.lowercased()), !(exists && isFolder.boolValue) {
      file = path
      assets = path.deletingPathExtension().appendingPathExtension("files")
      folder = nil
    } else {
      file = path.appendingPathComponent("default.sqlite3")
      assets = path.appendingPathComponent("files", isDirectory: true)
      folder = path
    }
  }

  package var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

  /// Makes the database's own folder, if it has one; the folder above has to be there.
  func makeFolder() throws {
    let own = folder ?? file.deletingLastPathComponent()
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: own.path, isDirectory: &isFolder) {
      guard isFolder.boolValue else {
        throw MagicDataError(
          .notADatabase,
          "\(own.path) is a file; a database file's name ends in .sqlite, .sqlite3 or .db, any other path is a folder")
      }
      return
    }
    let parent = own.deletingLastPathComponent()
    guard folder != nil, FileManager.default.fileExists(atPath: parent.path) else {
      throw MagicDataError(.notFound, "there is no folder \(folder == nil ? own.path : parent.path); make it first")
    }
    do {
      try FileManager.default.createDirectory(at: own, withIntermediateDirectories: false)
    } catch {
      // Another process may have made it since.
      guard FileManager.default.fileExists(atPath: own.path) else {
        throw MagicDataError(.notAllowed, "the folder \(own.path) could not be made", cause: error)
      }
    }
  }

  /// Where `MagicData()` keeps its database: in the app's own Documents folder, or, where that is everybody's, under the
  /// program's name in the user's folder for application data.
  ///
  /// - Parameter base: in place of that folder.
  package static func ofProgram(in base: URL? = nil) throws -> DatabaseLocation {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      let directory = FileManager.SearchPathDirectory.documentDirectory
      let name = "MagicData"
    #else
      let directory = FileManager.SearchPathDirectory.applicationSupportDirectory
      let name = ProcessInfo.processInfo.processName + "/MagicData"
    #endif
    guard let base = base ?? FileManager.default.urls(for: directory, in: .userDomainMask).first else {
      throw MagicDataError(.notFound, "this user has no folder for application data; name a path")
    }
    let folder = base.appendingPathComponent(name, isDirectory: true)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw MagicDataError(.notAllowed, "the folder \(folder.path) could not be made", cause: error)
    }
    return DatabaseLocation(folder)
  }
}
