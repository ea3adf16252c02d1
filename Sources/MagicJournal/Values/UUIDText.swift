/// Text that is a UUID in capitals, which travels as its 16 bytes (V-4).
package enum UUIDText {
  /// The first and the last 8 bytes.
  package static func halves(of text: String) -> (UInt64, UInt64)? {
    guard text.utf8.count == 36 else { return nil }
    var text = text
    return text.withUTF8 { digits in
      guard
        digits[8] == UInt8(ascii: "-"), digits[13] == UInt8(ascii: "-"), digits[18] == UInt8(ascii: "-"),
        digits[23] == UInt8(ascii: "-")
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
  }

  static func text(of bytes: ArraySlice<UInt8>) -> String {
    text(
      bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  package static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: length) { buffer in
      write(high, low, to: buffer)
      return length
    }
  }

  package static let length = 36

  /// - Parameter buffer: of `length` bytes.
  package static func write(_ high: UInt64, _ low: UInt64, to buffer: UnsafeMutableBufferPointer<UInt8>) {
    var position = 0
    func write(_ half: UInt64) {
      for shift in stride(from: UInt64(60), through: 0, by: -4) {
        if position == 8 || position == 13 || position == 18 || position == 23 {
          buffer[position] = UInt8(ascii: "-")
          position += 1
        }
        let nibble = UInt8(truncatingIfNeeded: half >> shift) & 15
        buffer[position] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10
        position += 1
      }
    }
    write(high)
    write(low)
  }
}
