extension String {
  /// The text with an ASCII character written in another way wherever it stands: also before a mark that combines with it to
  /// one character, which a search for characters passes over.
  package func escaping(_ character: Unicode.Scalar, as escaped: StaticString) -> String {
    guard utf8.contains(UInt8(ascii: character)) else { return self }
    var bytes: [UInt8] = []
    for byte in utf8 {
      if byte == UInt8(ascii: character) {
        escaped.withUTF8Buffer { bytes.append(contentsOf: $0) }
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
