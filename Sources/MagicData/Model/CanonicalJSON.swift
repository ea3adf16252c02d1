internal import Foundation
internal import MagicJournal

/// Codable values as JSON in one canonical form (V-8 to V-10), so that equal values are equal bytes.
///
/// Writing is our own: Foundation's encoder leaves sets and some dictionaries in an order that changes from run to run.
/// Reading is Foundation's.
enum CanonicalJSON {
  static func value(of value: some Encodable) throws -> Value { .coded(try bytes(of: value)) }

  static func bytes(of value: some Encodable) throws -> [UInt8] {
    do {
      return try CanonicalEncoder.node(of: value, at: [], depth: 0).bytes
    } catch {
      throw MagicDataError(.value, "a \(type(of: value)) cannot be encoded as JSON: \(error)", cause: error)
    }
  }

  static func read<Decoded: Decodable>(_ type: Decoded.Type, from value: Value) throws -> Decoded {
    guard case .coded(let bytes) = value else { throw value.unreadable(as: type) }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do {
      return try decoder.decode(type, from: Data(bytes))
    } catch {
      throw MagicDataError(.value, "a stored JSON value cannot be read as \(type)", cause: error)
    }
  }
}

/// A JSON text in the making.
indirect enum JSONNode {
  case literal(String)
  case string(String)
  case array([JSONNode])
  /// In the order of the keys' bytes, none twice.
  case object([(key: String, value: JSONNode)])

  /// An object of what was encoded for its keys; of several for one key the last stands.
  static func object(of members: [(key: String, make: () throws -> JSONNode)]) throws -> JSONNode {
    let sorted = members.enumerated().sorted { left, right in
      left.element.key.utf8.elementsEqual(right.element.key.utf8)
        ? left.offset < right.offset : left.element.key.utf8.lexicographicallyPrecedes(right.element.key.utf8)
    }
    var unique: [(key: String, make: () throws -> JSONNode)] = []
    for (_, member) in sorted {
      if let last = unique.last, last.key.utf8.elementsEqual(member.key.utf8) { unique.removeLast() }
      unique.append(member)
    }
    return .object(try unique.map { ($0.key, try $0.make()) })
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .literal(let text):
      bytes.append(contentsOf: text.utf8)
    case .string(let text):
      JSONNode.write(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONNode.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case ..<0x20: bytes += Array("\\u00".utf8) + Array([byte].hexadecimal.utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  static func number(_ number: some BinaryFloatingPoint & CustomStringConvertible) -> JSONNode {
    if number.isNaN { return .string("nan") }
    if number.isInfinite { return .string(number < 0 ? "-inf" : "inf") }
    return .literal(number.description)
  }
}

/// Collections whose order of iteration means nothing.
private protocol Unordered {
  func sorted(_ node: JSONNode) -> JSONNode
}

extension Set: Unordered {
  fileprivate func sorted(_ node: JSONNode) -> JSONNode {  // V-9
    guard case .array(let elements) = node else { return node }
    return .array(elements.map { ($0, $0.bytes) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0))
  }
}

extension Dictionary: Unordered {
  /// Keys that are not strings or integers make an array of keys and values in turn.
  fileprivate func sorted(_ node: JSONNode) -> JSONNode {  // V-9
    guard case .array(let elements) = node, elements.count.isMultiple(of: 2) else { return node }
    let pairs = stride(from: 0, to: elements.count, by: 2).map { (elements[$0], elements[$0 + 1], elements[$0].bytes) }
    return .array(pairs.sorted { $0.2.lexicographicallyPrecedes($1.2) }.flatMap { [$0.0, $0.1] })
  }
}

/// Collects what a value encodes into nodes. One stands for each value within the value.
final class CanonicalEncoder: Encoder {
  fileprivate enum Content {
    case empty
    case node(JSONNode)
    case array([() throws -> JSONNode])
    case object([(key: String, make: () throws -> JSONNode)])
  }

  let codingPath: [any CodingKey]
  /// How many values this one is within.
  fileprivate let depth: Int
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  fileprivate var content = Content.empty
  /// Containers within this one, by the bytes of their keys: one that is asked for again goes on.
  private var nested: [[UInt8]: CanonicalEncoder] = [:]

  /// Foundation's decoder reads 512 levels of JSON, and a value may take two of them: an object in an array.
  private static let deepest = 200

  fileprivate init(_ path: [any CodingKey], depth: Int) {
    codingPath = path
    self.depth = depth
  }

  private static func checkDepth(_ depth: Int, of value: Any, at path: [any CodingKey]) throws {
    guard depth > deepest else { return }
    throw EncodingError.invalidValue(
      value, .init(codingPath: path, debugDescription: "values are nested more than \(deepest) deep"))
  }

  static func node<Encoded: Encodable>(of value: Encoded, at path: [any CodingKey], depth: Int) throws -> JSONNode {
    try checkDepth(depth, of: value, at: path)
    switch value {
    // As Foundation's decoder expects them.
    case let data as Data: return .string(data.base64EncodedString())
    case let url as URL: return .string(url.absoluteString)
    case let decimal as Decimal where decimal.isFinite: return .literal(decimal.description)
    case is Decimal:
      throw EncodingError.invalidValue(value, .init(codingPath: path, debugDescription: "a Decimal that is no number"))
    default: break
    }
    let encoder = CanonicalEncoder(path, depth: depth)
    try value.encode(to: encoder)
    let node = try encoder.node()
    return (value as? any Unordered)?.sorted(node) ?? node
  }

  fileprivate func node() throws -> JSONNode {
    try CanonicalEncoder.checkDepth(depth, of: self, at: codingPath)
    return switch content {
    case .empty: .object([])
    case .node(let node): node
    case .array(let elements): .array(try elements.map { try $0() })
    case .object(let members): try JSONNode.object(of: members)
    }
  }

  /// What is encoded within this one for a key.
  fileprivate func within(_ key: some CodingKey, goesOn: Bool) -> CanonicalEncoder {
    let name = Array(key.stringValue.utf8)
    let encoder = goesOn ? nested[name] : nil
    let within = encoder ?? CanonicalEncoder(codingPath + [key], depth: depth + 1)
    if goesOn { nested[name] = within }
    add(key, within.node)
    return within
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object = content {} else { content = .object([]) }
    return KeyedEncodingContainer(CanonicalKeyed<Key>(encoder: self, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array = content {} else { content = .array([]) }
    return CanonicalUnkeyed(encoder: self, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    CanonicalSingle(encoder: self, codingPath: codingPath)
  }

  fileprivate func add(_ key: some CodingKey, _ make: @escaping () throws -> JSONNode) {
    guard case .object(var members) = content else { return }
    content = .empty
    members.append((key.stringValue, make))
    content = .object(members)
  }

  fileprivate func add(_ make: @escaping () throws -> JSONNode) {
    guard case .array(var elements) = content else { return }
    content = .empty
    elements.append(make)
    content = .array(elements)
  }
}

private struct CanonicalKeyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: CanonicalEncoder
  let codingPath: [any CodingKey]

  func encodeNil(forKey key: Key) { encoder.add(key) { .literal("null") } }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let node = try CanonicalEncoder.node(of: value, at: codingPath + [key], depth: encoder.depth + 1)
    encoder.add(key) { node }
  }

  func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
    encoder.within(key, goesOn: true).container(keyedBy: keyedBy)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.within(key, goesOn: true).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder.within(SuperKey(), goesOn: false) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder.within(key, goesOn: false) }

  private struct SuperKey: CodingKey {
    var stringValue: String { "super" }
    var intValue: Int? { nil }
    init() {}
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }
  }
}

private struct CanonicalUnkeyed: UnkeyedEncodingContainer {
  let encoder: CanonicalEncoder
  let codingPath: [any CodingKey]

  var count: Int {
    if case .array(let elements) = encoder.content { elements.count } else { 0 }
  }

  func encodeNil() { encoder.add { .literal("null") } }

  func encode<T: Encodable>(_ value: T) throws {
    let node = try CanonicalEncoder.node(of: value, at: codingPath, depth: encoder.depth + 1)
    encoder.add { node }
  }

  func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type) -> KeyedEncodingContainer<Nested> {
    nested().container(keyedBy: keyedBy)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  func superEncoder() -> any Encoder { nested() }

  private func nested() -> CanonicalEncoder {
    let nested = CanonicalEncoder(codingPath, depth: encoder.depth + 1)
    encoder.add(nested.node)
    return nested
  }
}

private struct CanonicalSingle: SingleValueEncodingContainer {
  let encoder: CanonicalEncoder
  let codingPath: [any CodingKey]

  private func put(_ node: JSONNode) { encoder.content = .node(node) }

  func encodeNil() { put(.literal("null")) }
  func encode(_ value: Bool) { put(.literal(value ? "true" : "false")) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Double) { put(.number(value)) }
  func encode(_ value: Float) { put(.number(value)) }
  func encode(_ value: Int) { put(.literal(String(value))) }
  func encode(_ value: Int8) { put(.literal(String(value))) }
  func encode(_ value: Int16) { put(.literal(String(value))) }
  func encode(_ value: Int32) { put(.literal(String(value))) }
  func encode(_ value: Int64) { put(.literal(String(value))) }
  func encode(_ value: UInt) { put(.literal(String(value))) }
  func encode(_ value: UInt8) { put(.literal(String(value))) }
  func encode(_ value: UInt16) { put(.literal(String(value))) }
  func encode(_ value: UInt32) { put(.literal(String(value))) }
  func encode(_ value: UInt64) { put(.literal(String(value))) }
  func encode<T: Encodable>(_ value: T) throws {
    put(try CanonicalEncoder.node(of: value, at: codingPath, depth: encoder.depth + 1))
  }
}
