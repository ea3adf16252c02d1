extension Value {
  private enum Form {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let uuid: UInt8 = 4
    static let bytes: UInt8 = 5
    static let coded: UInt8 = 6
  }

  /// The one encoding of this value, of which V-6 makes an order and M-11 a digest.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    encode(to: &writer)
    return writer.bytes
  }

  package func encode(to writer: inout ByteWriter) {
    switch self {
    case .null:
      writer.byte(Form.null)
    case .integer(let number):
      writer.byte(Form.integer)
      writer.varint(UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    case .real(let number):
      writer.byte(Form.real)
      writer.fixed(number.bitPattern)
    case .text(let text):
      if let uuid = UUIDText.bytes(of: text) {
        writer.byte(Form.uuid)
        writer.append(uuid)
      } else {
        writer.byte(Form.text)
        writer.string(text)
      }
    case .bytes(let bytes):
      writer.byte(Form.bytes)
      writer.block(bytes)
    case .coded(let bytes):
      writer.byte(Form.coded)
      writer.block(bytes)
    }
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    let start = reader
    switch try reader.byte() {
    case Form.null:
      self = .null
    case Form.integer:
      let number = try reader.varint()
      self = .integer(Int64(bitPattern: number >> 1) ^ -Int64(number & 1))
    case Form.real:
      self = .real(Double(bitPattern: try reader.fixed(UInt64.self)))
    case Form.text:
      let text = try reader.string(atMost: Limits.valueBytes)
      guard UUIDText.bytes(of: text) == nil else { throw start.damaged("a UUID is encoded as text") }
      self = .text(text)
    case Form.uuid:
      self = .text(UUIDText.text(of: try reader.take(16)))
    case Form.bytes:
      self = .bytes(Array(try reader.block(atMost: Limits.valueBytes)))
    case Form.coded:
      self = .coded(Array(try reader.block(atMost: Limits.valueBytes)))
    case let code:
      throw JournalError(.unsupported, "there is no value of form \(code) in format 1", offset: start.offset)
    }
  }

  /// The length of `encoded`.
  package var encodedLength: Int {
    switch self {
    case .null: 1
    case .integer(let number): 1 + ByteWriter.length(ofVarint: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    case .real: 9
    case .text(let text) where UUIDText.bytes(of: text) != nil: 17
    case .text, .bytes, .coded: 1 + ByteWriter.length(ofVarint: UInt64(length)) + length
    }
  }

  /// Bytes that follow this value's length, or 0: what V-7 limits.
  package var length: Int {
    switch self {
    case .null, .integer, .real: 0
    case .text(let text): text.utf8.count
    case .bytes(let bytes), .coded(let bytes): bytes.count
    }
  }
}
