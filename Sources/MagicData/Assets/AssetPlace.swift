internal import Foundation
internal import MagicJournal

/// What an asset is called and where its file is, as far as is known. Copies of an asset share it.
final class AssetPlace: Sendable {
  /// The path extension of an asset that the app made.
  let pathExtension: String?
  private let known: Locked<(name: String?, folders: [AssetFolder])>

  init(name: String? = nil, pathExtension: String? = nil) {
    self.pathExtension = name.map { $0.contains(".") ? String($0.dropFirst(65)) : nil } ?? pathExtension
    known = Locked((name, []))
  }

  var name: String? { known.withLock { $0.name } }

  /// The name that belongs to a content, which is the asset's for good.
  func named(after content: Data) throws -> String {
    if let name { return name }
    let name = try naming(content)
    known.withLock { $0.name = name }
    return name
  }

  /// Other objects may name the file that the asset was given for what its value was then.
  func checkNamed(after content: Data) throws {
    guard try name == naming(content) else {
      throw MagicDataError(
        .value,
        "the value of an asset has changed since it was first given to a database, and an asset stays as it is then; assign another asset"
      )
    }
  }

  private func naming(_ content: Data) throws -> String {
    let pathExtension = pathExtension.flatMap { $0.isEmpty ? nil : $0 }
    guard let name = content.withUnsafeBytes({ AssetName.name(of: $0, pathExtension: pathExtension) }) else {
      throw MagicDataError(.value, "an asset's extension is 1 to 32 ASCII letters and digits, without a dot")
    }
    return name
  }

  /// A folder has the file, or had it.
  func isKept(in folder: AssetFolder) {
    known.withLock { known in
      if !known.folders.contains(where: { $0.url == folder.url }) { known.folders.append(folder) }
    }
  }

  /// The file, while there is one.
  var file: URL? {
    guard let (name, folder) = place, folder.has(name) else { return nil }
    return folder.file(name)
  }

  /// Where the file is, or was last; the first that had it as long as it has.
  private var place: (name: String, folder: AssetFolder)? {
    let (name, folders) = known.withLock { $0 }
    guard let name, let last = folders.last else { return nil }
    return (name, folders.first { $0.has(name) } ?? last)
  }

  /// What the file holds.
  func content() throws -> Data {
    let (name, folder) = try kept()
    return try folder.content(of: name)
  }

  /// Reads the content, without a thread that waits.
  @inline(never) func loadedContent() async throws -> Data {
    let (name, folder) = try kept()
    return try await folder.loadedContent(of: name)
  }

  private func kept() throws -> (String, AssetFolder) {
    guard let place else { throw MagicDataError(.unsetValue, "the asset has no value yet") }
    return place
  }
}
