package import Foundation

/// A folder that goes away with the value.
package final class TemporaryFolder: Sendable {
  package let url: URL

  package init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("magic-test-\(UUID())", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  package subscript(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Names of the files in it, at any depth, with the bytes they hold: to show that something changed nothing.
  package func contents() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: self[path].path, isDirectory: &isFolder)
      contents[path] = isFolder.boolValue ? Data() : try Data(contentsOf: self[path])
    }
    return contents
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
