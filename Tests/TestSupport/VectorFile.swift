package import Foundation

/// A file of Protocol/vectors. With `MAGIC_WRITE_VECTORS` set it is written anew from what this library does, and its change in
/// git is the thing to look at; the reader in Python has to agree.
package struct VectorFile<Content: Codable> {
  package let url: URL

  package init(_ name: String) {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    url = folder.appendingPathComponent("Protocol/vectors/\(name).json")
  }

  package func content(orWrite make: () throws -> Content) throws -> Content {
    if isToBeWritten { try write(make()) }
    return try read()
  }

  /// The same for what is made by a server at work.
  package func recorded(orRecord make: () async throws -> Content) async throws -> Content {
    if isToBeWritten { try write(await make()) }
    return try read()
  }

  private var isToBeWritten: Bool { ProcessInfo.processInfo.environment["MAGIC_WRITE_VECTORS"] != nil }

  private func write(_ content: Content) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(content) + Data("\n".utf8)).write(to: url)
  }

  package func read() throws -> Content { try JSONDecoder().decode(Content.self, from: Data(contentsOf: url)) }
}
