import Foundation
import MagicData
import TestSupport
import Testing

@Suite struct ReplayTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  struct Line: Decodable, Equatable {
    var time: String
    var replica: String
    var sequence: Int
    var type: String
    var object: String
    var op: String
    var fields: [String: String]
  }

  @Test func theLogIsTheSameFromADatabaseAFolderAndASegment() async throws {
    let magic = try await MagicData(path: folder["a"])
    let note = Note("n", "first \u{7} \"line\"\n")
    try await magic.update(note)
    note.title = "second"
    try await magic.update(note)
    try await magic.remove(note)
    try Tool.sync.run("push", folder["a"].path, folder["remote"].path)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder["remote/segments"].path).first)
    let logs = try ["a", "remote", "remote/segments/\(name)"].map { source in
      try Tool.replay.run("log", folder[source].path, "--json").lines.map { line in
        try JSONDecoder().decode(Line.self, from: Data(line.utf8))
      }
    }
    #expect(logs[0] == logs[1])
    #expect(logs[0] == logs[2])
    #expect(logs[0].map(\.op) == ["update", "update", "remove"])
    #expect(logs[0].map(\.fields) == [["title": "first \u{7} \"line\"\n"], ["title": "second"], [:]])
    #expect(logs[0].map(\.sequence) == [1, 2, 3])
    #expect(logs[0].allSatisfy { $0.type == "Note" && $0.object == "n" })
    let text = try Tool.replay.run("log", folder["a"].path, "--limit", "2")
    #expect(text.lines.count == 2)
    #expect(text.lines.last?.contains("remove Note n") == true)
  }

  @Test func whatIsNoJournalIsNamed() throws {
    try Data("A letter".utf8).write(to: folder["letter"])
    for name in ["letter", "nothing", "."] {
      let result = try Tool.replay.run("log", folder[name].path)
      #expect(result.status == 1)
      #expect(result.output.isEmpty)
      #expect(result.errors.contains("Error: "))
    }
    #expect(try Tool.replay.run("log").status == 64)
  }
}
