internal import Foundation
internal import MagicJournal

/// What the writer and the reader of an export have in common (Protocol/export.md).
enum ExportFormat {
  /// what every export begins with.
  static let mark = Array("{\"magicdata\":\"journal\",".utf8)
  static let format = 1

  static let kinds: [(kind: Value.Kind, name: String)] = [
    (.integer, "integer"), (.real, "real"), (.text, "text"), (.bytes, "bytes"), (.coded, "coded"), (.reference, "reference"),
    (.list, "list"), (.set, "set"), (.dictionary, "dictionary"), (.asset, "asset"),
  ]

  static func name(of kind: Value.Kind) -> String { kinds.first { $0.kind == kind }?.name ?? "" }

  /// In the order of their codes.
  static let operations = Entry.Operation.Code.allCases.map { (code: $0, name: "\($0)") }

  /// Integers beyond are no JSON number: many programs would round them.
  static let safe: ClosedRange<Int64> = -9_007_199_254_740_992...9_007_199_254_740_992
}

extension ByteWriter {
  mutating func exported(integer number: Int64) {
    if ExportFormat.safe ~= number { decimal(number) } else { append("{\"integer\":\"\(number)\"}".utf8) }
  }

  mutating func exported(_ key: ObjectKey) {
    switch key {
    case .primary(.text(let text)): quoted(text)
    case .primary(.integer(let number)): exported(integer: number)
    case .primary, .birth: append("{\"birth\":\"\(key.text)\"}".utf8)
    }
  }

  private mutating func exported(_ keys: [ObjectKey]) {
    byte(UInt8(ascii: "["))
    for (index, key) in keys.enumerated() {
      if index > 0 { byte(UInt8(ascii: ",")) }
      exported(key)
    }
    byte(UInt8(ascii: "]"))
  }

  /// Bytes that are mostly a text.
  private mutating func exported(text bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.utf8.elementsEqual(bytes) {
      quoted(text)
    } else {
      append("{\"bytes\":\"\(Data(bytes).base64EncodedString())\"}".utf8)
    }
  }

  ///
  mutating func exported(_ value: Value) {
    switch value {
    case .null: append("null".utf8)
    case .integer(let number): exported(integer: number)
    case .real(let number) where number.isFinite && number.bitPattern != 1 << 63: append("\(number)".utf8)
    case .real(let number):
      append("{\"bits\":\"\(withUnsafeBytes(of: number.bitPattern.bigEndian, Array.init).hexadecimal)\"}".utf8)
    case .text(let text), .asset(let text): quoted(text)
    case .bytes(let bytes): append("\"\(Data(bytes).base64EncodedString())\"".utf8)
    case .coded(let bytes): exported(text: bytes)
    case .reference(let key): exported(key)
    case .list(let keys): exported(keys)
    case .set(let elements):
      append("{\"in\":".utf8)
      exported(elements.filter(\.isIn).map(\.key))
      append(",\"out\":".utf8)
      exported(elements.filter { !$0.isIn }.map(\.key))
      byte(UInt8(ascii: "}"))
    case .dictionary(let elements):
      byte(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        append((index == 0 ? "[" : ",[").utf8)
        exported(text: element.name)
        byte(UInt8(ascii: ","))
        if let key = element.key { exported(key) } else { append("null".utf8) }
        byte(UInt8(ascii: "]"))
      }
      byte(UInt8(ascii: "]"))
    }
  }
}

extension FixedWidthInteger {
  /// Decimal digits without a plus or leading zeros: no number has two texts.
  init?(exported text: String) {
    guard let number = Self(text, radix: 10), "\(number)" == text else { return nil }
    self = number
  }
}

extension JSONValue {
  var exportedInteger: Int64? { integer ?? self["integer"]?.text.flatMap { Int64(exported: $0) } }

  /// `birth` is of the object that an entry itself makes.
  var exportedKey: ObjectKey? {
    if let text { return .primary(.text(text)) }
    if let integer = exportedInteger { return .primary(.integer(integer)) }
    guard let bytes = self["birth"]?.text.flatMap({ [UInt8](hexadecimal: $0) }), let birth = try? Birth(bytes: bytes) else {
      return nil
    }
    return .birth(birth)
  }

  private var exportedBytes: [UInt8]? {
    text.map { Array($0.utf8) } ?? self["bytes"]?.text.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
  }

  private var exportedKeys: [ObjectKey]? {
    guard let elements else { return nil }
    let keys = elements.compactMap(\.exportedKey)
    return keys.count == elements.count ? keys : nil
  }

  /// `nil` for what no value of the kind looks like.
  func exported(_ kind: Value.Kind) -> Value? {
    if self == .null { return kind.hasElements ? nil : .null }
    switch kind {
    case .integer: return exportedInteger.map { .integer($0) }
    case .real:
      if case .number(let digits) = self { return Double(digits).flatMap { $0.isFinite ? .real($0) : nil } }
      guard let bits = self["bits"]?.text.flatMap({ UInt64(digits: $0.lowercased()) }) else { return nil }
      return .real(Double(bitPattern: bits))
    case .text: return text.map { .text($0) }
    case .bytes: return text.flatMap { Data(base64Encoded: $0) }.map { .bytes(Array($0)) }
    case .coded: return exportedBytes.map { .coded($0) }
    case .asset: return text.flatMap { AssetName.isValid($0) ? .asset($0) : nil }
    case .reference: return exportedKey.map { .reference($0) }
    case .list: return exportedKeys.map { .list($0) }
    case .set:
      guard let members = self["in"]?.exportedKeys, let others = self["out"]?.exportedKeys, !(members + others).isEmpty else {
        return nil
      }
      let set = Value.set(of: members.map { SetElement(key: $0) } + others.map { SetElement(key: $0, isIn: false) })
      // One that stands twice would silently count as one.
      return set.elementCount == members.count + others.count ? set : nil
    case .dictionary:
      guard let elements, !elements.isEmpty else { return nil }
      var changed: [DictionaryElement] = []
      for element in elements {
        guard let pair = element.elements, pair.count == 2, let name = pair[0].exportedBytes else { return nil }
        let key = pair[1].exportedKey
        guard key != nil || pair[1] == .null else { return nil }
        changed.append(DictionaryElement(name: name, key: key))
      }
      let dictionary = Value.dictionary(of: changed)
      return dictionary.elementCount == changed.count ? dictionary : nil
    }
  }
}
