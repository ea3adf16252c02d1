internal import Foundation
internal import MagicJournal

extension ObjectKey {
  /// Its primary value, or its birth in hexadecimal digits.
  package var text: String {
    switch self {
    case .primary(.text(let text)): text
    case .primary(.integer(let number)): String(number)
    case .primary(let value): value.encoded.hexadecimal
    case .birth(let birth): birth.bytes.hexadecimal
    }
  }

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
    case .null: writer.append("null".utf8)
    case .integer(let number): writer.decimal(number)
    case .real(let number) where number.isFinite: writer.append("\(number)".utf8)
    case .real(let number): writer.append("\"\(number)\"".utf8)
    case .text(let text), .asset(let text): writer.quoted(text)
    case .bytes(let bytes): writer.append("\"\(Data(bytes).base64EncodedString())\"".utf8)
    case .coded(let bytes) where Value.isPlainJSON(bytes): writer.append(bytes)
    case .coded(let bytes): writer.quoted(String(decoding: bytes, as: UTF8.self))
    case .reference(let key): key.write(json: &writer)
    case .list(let keys): Value.write(keys, &writer)
    case .set(let elements):
      writer.append("{\"in\":".utf8)
      Value.write(elements.filter(\.isIn).map(\.key), &writer)
      writer.append(",\"out\":".utf8)
      Value.write(elements.filter { !$0.isIn }.map(\.key), &writer)
      writer.byte(UInt8(ascii: "}"))
    case .dictionary(let elements):
      writer.byte(UInt8(ascii: "{"))
      for (index, element) in elements.enumerated() {
        if index > 0 { writer.byte(UInt8(ascii: ",")) }
        writer.quoted(String(decoding: element.name, as: UTF8.self))
        writer.byte(UInt8(ascii: ":"))
        if let key = element.key { key.write(json: &writer) } else { writer.append("null".utf8) }
      }
      writer.byte(UInt8(ascii: "}"))
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
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return false }
    return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
  }

  static func quoted(_ text: String) -> String {
    var writer = ByteWriter()
    writer.quoted(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension ByteWriter {
  /// A JSON string. Control characters are escaped, those beyond ASCII too, so that a terminal shows them and does nothing.
  mutating func quoted(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      byte(UInt8(ascii: "\""))
      var start = 0
      for index in bytes.indices {
        let value = bytes[index]
        // U+0080 to U+009F are C2 and a byte below A0.
        let isControl = value < 0x20 || value == 0x7f || (value == 0xc2 && bytes[index + 1] < 0xa0)
        guard isControl || value == UInt8(ascii: "\"") || value == UInt8(ascii: "\\") else { continue }
        append(UnsafeBufferPointer(rebasing: bytes[start..<index]))
        if isControl {
          append("\\u00".utf8)
          append([value == 0xc2 ? bytes[index + 1] : value].hexadecimal.utf8)
          start = index + (value == 0xc2 ? 2 : 1)
        } else {
          byte(UInt8(ascii: "\\"))
          start = index
        }
      }
      if start < bytes.count { append(UnsafeBufferPointer(rebasing: bytes[start...])) }
      byte(UInt8(ascii: "\""))
    }
  }

  mutating func decimal(_ number: some BinaryInteger) {
    // Most are short.
    if number >= 0, number < 10 { return byte(UInt8(ascii: "0") + UInt8(number)) }
    append(String(number).utf8)
  }

  /// UTC, to the millisecond, as RFC 3339.
  mutating func time(_ milliseconds: Int64) {
    func digits(_ number: Int64, _ count: Int) {
      var divisor: Int64 = 1
      for _ in 1..<count { divisor *= 10 }
      while divisor > 0 {
        byte(UInt8(ascii: "0") + UInt8(number / divisor % 10))
        divisor /= 10
      }
    }
    let (day, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000)
    // The civil calendar of days (https://howardhinnant.github.io/date_algorithms.html); stamps are not before 1970.
    let shifted = day + 719_468
    let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
    let year = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    digits(year + era * 400 + (month >= 10 ? 1 : 0), 4)
    byte(UInt8(ascii: "-"))
    digits(month < 10 ? month + 3 : month - 9, 2)
    byte(UInt8(ascii: "-"))
    digits(dayOfYear - (153 * month + 2) / 5 + 1, 2)
    byte(UInt8(ascii: "T"))
    digits(rest / 3_600_000, 2)
    byte(UInt8(ascii: ":"))
    digits(rest / 60_000 % 60, 2)
    byte(UInt8(ascii: ":"))
    digits(rest / 1_000 % 60, 2)
    byte(UInt8(ascii: "."))
    digits(rest % 1_000, 3)
    byte(UInt8(ascii: "Z"))
  }
}

extension Stamp {
  /// UTC.
  package var inLog: String {
    var writer = ByteWriter()
    writer.time(milliseconds)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
