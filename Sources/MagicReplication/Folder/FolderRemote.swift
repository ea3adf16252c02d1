public import Foundation
internal import MagicData
package import MagicJournal

/// A folder through which replicas exchange their journals (Protocol/folder.md): on a disk, a share, a stick, or carried by a
/// sync service.
public struct FolderRemote: Sendable {
  /// Where it is, or is to be.
  public let folder: URL
  /// Whether it is here for the time, until it was packed into a bundle: what is in it has come to nobody.
  let isForTheTime: Bool
  /// What was seen of its checkpoints, by whoever has this.
  let looks = CheckpointLooks()

  /// Nothing is read or made yet.
  public init(_ folder: URL) {
    self.init(folder, isForTheTime: false)
  }

  package init(_ folder: URL, isForTheTime: Bool) {
    (self.folder, self.isForTheTime) = (folder, isForTheTime)
  }

  /// The remote in the folder at a path.
  public init(path: String) {
    self.init(URL(fileURLWithPath: path, isDirectory: true))
  }

  /// What makes it a remote. It is never written again, unless it is lost or damaged and somebody asks for that.
  var marker: URL { folder.appendingPathComponent("magicdata.json") }
  var segments: URL { folder.appendingPathComponent("segments", isDirectory: true) }
  var acks: URL { folder.appendingPathComponent("acks", isDirectory: true) }
  var checkpoints: URL { folder.appendingPathComponent("checkpoints", isDirectory: true) }

  private struct Marker: Codable {
    var format: Int
    /// Another format may have no such members.
    var kind: String?
    var dataSet: String?
  }

  private static let format = 1
  private static let kind = "folder"

  /// What to do about a magicdata.json that is lost or damaged.
  private static let remedy = "put it back from a copy, or push once with --anew from a database that has exchanged here"

  /// Whether there is a remote.
  package var isThere: Bool { FileManager.default.fileExists(atPath: marker.path) }

  /// Throws if there is no remote that can be used. Reads the folder on the caller's thread.
  /// - Throws: `MagicDataError` with `notFound` if there is no such folder, or it is no remote; `busy` if its magicdata.json
  ///   has not come yet; `damaged` or `incompatible` if that says something else; `notAllowed`.
  public func check() throws {
    _ = try dataSet()
  }

  /// The data set of a remote that is there.
  package func dataSet() throws -> DataSetID {
    try checkIsFolder()
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder) else {
      throw DurableFile.isHidden(marker)
        ?? MagicDataError(.notFound, "there is no folder \(folder.path); push to it first, or check the path")
    }
    if let error = DurableFile.isHidden(marker) { throw error }
    guard isFolder.boolValue, FileManager.default.fileExists(atPath: marker.path) else {
      try checkIsNoRest(of: nil)
      guard !DatabaseLocation(folder).exists else {
        throw MagicDataError(
          .notFound, "\(folder.path) is no remote, but a database; sync that with a folder of its own, and name the folder")
      }
      guard isFolder.boolValue else { throw isFile(.notFound) }
      throw MagicDataError(.notFound, "\(folder.path) is no remote: it holds no magicdata.json; push to it first")
    }
    let bytes = try DurableFile.read(marker, atMost: 65_536)
    let read: Marker
    do {
      read = try JSONDecoder().decode(Marker.self, from: Data(bytes))
    } catch {
      throw MagicDataError(
        .damaged,
        "\(marker.path) is damaged: it is no JSON object with format, kind and dataSet; \(FolderRemote.remedy)", cause: error)
    }
    guard read.format == FolderRemote.format, read.kind ?? FolderRemote.kind == FolderRemote.kind else {
      throw MagicDataError(
        .incompatible,
        "\(folder.path) is a remote of format \(read.format) and kind \(read.kind ?? "unknown"), which this version does not know"
      )
    }
    guard read.kind != nil, let dataSet = read.dataSet.flatMap({ Identifier($0) }) else {
      throw MagicDataError(
        .damaged,
        "\(marker.path) is damaged: it lacks its kind, or the 32 digits of its data set; \(FolderRemote.remedy)")
    }
    return dataSet
  }

  /// The data set of the remote; makes a remote of `dataSet` if there is none (F-8).
  package func dataSet(orMake dataSet: DataSetID) throws -> DataSetID {
    try checkIsFolder()
    if FileManager.default.fileExists(atPath: marker.path) { return try self.dataSet() }
    do {
      try makeFolder(for: dataSet)
    } catch  where isThere {
      // Somebody has made it while it was looked whether it can be made.
      return try self.dataSet()
    }
    // Whoever comes second takes what stands.
    _ = try DurableFile.create(FolderRemote.marker(of: dataSet), at: marker)
    return try self.dataSet()
  }

  static func marker(of dataSet: DataSetID) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return [UInt8](try encoder.encode(Marker(format: format, kind: kind, dataSet: dataSet.description)))
  }

  private func checkIsFolder() throws {
    guard folder.isFileURL else {
      throw MagicDataError(.notFound, "\(folder.scheme ?? "nothing"): is no folder; name one by its path or a file: URL")
    }
  }

  /// Throws if the folder is no remote and can become none.
  package func checkCanBeRemote() throws {
    try checkIsFolder()
    guard !isThere else { return try check() }
    _ = try mustBeMade(for: nil)
  }

  private func makeFolder(for dataSet: DataSetID) throws {
    if try mustBeMade(for: dataSet) { try make(folder) }
  }

  /// Whether there is nothing yet where the folder belongs.
  private func mustBeMade(for dataSet: DataSetID?) throws -> Bool {
    let files = FileManager.default
    var isFolder: ObjCBool = false
    if files.fileExists(atPath: folder.path, isDirectory: &isFolder) {
      guard isFolder.boolValue else { throw isFile(.exists) }
      try checkIsNoRest(of: dataSet)
      let own = [segments, assets, doubts, acks, checkpoints].map(\.lastPathComponent)
      let content = try listing(of: folder).filter { !$0.hasPrefix(".") && !own.contains($0) }
      guard content.isEmpty else {
        throw MagicDataError(.exists, "\(folder.path) is no remote, and is not empty; name a new folder, in it or elsewhere")
      }
      return false
    } else {
      let parent = folder.deletingLastPathComponent()
      guard files.fileExists(atPath: parent.path) else {
        throw MagicDataError(.notFound, "there is no folder \(parent.path); make it first")
      }
      return true
    }
  }

  private func isFile(_ code: MagicDataError.Code) -> MagicDataError {
    MagicDataError(
      code,
      """
      \(folder.path) is a file, and a remote is a folder; a bundle's name ends in .magicbundle, or it comes through a pipe: \
      magic-sync pull DB - < FILE
      """)
  }

  /// Throws if there is a remote but for its marker, which may be on its way: with another one it would be another data set's
  /// (F-8).
  func checkIsNoRest(of dataSet: DataSetID?) throws {
    guard
      try isMarkerAwaited
        || listing(of: segments).contains(where: { SegmentFileName(Placeholder.file(of: $0) ?? $0) != nil })
        || listing(of: checkpoints).contains(where: { CheckpointFile.isName(Placeholder.file(of: $0) ?? $0) })
        || dataSet.map(holdsWhatIsNot) ?? false
    else { return }
    throw MagicDataError(
      .busy,
      """
      \(folder.path) holds what a remote holds, and no magicdata.json, as while a service is still bringing it. Try again when it has come; if it is lost, \
      \(FolderRemote.remedy)
      """)
  }

  /// Whether a service has a placeholder for the marker.
  var isMarkerAwaited: Bool {
    let placeholder = folder.appendingPathComponent(Placeholder.name(for: marker.lastPathComponent))
    return FileManager.default.fileExists(atPath: placeholder.path)
  }

  /// Whether there are acknowledgements or contents, and nobody says in these that they are a data set's.
  private func holdsWhatIsNot(of dataSet: DataSetID) throws -> Bool {
    let said = try listing(of: acks).compactMap { name in
      AckFile.replica(ofName: name).map { (acks.appendingPathComponent(name), $0) }
    }
    if said.contains(where: { AckFile($0, of: $1, dataSet) != nil }) { return false }
    return try !said.isEmpty || !contents().isEmpty
  }

  /// The folder of the segments, made if it is not there.
  func makeSegments() throws {
    if !FileManager.default.fileExists(atPath: segments.path) { try make(segments) }
  }

  func make(_ folder: URL) throws {
    // Another process may make it at the same time.
    guard mkdir(folder.path, 0o777) == 0 || errno == EEXIST else { throw DurableFile.failure("could not be made", folder) }
    guard FileManager.default.fileExists(atPath: folder.path) else {
      throw MagicDataError(
        .notFound, "\(folder.path) is a link to something that is not there; mend or delete it, or name another path")
    }
    try DurableFile.sync(folder.deletingLastPathComponent())
  }

  /// The names of the files of segments and checkpoints and of the contents of assets; none if there is no remote.
  package func fileNames() throws -> Set<String> { try Set(listing(of: segments) + listing(of: checkpoints) + contents()) }

  /// Names in a folder; none if the folder is not there.
  func listing(of folder: URL) throws -> [String] {
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    } catch {
      // Foundation does not say why in a way that is the same everywhere.
      guard let directory = opendir(folder.path) else {
        if errno == ENOENT { return [] }
        throw DurableFile.failure("could not be listed", folder)
      }
      closedir(directory)
      throw MagicDataError(.failed, "\(folder.path) could not be listed", cause: error)
    }
  }
}
