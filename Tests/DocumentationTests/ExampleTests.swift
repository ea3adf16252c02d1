import Foundation
import Testing

/// The Swift code in the documents stands, line by line, in a file here that is compiled and run.
@Suite struct ExampleTests {
  private static let root: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder
  }()

  /// Paths within the project: every article, and what stands beside the sources.
  private static let documents: [String] = {
    let paths = FileManager.default.subpaths(atPath: ExampleTests.root.appendingPathComponent("Sources").path) ?? []
    let articles = paths.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }.map { "Sources/" + $0 }
    return ["README.md", "ARCHITECTURE.md"] + articles.sorted()
  }()

  @Test(arguments: ExampleTests.documents) func examplesAreCompiled(document: String) throws {
    let folder = ExampleTests.root.appendingPathComponent("Tests/DocumentationTests")
    let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { name in
      ExampleTests.lines(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
    }
    let text = try String(contentsOf: ExampleTests.root.appendingPathComponent(document), encoding: .utf8)
    let examples = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    for example in examples {
      // Imports stand in the order that the formatter wants among others.
      let wanted = ExampleTests.lines(example).filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
      #expect(sources.contains { $0.joined(separator: "\n").contains(wanted) }, "\(example)")
    }
  }

  /// A folder that is no longer found would leave nothing to look at.
  @Test(arguments: ["MagicData", "MagicReplication", "MagicTransport"]) func articlesAreFound(module: String) {
    #expect(ExampleTests.documents.contains("Sources/\(module)/\(module).docc/\(module).md"))
  }

  @Test func theReadmeHasExamples() throws {
    let text = try String(contentsOf: ExampleTests.root.appendingPathComponent("README.md"), encoding: .utf8)
    #expect(text.contains("```swift\n"))
  }

  /// Without indentation and empty lines.
  private static func lines(_ text: String) -> [String] {
    text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}
