import Foundation
import Testing

/// The Swift code in the documents and in the comments of the sources stands, line by line, in a file here that is compiled and
/// run.
@Suite struct ExampleTests {
  private static let root: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder
  }()

  /// Paths within the project: what stands beside the sources, every article, and every source with an example in its comments.
  private static let documents: [String] = {
    let paths = FileManager.default.subpaths(atPath: ExampleTests.root.appendingPathComponent("Sources").path) ?? []
    let written = paths.sorted().map { "Sources/" + $0 }.filter { path in
      path.contains(".docc/") && path.hasSuffix(".md") || path.hasSuffix(".swift") && text(of: path).contains("```swift")
    }
    return ["README.md", "ARCHITECTURE.md"] + written
  }()

  @Test(arguments: ExampleTests.documents) func examplesAreCompiled(document: String) throws {
    let folder = ExampleTests.root.appendingPathComponent("Tests/DocumentationTests")
    let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { name in
      ExampleTests.lines(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
    }
    let examples = ExampleTests.text(of: document).components(separatedBy: "```swift\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    for example in examples {
      // Imports stand in the order that the formatter wants among others.
      let wanted = ExampleTests.lines(example).filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
      #expect(sources.contains { $0.joined(separator: "\n").contains(wanted) }, "\(example)")
    }
  }

  /// Of a source its comments alone; empty if there is no such document.
  private static func text(of document: String) -> String {
    let text = (try? String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)) ?? ""
    guard document.hasSuffix(".swift") else { return text }
    let comments = text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
      $0.hasPrefix("///")
    }
    return comments.map { $0.dropFirst(3).drop { $0 == " " } }.joined(separator: "\n")
  }

  /// A folder that is no longer found would leave nothing to look at.
  @Test(arguments: ["MagicData", "MagicReplication", "MagicTransport"]) func articlesAreFound(module: String) {
    #expect(ExampleTests.documents.contains("Sources/\(module)/\(module).docc/\(module).md"))
  }

  @Test func theReadmeHasExamples() throws {
    #expect(ExampleTests.text(of: "README.md").contains("```swift\n"))
  }

  /// Without indentation and empty lines.
  private static func lines(_ text: String) -> [String] {
    text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}
