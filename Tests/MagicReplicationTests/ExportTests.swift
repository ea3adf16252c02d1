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

  /// A sign is no digit of an escape.
  @Test(arguments: [#""\u+041""#, #""\u-041""#, #""\u004""#, #""\u00é""#]) func anEscapeHasFourDigits(text: String) {
    #expect(throws: JSONValue.Failure.self) { try JSONValue(Array(text.utf8)) }
  }
}
