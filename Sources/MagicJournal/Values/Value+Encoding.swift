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

  /// Encodes a UUID's text, given as its bytes.
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
    case coded(UnsafeRawBufferPointer)

    /// - Parameter position: where it begins in what `encode` wrote, or `pass` has passed over, and then where it ends.
    package init(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
      let form = bytes[position]
      position += 1
      switch form {
      case Form.null: self = .null
      case Form.integer:
        let number = bytes.varint(&position)
        self = .integer(Int64(bitPattern: number >> 1) ^ -Int64(number & 1))
      case Form.real: self = .real(Double(bitPattern: bytes.fixed(UInt64.self, &position)))
      case Form.uuid:
        let high = bytes.fixed(UInt64.self, &position)
        self = .uuid(high, bytes.fixed(UInt64.self, &position))
      case Form.text: self = .text(bytes.block(&position))
      case Form.bytes: self = .bytes(bytes.block(&position))
      case Form.coded: self = .coded(bytes.block(&position))
      default: preconditionFailure("no value of form \(form) is read in place")
      }
    }

    /// How many bytes one takes that stands in bytes that nobody vouches for; `nil` of what is none of these, or does not end
    /// before `end`.
    package static func length(_ bytes: UnsafeRawBufferPointer, at start: Int, before end: Int) -> Int? {
      guard start < end else { return nil }
      var position = start + 1
      switch bytes[start] {
      case Form.null: break
      case Form.integer: guard bytes.varint(&position, before: end) != nil else { return nil }
      case Form.real: position += 8
      case Form.uuid: position += 16
      case Form.text, Form.bytes, Form.coded:
        guard let count = bytes.varint(&position, before: end), count <= UInt64(end - position) else { return nil }
        position += Int(count)
      default: return nil
      }
      return position <= end ? position - start : nil
    }
  }

  package init(_ encoded: Encoded) {
    self =
      switch encoded {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
      case .uuid(let high, let low): .text(UUIDText.text(high, low))
      case .bytes(let bytes): .bytes(Array(bytes))
      case .coded(let bytes): .coded(Array(bytes))
      }
  }

  package init(from reader: inout ByteReader) throws(JournalError) {
    var position = reader.offset
    let relation = try Value.pass(&reader).relation
    self = relation ?? reader.withBytes { Value(Encoded($0, &position)) }
  }

  /// Passes over a value, and checks all that is to be checked of it.
  ///
  /// - Returns: its kind, and the value itself if it is of objects or an asset, which do not stand by themselves as others do
  ///   (`Encoded`).
  package static func pass(_ reader: inout ByteReader) throws(JournalError) -> (kind: Kind?, relation: Value?) {
    let start = reader.offset
    switch try reader.byte() {
    case Form.null:
      return (nil, nil)
    case Form.integer:
      _ = try reader.varint()
      return (.integer, nil)
    case Form.real:
      _ = try reader.fixed(UInt64.self)
      return (.real, nil)
    case Form.text:
      let range = try reader.text(atMost: Limits.valueBytes)
      let isUUID = reader.withBytes { UUIDText.halves(of: UnsafeRawBufferPointer(rebasing: $0[range])) != nil }
      guard !isUUID else { throw reader.damaged("a UUID is encoded as text", at: start) }
      return (.text, nil)
    case Form.uuid:
      _ = try reader.halves()
      return (.text, nil)
    case Form.bytes:
      try reader.passBlock(atMost: Limits.valueBytes)
      return (.bytes, nil)
    case Form.coded:
      try reader.passBlock(atMost: Limits.valueBytes)
      return (.coded, nil)
    case Form.reference:
      return (.reference, .reference(try ObjectKey(from: &reader)))
    case Form.list:
      return (.list, .list(try reader.elements(ObjectKey.init(from:))))
    case Form.set:
      let elements = try reader.changes(SetElement.init(from:)) { $0.identity.lexicographicallyPrecedes($1.identity) }
      return (.set, .set(elements))
    case Form.dictionary:
      let elements = try reader.changes(DictionaryElement.init(from:)) { $0.name.lexicographicallyPrecedes($1.name) }
      return (.dictionary, .dictionary(elements))
    case Form.asset:
      let name = try reader.string(atMost: Limits.valueBytes)
      guard AssetName.isValid(name) else { throw reader.damaged("a text names no asset", at: start) }
      return (.asset, .asset(name))
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
