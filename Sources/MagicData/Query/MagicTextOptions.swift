internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// What texts may differ in and still count as the same.
///
/// With any of these, a query compares texts as Foundation's `folding(options:locale:)` makes them, without a locale, so that
/// it finds the same for every user. Then `"ß"` and `"ss"` are the same without regard to case, and an accent is one whether it
/// stands as a scalar of its own or not.
public struct MagicTextOptions: OptionSet, Hashable, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// `"Sea"` is `"SEA"`.
  public static let caseInsensitive = MagicTextOptions(rawValue: 1)
  /// `"Öre"` is `"Ore"`.
  public static let diacriticInsensitive = MagicTextOptions(rawValue: 2)
}

extension MagicTextOptions {
  /// A text as it compares; itself if there are no options.
  func folded(_ text: String) -> String {
    guard !isEmpty else { return text }
    var options: String.CompareOptions = []
    if contains(.caseInsensitive) { options.insert(.caseInsensitive) }
    if contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
    let folded = text.folding(options: options, locale: nil)
    // Folded, a text may be composed or not, as it was before.
    return folded.utf8.allSatisfy { $0 < 0x80 } ? folded : folded.precomposedStringWithCanonicalMapping
  }

  /// A text of SQL as it compares.
  ///
  /// - Parameter text: in SQL.
  func folding(_ text: String) -> String { isEmpty ? text : "\(start)\(text))" }

  /// What stands before the text in `folding`; `)` follows it.
  var start: String { "magic_fold(\(rawValue), " }

  /// `magic_fold(options, text)` is a function of each of our connections.
  static func addFunction(to db: Database) {
    sqlite3_create_function_v2(
      db.sqliteConnection, "magic_fold", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, _, values in
        guard let values, let text = values[1] else { return }
        guard sqlite3_value_type(text) == SQLITE_TEXT, let start = sqlite3_value_text(text) else {
          return sqlite3_result_value(context, text)
        }
        let options = MagicTextOptions(rawValue: Int(sqlite3_value_int64(values[0])))
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(text)))
        options.withFolded(bytes) { folded in
          // An empty text may have no address, and none means NULL.
          guard !folded.isEmpty else { return sqlite3_result_text(context, "", 0, SQL.copied) }
          folded.withMemoryRebound(to: CChar.self) {
            sqlite3_result_text(context, $0.baseAddress, Int32($0.count), SQL.copied)
          }
        }
      }, nil, nil, nil)
  }

  private func withFolded(_ bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    let isASCII = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { folded in
      // Of most texts every byte is one character, which has no accents.
      for (index, byte) in bytes.enumerated() {
        guard byte < 0x80 else { return false }
        let isUpper = contains(.caseInsensitive) && UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        folded.initializeElement(at: index, to: isUpper ? byte | 0x20 : byte)
      }
      body(UnsafeBufferPointer(folded))
      return true
    }
    guard !isASCII else { return }
    var text = folded(String(decoding: bytes, as: UTF8.self))
    text.withUTF8(body)
  }
}
