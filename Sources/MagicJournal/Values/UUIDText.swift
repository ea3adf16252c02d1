/// Text that is a UUID in capitals, which travels as its 16 bytes (V-4).
enum UUIDText {
  static func bytes(of text: String) -> [UInt8]? {
    guard text.utf8.count == 36 else { return nil }
    var text = text
    return text.withUTF8 { digits in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(16)
      var index = 0
      while index < 36 {
        if index == 8 || index == 13 || index == 18 || index == 23 {
          guard digits[index] == UInt8(ascii: "-") else { return nil }
          index += 1
          continue
        }
        guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
        index += 2
      }
      return bytes
    }
  }

  private static func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  static func text(of bytes: ArraySlice<UInt8>) -> String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var position = 0
      for byte in bytes {
        if position == 8 || position == 13 || position == 18 || position == 23 {
          buffer[position] = UInt8(ascii: "-")
          position += 1
        }
        for nibble in [byte >> 4, byte & 15] {
          buffer[position] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10
          position += 1
        }
      }
      return position
    }
  }
}
