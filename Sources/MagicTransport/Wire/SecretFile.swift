internal import Foundation
internal import MagicData

/// Files with tokens and keys.
enum SecretFile {
  /// - Throws: `MagicDataError` with `value` if it is a folder, `notAllowed` if others than the owner may read it.
  static func check(_ file: URL) throws {
    var status = stat()
    guard stat(file.path, &status) == 0 else { throw DurableFile.failure("could not be looked at", file) }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw MagicDataError(.value, "\(file.path) is a folder, where a file with a secret is to be")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw MagicDataError(.notAllowed, "\(file.path) holds a secret, and others may read it; run: chmod 600 \(file.path)")
    }
  }

  /// Lines that say something; `#` begins a remark.
  static func lines(_ file: URL, atMost limit: Int = 1 << 20) throws -> [[String]] {
    try check(file)
    let text = String(decoding: try DurableFile.read(file, atMost: limit), as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).map { line in
      line.split(whereSeparator: \.isWhitespace).map(String.init)
    }.filter { $0.first?.hasPrefix("#") == false }
  }

  /// The one token that a client's file holds.
  static func token(_ file: URL) throws -> [UInt8] {
    let lines = try lines(file)
    guard lines.count == 1, lines[0].count == 1, lines[0][0].utf8.count <= WireLimits.tokenBytes else {
      throw MagicDataError(.value, "\(file.path) is to hold one token: one word of at most \(WireLimits.tokenBytes) bytes")
    }
    return Array(lines[0][0].utf8)
  }
}
