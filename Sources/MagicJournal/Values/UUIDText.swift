/// Text that is a UUID in capitals, which travels as its 16 bytes (V-4).
package enum UUIDText {
  /// The first and the last 8 bytes.
  package static func halves(of text: String) -> (UInt64, UInt64)? {
    guard text.utf8.count == length else { return nil }
    var text = text
    return text.withUTF8 { halves(of: UnsafeRawBufferPointer($0)) }
  }

  static func halves(of digits: UnsafeRawBufferPointer) -> (UInt64, UInt64)? {
    guard
      digits.count == length, digits[8] == UInt8(ascii: "-"), digits[13] == UInt8(ascii: "-"),
      digits[18] == UInt8(ascii: "-"), digits[23] == UInt8(ascii: "-")
    else { return nil }
    var bad: UInt8 = 0
    func part(_ range: Range<Int>, _ before: UInt64) -> UInt64 {
      var part = before
      for index in range {
        // Without branches: this is asked of every text that is stored.
        let digit = digits[index] &- UInt8(ascii: "0")
        let letter = digits[index] &- UInt8(ascii: "A")
        bad |= digit < 10 || letter < 6 ? 0 : 1
        part = part << 4 | UInt64(digit < 10 ? digit : letter &+ 10)
      }
      return part
    }
    let high = part(14..<18, part(9..<13, part(0..<8, 0)))
    let low = part(24..<36, part(19..<23, 0))
    return bad == 0 ? (high, low) : nil
  }

  package static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: length) { buffer in
      write(high, low, to: buffer)
      return length
    }
  }

  package static let length = 36

  /// Whether a text is that of a UUID.
  package static func isText(_ text: UnsafeRawBufferPointer, of high: UInt64, _ low: UInt64) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { digits in
      write(high, low, to: digits)
      return text.hasSameBytes(as: UnsafeRawBufferPointer(digits))
    }
  }

  /// - Parameter buffer: of `length` bytes.
  package static func write(_ high: UInt64, _ low: UInt64, to buffer: UnsafeMutableBufferPointer<UInt8>) {
    let raw = UnsafeMutableRawBufferPointer(buffer)
    func put(_ digits: some FixedWidthInteger, at offset: Int) {
      raw.storeBytes(of: digits.bigEndian, toByteOffset: offset, as: type(of: digits))
    }
    func put(halves digits: UInt64, at first: Int, _ second: Int) {
      put(UInt32(truncatingIfNeeded: digits >> 32), at: first)
      put(UInt32(truncatingIfNeeded: digits), at: second)
    }
    put(digits(UInt32(truncatingIfNeeded: high >> 32)), at: 0)
    put(halves: digits(UInt32(truncatingIfNeeded: high)), at: 9, 14)
    put(halves: digits(UInt32(truncatingIfNeeded: low >> 32)), at: 19, 24)
    put(digits(UInt32(truncatingIfNeeded: low)), at: 28)
    for offset in [8, 13, 18, 23] { buffer[offset] = UInt8(ascii: "-") }
  }

  /// Eight digits, the first one in the highest byte.
  private static func digits(_ bytes: UInt32) -> UInt64 {
    var nibbles = UInt64(bytes)
    nibbles = (nibbles | nibbles << 16) & 0x0000_ffff_0000_ffff
    nibbles = (nibbles | nibbles << 8) & 0x00ff_00ff_00ff_00ff
    nibbles = (nibbles | nibbles << 4) & 0x0f0f_0f0f_0f0f_0f0f
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return nibbles + 0x3030_3030_3030_3030 + letters * 7
  }
}
