import Foundation
import MagicData
import MagicReplication
import TestSupport
import Testing

private struct Author: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var name: String
  init() {}
}

private struct Work: MagicObject {
  @PrimaryMagicValue var number: Int
  @MagicValue var title: String
  @OptionMagicValue var author: Author?
  @MagicValue var readers: MagicalSet<Author> = []
  @OptionMagicValue var cover: MagicAsset<String>?
  init() {}

  init(_ number: Int) {
    self.number = number
    title = "work \(number)"
  }
}

@Suite(.timeLimit(.minutes(15))) struct ReplayStateTests {
  let fixture: ReplayFixture

  init() throws {
    fixture = try ReplayFixture()
  }

  private func path(_ name: String) -> String { fixture.path(name) }
  private func digest(_ name: String) throws -> String {
    try Tool.sync.run("digest", path(name)).output.trimmingCharacters(in: .newlines)
  }

  private func titles(_ name: String) async throws -> [String] {
    let magic = try await MagicData(path: fixture.folder[name])
    let titles = try await magic.object(of: Note.self).map(\.title).sorted()
    try await magic.close()
    return titles
  }

  /// Three notes: one that stays, one that changes, one that is removed; by two replicas, an hour between two writes.
  private func write() async throws {
    let f = fixture
    try await f.write("stays", to: "a", id: "1")  // 15:06:40
    try await f.write("before", to: "a", id: "2")  // 16:06:40
    try await f.write("goes", to: "a", id: "3")  // 17:06:40
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await f.write("after", to: "b", id: "2")  // 18:06:40
    try await f.remove("3", from: "b")  // 19:06:40
    try await f.write("added", to: "b", id: "4, \"quoted\"")  // 20:06:40
    try Tool.sync.run("push", path("b"), path("remote"))
    try Tool.sync.run("pull", path("a"), path("remote"))
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try Data(Tool.replay.run("export", path("a")).output.utf8).write(to: f.folder["a.jsonl"])
  }

  @Test func objectsAreShownAsTheyWere() async throws {
    try await write()
    for source in ["a", "remote", "a.magicbundle", "a.jsonl"] {
      func titles(_ arguments: String...) throws -> [String] {
        let pipe = Pipe()
        let process = try Tool.replay.start(["state", path(source)] + arguments + ["--json"], output: pipe)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(source): \(output)")
        return try output.split(separator: "\n").compactMap {
          let line = try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
          return (line["fields"] as? [String: String])?["title"]
        }.sorted()
      }
      #expect(try titles() == ["added", "after", "stays"], "\(source)")
      #expect(try titles("--at", "2025-06-15T17:06:40Z") == ["before", "goes", "stays"])
      #expect(try titles("--at", "2025-06-15T18:30:00Z") == ["after", "goes", "stays"])
      #expect(try titles("--at", "2025-06-15T15:00:00Z") == [])
      #expect(try titles("--type", "Else") == [])
    }
    #expect(
      try Tool.replay.run("state", path("a"), "--at", "2").lines.map { $0.split(separator: " ").map(String.init) }
        == [["type", "object", "title"], ["Note", "1", "stays"], ["Note", "2", "before"]])
    let csv = try Tool.replay.run("state", path("a"), "--csv").output
    // What stands on the command line goes before the environment.
    let environment = ["MAGIC_REPLAY_JSON": "1"]
    #expect(try Tool.replay.run("state", path("a"), "--csv", environment: environment).output == csv)
    #expect(try Tool.replay.run("state", path("a"), "--csv", "--json").status == 64)
    #expect(csv == "type,object,title\r\nNote,1,stays\r\nNote,2,after\r\nNote,\"4, \"\"quoted\"\"\",added\r\n")
    // Any two replicas agree on the past, whatever reached them when.
    #expect(
      try Tool.replay.run("state", path("b"), "--at", "2025-06-15T18:30:00Z", "--csv").output
        == Tool.replay.run("state", path("a"), "--at", "2025-06-15T18:30:00Z", "--csv").output)
  }

  /// RFC 4180: line ends and quotes within values, and one line of names, however late a field was first set.
  @Test func whatIsCommaSeparatedCanBeReadBack() async throws {
    let titles = ["a\nb", "a\rb", "a\r\nb", "a,\u{301}b", "a\"\u{301}b", "plain", " \"\" "]
    try await fixture.work("a") { magic in
      for (number, title) in titles.enumerated() { try await magic.update(Note("\(number)", title)) }
      try await magic.update(contentsOf: (0..<1_100).map { Work($0) })
      let author = Author()
      (author.id, author.name) = ("x", "late")
      let last = Work(5_000)
      last.author = author
      try await magic.update(last)
    }
    try Data(Tool.replay.run("state", path("a"), "--csv").output.utf8).write(to: fixture.folder["csv"])
    let script = """
      import csv, json, sys
      rows = list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))
      print(json.dumps({"titles": [row[2] for row in rows if row[0] == 'Note'], "heads": [row for row in rows if row[0] == 'type'],
        "widths": sorted(set((row[0], len(row)) for row in rows if row[0] != 'type'))}))
      """
    let read = try Tool.python.run("-c", script, path("csv"))
    let found = try #require(JSONSerialization.jsonObject(with: Data(read.output.utf8)) as? [String: Any], "\(read.errors)")
    #expect((found["titles"] as? [String])?.map { Array($0.utf8) } == titles.map { Array($0.utf8) })
    #expect(
      found["heads"] as? [[String]] == [
        ["type", "object", "name"], ["type", "object", "title"],
        ["type", "object", "number", "author", "cover", "readers", "title"],
      ])
    #expect((found["widths"] as? [[Any]])?.compactMap { $0[1] as? Int } == [3, 3, 7])
  }

  /// An export of some transactions.
  ///
  /// - Parameters:
  ///   - primary: the kind of the primary value of its type, which is called T.
  ///   - fields: names of fields, which hold texts.
  ///   - transactions: what the entries of each have beside their type.
  private func export(_ name: String, primary: String, fields: [String], _ transactions: [[String]]) throws {
    let root = String(repeating: "2", count: 32)
    let known = fields.map { #"{"id":"\#($0)","name":"\#($0)","kind":"text"}"# }.joined(separator: ",")
    let lines = transactions.enumerated().map { index, entries -> String in
      let all = entries.map { #"{"type":"T",\#($0)}"# }.joined(separator: ",")
      return
        #"{"transaction":{"replica":"\#(root)","sequence":\#(index + 1),"stamp":"\#(65_536 * (index + 1))","tag":1,"root":"\#(root)","entries":[\#(all)]}}"#
    }
    let all =
      [
        #"{"magicdata":"journal","format":1,"dataSet":"\#(String(repeating: "1", count: 32))"}"#,
        #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"\#(primary)"},"fields":[\#(known)]}}"#,
      ] + lines + [#"{"end":{"transactions":\#(lines.count)}}"#]
    try Data((all.joined(separator: "\n") + "\n").utf8).write(to: fixture.folder[name])
  }

  /// Columns follow the first thousand objects, and what comes later loses nothing by that.
  @Test func aTableShowsWhatComesLate() throws {
    let (long, title) = ("z" + String(repeating: "y", count: 50), String(repeating: "t", count: 30))
    let first = (1_000..<2_000).map { #""op":"update","object":"\#($0)","fields":{"title":"x"}"# }
    let late = [
      #""op":"update","object":"\#(long)","fields":{"title":"\#(title)","type":"a kind","object":"thing","number":"no"}"#,
      #""op":"update","object":"zz","fields":{"title":"\#(String(repeating: "l", count: 41))"}"#,
    ]
    try export("a.jsonl", primary: "text", fields: ["title", "type", "object", "number"], [first, late])
    let lines = try Tool.replay.run("state", path("a.jsonl")).lines
    try #require(lines.count == 1_004)
    func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
    #expect(words(lines[0]) == ["type", "object", "title"])
    #expect(words(lines[1_001]) == ["type", "object", "title", "type", "object", "number"])
    #expect(words(lines[1_002]) == ["T", long, title, "a", "kind", "thing", "no"])
    #expect(words(lines[1_003]) == ["T", "zz", String(repeating: "l", count: 39) + "…"])
  }

  /// Whether there are automatic numbers the type tells, and not the objects that come first.
  @Test func aTableHasTheNumbersThatLinesForProgramsHave() throws {
    let first = (1...1_000).map { #""op":"update","object":\#($0),"fields":{"title":"x"}"# }
    try export(
      "a.jsonl", primary: "integer", fields: ["title"], [first, [#""op":"claim","number":5000,"fields":{"title":"claimed"}"#]])
    let lines = try Tool.replay.run("state", path("a.jsonl")).lines
    #expect(lines.count == 1_002)
    #expect(lines.first?.split(separator: " ").map(String.init) == ["type", "object", "number", "title"])
    let claimed = try #require(lines.first { $0.hasSuffix("claimed") }).split(separator: " ")
    #expect(claimed.count == 4 && claimed[2] == "5000", "\(claimed)")
  }

  /// L-3: two spellings of é are two fields.
  @Test func fieldsAreToldApartByTheirBytes() throws {
    let names = ["\u{e9}", "e\u{301}"]
    let entries = ["one", "two"].map { title in
      [#""op":"update","object":"o","fields":{"\#(names[0])":"\#(title) 0","\#(names[1])":"\#(title) 1"}"#]
    }
    try export("a.jsonl", primary: "text", fields: names, entries)
    let header = Array("type,object,e\u{301},\u{e9}\r\n".utf8)
    let csv = try Tool.replay.run("state", path("a.jsonl"), "--csv").output
    #expect(csv.utf8.starts(with: header) && csv.hasSuffix("T,o,two 1,two 0\r\n"), "\(csv)")
    let table = try Tool.replay.run("state", path("a.jsonl")).lines
    #expect(table.count == 2 && table[1].contains("two 1") && table[1].contains("two 0"), "\(table)")
    #expect(try Tool.replay.run("import", path("a.jsonl"), "--into", path("a")).status == 0)
    let undo = try Tool.replay.run("undo", path("a"), "--transaction", "22222222:2", "--dry-run", "--json").output
    for number in 0...1 {
      #expect(undo.contains(#"{"before":"\"two \#(number)\"","after":"\"one \#(number)\""}"#), "\(undo)")
      let changes = try fixture.json("history", path("a"), "T", "o", "--field", names[number]).events("change")
      #expect(changes.texts("value") == ["\"one \(number)\"", "\"two \(number)\""], "\(changes)")
    }
  }

  /// What an object is called breaks no line and does nothing to a terminal.
  @Test func namesAreEscapedForPeople() async throws {
    let (name, shown) = ("n\u{1b}[31m\nred", #"n\u001b[31m\u000ared"#)
    try await fixture.write("first", to: "a", id: "plain")
    try await fixture.write("broken", to: "a", id: name)
    let state = try Tool.replay.run("state", path("a"))
    #expect(state.lines.count == 3 && state.output.contains("Note  \"\(shown)\"  broken\n"), "\(state)")
    let diff = try Tool.replay.run("diff", path("a"), "--from", "1")
    #expect(diff.output == "added   Note \"\(shown)\"\n  title: \"broken\"\n", "\(diff)")
    let undo = try Tool.replay.run("undo", path("a"), "--transaction", "2", "--dry-run")
    #expect(undo.output.hasPrefix("remove Note \"\(shown)\"\n"), "\(undo)")
    let found = try Tool.replay.run("bisect", path("a"), "--test", "! grep -q broken \"$1\"/default*")
    #expect(found.output.hasSuffix("\n  update Note \"\(shown)\"\n"), "\(found)")
    // Programs get it as it is.
    #expect(try Tool.replay.run("state", path("a"), "--csv").output.contains("Note,\"\(name)\",broken\r\n"))
    #expect(try fixture.json("state", path("a")).events("object").texts("object").contains(name))
    try fixture.sql("UPDATE Note SET title = 'by SQL' WHERE title = 'broken'", in: "a")
    let verified = try Tool.replay.run("verify", path("a"))
    #expect(verified.status == 4 && verified.output.contains("fault: \"Note \(shown) shows other values"), "\(verified)")
    try fixture.sql("UPDATE magic_journal SET data = x'05ff' WHERE id = 2", in: "a")
    let damaged = try Tool.replay.run("state", path("a"))
    #expect(damaged.status == 3 && damaged.errors.contains("Note \(shown): "), "\(damaged)")
    for result in [state, diff, undo, found, verified, damaged] {
      #expect(!(result.output + result.errors).contains("\u{1b}"), "\(result)")
    }
  }

  @Test func twoMomentsAndTwoSourcesAreCompared() async throws {
    try await write()
    for source in ["a", "remote"] {
      let lines = try fixture.json("diff", path(source), "--from", "2025-06-15T17:06:40Z")
      let kinds = Dictionary(
        uniqueKeysWithValues: lines.events("difference").map { ($0["object"] as? String ?? "", $0["kind"] as? String ?? "") })
      #expect(kinds == ["2": "changed", "3": "removed", "4, \"quoted\"": "added"])
      let changed = try #require(lines.events("difference").first { $0["object"] as? String == "2" })
      #expect((changed["fields"] as? [String: [String: String]]) == ["title": ["before": "before", "after": "after"]])
      #expect(
        try fixture.json("diff", path(source), "--from", "2025-06-15T17:06:40Z", "--to", "2025-06-15T18:06:40Z").last?[
          "changed"] as? Int == 1)
    }
    #expect(try Tool.replay.run("diff", path("a"), path("remote"), "--check").status == 0)
    try await fixture.write("more", to: "a", id: "5")
    let result = try Tool.replay.run("diff", path("remote"), path("a"), "--check")
    #expect(result.status == 4)
    #expect(result.output == "added   Note 5\n  title: \"more\"\n")
    #expect(try Tool.replay.run("diff", path("a"), path("remote")).output == "removed Note 5\n  title: \"more\"\n")
    #expect(try Tool.replay.run("diff", path("a")).status == 64)
  }

  /// One moment, as people write it: with any zone, without one, and by the transaction that was then.
  @Test func aMomentHasManyNames() async throws {
    try await write()
    func titles(_ moment: String, _ zone: String = "Asia/Tokyo") throws -> [String] {
      try fixture.json("state", path("a"), "--at", moment, environment: ["TZ": zone]).events("object").compactMap {
        ($0["fields"] as? [String: String])?["title"]
      }.sorted()
    }
    let own = try #require(fixture.json("log", path("a")).events("entry").texts("replica").first)
    for moment in [
      "2025-06-15T17:06:40Z", "2025-06-15t17:06:40.000z", "2025-06-15T19:06:40+02:00", "2025-06-15 12:36:40-04:30",
      "2025-06-15T17:06:40.5+0000", "2025-06-16T02:06:40", "2025-06-16 02:07", "3", "\(own.prefix(8)):3", "\(own):3",
    ] { #expect(try titles(moment) == ["before", "goes", "stays"], "\(moment)") }
    #expect(try titles("2025-06-15T17:06:40", "UTC") == ["before", "goes", "stays"])
    #expect(try titles("2025-06-15T17:06", "UTC") == ["before", "stays"])
    #expect(try titles("2025-06-15", "UTC") == [])
    #expect(try titles("2025-06-16", "UTC") == ["added", "after", "stays"])
    #expect(try titles("now") == ["added", "after", "stays"])
    let diff = try fixture.json("diff", path("a"), "--from", "2", "--to", "2025-06-15T18:06:40Z").events("difference")
    #expect(diff.texts("kind") == ["changed", "added"] && diff.texts("object") == ["2", "3"])
  }

  @Test func aMomentIsSoLongAgo() async throws {
    // The first of five hours ago, and one each hour since.
    let now = Int64(Date().timeIntervalSince1970 * 1_000)
    fixture.world.advance(now - 5 * 3_600_000 - fixture.world.milliseconds)
    for title in ["1", "2", "3", "4", "5"] { try await fixture.write(title, to: "a", id: title) }
    func objects(_ command: String, _ arguments: String...) throws -> [String] {
      try fixture.json(command, [path("a")] + arguments).dropLast().texts("object")
    }
    #expect(try objects("state", "--at", "90m ago") == ["1", "2", "3", "4"])
    #expect(try objects("state", "--at", "6h ago") == [])
    #expect(try objects("diff", "--from", "210 minutes ago", "--to", "90 min ago") == ["3", "4"])
    #expect(try objects("diff", "--from", "5400 seconds ago") == ["5"])
    #expect(try objects("log", "--since", "150 mins ago") == ["4", "5"])
    #expect(try objects("log", "--since", "1d ago", "--until", "210m ago") == ["1", "2"])
  }

  /// O-4: relations, numbers and assets in columns, and what two sources have of them.
  @Test func relationsNumbersAndAssetsAreShownAndCompared() async throws {
    try await fixture.work("a") { magic in
      let (author, work) = (Author(), Work())
      (author.id, author.name) = ("x", "X")
      (work.title, work.author, work.cover) = ("T, \"quoted\"", author, .init(value: "the cover", pathExtension: "txt"))
      work.readers.insert(author)
      try await magic.update(work)
    }
    try Data(Tool.replay.run("state", path("a"), "--csv", "--type", "Work").output.utf8).write(to: fixture.folder["csv"])
    let script = "import csv,json,sys; print(json.dumps(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))))"
    let read = try Tool.python.run("-c", script, path("csv"))
    let rows = try #require(JSONSerialization.jsonObject(with: Data(read.output.utf8)) as? [[String]], "\(read.errors)")
    try #require(rows.count == 2)
    #expect(rows[0] == ["type", "object", "number", "author", "cover", "readers", "title"])
    #expect(rows[1][0] == "Work" && rows[1][1].count == 32 && rows[1][2] == "1")
    #expect(rows[1][3] == "\"x\"" && rows[1][4].hasSuffix(".txt\"") && rows[1][5] == "[\"x\"]" && rows[1][6] == "T, \"quoted\"")
    // Another replica takes the author out, and gives the work another title.
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("clone", path("remote"), path("b"))
    try await fixture.work("b") { magic in
      let work = try await magic.object(of: Work.self, primary: 1)
      work.title = "U"
      work.author = nil
      work.readers.removeAll()
      try await magic.update(work)
    }
    for (old, new) in [("a", "b"), ("remote", "b")] {
      let changed = try fixture.json("diff", path(old), path(new)).events("difference")
      #expect(changed.texts("kind") == ["changed"] && changed.texts("object") == [rows[1][1]], "\(changed)")
      let fields = try #require(changed.first?["fields"] as? [String: [String: Any]])
      #expect(fields.keys.sorted() == ["author", "readers", "title"])
      #expect(fields["author"]?["before"] as? String == "x" && fields["author"]?["after"] is NSNull)
      #expect(fields["readers"]?["before"] as? [String] == ["x"])
      #expect(fields["title"]?["after"] as? String == "U")
    }
    #expect(try Tool.replay.run("diff", path("a"), path("b"), "--type", "Author", "--check").status == 0)
    #expect(try Tool.replay.run("diff", path("a"), path("b"), "--type", "Work", "--check").status == 4)
  }

  /// H-45: whatever the order, the same objects come out, byte for byte.
  @Test func aDatabaseIsRebuiltFromItsJournal() async throws {
    try await write()
    for (number, source) in ["a", "remote", "a.magicbundle", "a.jsonl"].enumerated() {
      #expect(try Tool.replay.run("apply", path(source), "--into", path("r\(number)")).status == 0)
      #expect(try digest("r\(number)") == digest("a"), "\(source)")
      #expect(try Tool.sync.run("verify", path("r\(number)")).status == 0)
      #expect(try Tool.replay.run("log", path("r\(number)")).output == Tool.replay.run("log", path("a")).output)
    }
    for seed in 1...6 {
      let summary = try #require(
        fixture.json("apply", path("remote"), "--into", path("s\(seed)"), "--shuffle", "--seed", "\(seed)").last)
      #expect(try summary["digest"] as? String == digest("a"))
      #expect(try Tool.sync.run("verify", path("s\(seed)")).status == 0)
      #expect(try Tool.replay.run("log", path("s\(seed)")).output == Tool.replay.run("log", path("a")).output)
    }
    // It is a replica like any other: it knows what it knows, and no one's id.
    try await fixture.write("of the new one", to: "r0", id: "new")
    #expect(try Tool.sync.run("sync", path("r0"), path("remote")).output.contains("pushed 1 transaction"))
    #expect(try Tool.sync.run("sync", path("a"), path("remote")).output.contains("pulled 1 transaction"))
    #expect(try digest("a") == digest("r0"))
    // Overlapping sources are one journal.
    #expect(try Tool.replay.run("apply", path("b"), path("remote"), path("a"), "--into", path("all")).status == 0)
    #expect(try digest("all") == digest("a"))
  }

  @Test func aPartOfAJournalIsRebuilt() async throws {
    try await write()
    #expect(try Tool.replay.run("apply", path("remote"), "--into", path("then"), "--until", "2025-06-15T17:30:00Z").status == 0)
    #expect(try await titles("then") == ["before", "goes", "stays"])
    // It is behind, and a sync brings the rest.
    #expect(try Tool.sync.run("sync", path("then"), path("remote")).status == 0)
    #expect(try digest("then") == digest("a"))
    let replicas = try fixture.json("log", path("a")).events("entry").texts("replica")
    #expect(
      try Tool.replay.run("apply", path("a"), "--into", path("one"), "--replica", String(replicas[0].prefix(8))).status == 0)
    #expect(try await titles("one") == ["before", "goes", "stays"])
    let without = try Tool.replay.run(
      "apply", path("a"), "--into", path("without"), "--skip", "\(replicas[3].prefix(8)):2", "--skip", "1")
    #expect(without.status == 0, "\(without.errors)")
    #expect(without.output.contains("data set of its own"))
    #expect(try await titles("without") == ["added", "after", "goes"])
    #expect(try Tool.sync.run("verify", path("without")).status == 0)
    // What matches nothing makes no empty database.
    for option in [["--type", "Else"], ["--replica", "ffffffff"]] {
      let nothing = try Tool.replay.run(arguments: ["apply", path("a"), "--into", path("typed")] + option)
      #expect(nothing.status == 1 && nothing.errors.contains("no database was made"), "\(nothing.errors)")
      #expect(!FileManager.default.fileExists(atPath: path("typed")))
    }
    // H-10: what is not the same journal does not mix with it.
    #expect(try Tool.sync.run("sync", path("without"), path("remote")).status == 7)
  }

  @Test func whatIsThereIsNotWrittenOver() async throws {
    try await write()
    try await fixture.write("mine", to: "mine", id: "x")
    let refused = try Tool.replay.run("apply", path("a"), "--into", path("mine"))
    #expect(refused.status == 1)
    #expect(refused.errors.contains("--force"))
    #expect(try await titles("mine") == ["mine"])
    try Tool.sync.run("push", path("mine"), path("elsewhere"))
    // A rebuilding that fails leaves what was there.
    try Tool.sync.run("clone", path("elsewhere"), path("other"))
    #expect(try Tool.replay.run("apply", path("a"), path("other"), "--into", path("mine"), "--force").status == 7)
    #expect(try Tool.replay.run("apply", path("a"), path("mine"), "--into", path("mine"), "--force").status == 64)
    #expect(try await titles("mine") == ["mine"])
    // Whoever has it open would go on with a file that has no name, and lose what he writes to it.
    let open = try fixture.open("mine")
    let busy = try Tool.replay.run("apply", path("a"), "--into", path("mine"), "--force")
    #expect(busy.status == 5 && busy.errors.contains("open elsewhere"), "\(busy)")
    #expect(try await open.object(of: Note.self).map(\.title) == ["mine"])
    try await open.close()
    #expect(try Tool.replay.run("apply", path("a"), "--into", path("mine"), "--force").status == 0)
    #expect(try digest("mine") == digest("a"))
    #expect(try Tool.replay.run("apply", path("a"), "--into", path("remote"), "--force").status == 1)
    #expect(try Tool.replay.run("apply", path("nothing"), "--into", path("new")).status == 1)
    #expect(!FileManager.default.fileExists(atPath: path("new")))
  }

  /// X-9: an export alone has no contents of assets.
  @Test func whatIsRebuiltOpensInAnAppWithRelationsAndAssets() async throws {
    try await fixture.work("a") { magic in
      let author = Author()
      author.name = "W"
      let work = Work()
      (work.title, work.author, work.cover) = ("T", author, .init(value: "the cover"))
      work.readers.insert(author)
      try await magic.update(work)
    }
    try Tool.sync.run("push", path("a"), path("remote"))
    try Tool.sync.run("push", path("a"), path("a.magicbundle"))
    try Data(Tool.replay.run("export", path("a")).output.utf8).write(to: fixture.folder["a.jsonl"])
    for source in ["a", "remote", "a.magicbundle", "a.jsonl"] {
      let result = try Tool.replay.run("apply", path(source), "--into", path("from-\(source)"))
      // An export has no contents of assets, which is said.
      #expect(result.status == (source == "a.jsonl" ? 3 : 0), "\(source): \(result.errors)")
      let magic = try await MagicData(path: fixture.folder["from-\(source)"])
      let work = try #require(try await magic.object(of: Work.self).first)
      #expect(work.number == 1)
      #expect(work.author?.name == "W")
      #expect(work.readers.map(\.name) == ["W"])
      if source != "a.jsonl" { #expect(work.cover?.value == "the cover") }
      // The next number goes on from there.
      let next = Work()
      next.title = "next"
      try await magic.update(next)
      #expect(next.number == 2)
      try await magic.close()
    }
    let state = try fixture.json("state", path("remote"), "--type", "Work").events("object")
    #expect(state.compactMap { $0["number"] as? Int } == [1])
  }

  /// X-1 to X-8: nothing is lost on the way out and in.
  @Test func anExportIsLossless() async throws {
    try await write()
    let lines = try Tool.replay.run("export", path("a")).output
    #expect(try Tool.replay.run("import", path("a.jsonl"), "--into", path("c")).status == 0)
    #expect(try Tool.replay.run("export", path("c")).output == lines)
    #expect(try digest("c") == digest("a"))
    let all = lines.split(separator: "\n").map(String.init)
    func imports(_ lines: [String]) throws -> Tool.Result {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: fixture.folder["x.jsonl"])
      return try Tool.replay.run("log", path("x.jsonl"))
    }
    // Lines that are cut, changed or not of ours end it there, by number.
    let cut = try imports(all.dropLast())
    #expect(cut.status == 3)
    #expect(cut.lines.count == 6)
    #expect(cut.errors.contains("it was cut"))
    for wrong in [
      "{", "{\"transaction\":{}}", "{\"type\":{\"id\":\"Note\"}}",
      all[3].replacing("\"op\":\"update\"", with: "\"op\":\"claim\""),
    ] {
      let result = try imports(Array(all[..<3]) + [wrong] + all[3...])
      #expect(result.status == 3)
      #expect(result.errors.contains("line 4"), "\(result.errors)")
    }
    let note = "{\"note\":\"for others\"}"
    #expect(try imports(Array(all.dropLast()) + [note] + all.suffix(1)).status == 0)
    let followed = try imports(all + [note])
    #expect(followed.status == 3 && followed.errors.contains("something follows the last line"), "\(followed)")
    #expect(try Tool.replay.run("import", path("a"), "--into", path("d")).status == 64)
  }
}
