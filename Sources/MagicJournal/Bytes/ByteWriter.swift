/// Appends the primitives of Protocol/values.md to a growing array.
package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package var count: Int { bytes.count }

  /// Begins anew, with the memory that it has.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Memory for so many bytes more, and no more than that.
  package mutating func reserve(_ count: Int) {
    bytes.reserveCapacity(bytes.count + count)
  }

  package mutating func byte(_ value: UInt8) {
    bytes.append(value)
  }

  package mutating func append(_ more: some Sequence<UInt8>) {
    bytes.append(contentsOf: more)
  }

  // For who appends often and little: without asking what kind of sequence it is.

  package mutating func append(_ more: [UInt8]) {
    more.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
  }

  package mutating func append(_ more: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: more)
  }

  package mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  package mutating func append(text: String) {
    var text = text
    text.withUTF8 { bytes.append(contentsOf: $0) }
  }

  package mutating func append(_ text: StaticString) {
    append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  package mutating func fixed(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func varint(_ value: UInt64) {  // V-2
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  package static func length(ofVarint value: UInt64) -> Int {
    max(1, (64 - value.leadingZeroBitCount + 6) / 7)
  }

  package mutating func varint(_ value: Int) {
    varint(UInt64(value))
  }

  package mutating func string(_ value: String) {
    var value = value
    value.withUTF8 {
      varint($0.count)
      bytes.append(contentsOf: $0)
    }
  }

  package mutating func block(_ value: UnsafeRawBufferPointer) {
    varint(value.count)
    append(value)
  }

  package mutating func block(_ value: [UInt8]) {
    value.withUnsafeBytes { block($0) }
  }

  package mutating func block(_ value: ArraySlice<UInt8>) {
    value.withUnsafeBytes { block($0) }
  }
}
