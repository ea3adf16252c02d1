import MagicJournal
import TestSupport
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

  /// V-2 to V-5, V-12 to V-16.
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

  /// V-6.
  @Test func valuesAreOrderedAsTheirEncodings() throws {
    let values = try file.order.map { text in
      var reader = ByteReader(try parsed([UInt8](hexadecimal: text), text))
      return try Value(from: &reader)
    }
    for (index, value) in values.enumerated() {
      for (other, later) in values.enumerated() { #expect((value < later) == (index < other)) }
    }
  }

  /// V-1 to V-4, V-7, V-12 to V-16.
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

  /// The stamp 0x1234, the tag 0xcafe0001, the ordinal 5.
  private static let born = "0000000000001234cafe000100000005"

  private static var relations: [Value] {
    let uuid = ObjectKey.primary(.text("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
    let (a, b) = (ObjectKey.primary(.text("a")), ObjectKey.primary(.text("b")))
    let (one, two) = (ObjectKey.primary(.integer(1)), ObjectKey.primary(.integer(-2)))
    let birth = ObjectKey.birth(Birth(transaction: TransactionName(stamp: Stamp(0x1234), tag: 0xcafe_0001), ordinal: 5))
    func key(_ json: String) -> [UInt8] { Array(json.utf8) }
    let hash = String(repeating: "0123456789abcdef", count: 4)
    return [
      .reference(a), .reference(one), .reference(uuid), .reference(birth),
      .list([]), .list([b, a, b]), .list([two, one, two, two]), .list([uuid, birth]),
      .set(of: [SetElement(key: a)]), .set(of: [SetElement(key: a, isIn: false)]),
      .set(of: [SetElement(key: uuid), SetElement(key: b, isIn: false), SetElement(key: a)]),
      .set(of: [SetElement(key: birth), SetElement(key: two), SetElement(key: one)]),
      .dictionary(of: [DictionaryElement(name: key("\"x\""), key: a)]),
      .dictionary(of: [DictionaryElement(name: key("\"x\""), key: nil)]),
      .dictionary(of: [
        DictionaryElement(name: key("\"b\""), key: birth), DictionaryElement(name: key("\"aa\""), key: nil),
        DictionaryElement(name: key("10"), key: birth), DictionaryElement(name: key("9"), key: uuid),
      ]),
      .asset(hash), .asset(hash + ".jpeg"), .asset(hash + "." + String(repeating: "X9z", count: 10) + "Ab"),
    ]
  }

  private static var invalidRelations: [(String, String)] {
    let hash = String(repeating: "0123456789abcdef", count: 4)
    func asset(_ name: String) -> String { "0c" + [UInt8(name.utf8.count)].hexadecimal + Array(name.utf8).hexadecimal }
    return [
      ("08", "a reference to nothing"), ("0800", "a reference to null"),
      ("0802" + "0000000000000000", "an object named by a real"),
      ("080500", "an object named by bytes"), ("080801" + "02", "a reference to a reference"),
      ("0807" + born.dropLast(2), "a birth that ends too early"),
      ("0807" + "ffffffffffffffff" + "0000000000000000", "after 9999"),
      ("0807" + "0000000000000000" + "0000000000000000", "born at stamp 0"),
      ("0807" + "0000000000000001" + "0000000000400000", "an ordinal that no transaction has"),
      ("0803" + "24" + Array("E621E1F8-C36C-495A-93FC-0C247A3E6E5F".utf8).hexadecimal, "a UUID as text"),
      ("0801" + "8000", "a number longer than it need be"),
      ("09", "a list without a count"), ("0901", "an identity is missing"), ("090201020104" + "00", "a byte is left over"),
      ("09ffffffffffffffffff01", "2^64 - 1 identities"), ("0981808002", "more identities than a list may have"),
      ("0980" + "00", "a count longer than it need be"),
      ("0a00", "a set in which nothing changed"), ("0a010102", "an element that ends too early"),
      ("0a01010202", "an element that is neither in nor out"), ("0a02" + "010201" + "010201", "an element twice"),
      ("0a02" + "010201" + "010200", "an element in and out"), ("0a02" + "010401" + "010201", "elements that fall"),
      ("0a02" + "0104" + "01" + "0102", "the second element ends too early"),
      ("0b00", "a dictionary in which nothing changed"), ("0b0101", "a key that ends too early"),
      ("0b01" + "0131", "a key without an element"), ("0b02" + "0131" + "0102" + "0131" + "00", "a key twice"),
      ("0b02" + "0132" + "0102" + "0131" + "00", "keys that fall"),
      ("0b02" + "0132" + "0102" + "023130" + "00", "keys in the order of their lengths"),
      ("0b01" + "0131" + "07", "a birth that ends too early"), ("0b01" + "0131" + "05" + "00", "an element named by bytes"),
      ("0c00", "an asset without a name"), (asset(String(hash.dropLast())), "63 digits"),
      (asset(hash.uppercased()), "capitals"),
      (asset(hash + "."), "a point and no extension"), (asset(hash + "jpeg"), "an extension without a point"),
      (asset(hash + ".tar.gz"), "two points"), (asset(hash + ".a/b"), "a slash"), (asset(hash + ".j\n"), "a line's end"),
      (asset(hash + ".\u{e9}"), "not a letter of ASCII"),
      (asset(hash + "." + String(repeating: "x", count: 33)), "an extension of 33 characters"), (asset("../" + hash), "a path"),
    ]
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
      ("", "nothing"), ("07" + born, "form 7 is an identity, no value"), ("0d", "form 13 is reserved"),
      ("ff", "form 255 is reserved"), ("0000", "a byte is left over"),
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
      values: (values + relations).map { .init(value: ValueNotation($0), encoding: $0.encoded.hexadecimal) },
      order: (values + relations).map(\.encoded).sorted { $0.lexicographicallyPrecedes($1) }.map(\.hexadecimal),
      invalid: (invalid + invalidRelations).map { .init(bytes: $0.0, why: $0.1) })
  }
}
