import Foundation
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

  /// X-6: what stands twice, or after what it comes before, is refused with all that follows: merged, it would be a journal that nobody can read.
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

  /// A sign is no digit of an escape.
  @Test(arguments: [#""\u+041""#, #""\u-041""#, #""\u004""#, #""\u00é""#]) func anEscapeHasFourDigits(text: String) {
    #expect(throws: JSONValue.Failure.self) { try JSONValue(Array(text.utf8)) }
  }
}
