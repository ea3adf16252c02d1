package import Foundation
internal import MagicData
internal import MagicJournal

/// Where contents of assets lie, and doubts (F-12, F-16).
extension FolderRemote {
  package var assets: URL { folder.appendingPathComponent("assets", isDirectory: true) }
  var doubts: URL { folder.appendingPathComponent("doubts", isDirectory: true) }

  /// The file of a content, of which these are the 64 digits.
  package func content(_ digits: String) -> URL { contents(digits).appendingPathComponent(digits) }

  private func contents(_ digits: String) -> URL {
    assets.appendingPathComponent(String(digits.prefix(2)), isDirectory: true)
  }

  /// The digits of all contents, in their order.
  func contents() throws -> [String] {
    guard case .folder = FolderRemote.kind(of: assets) else { return [] }
    return try listing(of: assets).filter { $0.count == 2 }.sorted().flatMap { start in
      guard case .folder = FolderRemote.kind(of: contents(start)) else { return [String]() }
      return try listing(of: contents(start)).sorted().filter { name in
        name.hasPrefix(start) && name.count == 64 && [UInt8](hexadecimal: name)?.hexadecimal == name
          && ChunkReader.length(of: content(name)) != nil
      }
    }
  }

  /// Makes the folder of a content. Where a link stands, it would be written elsewhere.
  package func makeContents(_ digits: String) throws {
    for folder in [assets, contents(digits)] { try makeOwn(folder) }
  }

  /// Whether the way to a content leads through no link; also if there is none.
  func checkWay(to digits: String) -> MagicDataError? {
    for folder in [assets, contents(digits)] {
      if let obstacle = obstacle(folder) { return obstacle }
    }
    return nil
  }

  /// Why nothing is read of what stands in a folder's place.
  func obstacle(_ folder: URL) -> MagicDataError? {
    if case .other = FolderRemote.kind(of: folder) { FolderRemote.isNoFolder(folder) } else { nil }
  }

  func isOwnFolder(_ folder: URL) -> Bool { FolderRemote.kind(of: folder) == .folder }

  func makeOwn(_ folder: URL) throws {
    switch FolderRemote.kind(of: folder) {
    case .folder: return
    case .nothing: try make(folder)
    case .other: throw FolderRemote.isNoFolder(folder)
    }
  }

  private enum Kind { case folder, nothing, other }

  private static func kind(of folder: URL) -> Kind {
    var status = stat()
    // A slash at its end would ask for what a link leads to.
    let path = folder.path.hasSuffix("/") ? String(folder.path.dropLast()) : folder.path
    guard lstat(path, &status) == 0 else { return errno == ENOENT ? .nothing : .other }
    return status.st_mode & S_IFMT == S_IFDIR ? .folder : .other
  }

  private static func isNoFolder(_ folder: URL) -> MagicDataError {
    MagicDataError(.notAllowed, "\(folder.path) is a link, or no folder, and was not used; put a folder in its place")
  }

  // MARK: Doubts

  /// What somebody has found damaged: names of segments and digits of contents.
  func doubted() throws -> Set<String> {
    guard case .folder = FolderRemote.kind(of: doubts) else { return [] }
    return Set(try listing(of: doubts))
  }

  /// Tells who has a file's content that it is damaged here.
  func doubt(_ name: String) {
    do {
      try makeOwn(doubts)
      _ = try DurableFile.create(Array(name.utf8), at: doubts.appendingPathComponent(name))
    } catch {
      // Who may only read has said so in the report.
    }
  }

  /// Somebody has looked.
  func settleDoubt(_ name: String) {
    guard case .folder = FolderRemote.kind(of: doubts) else { return }
    unlink(doubts.appendingPathComponent(name).path)
  }
}
