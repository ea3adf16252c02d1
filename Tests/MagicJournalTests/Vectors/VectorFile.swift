import Foundation

/// A file of Protocol/vectors. With `MAGIC_WRITE_VECTORS` set it is written anew from what this library does, and its change in git
/// is the thing to look at; the reader in Python has to agree.
struct VectorFile<Content: Codable> {
  let url: URL

  init(_ name: String) {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    url = folder.appendingPathComponent("Protocol/vectors/\(name).json")
  }

  func content(orWrite make: () throws -> Content) throws -> Content {
    if ProcessInfo.processInfo.environment["MAGIC_WRITE_VECTORS"] != nil {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try (encoder.encode(make()) + Data("\n".utf8)).write(to: url)
    }
    return try JSONDecoder().decode(Content.self, from: Data(contentsOf: url))
  }
}
