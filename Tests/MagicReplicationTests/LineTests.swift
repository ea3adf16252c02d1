import Foundation
import MagicData
import MagicJournal
import MagicReplication
import TestSupport
import Testing

/// Lines of a log are written byte by byte, for speed. What is written is what the plain ways of saying it come to.
@Suite struct LineTests {
  /// Wherever a character stands in the words of eight bytes that are looked at together.
  @Test(arguments: seeds(200)) func textIsEscapedWhereItHasTo(seed: UInt64) {
    var chance = Seeded(seed)
    let parts = [
      "a", "plain words", "\"", "\\", "\n", "\u{1f}", " ", "\u{7f}", "\u{80}", "\u{9f}", "\u{a0}", "é", "ÿ", "語", "🦊",
    ]
    let text = (0..<chance.below(24)).map { _ in chance.pick(parts) }.joined()
    let expected = text.unicodeScalars.reduce("\"") { line, scalar in
      switch scalar {
      case "\"", "\\": line + "\\\(scalar)"
      case "\0"..."\u{1f}", "\u{7f}"..."\u{9f}": line + String(format: "\\u%04x", scalar.value)
      default: line + String(scalar)
      }
    }
    #expect(Value.text(text).json == expected + "\"", "MAGIC_SEED=\(seed)")
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != 0xc2 }
    #expect(Value.text(text).shownText == (isPlain ? text : expected + "\""), "MAGIC_SEED=\(seed)")
  }

  @Test(arguments: [0, 9, 10, -1, -10, 1_234_567_890, .min, .max]) func integersAreWrittenInFull(number: Int64) {
    #expect(Value.integer(number).json == String(number))
  }

  @Test(arguments: seeds(200)) func timesAreThoseOfTheCalendar(seed: UInt64) {
    var chance = Seeded(seed)
    // Up to the end of the year 9999 (C-4).
    let milliseconds = Int64.random(in: 0...253_402_300_799_999, using: &chance)
    let calendar = Date(timeIntervalSince1970: TimeInterval(milliseconds / 1_000)).formatted(.iso8601)
    let expected = "\(calendar.dropLast())." + String(format: "%03d", milliseconds % 1_000) + "Z"
    #expect(Stamp(UInt64(milliseconds) << 16).inLog == expected, "MAGIC_SEED=\(seed)")
  }

  /// So many arrays, each in another.
  static func nested(_ depth: Int) -> String {
    let (begins, ends) = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
    return begins + ends
  }

  /// What is no JSON stands as a string, or a line would not be JSON either.
  @Test(arguments: [
    "", "-", "01", "-01", "1.", ".5", "1.2.3", "+1", "1 2", "tru", "nul", "[1,", "1\n", "--1", "1-", "[1,]", "[,1]",
    "{\"a\":1,}", "{\"a\":01}", "[1.]", "[-]", "[1e]", "[1e+]", "\u{feff}1", "\u{feff}[1]", "{\"a\":1,\"a\":2}", "['a']",
    "[NaN]", LineTests.nested(201),
  ])
  func codedValuesThatAreNoJSONAreStrings(text: String) {
    #expect(Value.coded(Array(text.utf8)).json == Value.text(text).json)
  }

  @Test(arguments: [
    "0", "-0", "12", "-12.5", "0.25", "123456789012345678901", "1e5", "-1.5E+300", "5e-324", "true", "null", "[1,2]", "[]",
    "{\"a\":\"b\"}", "\"text\"", "[ 0.5 , {} ]", LineTests.nested(200),
  ])
  func codedValuesThatAreJSONStandAsTheyAre(text: String) {
    #expect(Value.coded(Array(text.utf8)).json == text)
  }

  /// O-4: what was done to a set, and to a dictionary.
  @Test func changesOfSetsAndDictionariesTellWhatWasTakenOut() {
    let (a, b) = (ObjectKey.primary(.text("A")), ObjectKey.primary(.integer(2)))
    let set = Value.set(of: [SetElement(key: a), SetElement(key: b, isIn: false)])
    #expect(set.json == #"{"in":["A"],"out":[2]}"#)
    let dictionary = Value.dictionary(of: [
      DictionaryElement(name: Array("\"x\"".utf8), key: a), DictionaryElement(name: Array("\"y\"".utf8), key: nil),
    ])
    #expect(dictionary.json == #"{"x":"A","y":null}"#)
  }

  /// O-4: a key is JSON; in a line of JSON it has to be a string.
  @Test(arguments: [
    ("\"first\"", "\"first\""), ("\"a \\\"b\\\"\"", "\"a \\\"b\\\"\""), ("5", "\"5\""), ("[1,\"x\"]", "\"[1,\\\"x\\\"]\""),
    ("\"cut", "\"\\\"cut\""),
  ])
  func keysOfDictionariesAreStrings(key: String, shown: String) {
    let value = Value.dictionary(of: [DictionaryElement(name: Array(key.utf8), key: .primary(.text("A")))])
    #expect(value.json == "{\(shown):\"A\"}")
  }

  /// O-4: no two members have one name.
  @Test func keysOfOneTextAreToldApart() {
    func json(_ keys: String...) -> String {
      Value.dictionary(of: keys.map { DictionaryElement(name: Array($0.utf8), key: nil) }).json
    }
    #expect(json("5", #""5""#) == #"{"\"5\"":null,"5":null}"#)
    #expect(json("true", #""x""#, #""true""#) == #"{"\"true\"":null,"x":null,"true":null}"#)
    #expect(json("5", #""5""#, #""\"5\"""#) == #"{"\"5\"":null,"\"\\\"5\\\"\"":null,"5":null}"#)
    // Another replica may spell a text in two ways.
    #expect(json(#""A""#, #""\u0041""#) == #"{"\"A\"":null,"\"\\u0041\"":null}"#)
  }
}
