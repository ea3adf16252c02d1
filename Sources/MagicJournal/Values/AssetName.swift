/// What an asset is called for: the SHA-256 of its content as 64 lower-case digits and, if the app gave one, an extension
/// (V-16).
package enum AssetName {
  /// `nil` if the extension is none that a name may have.
  package static func name(of content: UnsafeRawBufferPointer, pathExtension: String?) -> String? {
    let name = SHA256.hash(content).hexadecimal + (pathExtension.map { "." + $0 } ?? "")
    return isValid(name) ? name : nil
  }

  package static func isValid(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { bytes in
      guard bytes.count >= 64, bytes[..<64].allSatisfy(isDigit) else { return false }
      guard bytes.count > 64 else { return true }
      return bytes[64] == UInt8(ascii: ".") && 1...32 ~= bytes.count - 65 && bytes[65...].allSatisfy(isAlphanumeric)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}
