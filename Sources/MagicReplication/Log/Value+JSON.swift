internal import Foundation
internal import MagicJournal

extension ObjectKey {
  /// Its primary value, or its birth in hexadecimal digits.
  var text: String {
    switch self {
    case .primary(.text(let text)): text
    case .primary(.integer(let number)): String(number)
    case .primary(let value): value.encoded.hexadecimal
    case .birth(let birth): birth.bytes.hexadecimal
    }
  }

  var json: String {
    if case .primary(.integer(let number)) = self { String(number) } else { Value.quoted(text) }
  }
}

extension Value {
  /// JSON that a person can read; bytes as base64.
  var json: String {
    switch self {
    case .null: "null"
    case .integer(let number): String(number)
    case .real(let number) where number.isFinite: "\(number)"
    case .real(let number): "\"\(number)\""
    case .text(let text): Value.quoted(text)
    case .bytes(let bytes): "\"\(Data(bytes).base64EncodedString())\""
    case .coded(let bytes) where Value.isPlainJSON(bytes): String(decoding: bytes, as: UTF8.self)
    case .coded(let bytes): Value.quoted(String(decoding: bytes, as: UTF8.self))
    case .asset(let name): Value.quoted(name)
    case .reference(let key): key.json
    case .list(let keys): Value.json(keys)
    case .set(let elements):
      "{\"in\":\(Value.json(elements.filter(\.isIn).map(\.key))),\"out\":\(Value.json(elements.filter { !$0.isIn }.map(\.key)))}"
    case .dictionary(let elements):
      "{\(elements.map { "\(Value.quoted(String(decoding: $0.name, as: UTF8.self))):\($0.key?.json ?? "null")" }.joined(separator: ","))}"
    }
  }

  fileprivate static func json(_ keys: [ObjectKey]) -> String {
    "[\(keys.map(\.json).joined(separator: ","))]"
  }

  /// Whether bytes that another replica called JSON can stand in a line of JSON, and on a terminal.
  private static func isPlainJSON(_ bytes: [UInt8]) -> Bool {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return false }
    return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\u{0}"..<"\u{20}", "\u{7f}"..<"\u{a0}": quoted += "\\u00" + [UInt8(scalar.value)].hexadecimal
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
