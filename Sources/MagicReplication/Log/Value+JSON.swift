internal import Foundation
internal import MagicJournal

extension ObjectKey {
  func write(json writer: inout ByteWriter) {
    if case .primary(.integer(let number)) = self { writer.decimal(number) } else { writer.quoted(text) }
  }
}

extension Value {
  /// JSON that a person can read; bytes as base64.
  package var json: String {
    var writer = ByteWriter()
    write(json: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  func write(json writer: inout ByteWriter) {
    switch self {
    case .null: writer.append("null")
    case .integer(let number): writer.decimal(number)
    case .real(let number) where number.isFinite: writer.append(text: number.description)
    case .real(let number): writer.append(text: "\"\(number)\"")
    case .text(let text), .asset(let text): writer.quoted(text)
    case .bytes(let bytes): writer.append(text: "\"\(Data(bytes).base64EncodedString())\"")
    case .coded(let bytes) where Value.isPlainJSON(bytes): writer.append(bytes)
    case .coded(let bytes): writer.quoted(String(decoding: bytes, as: UTF8.self))
    case .reference(let key): key.write(json: &writer)
    case .list(let keys): Value.write(keys, &writer)
    case .set(let elements):
      writer.append("{\"in\":")
      Value.write(elements.filter(\.isIn).map(\.key), &writer)
      writer.append(",\"out\":")
      Value.write(elements.filter { !$0.isIn }.map(\.key), &writer)
      writer.byte(UInt8(ascii: "}"))
    case .dictionary(let elements):
      writer.byte(UInt8(ascii: "{"))
      for (index, (element, name)) in zip(elements, Value.names(of: elements)).enumerated() {
        if index > 0 { writer.byte(UInt8(ascii: ",")) }
        writer.quoted(String(decoding: name, as: UTF8.self))
        writer.byte(UInt8(ascii: ":"))
        if let key = element.key { key.write(json: &writer) } else { writer.append("null") }
      }
      writer.byte(UInt8(ascii: "}"))
    }
  }

  /// A dictionary's keys, which are JSON themselves, as names of members: a text stands as it is, unless another key would have
  /// the same name, and of anything else the JSON (O-4).
  private static func names(of elements: [DictionaryElement]) -> [[UInt8]] {
    let texts = elements.map { element -> [UInt8]? in
      // What cannot be read as JSON is no text, for whatever reason: it stands as it is.
      guard element.name.first == UInt8(ascii: "\""), let key = try? JSONValue(element.name) else { return nil }
      return key.text.map { Array($0.utf8) }
    }
    var uses: [[UInt8]: Int] = [:]
    for name in elements.map(\.name) + texts.compactMap({ $0 }) { uses[name, default: 0] += 1 }
    return zip(elements, texts).map { element, text in
      guard let text, uses[text] == 1 else { return element.name }
      return text
    }
  }

  private static func write(_ keys: [ObjectKey], _ writer: inout ByteWriter) {
    writer.byte(UInt8(ascii: "["))
    for (index, key) in keys.enumerated() {
      if index > 0 { writer.byte(UInt8(ascii: ",")) }
      key.write(json: &writer)
    }
    writer.byte(UInt8(ascii: "]"))
  }

  /// Whether bytes that another replica called JSON can stand in a line of JSON, and on a terminal.
  private static func isPlainJSON(_ bytes: [UInt8]) -> Bool {
    if isNumber(bytes) || words.contains(bytes) { return true }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return false }
    // Controls beyond ASCII, which some terminals obey as well.
    guard !zip(bytes, bytes.dropFirst()).contains(where: { $0 == 0xc2 && 0x80...0x9f ~= $1 }) else { return false }
    // For whatever reason it is refused: then it is printed as a text.
    return (try? JSONValue(bytes, atMost: nesting)) != nil
  }

  /// As many values as writers nest (Protocol/values.md).
  private static let nesting = 200

  private static let words = ["true", "false", "null"].map { Array($0.utf8) }

  /// A date, for example: digits, maybe with a point among them, of which no parser has to be asked.
  private static func isNumber(_ bytes: [UInt8]) -> Bool {
    let first = bytes.first == UInt8(ascii: "-") ? 1 : 0
    var index = first
    func skipDigits() -> Int {
      let start = index
      while index < bytes.count, 0x30...0x39 ~= bytes[index] { index += 1 }
      return index - start
    }
    let whole = skipDigits()
    guard whole == 1 || whole > 1 && bytes[first] != UInt8(ascii: "0") else { return false }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
      index += 1
      guard skipDigits() > 0 else { return false }
    }
    return index == bytes.count && index <= 18
  }

  static func quoted(_ text: String) -> String {
    var writer = ByteWriter()
    writer.quoted(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
