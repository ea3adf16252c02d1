/// Text that is a UUID in capitals, which travels as its 16 bytes (V-4).
enum UUIDText {
  static func bytes(of text: String) -> [UInt8]? {
    guard text.utf8.count == 36 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    var high: UInt8?
    for (index, digit) in text.utf8.enumerated() {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard digit == UInt8(ascii: "-") else { return nil }
        continue
      }
      let nibble: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = digit - UInt8(ascii: "0")
      case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = digit - UInt8(ascii: "A") + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | nibble)
        high = nil
      } else {
        high = nibble
      }
    }
    return bytes
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
