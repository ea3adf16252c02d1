/// Decodes the primitives of Protocol/values.md from untrusted bytes.
///
/// Allocates nothing for a length until the bytes that it counts are known to be there.
package struct ByteReader: Sendable {
  private let bytes: [UInt8]
  private let end: Int
  package private(set) var offset: Int

  package init(_ bytes: [UInt8]) {
    self.init(bytes, 0..<bytes.count)
  }

  /// Reads `range` alone; offsets count from the start of `bytes`.
  package init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    self.offset = range.lowerBound
    self.end = range.upperBound
  }

  package var left: Int { end - offset }
  /// What is not read yet.
  package var rest: ArraySlice<UInt8> { bytes[offset..<end] }
  package var isAtEnd: Bool { offset == end }
  /// The byte that comes next, which is not taken.
  package var next: UInt8? { offset < end ? bytes[offset] : nil }

  package func damaged(_ message: String) -> JournalError {
    damaged(message, at: offset)
  }

  /// An error at an earlier offset: to remember an offset is cheaper than to copy the reader.
  package func damaged(_ message: String, at offset: Int) -> JournalError {
    JournalError(.damaged, message, offset: offset)
  }

  package mutating func byte() throws(JournalError) -> UInt8 {
    guard offset < end else { throw damaged("the bytes end too early") }
    defer { offset += 1 }
    return bytes[offset]
  }

  package mutating func fixed<Number: FixedWidthInteger>(_: Number.Type) throws(JournalError) -> Number {
    let count = Number.bitWidth / 8
    guard count <= left else { throw damaged("the bytes end too early") }
    defer { offset += count }
    return bytes.withUnsafeBytes { Number(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
  }

  /// 16 bytes.
  package mutating func halves() throws(JournalError) -> (UInt64, UInt64) {
    guard left >= 16 else { throw damaged("the bytes end too early") }
    return (try fixed(UInt64.self), try fixed(UInt64.self))
  }

  package mutating func varint() throws(JournalError) -> UInt64 {  // V-2
    // Most are short.
    if offset < end, bytes[offset] < 0x80 {
      defer { offset += 1 }
      return UInt64(bytes[offset])
    }
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try byte()
      guard shift < 63 || byte <= 1 else { throw damaged("a number has more than 64 bits") }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else { throw damaged("a number is longer than it need be") }
        return value
      }
      shift += 7
    }
  }

  /// A varint that counts things of at least `size` bytes each, which must be there.
  package mutating func count(of size: Int = 1, atMost limit: Int = .max) throws(JournalError) -> Int {
    let start = offset
    let number = try varint()
    guard number <= UInt64(limit) else {
      throw JournalError(.tooLarge, "a count of \(number) is above the limit of \(limit)", offset: start)
    }
    guard number <= UInt64(size == 1 ? left : left / max(size, 1)) else {
      throw damaged("a count of \(number) is more than the bytes hold", at: start)
    }
    return Int(number)
  }

  /// A varint that is an index below `bound`.
  package mutating func index(below bound: Int, _ what: String) throws(JournalError) -> Int {
    let start = offset
    let number = try varint()
    guard number < UInt64(bound) else { throw damaged("there is no \(what) \(number)", at: start) }
    return Int(number)
  }

  package mutating func take(_ count: Int) throws(JournalError) -> ArraySlice<UInt8> {
    bytes[try pass(count)]
  }

  package mutating func block(atMost limit: Int) throws(JournalError) -> ArraySlice<UInt8> {
    try take(count(atMost: limit))
  }

  /// Passes over so many bytes.
  ///
  /// - Returns: where they are.
  @discardableResult
  package mutating func pass(_ count: Int) throws(JournalError) -> Range<Int> {
    guard count <= left else { throw damaged("the bytes end too early") }
    defer { offset += count }
    return offset..<offset + count
  }

  /// Passes over a block.
  @discardableResult
  package mutating func passBlock(atMost limit: Int = .max) throws(JournalError) -> Range<Int> {
    try pass(count(atMost: limit))
  }

  package mutating func string(atMost limit: Int) throws(JournalError) -> String {
    let range = try text(atMost: limit)
    return bytes.withUnsafeBytes { String(decoding: $0[range], as: UTF8.self) }
  }

  /// Where a block stands that is UTF-8 (V-3).
  mutating func text(atMost limit: Int) throws(JournalError) -> Range<Int> {
    let start = offset
    let range = try passBlock(atMost: limit)
    guard bytes.withUnsafeBytes({ UnsafeRawBufferPointer(rebasing: $0[range]).isUTF8 }) else {
      throw damaged("a text is not UTF-8", at: start)
    }
    return range
  }

  /// Gives access to all the bytes, to which offsets refer.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { bytes.withUnsafeBytes(body) }

  /// A reader of the next block alone; offsets stay those of the whole.
  package mutating func stream() throws(JournalError) -> ByteReader {
    ByteReader(bytes, try passBlock())
  }

  /// Like `stream()`, but a stream that is cut short ends where the bytes do.
  package mutating func streamPrefix() -> ByteReader {
    let start = self
    guard let count = try? varint() else {
      self = start
      offset = end
      return ByteReader(bytes, end..<end)
    }
    let range = offset..<offset + Int(min(count, UInt64(left)))
    offset = range.upperBound
    return ByteReader(bytes, range)
  }

  package func expectEnd(_ what: String) throws(JournalError) {
    guard isAtEnd else { throw damaged("\(left) bytes are left over in \(what)") }
  }
}
