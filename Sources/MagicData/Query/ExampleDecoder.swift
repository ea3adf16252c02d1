/// Makes a value of a coded type of nothing: every key is there, with 0, an empty text, `false` or nothing at all, or with an
/// example of what takes none of these; an array has one element, and an enum with payloads is its first case.
struct ExampleDecoder: Decoder {
  /// In each array: none where the type holds itself in one. An enum is its second case then.
  let elements: Int
  var codingPath: [any CodingKey] = []
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// A type may hold itself.
  private static let deepest = 8

  /// `nil` for what does not come of that, as an enum with payloads.
  static func value<Coded: Decodable>(of type: Coded.Type) -> Coded? {
    (try? Coded(from: ExampleDecoder(elements: 1))) ?? (try? Coded(from: ExampleDecoder(elements: 0)))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Keyed<Key>(decoder: self))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { Unkeyed(decoder: self) }
  func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

  fileprivate func example<Coded: Decodable>(of type: Coded.Type, _ key: (any CodingKey)? = nil) throws -> Coded {
    switch type {
    case is String.Type: if let text = "" as? Coded { return text }
    case is Bool.Type: if let no = false as? Coded { return no }
    case let number as any Numeric.Type: if let zero = ExampleDecoder.zero(number) as? Coded { return zero }
    default: break
    }
    guard codingPath.count < ExampleDecoder.deepest else {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "it holds itself"))
    }
    do {
      return try Coded(from: ExampleDecoder(elements: elements, codingPath: codingPath + [key ?? Index(intValue: 0)]))
    } catch {
      guard let example = Example.plain(type) else { throw error }
      return example
    }
  }

  private static func zero<Number: Numeric>(_: Number.Type) -> Number { .zero }

  fileprivate func nothing(_ type: Any.Type) -> any Error {
    DecodingError.valueNotFound(type, .init(codingPath: codingPath, debugDescription: "there is nothing"))
  }

  fileprivate struct Index: CodingKey {
    let stringValue: String
    let intValue: Int?
    init(intValue: Int) { (self.intValue, stringValue) = (intValue, "\(intValue)") }
    init?(stringValue: String) { nil }
  }
}

private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: ExampleDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }
  /// The case of an enum with payloads. Of a single one the keys take no memory, as those of none do.
  var allKeys: [Key] {
    guard MemoryLayout<Key>.size == 1 else { return [] }
    let cases = Example.cases(of: Key.self)
    return (decoder.elements > 0 ? cases.first : cases.last).map { [$0] } ?? []
  }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { true }
  func decode<Coded: Decodable>(_ type: Coded.Type, forKey key: Key) throws -> Coded { try decoder.example(of: type, key) }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested> {
    decoder.container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.unkeyedContainer() }
  func superDecoder() throws -> any Decoder { throw decoder.nothing(Any.self) }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw decoder.nothing(Any.self) }
}

private struct Unkeyed: UnkeyedDecodingContainer {
  let decoder: ExampleDecoder
  var currentIndex = 0
  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { decoder.elements }
  var isAtEnd: Bool { currentIndex >= decoder.elements }

  mutating func decodeNil() throws -> Bool {
    try advance(Any.self)
    return true
  }
  mutating func decode<Coded: Decodable>(_ type: Coded.Type) throws -> Coded {
    try advance(type)
    return try decoder.example(of: type)
  }
  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    try advance(type)
    return decoder.container(keyedBy: type)
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try advance(Any.self)
    return decoder.unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { throw decoder.nothing(Any.self) }

  private mutating func advance(_ type: Any.Type) throws {
    guard !isAtEnd else { throw decoder.nothing(type) }
    currentIndex += 1
  }
}

private struct Single: SingleValueDecodingContainer {
  let decoder: ExampleDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { true }
  func decode<Coded: Decodable>(_ type: Coded.Type) throws -> Coded { try decoder.example(of: type) }
}
