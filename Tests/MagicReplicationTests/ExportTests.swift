import Foundation
import GRDB
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Protocol/export.md, where the random inputs of `FuzzTests` do not come.
@Suite struct ExportTests {
  /// L-3: two spellings of é are two names, of types and of fields, where Swift's `String` finds them equal.
  @Test func namesAreToldApartByTheirBytes() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let types = ["\u{e9}", "e\u{301}"].map { name in
      #"{"type":{"id":"\#(name)","name":"\#(name)","primary":{"name":"id","kind":"text"},"fields":"#
        + #"[{"id":"\u00e9","name":"\u00e9","kind":"text"},{"id":"e\u0301","name":"e\u0301","kind":"text"}]}}"#
    }
    let entries = ["\u{e9}", "e\u{301}"].map {
      #"{"type":"\#($0)","op":"update","object":"o","fields":{"\u00e9":"one","e\u0301":"two"}}"#
    }
    let lines =
      [#"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#] + types + [
        #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"65536","tag":1,"root":"\#(root)","entries":[\#(entries.joined(separator: ","))]}}"#,
        #"{"end":{"transactions":1}}"#,
      ]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["export"])
    let found = Locked<[[Value]]>([])
    let report = try await JournalSource.export(folder["export"]).forEachTransaction { transaction, schema in
      found.withLock { $0 += transaction.entries.map { $0.fields.map(\.value) } }
      #expect(schema.types.count == 2 && schema.types.allSatisfy { $0.fields.count == 2 })
      #expect(transaction.entries.map(\.type) == [0, 1])
    }
    #expect(report.isComplete, "\(report)")
    #expect(found.withLock { $0 } == [[.text("one"), .text("two")], [.text("one"), .text("two")]])
  }

  /// X-6: what stands twice, or after what it comes before, is refused with all that follows: merged, it would be a journal
  /// that nobody can read.
  @Test func transactionsThatDoNotRiseAreRefused() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    func line(_ sequence: Int, _ stamp: Int, _ object: String) -> String {
      let entry = #"{"type":"T","op":"update","object":"\#(object)","fields":{}}"#
      return
        #"{"transaction":{"replica":"\#(root)","sequence":\#(sequence),"stamp":"\#(stamp)","tag":1,"root":"\#(root)","entries":[\#(entry)]}}"#
    }
    let head = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#,
      #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":[]}}"#,
    ]
    let (first, second) = (line(1, 65_536, "a"), line(2, 131_072, "b"))
    for (name, third) in [second, first, line(3, 131_072, "c"), line(3, 70_000, "c"), line(1, 200_000, "c")].enumerated() {
      let lines = head + [first, second, third, line(4, 300_000, "d"), #"{"end":{"transactions":4}}"#]
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["\(name).jsonl"])
      let magic = try await MagicData(type: .temporary)
      let report = try await magic.rebuild(from: [.export(folder["\(name).jsonl"])], RebuildPlan())
      #expect(report.transactions == 2)
      #expect(report.read.unread.map(\.message).first?.contains("line 5") == true, "\(report.read)")
      #expect(try await DatabaseCheck(magic).faults == [])
    }
  }

  /// X-8: also names that no segment could give, which nobody could read afterwards.
  @Test(arguments: [
    "00000000000100000000000100000000", "0000000000010000ffffffffffffffff", "00000000000000000000000100000001",
  ]) func namesThatNoTransactionGivesAreRefused(birth: String) async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let entry = #"{"type":"T","op":"update","object":{"birth":"\#(birth)"},"fields":{}}"#
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#, #"{"type":{"id":"T","name":"T","fields":[]}}"#,
      #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"131072","tag":1,"root":"\#(root)","entries":[\#(entry)]}}"#,
      #"{"end":{"transactions":1}}"#,
    ]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["x.jsonl"])
    let magic = try await MagicData(type: .temporary)
    let report = try await magic.rebuild(from: [.export(folder["x.jsonl"])], RebuildPlan())
    #expect(report.transactions == (birth.hasSuffix("100000000") && birth.hasPrefix("000000000001") ? 1 : 0))
    #expect(try await DatabaseCheck(magic).faults == [])
  }

  /// X-10: a clock that is no time counts as none.
  @Test(arguments: [
    ("4102444800000", true), ("253402300799999", true), ("253402300800000", false), ("-1", false), ("\"1\"", false),
    ("null", false),
  ])
  func anExportsClockTellsWhatIsHeldBack(clock: String, isTaken: Bool) async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    // Of the year 2100.
    let stamp = 4_102_444_800_000 << 16
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)","clock":\#(clock)}"#,
      #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":[]}}"#,
      #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"\#(stamp)","tag":1,"root":"\#(root)","entries":"#
        + #"[{"type":"T","op":"update","object":"o"}]}}"#,
      #"{"end":{"transactions":1}}"#, "",
    ]
    try Data(lines.joined(separator: "\n").utf8).write(to: folder["export"])
    func report(_ plan: RebuildPlan) async throws -> RebuildReport {
      try await MagicData(type: .temporary).rebuild(from: [.export(folder["export"])], plan)
    }
    var plan = RebuildPlan()
    let made = try await report(plan)
    #expect(made.transactions == (isTaken ? 1 : 0) && made.pull.heldBack.isEmpty == isTaken, "\(made)")
    plan.accepted = [String(root.prefix(4))]
    let accepted = try await report(plan)
    #expect(accepted.transactions == 1 && accepted.isComplete, "\(accepted)")
  }

  /// X-10, C-5: a clock that is at the end of time takes nothing that would leave nobody a time to write at.
  @Test func anExportsClockAtTheEndOfTimeTakesNothingThere() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)","clock":\#(Stamp.latest.milliseconds)}"#,
      #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":[]}}"#,
      #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"\#(Stamp.latest.bits)","tag":1,"root":"\#(root)","entries":"#
        + #"[{"type":"T","op":"update","object":"o"}]}}"#,
      #"{"end":{"transactions":1}}"#, "",
    ]
    try Data(lines.joined(separator: "\n").utf8).write(to: folder["export"])
    let magic = try await MagicData(type: .temporary)
    let report = try await magic.rebuild(from: [.export(folder["export"])], RebuildPlan())
    #expect(report.transactions == 0 && !report.pull.heldBack.isEmpty, "\(report)")
    try await magic.update(Note("later", "written"))
    #expect(try await magic.query(of: Note.self).count() == 1)
  }

  /// M-14: of two fields of one name the one that was written last shows, in the place of what the other one holds.
  @Test func whatAnotherFieldOfItsNameHidesIsReplaced() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    func line(_ sequence: Int, _ fields: String) -> String {
      let entry = #"{"type":"T","op":"update","object":"o","fields":{\#(fields)}}"#
      return
        #"{"transaction":{"replica":"\#(root)","sequence":\#(sequence),"stamp":"\#(sequence * 65_536)","tag":1,"root":"\#(root)","entries":[\#(entry)]}}"#
    }
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#,
      #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":"#
        + #"[{"id":"x","name":"x","kind":"text"},{"id":"x~2","name":"x","kind":"set","target":"T"}]}}"#,
      line(1, #""x":"text""#), line(2, #""x~2":{"in":["a"],"out":[]}"#), #"{"end":{"transactions":2}}"#,
    ]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["export.jsonl"])
    let history = try await MagicHistory(path: folder["export.jsonl"].path).history(of: "T", "o")
    #expect(history.changes.map(\.outcome) == [.replaced, .current])
    #expect(history.changes[0].successor == history.changes[1].author)
    #expect(history.changes[0].successorValue == history.changes[1].value)
    #expect(history.blame.map(\.author) == [history.changes[1].author])
  }

  /// J-14: tables, columns and what belongs to them find names, whatever other names come with them or were there, in one
  /// statement or one by one.
  @Test func aSchemaIsTakenOverAtOnceOrBitByBit() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let plain = [
      "T", "t", "T.x", "T.X", "magic_birth.T", "magic_T", "sqlite_t", "pragma_page_count", "T.x.reverse", "T.x~4.asset",
      "T.z_index", "\u{e9}",
      "E\u{301}",
    ]
    let (text, number) = (#"{"name":"id","kind":"text"}"#, #"{"name":"id","kind":"integer"}"#)
    let heads =
      plain.map { #""id":"\#($0)","name":"\#($0)","primary":\#($0 == "T" ? number : text)"# } + [#""id":"free","name":"T""#]
    let fields = [
      #"{"id":"t","name":"x","kind":"text"}"#, #"{"id":"r","name":"X","kind":"reference","target":"T.x"}"#,
      #"{"id":"l","name":"x","kind":"list","target":"T"}"#, #"{"id":"s","name":"x","kind":"set","target":"t"}"#,
      #"{"id":"a","name":"x","kind":"asset"}"#, #"{"id":"z","name":"Z_Index","kind":"real"}"#,
      #"{"id":"d","name":"x.reverse","kind":"dictionary","target":"T.X"}"#, #"{"id":"k","name":"ID","kind":"bytes"}"#,
    ]
    let values = [
      #""t":"text""#, #""r":"o""#, #""l":[1]"#, #""s":{"in":["o"],"out":[]}"#, #""a":null"#, #""z":1.5"#, #""d":[["1","o"]]"#,
      #""k":"AA==""#,
    ]
    func type(_ head: String, _ fields: some Sequence<String>) -> String {
      #"{"type":{\#(head),"fields":[\#(fields.joined(separator: ","))]}}"#
    }
    var (sequence, ordinary): (Int, [[String]]) = (0, [])
    func transaction(_ entries: [String]) -> String {
      sequence += 1
      return
        #"{"transaction":{"replica":"\#(root)","sequence":\#(sequence),"stamp":"\#(65_536 * sequence)","tag":1,"root":"\#(root)","entries":[\#(entries.joined(separator: ","))]}}"#
    }
    for value in [""] + values {
      ordinary.append(
        plain.map { #"{"type":"\#($0)","op":"update","object":\#($0 == "T" ? "1" : #""o""#),"fields":{\#(value)}}"# }
          + [#"{"type":"free","op":"birth","fields":{\#(value)}}"#])
    }
    let transactions = ordinary.map(transaction)
    // All of it before the first transaction, or a field of each type with each.
    let atOnce = heads.map { type($0, []) } + heads.map { type($0, fields) } + transactions
    let bitByBit =
      heads.map { type($0, []) } + [transactions[0]]
      + fields.indices.flatMap { number in heads.map { type($0, [fields[number]]) } + [transactions[number + 1]] }
    var digests: Set<String> = []
    for (name, lines) in [("one", atOnce), ("two", bitByBit)] {
      let all =
        [#"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#] + lines + [#"{"end":{"transactions":\#(sequence)}}"#]
      try Data((all.joined(separator: "\n") + "\n").utf8).write(to: folder[name])
      let magic = try await MagicData(type: .temporary)
      let report = try await magic.rebuild(from: [.export(folder[name])], RebuildPlan())
      #expect(report.isComplete && report.transactions == sequence, "\(report)")
      let check = try await DatabaseCheck(magic)
      #expect(check.faults == [] && check.objects == plain.count + sequence, "\(check)")
      digests.insert(check.digest)
      #expect(try await magic.statistics().bytes > 0)
    }
    #expect(digests.count == 1)
  }

  /// J-15: fields of all types together.
  @Test func aSchemaHasABoundedNumberOfFields() async throws {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    for (name, count) in [("most", Limits.fields), ("more", Limits.fields + 1)] {
      let numbers = Array(0..<count)
      let types = stride(from: 0, to: count, by: Limits.fieldsOfType).map { start in
        let fields = numbers[start..<min(count, start + Limits.fieldsOfType)]
          .map { #"{"id":"f\#($0)","name":"f\#($0)","kind":"integer"}"# }
        return #"{"type":{"id":"T\#(start)","name":"T\#(start)","fields":[\#(fields.joined(separator: ","))]}}"#
      }
      let lines =
        [#"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#] + types + [
          #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"65536","tag":1,"root":"\#(root)","entries":[{"type":"T0","op":"birth","fields":{"f1":1}}]}}"#,
          #"{"end":{"transactions":1}}"#,
        ]
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder[name])
      let magic = try await MagicData(type: .temporary)
      let report = try await magic.rebuild(from: [.export(folder[name])], RebuildPlan())
      #expect(
        report.isComplete == (count == Limits.fields) && report.transactions == (count == Limits.fields ? 1 : 0), "\(report)")
      #expect(try await DatabaseCheck(magic).faults == [])
    }
  }

  /// M-1: an object that is folded anew, and refers to one of its type that has not come yet, keeps its z index to itself.
  @Test(arguments: 0..<12 as Range<UInt64>) func anObjectThatIsFoldedAnewKeepsItsPlace(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    func line(_ replica: String, _ stamp: Int, _ object: String, _ fields: String) -> String {
      let id = String(repeating: replica, count: 32)
      return
        #"{"transaction":{"replica":"\#(id)","sequence":1,"stamp":"\#(stamp * 65_536)","tag":\#(stamp),"root":"\#(id)","entries":[{"type":"Node","op":"update","object":"\#(object)","fields":{\#(fields)}}]}}"#
    }
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(String(repeating: "1", count: 32))"}"#,
      #"{"type":{"id":"Node","name":"Node","primary":{"name":"id","kind":"text"},"fields":[]}}"#,
      #"{"type":{"id":"Node","name":"Node","fields":[{"id":"title","name":"title","kind":"text"},{"id":"next","name":"next","kind":"reference","target":"Node"}]}}"#,
      line("3", 4, "b", #""title":"b""#), line("2", 5, "a", #""next":"b""#), line("1", 10, "a", #""title":"a""#),
      #"{"end":{"transactions":3}}"#,
    ]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["export.jsonl"])
    let magic = try await MagicData(type: .temporary)
    var plan = RebuildPlan()
    plan.seed = seed
    let report = try await magic.rebuild(from: [.export(folder["export.jsonl"])], plan)
    #expect(report.isComplete && report.transactions == 3, "\(report)")
    let check = try await DatabaseCheck(magic)
    #expect(check.faults == [] && check.objects == 2, "\(check)")
  }

  /// J-15: what is not chosen needs no room.
  @Test func typesThatAreNotChosenAreNotLearnt() async throws {
    let folder = try TemporaryFolder()
    func line(_ number: Int) -> [String] {
      let id = String(repeating: "\(number + 2)", count: 32)
      let fields = (number * 600..<number * 600 + 600).map { #"{"id":"f\#($0)","name":"f\#($0)","kind":"integer"}"# }
      return [
        #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":[\#(number == 0 ? fields.joined(separator: ",") : "")]}}"#,
        #"{"type":{"id":"N","name":"N","primary":{"name":"id","kind":"text"},"fields":[{"id":"owner","name":"owner","kind":"reference","target":"T"}]}}"#,
        #"{"transaction":{"replica":"\#(id)","sequence":1,"stamp":"\#((number + 1) * 65_536)","tag":1,"root":"\#(id)","entries":[{"type":"N","op":"update","object":"n\#(number)","fields":{"owner":"t"}}]}}"#,
      ]
    }
    let lines =
      [#"{"magicdata":"journal","format":1,"dataSet":"\#(String(repeating: "1", count: 32))"}"#] + line(0) + line(1)
      + [#"{"end":{"transactions":2}}"#]
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder["export.jsonl"])
    let magic = try await MagicData(path: folder["db"])
    var plan = RebuildPlan()
    plan.types = ["N"]
    let report = try await magic.rebuild(from: [.export(folder["export.jsonl"])], plan)
    #expect(report.isComplete && report.transactions == 2, "\(report)")
    #expect(try await DatabaseCheck(magic).faults == [])
    try await magic.close()
    let columns = try await DatabaseQueue(path: folder["db/default.sqlite3"].path).read { try $0.columns(in: "T").count }
    #expect(columns == 3)
  }

  /// What becomes of an export of one update.
  ///
  /// - Parameters:
  ///   - members: of its entry, beside the type, the operation and the object.
  ///   - before: what stands before the last line.
  ///   - after: what stands behind it.
  private func rebuilt(
    _ members: String, stamp: String = "131072", before: String = "", after: String = ""
  ) async throws -> RebuildReport {
    let folder = try TemporaryFolder()
    let (id, root) = (String(repeating: "1", count: 32), String(repeating: "2", count: 32))
    let fields =
      ["integer", "real"].map { #"{"id":"\#($0)","name":"\#($0)","kind":"\#($0)"}"# }
      + ["set", "dictionary"].map { #"{"id":"\#($0)","name":"\#($0)","kind":"\#($0)","target":"T"}"# }
    let entry = #"{"type":"T","op":"update","object":"o",\#(members)}"#
    let lines = [
      #"{"magicdata":"journal","format":1,"dataSet":"\#(id)"}"#, " \t\r",
      #"{"type":{"id":"T","name":"T","primary":{"name":"id","kind":"text"},"fields":[\#(fields.joined(separator: ","))]}}"#,
      #"{"transaction":{"replica":"\#(root)","sequence":1,"stamp":"\#(stamp)","tag":1,"root":"\#(root)","entries":[\#(entry)]}}"#,
      #"\#(before){"end":{"transactions":1}}"#, after,
    ]
    try Data(lines.joined(separator: "\n").utf8).write(to: folder["export.jsonl"])
    let magic = try await MagicData(type: .temporary)
    return try await magic.rebuild(from: [.export(folder["export.jsonl"])], RebuildPlan())
  }

  /// X-2 to X-5, X-8: what is there and is none is not taken for nothing.
  @Test(arguments: [
    (#""fields":{}"#, true), (#""fields":["lost"]"#, false), (#""fields":"lost""#, false), (#""fields":null"#, false),
    (#""number":"5""#, false), (#""base":131072"#, false), (#""base":"+65536""#, false), (#""other":["for others"]"#, true),
    (#""fields":{"real":1e308}"#, true), (#""fields":{"real":1e400}"#, false), (#""fields":{"real":-1e400}"#, false),
    (#""fields":{"real":{"bits":"7ff0000000000000"}}"#, true), (#""fields":{"real":{"bits":"+7ff000000000000"}}"#, false),
    (#""fields":{"real":{"bits":"-000000000000000"}}"#, false), (#""fields":{"real":01.5}"#, false),
    (#""fields":{"real":1.}"#, false),
    (#""fields":{"integer":{"integer":"-9007199254740993"}}"#, true), (#""fields":{"integer":{"integer":"+05"}}"#, false),
    (#""fields":{"integer":{"integer":"05"}}"#, false), (#""fields":{"integer":{"integer":"-0"}}"#, false),
    (#""fields":{"set":{"in":["a"],"out":["b"]}}"#, true), (#""fields":{"set":{"in":["a","a"],"out":[]}}"#, false),
    (#""fields":{"set":{"in":["a"],"out":["b","a"]}}"#, false),
    (#""fields":{"dictionary":[["1","a"],["2",null]]}"#, true), (#""fields":{"dictionary":[["1","a"],["1","b"]]}"#, false),
  ])
  func membersAreWhatTheyHaveToBe(members: String, isTaken: Bool) async throws {
    let report = try await rebuilt(members)
    #expect(report.isComplete == isTaken && report.transactions == (isTaken ? 1 : 0), "\(report)")
    #expect(isTaken || report.read.unread.map(\.message).first?.contains("line 4") == true, "\(report.read)")
  }

  /// X-3: a number has one text.
  @Test(arguments: [("131072", true), ("+131072", false), ("0131072", false), ("-131072", false), (" 131072", false)])
  func stampsAreDigits(stamp: String, isTaken: Bool) async throws {
    let report = try await rebuilt(#""fields":{}"#, stamp: stamp)
    #expect(report.isComplete == isTaken && report.transactions == (isTaken ? 1 : 0), "\(report)")
  }

  /// X-7, X-8: what stands before still counts.
  @Test(arguments: [
    ("", "", true), ("", "\r\n \t\n\n", true), ("", "  ", true), ("{\"note\":1}\n", "", true), ("", "{\"note\":1}\n", false),
    ("", "\n\n{\"note\":1}\n", false), ("", "x", false), ("", "{\"end\":{\"transactions\":1}}\n", false), ("5\n", "", false),
    ("[]\n", "", false),
  ])
  func theLastLineIsTheLast(before: String, after: String, isWhole: Bool) async throws {
    let report = try await rebuilt(#""fields":{}"#, before: before, after: after)
    #expect(report.transactions == 1 && report.isComplete == isWhole, "\(report)")
    let said = before.isEmpty ? "something follows the last line" : "no object"
    #expect(isWhole || report.read.unread.map(\.message).first?.contains(said) == true, "\(report.read)")
  }

  /// H-39, X-1.
  @Test func anExportOfAnotherFormatIsRefused() async throws {
    let folder = try TemporaryFolder()
    let line = #"{"magicdata":"journal","format":2,"dataSet":"\#(String(repeating: "1", count: 32))"}"#
    try Data((line + "\n").utf8).write(to: folder["export"])
    let magic = try await MagicData(type: .temporary)
    await #expect { try await magic.rebuild(from: [.export(folder["export"])], RebuildPlan()) } throws: {
      ($0 as? MagicDataError)?.code == .incompatible
    }
  }

  /// X-2.
  @Test(arguments: ["{}", "\"lost\"", "null"]) func fieldsOfATypeAreAnArray(fields: String) async throws {
    let report = try await rebuilt(
      #""fields":{}"#, before: #"{"type":{"id":"U","name":"U","fields":\#(fields)}}"# + "\n")
    #expect(!report.isComplete && report.transactions == 1, "\(report)")
  }

  @Test(arguments: [
    "01", "-01", "1.", ".5", "-", "1e", "1e+", "+1", "1.e5", "--1", "0x1", "[1,]", "[,]", "{\"a\":1,}", "\u{feff}1", "", "NaN",
  ]) func whatIsNoJSONIsRefused(text: String) {
    #expect(throws: JSONValue.Failure.self) { try JSONValue(Array(text.utf8)) }
  }

  @Test(arguments: ["0", "-0", "10", "-12.5e+3", "1E5", "0.50", "1e-7", "0e0"])
  func numbersKeepTheirDigits(text: String) throws {
    #expect(try JSONValue(Array(text.utf8)) == .number(text))
  }

  /// A sign is no digit of an escape.
  @Test(arguments: [#""\u+041""#, #""\u-041""#, #""\u004""#, #""\u00é""#]) func anEscapeHasFourDigits(text: String) {
    #expect(throws: JSONValue.Failure.self) { try JSONValue(Array(text.utf8)) }
  }
}
