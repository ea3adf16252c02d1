extension Value {
  private enum Form {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let uuid: UInt8 = 4
    static let bytes: UInt8 = 5
    static let coded: UInt8 = 6
    static let reference: UInt8 = 8
    static let list: UInt8 = 9
    static let set: UInt8 = 10
    static let dictionary: UInt8 = 11
    static let asset: UInt8 = 12
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
      if let (high, low) = UUIDText.halves(of: text) {
        Value.encode(uuid: high, low, to: &writer)
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
    case .reference(let key):
      writer.byte(Form.reference)
      key.encode(to: &writer)
    case .list(let keys):
      writer.byte(Form.list)
      writer.varint(keys.count)
      for key in keys { key.encode(to: &writer) }
    case .set(let elements):
      precondition(!elements.isEmpty, "what changed in a set has an element at least (V-14)")
      writer.byte(Form.set)
      writer.varint(elements.count)
      for element in elements { element.encode(to: &writer) }
    case .dictionary(let elements):
      precondition(!elements.isEmpty, "what changed in a dictionary has an element at least (V-15)")
      writer.byte(Form.dictionary)
      writer.varint(elements.count)
      for element in elements { element.encode(to: &writer) }
    case .asset(let name):
      writer.byte(Form.asset)
      writer.string(name)
    }
  }

  /// The same of a UUID's text, given as its bytes.
  package static func encode(uuid high: UInt64, _ low: UInt64, to writer: inout ByteWriter) {
    writer.byte(Form.uuid)
    writer.fixed(high)
    writer.fixed(low)
  }

  /// A value where it stands encoded, for who needs no copy of it: none of objects or assets.
  package enum Encoded {
    case null
    case integer(Int64)
    case real(Double)
    case text(UnsafeRawBufferPointer)
    case uuid(UInt64, UInt64)
    case bytes(UnsafeRawBufferPointer)

    /// - Parameter position: where it begins in what `encode` wrote, and then where it ends.
    package init(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
      let form = bytes[position]
      position += 1
      switch form {
      case Form.null: self = .null
      case Form.integer:
        let number = bytes.varint(&position)
        self = .integer(Int64(bitPattern: number >> 1) ^ -Int64(number & 1))
      case Form.real: self = .real(Double(bitPattern: bytes.fixed(&position)))
      case Form.uuid:
        let high = bytes.fixed(&position)
        self = .uuid(high, bytes.fixed(&position))
      case Form.text: self = .text(bytes.block(&position))
      case Form.bytes, Form.coded: self = .bytes(bytes.block(&position))
      default: preconditionFailure("no value of form \(form) is read in place")
      }
    }
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    let start = reader.offset
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
      guard UUIDText.halves(of: text) == nil else { throw reader.damaged("a UUID is encoded as text", at: start) }
      self = .text(text)
    case Form.uuid:
      let (high, low) = try reader.halves()
      self = .text(UUIDText.text(high, low))
    case Form.bytes:
      self = .bytes(Array(try reader.block(atMost: Limits.valueBytes)))
    case Form.coded:
      self = .coded(Array(try reader.block(atMost: Limits.valueBytes)))
    case Form.reference:
      self = .reference(try ObjectKey(from: &reader))
    case Form.list:
      self = .list(try reader.elements(ObjectKey.init(from:)))
    case Form.set:
      self = .set(try reader.changes(SetElement.init(from:)) { $0.identity.lexicographicallyPrecedes($1.identity) })
    case Form.dictionary:
      self = .dictionary(try reader.changes(DictionaryElement.init(from:)) { $0.name.lexicographicallyPrecedes($1.name) })
    case Form.asset:
      let name = try reader.string(atMost: Limits.valueBytes)
      guard AssetName.isValid(name) else { throw reader.damaged("a text names no asset", at: start) }
      self = .asset(name)
    case let code:
      throw JournalError(.unsupported, "there is no value of form \(code) in format 1", offset: start)
    }
  }

  /// The length of `encoded`.
  package var encodedLength: Int {
    switch self {
    case .null: 1
    case .integer(let number): 1 + ByteWriter.length(ofVarint: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    case .real: 9
    case .text(let text) where UUIDText.halves(of: text) != nil: 17
    case .text, .bytes, .coded, .asset: 1 + ByteWriter.length(ofVarint: UInt64(length)) + length
    case .reference, .list, .set, .dictionary: 1 + length
    }
  }

  /// What V-7 limits: bytes that follow this value's length, those of a relation after its code, or 0.
  package var length: Int {
    switch self {
    case .null, .integer, .real: 0
    case .text(let text), .asset(let text): text.utf8.count
    case .bytes(let bytes), .coded(let bytes): bytes.count
    case .reference(let key): key.encodedLength
    case .list(let keys): Value.length(of: keys, \.encodedLength)
    case .set(let elements): Value.length(of: elements, \.encodedLength)
    case .dictionary(let elements): Value.length(of: elements, \.encodedLength)
    }
  }

  private static func length<Element>(of elements: [Element], _ length: (Element) -> Int) -> Int {
    elements.reduce(ByteWriter.length(ofVarint: UInt64(elements.count))) { $0 + length($1) }
  }
}

extension ByteReader {
  fileprivate mutating func elements<Element>(
    _ element: (inout ByteReader) throws(JournalError) -> Element
  ) throws(JournalError) -> [Element] {
    let start = self
    // None takes less than two bytes.
    let count = try count(of: 2, atMost: Limits.elements)
    var elements: [Element] = []
    for _ in 0..<count {
      elements.append(try element(&self))
      guard offset - start.offset <= Limits.valueBytes else {
        throw JournalError(.tooLarge, "a relation of more than \(Limits.valueBytes) bytes", offset: start.offset)
      }
    }
    return elements
  }

  /// One element or more, strictly rising (V-14, V-15).
  fileprivate mutating func changes<Element>(
    _ element: (inout ByteReader) throws(JournalError) -> Element, isRising: (Element, Element) -> Bool
  ) throws(JournalError) -> [Element] {
    let start = self
    var last: Element?
    let elements = try elements { reader throws(JournalError) in
      let start = reader
      let element = try element(&reader)
      if let last, !isRising(last, element) { throw start.damaged("the elements of a relation do not rise") }
      last = element
      return element
    }
    guard !elements.isEmpty else { throw start.damaged("a change of no element") }
    return elements
  }
}
