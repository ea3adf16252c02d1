internal import Foundation
internal import MagicJournal

/// What stands beside a database file: which file that is, and the token that is in it (J-30). The mark of a copy names another file, and in a backup that was
/// put back is another token: so neither goes on under an id that is in use elsewhere, or that has gone farther.
struct ReplicaMark {
  /// The token in the database is one of them; there are several only while a transaction that changes it is on its way.
  let tokens: [Identifier]
  private let file: FileIdentity

  init?(_ tokens: [Identifier], of location: DatabaseLocation) {
    guard let file = FileIdentity(of: location.file) else { return nil }
    self.init(tokens: tokens, file: file)
  }

  private init(tokens: [Identifier], file: FileIdentity) {
    self.tokens = tokens
    self.file = file
  }

  /// `nil` if there is none that can be read.
  static func beside(_ location: DatabaseLocation) -> ReplicaMark? {
    guard let bytes = try? DurableFile.read(location.mark, atMost: 1_000) else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count >= 3, let device = UInt64(words[0]), let number = UInt64(words[1]) else { return nil }
    return ReplicaMark(
      tokens: words.dropFirst(2).compactMap { Identifier($0) }, file: FileIdentity(device: device, number: number))
  }

  /// Whether it was made for this file, with this token in it.
  func isOf(_ location: DatabaseLocation, _ token: Identifier) -> Bool {
    tokens.contains(token) && FileIdentity(of: location.file) == file
  }

  /// Nothing is lost if it cannot be written, or is gone after a power failure: then the next opening takes a fresh id. So nobody waits for the disk.
  ///
  /// - Returns: whether it was.
  @discardableResult
  func write(beside location: DatabaseLocation) -> Bool {
    let words = ["\(file.device)", "\(file.number)"] + tokens.map(\.description)
    let temporary = try? Data((words.joined(separator: " ") + "\n").utf8).withUnsafeBytes { bytes in
      let writer = try PieceWriter(beside: location.mark)
      try writer.append(bytes)
      return try writer.finish(isDurable: false)
    }
    guard let temporary else { return false }
    guard rename(temporary.path, location.mark.path) != 0 else { return true }
    unlink(temporary.path)
    return false
  }
}
