import Foundation

/// A folder for one run, which goes away with it.
struct Workspace {
  let folder: URL

  /// A folder that is filled once, however many cases and processes use it. What is in it is copied before it is changed.
  func fixture(_ name: String, _ fill: (URL) async throws -> Void) async throws -> URL {
    let place = folder.appendingPathComponent(name, isDirectory: true)
    if FileManager.default.fileExists(atPath: place.path) { return place }
    let unfinished = try newFolder()
    try await fill(unfinished)
    try FileManager.default.moveItem(at: unfinished, to: place)
    return place
  }

  func newFolder() throws -> URL {
    let place = folder.appendingPathComponent("round-\(UUID())", isDirectory: true)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    return place
  }
}

extension URL {
  func file(_ name: String) -> URL { appendingPathComponent(name) }

  /// A copy of something of this folder in another one. It is on the disk, so that nobody's first checkpoint has to bring it
  /// there.
  func copy(_ name: String, to other: URL) throws -> URL {
    let copy = other.file(name)
    try FileManager.default.copyItem(at: file(name), to: copy)
    for path in FileManager.default.subpaths(atPath: copy.path) ?? [] { try PackedFile.sync(copy.file(path)) }
    try PackedFile.sync(copy)
    return copy
  }

  var fileSize: Int {
    get throws { try resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }
  }
}
