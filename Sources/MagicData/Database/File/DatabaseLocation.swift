package import Foundation
internal import MagicJournal

/// Which file a path means. A path that ends in .sqlite, .sqlite3 or .db is the database file, with its assets in a folder
/// beside it; any other is a folder that holds `default.sqlite3` and `files/`. Several paths may mean one file: its assets are
/// in one folder.
package struct DatabaseLocation: Sendable, Equatable {
  package let file: URL
  package let assets: URL
  /// The folder that belongs to the database alone, if it has one.
  package let folder: URL?

  private static let extensions: Set<String> = ["sqlite", "sqlite3", "db"]

  static let ownName = "default.sqlite3"

  package init(_ path: URL) {
    let isFile = DatabaseLocation.extensions.contains(path.pathExtension.lowercased()) && !DatabaseLocation.isFolder(path)
    let named = isFile ? path : path.appendingPathComponent(DatabaseLocation.ownName)
    // As SQLite finds it.
    file = named.linked
    folder = isFile ? nil : path
    assets = DatabaseLocation.assets(of: file, named: named, isFile: isFile)
  }

  private static func assets(of file: URL, named: URL, isFile: Bool) -> URL {
    // notes.sqlite and notes.db are two databases, and neither may clear up the other's files.
    let beside = file.appendingPathExtension("files")
    let within = file.deletingLastPathComponent().appendingPathComponent("files", isDirectory: true)
    // Beside a link that was named, former versions kept them.
    let former =
      isFile ? named.appendingPathExtension("files") : named.deletingLastPathComponent().appendingPathComponent("files")
    guard file.lastPathComponent == ownName else { return !isFolder(beside) && content(of: former).isOwn ? former : beside }
    // Two that have the file open, each by another path, have to find the same, whoever of them has the first asset.
    let (isAny, isOwn) = content(of: within)
    return isOwn || !isAny && !isFolder(beside) ? within : beside
  }

  /// Whether there is anything in a folder, and an asset among it: else it is somebody else's. One that may not be listed
  /// counts as empty: who needs an asset of it is told.
  private static func content(of folder: URL) -> (isAny: Bool, isOwn: Bool) {
    // One by one, since there may be many.
    guard let directory = opendir(folder.path) else { return (errno == ENOTDIR, false) }
    defer { closedir(directory) }
    var isAny = false
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if AssetName.isValid(name) { return (true, true) }
      if !name.hasPrefix(".") { isAny = true }
    }
    return (isAny, false)
  }

  package init(checking path: URL) throws {
    guard path.isFileURL else {
      throw MagicDataError(.notFound, "\(path.scheme ?? "nothing"): is no place for a database; name a path or a file: URL")
    }
    self.init(path)
  }

  /// The file that marks the database's identity (J-30).
  var mark: URL { URL(fileURLWithPath: file.path + DatabaseLocation.markSuffix) }
  static let markSuffix = "-replica"

  package var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

  package var isEmpty: Bool { DurableFile.lastWritten(file)?.bytes == 0 }

  /// Refuses a path that cannot be a database's, whatever is there.
  package func check() throws {
    guard (try? FileManager.default.destinationOfSymbolicLink(atPath: file.path)) == nil else {
      throw MagicDataError(
        .notFound,
        "\(file.path) is a link that leads back to itself, or through too many others; mend or delete it, or name another path")
    }
    var status = stat()
    guard stat(file.path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
      // Who opens a pipe waits for who writes to it.
      throw MagicDataError(.notADatabase, "\(file.path) is a pipe, a socket or a device, and no file; name another path")
    }
    guard let folder, FileManager.default.fileExists(atPath: folder.path) else { return }
    guard DatabaseLocation.isFolder(folder) else {
      throw MagicDataError(
        .notADatabase,
        "\(folder.path) is a file; a database file's name ends in .sqlite, .sqlite3 or .db, and any other path is a folder")
    }
    guard !FileManager.default.fileExists(atPath: folder.appendingPathComponent("magicdata.json").path) else {
      throw MagicDataError(
        .notADatabase, "\(folder.path) is a remote, and no database: it holds magicdata.json; clone it, or name another folder")
    }
  }

  /// Makes the database's own folder, if it has one; the folder above has to be there.
  func makeFolder() throws {
    let own = folder ?? file.deletingLastPathComponent()
    guard !DatabaseLocation.isFolder(own) else { return }
    let parent = own.deletingLastPathComponent()
    guard folder != nil, DatabaseLocation.isFolder(parent) else {
      throw MagicDataError(.notFound, "there is no folder \(folder == nil ? own.path : parent.path); make it first")
    }
    // Another process may make it at the same time.
    guard mkdir(own.path, 0o777) == 0 || errno == EEXIST else { throw DurableFile.failure("could not be made", own) }
    guard DatabaseLocation.isFolder(own) else {
      throw MagicDataError(
        .notFound, "\(own.path) is a link to something that is not there; mend or delete it, or name another path")
    }
  }

  private static func isFolder(_ url: URL) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
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
