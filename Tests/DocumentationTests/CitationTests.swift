import Foundation
import Testing

/// The tables of laws and hazards in `Protocol/README.md` name suites that cite them.
@Suite struct CitationTests {
  private static let folders = [
    "Data": "MagicDataTests", "Journal": "MagicJournalTests", "Replication": "MagicReplicationTests",
    "Transport": "MagicTransportTests", "Tool": "ToolTests",
  ]

  @Test func suitesCiteWhatTheyAreListedFor() throws {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: tests.appendingPathComponent("../Protocol/README.md"), encoding: .utf8)
    var count = 0
    for row in page.components(separatedBy: "\n") where row.hasPrefix("| L-") || row.hasPrefix("| H-") {
      let cells = row.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == 5, "\(row)")
      for suite in cells[3].components(separatedBy: ", ") {
        let parts = suite.components(separatedBy: "/")
        let folder = try #require(CitationTests.folders[parts[0]], "\(row)")
        let places = ["", "Vectors/"].map { tests.appendingPathComponent("\(folder)/\($0)\(parts[1])Tests.swift") }
        let file = try #require(places.first { FileManager.default.fileExists(atPath: $0.path) }, "\(row)")
        let words = try String(contentsOf: file, encoding: .utf8).components(
          separatedBy: CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-")).inverted)
        #expect(words.contains(cells[1]), "\(suite) does not cite \(cells[1])")
        count += 1
      }
    }
    #expect(count > 100)
  }
}
