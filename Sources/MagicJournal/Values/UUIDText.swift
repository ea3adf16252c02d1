/// Text that is a UUID in capitals, which travels as its 16 bytes (V-4).
package enum UUIDText {
  /// The first and the last 8 bytes.
  package static func halves(of text: String) -> (UInt64, UInt64)? {
    guard text.utf8.count == 36 else { return nil }
    var text = text
    return text.withUTF8 { digits in
      var halves: (UInt64, UInt64) = (0, 0)
      for index in 0..<36 {
        if index == 8 || index == 13 || index == 18 || index == 23 {
          guard digits[index] == UInt8(ascii: "-") else { return nil }
          continue
        }
        guard let nibble = nibble(digits[index]) else { return nil }
        if index < 18 { halves.0 = halves.0 << 4 | nibble } else { halves.1 = halves.1 << 4 | nibble }
      }
      return halves
    }
  }

  private static func nibble(_ digit: UInt8) -> UInt64? {
    // Plain comparisons: a pattern of ranges costs more than all the rest.
    if digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") { return UInt64(digit - UInt8(ascii: "0")) }
    if digit >= UInt8(ascii: "A"), digit <= UInt8(ascii: "F") { return UInt64(digit - UInt8(ascii: "A") + 10) }
    return nil
  }

  static func text(of bytes: ArraySlice<UInt8>) -> String {
    text(
      bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  package static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var position = 0
      for half in [high, low] {
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
      return position
    }
  }
}
