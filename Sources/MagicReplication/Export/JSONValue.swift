/// JSON as it stands in a text: numbers keep their digits, so that none is rounded.
package enum JSONValue: Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([JSONName: JSONValue])

  package struct Failure: Error {
    let message: String
    package let offset: Int
  }

  /// Nothing of ours goes so deep.
  private static let usualDepth = 32

  /// Reads a whole text (RFC 8259); no name may stand twice in an object.
  package init(_ text: [UInt8]) throws { try self.init(text, atMost: JSONValue.usualDepth) }

  /// - Parameter depth: so many values may be nested.
  init(_ text: [UInt8], atMost depth: Int) throws {
    var parser = JSONParser(text: text, depth: depth)
    self = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.index == text.count else { throw parser.failure("something follows the object") }
  }
}

/// What a text calls something. Equal by bytes, where Swift's `String` would find two spellings of `é` equal (L-3).
package struct JSONName: Hashable, ExpressibleByStringLiteral {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  package init(stringLiteral text: String) {
    self.init(text)
  }

  package static func == (left: JSONName, right: JSONName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

private struct JSONParser {
  private let text: [UInt8]
  private(set) var index = 0
  /// How many values were read.
  private var count = 0
  private let depth: Int

  /// Nothing of ours has so many.
  private static let most = 1 << 25

  init(text: [UInt8], depth: Int) {
    self.text = text
    self.depth = depth
  }

  func failure(_ message: String) -> JSONValue.Failure { .init(message: message, offset: index) }

  private var next: UInt8? { index < text.count ? text[index] : nil }

  mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { index += 1 }
  }

  private mutating func take(_ character: Character) -> Bool {
    guard next == character.asciiValue else { return false }
    index += 1
    return true
  }

  private mutating func take(word: String) -> Bool {
    guard text[index...].starts(with: word.utf8) else { return false }
    index += word.utf8.count
    return true
  }

  mutating func value(depth: Int) throws -> JSONValue {
    guard depth < self.depth else { throw failure("the JSON is too deep") }
    count += 1
    guard count <= JSONParser.most else { throw failure("the JSON has too many values") }
    skipSpace()
    switch next {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return .object(try object(depth))
    case UInt8(ascii: "["):
      index += 1
      var elements: [JSONValue] = []
      skipSpace()
      if take("]") { return .array([]) }
      while true {
        elements.append(try value(depth: depth + 1))
        skipSpace()
        if take("]") { return .array(elements) }
        guard take(",") else { throw failure("an array is not closed") }
      }
    case UInt8(ascii: "t") where take(word: "true"): return .bool(true)
    case UInt8(ascii: "f") where take(word: "false"): return .bool(false)
    case UInt8(ascii: "n") where take(word: "null"): return .null
    default: return .number(try number())
    }
  }

  private mutating func object(_ depth: Int) throws -> [JSONName: JSONValue] {
    index += 1
    var members: [JSONName: JSONValue] = [:]
    skipSpace()
    if take("}") { return members }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("a member has no name") }
      let name = try string()
      skipSpace()
      guard take(":") else { throw failure("a member has no value") }
      guard members.updateValue(try value(depth: depth + 1), forKey: JSONName(name)) == nil else {
        throw failure("a member stands twice")
      }
      skipSpace()
      if take("}") { return members }
      guard take(",") else { throw failure("an object is not closed") }
    }
  }

  /// Without a plus or leading zeros, and with digits on both sides of a point.
  private mutating func number() throws -> JSONValue.Digits {
    let start = index
    _ = take("-")
    var isNumber = true
    if !take("0") { isNumber = takeDigits() }
    if take(".") { isNumber = takeDigits() && isNumber }
    if let byte = next, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      index += 1
      if !take("+") { _ = take("-") }
      isNumber = takeDigits() && isNumber
    }
    guard isNumber else {
      index = start
      throw failure("this is no JSON")
    }
    return String(decoding: text[start..<index], as: UTF8.self)
  }

  /// `false` if there is none.
  private mutating func takeDigits() -> Bool {
    let start = index
    while let byte = next, 0x30...0x39 ~= byte { index += 1 }
    return index > start
  }

  private mutating func string() throws -> String {
    index += 1
    let start = index
    // Mostly nothing is escaped.
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
    var bytes = Array(text[start..<index])
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw failure("a string has a control character") }
      index += 1
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      guard let escaped = next else { break }
      index += 1
      switch escaped {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(escaped)
      case UInt8(ascii: "b"): bytes.append(0x08)
      case UInt8(ascii: "f"): bytes.append(0x0c)
      case UInt8(ascii: "n"): bytes.append(0x0a)
      case UInt8(ascii: "r"): bytes.append(0x0d)
      case UInt8(ascii: "t"): bytes.append(0x09)
      case UInt8(ascii: "u"): bytes += Array(String(try scalar()).utf8)
      default: throw failure("a string has an unknown escape")
      }
    }
    guard take("\"") else { throw failure("a string is not closed") }
    let result = String(decoding: bytes, as: UTF8.self)
    // Decoding repairs what is not UTF-8.
    guard result.utf8.elementsEqual(bytes) else { throw failure("a string is not UTF-8") }
    return result
  }

  private mutating func scalar() throws -> Character {
    var unit = try unit()
    if 0xd800..<0xdc00 ~= unit {
      guard take("\\"), take("u") else { throw failure("half of a pair of surrogates") }
      let low = try self.unit()
      guard 0xdc00..<0xe000 ~= low else { throw failure("half of a pair of surrogates") }
      unit = 0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00)
    }
    guard let scalar = Unicode.Scalar(unit) else { throw failure("half of a pair of surrogates") }
    return Character(scalar)
  }

  private mutating func unit() throws -> UInt32 {
    let digits = text[index...].prefix(4)
    // `UInt32` alone would take a sign for a digit.
    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw failure("an escape lacks its digits") }
    index += 4
    return unit
  }
}

extension JSONValue {
  typealias Digits = String

  subscript(name: JSONName) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  var name: JSONName? { text.map { JSONName($0) } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
  var members: [JSONName: JSONValue]? { if case .object(let members) = self { members } else { nil } }
  var integer: Int64? { if case .number(let digits) = self { Int64(digits) } else { nil } }

  /// What a member has that may be missing; `nil` if it is no array.
  func listed(in name: JSONName) -> [JSONValue]? {
    guard let member = self[name] else { return [] }
    return member.elements
  }

  /// The members of the object under a name.
  func named(in name: JSONName) -> [JSONName: JSONValue]? {
    guard let member = self[name] else { return [:] }
    return member.members
  }
}
