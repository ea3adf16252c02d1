internal import CPlatform
internal import Foundation
internal import MagicJournal

/// What stands beside a database file: which file that is, and the token that is in it (J-30). The mark of a copy names another
/// file, and in a backup that was put back is another token: so neither goes on under an id that is in use elsewhere, or that
/// has gone farther.
struct ReplicaMark {
  /// The token in the database is one of them; there are several only while a transaction that changes it is on its way.
  let tokens: [Identifier]
  private let file: FileIdentity
  /// `nil` where the system does not know, or a former version has written it.
  private let birth: FileBirth?

  init?(_ tokens: [Identifier], of location: DatabaseLocation) {
    guard let file = FileIdentity(of: location.file) else { return nil }
    self.init(tokens, file, FileBirth(of: location.file))
  }

  init(_ tokens: [Identifier], _ file: FileIdentity, _ birth: FileBirth?) {
    self.tokens = tokens
    self.file = file
    self.birth = birth
  }

  /// `nil` if there is none that can be read.
  static func beside(_ location: DatabaseLocation) -> ReplicaMark? {
    guard let bytes = try? DurableFile.read(location.mark, atMost: 1_000) else { return nil }
    return ReplicaMark(text: String(decoding: bytes, as: UTF8.self))
  }

  init?(text: String) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count >= 3, let device = UInt64(words[0]), let number = UInt64(words[1]) else { return nil }
    let rest = words.dropFirst(2)
    self.init(
      rest.compactMap { Identifier($0) }, FileIdentity(device: device, number: number),
      rest.lazy.compactMap { FileBirth(word: $0) }.first)
  }

  var text: String {
    var words = ["\(file.device)", "\(file.number)"] + tokens.map(\.description)
    // Former versions take no notice of it.
    if let birth { words.append(birth.word) }
    return words.joined(separator: " ") + "\n"
  }

  /// Whether it was made for a file of this device and number.
  func names(_ found: FileIdentity) -> Bool { found == file }

  /// Whether it was made for this file, with this token in it.
  func isOf(_ location: DatabaseLocation, _ token: Identifier) -> Bool {
    FileIdentity(of: location.file).map { isOf($0, FileBirth(of: location.file), token, isMounted: c_may_be_mounted) } ?? false
  }

  /// A device may have another number each time it is mounted. Then it tells when the file was made, and on which volume: a
  /// copy is made later, or elsewhere, but for a volume's as a whole. Where something is mounted under the number of before,
  /// that may be the original.
  func isOf(
    _ found: FileIdentity, _ foundBirth: @autoclosure () -> FileBirth?, _ token: Identifier, isMounted: (UInt64) -> Bool
  ) -> Bool {
    guard tokens.contains(token), found.number == file.number else { return false }
    let foundBirth = foundBirth()
    // Two volumes that are mounted in turn may have the number of one device, and each a file of this number.
    if let birth, let foundBirth, foundBirth.nanoseconds != birth.nanoseconds { return false }
    if found.device == file.device { return true }
    guard let birth, birth.volume != 0, foundBirth == birth else { return false }
    return !isMounted(file.device)
  }

  /// Nothing is lost if it cannot be written, or is gone after a power failure: then the next opening takes a fresh id. So
  /// nobody waits for the disk.
  ///
  /// - Returns: whether it was.
  @discardableResult
  func write(beside location: DatabaseLocation) -> Bool {
    var database = stat()
    guard stat(location.file.path, &database) == 0 else { return false }
    let temporary = try? Data(text.utf8).withUnsafeBytes { bytes in
      // Whoever may use the database has to read it, whatever the mask of who wrote it last: as SQLite does with its own files
      // beside it.
      let writer = try ChunkWriter(beside: location.mark, permissions: database.st_mode & 0o777)
      try writer.append(bytes)
      return try writer.finish(isDurable: false)
    }
    guard let temporary else { return false }
    // Nobody else's group can be given to it: then everybody may read it, if that group may read the database.
    let owner = geteuid() == 0 ? database.st_uid : uid_t.max
    if lchown(temporary.path, owner, database.st_gid) != 0, database.st_mode & 0o040 != 0 {
      _ = chmod(temporary.path, database.st_mode & 0o777 | 0o044)
    }
    guard rename(temporary.path, location.mark.path) != 0 else { return true }
    unlink(temporary.path)
    return false
  }
}
