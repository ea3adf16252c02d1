import Foundation
import MagicJournal

/// One entry, as it is printed.
struct LogLine {
  let version: Version
  private let replica: String
  private let sequence: UInt64
  private let type: String
  private let object: String
  private let isRemove: Bool
  /// That the object has claimed.
  private let number: Int64?
  private let fields: [(name: String, value: Value)]

  init(_ entry: Entry, of transaction: Transaction, _ schema: Schema) {
    version = transaction.version
    replica = transaction.replica.description
    sequence = transaction.sequence
    let type = schema.types[entry.type]
    self.type = type.name.text
    object = entry.key.text
    isRemove = entry.operation.isRemove
    number = entry.operation.number
    fields = entry.fields.map { (type.fields[$0.field].name.text, $0.value) }
  }

  private var operation: String { isRemove ? "remove" : "update" }

  private var time: String {
    Date(timeIntervalSince1970: TimeInterval(version.stamp.milliseconds) / 1_000)
      .formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeSeparator(.colon)) + "Z"
  }

  var text: String {
    let values = fields.map { "\($0.name)=\($0.value.json)" }.joined(separator: " ")
    let claim = number.map { "#\($0)" } ?? ""
    return
      "\(time)  \(replica.prefix(8)):\(sequence)  \(operation) \(type) \(object)\(claim)\(values.isEmpty ? "" : "  " + values)"
  }

  var json: String {
    get throws {
      var members: [(String, String)] = [
        ("time", Value.text(time).json), ("replica", Value.text(replica).json), ("sequence", String(sequence)),
        ("type", Value.text(type).json), ("object", Value.text(object).json), ("op", Value.text(operation).json),
      ]
      if let number { members.append(("number", String(number))) }
      members.append(("fields", LogLine.object(fields.map { ($0.name, $0.value.json) })))
      return LogLine.object(members)
    }
  }

  private static func object(_ members: [(String, String)]) -> String {
    "{" + members.map { "\(Value.text($0.0).json):\($0.1)" }.joined(separator: ",") + "}"
  }
}

extension ObjectKey {
  /// Its primary value, or its birth in hexadecimal digits.
  fileprivate var text: String {
    switch self {
    case .primary(.text(let text)): text
    case .primary(.integer(let number)): String(number)
    case .primary(let value): value.encoded.hexadecimal
    case .birth(let birth): birth.bytes.hexadecimal
    }
  }

  fileprivate var json: String {
    if case .primary(.integer(let number)) = self { String(number) } else { Value.quoted(text) }
  }
}

extension Value {
  /// JSON that a person can read; bytes as base64.
  fileprivate var json: String {
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

  private static func json(_ keys: [ObjectKey]) -> String {
    "[\(keys.map(\.json).joined(separator: ","))]"
  }

  /// Whether bytes that another replica called JSON can stand in a line of JSON, and on a terminal.
  private static func isPlainJSON(_ bytes: [UInt8]) -> Bool {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return false }
    return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
  }

  fileprivate static func quoted(_ text: String) -> String {
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
