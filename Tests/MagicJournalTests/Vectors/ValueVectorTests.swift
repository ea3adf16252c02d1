import MagicJournal
import Testing

@Suite struct ValueVectorTests {
  struct File: Codable {
    struct Known: Codable {
      var value: ValueNotation?
      var encoding: String

      enum CodingKeys: CodingKey { case value, encoding }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(value, forKey: .value)
        try container.encode(encoding, forKey: .encoding)
      }
    }

    struct Invalid: Codable {
      var bytes: String
      var why: String
    }

    var values: [Known]
    var order: [String]
    var invalid: [Invalid]
  }

  private let file: File

  init() throws {
    file = try VectorFile("values").content(orWrite: ValueVectorTests.make)
  }

  @Test func valuesHaveTheEncodingsOfTheVectors() throws {
    for known in file.values {
      let value = try known.value.value
      #expect(value.encoded.hexadecimal == known.encoding)
      #expect(value.encodedLength == value.encoded.count)
      var reader = ByteReader(try parsed([UInt8](hexadecimal: known.encoding), known.encoding))
      #expect(try Value(from: &reader) == value)
      #expect(reader.isAtEnd)
    }
  }

  @Test func valuesAreOrderedAsTheirEncodings() throws {
    let values = try file.order.map { text in
      var reader = ByteReader(try parsed([UInt8](hexadecimal: text), text))
      return try Value(from: &reader)
    }
    for (index, value) in values.enumerated() {
      for (other, later) in values.enumerated() { #expect((value < later) == (index < other)) }
    }
  }

  @Test func bytesThatAreNoValueAreRefused() throws {
    for invalid in file.invalid {
      let bytes = try parsed([UInt8](hexadecimal: invalid.bytes), invalid.bytes)
      #expect(throws: JournalError.self, "\(invalid.why)") {
        var reader = ByteReader(bytes)
        _ = try Value(from: &reader)
        try reader.expectEnd("a value")
      }
    }
  }

  private static func make() -> File {
    let values: [Value] = [
      .null, .integer(0), .integer(-1), .integer(1), .integer(63), .integer(64), .integer(-65), .integer(.max), .integer(.min),
      .real(0), .real(-0.0), .real(1.5), .real(.nan), .real(Double(bitPattern: 0xfff8_0000_0000_0123)), .real(-.infinity),
      .real(.leastNonzeroMagnitude), .text(""), .text("a"), .text("\u{e9}"), .text("e\u{301}"), .text("a\0b"), .text("👩‍👩‍👧"),
      .text("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"), .text("e621e1f8-c36c-495a-93fc-0c247a3e6e5f"),
      .text("E621E1F8-C36C-495A-93FC-0C247A3E6E5G"), .text("E621E1F8C36C-495A-93FC-0C247A3E6E5F-"), .bytes([]),
      .bytes([0, 255]), .coded(Array("[1,2]".utf8)),
    ]
    let invalid = [
      ("", "nothing"), ("07", "form 7 is reserved"), ("ff", "form 255 is reserved"), ("0000", "a byte is left over"),
      ("0180", "a number that ends too early"), ("018000", "a number longer than it need be"),
      ("0180808080808080808002", "a number of more than 64 bits"), ("01ffffffffffffffffffff01", "a number of 11 bytes"),
      ("0200", "a real that ends too early"), ("030261", "a text that ends too early"), ("0301ff", "not UTF-8"),
      ("0303eda080", "a surrogate is not UTF-8"), ("0302c080", "an overlong NUL is not UTF-8"),
      ("0324" + Array("E621E1F8-C36C-495A-93FC-0C247A3E6E5F".utf8).hexadecimal, "a UUID as text"),
      ("04e621", "a UUID that ends too early"), ("0503aabb", "bytes that end too early"),
      ("0581808010", "more bytes than a value may have, none of them there"),
      ("06ffffffffffffffffff01", "a length of 2^64 - 1"),
    ]
    return File(
      values: values.map { .init(value: ValueNotation($0), encoding: $0.encoded.hexadecimal) },
      order: values.map(\.encoded).sorted { $0.lexicographicallyPrecedes($1) }.map(\.hexadecimal),
      invalid: invalid.map { .init(bytes: $0.0, why: $0.1) })
  }
}
