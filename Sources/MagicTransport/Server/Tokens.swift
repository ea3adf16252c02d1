internal import Foundation
internal import MagicData
internal import MagicJournal

/// Who may come in (W-3).
struct Tokens: Sendable {
  struct Holder: Sendable, Equatable {
    /// For logs, and for who owns a replica id; not the token.
    let name: String
    let rights: Rights
  }

  private struct Token: Sendable {
    let hash: [UInt8]
    let holder: Holder
  }

  private let tokens: [Token]

  /// - Parameter file: a token a line, alone or followed by a name and `read`, `write` or `readwrite`.
  init(_ file: URL) throws {
    var (tokens, names) = ([Token](), Set<String>())
    for (number, words) in try SecretFile.lines(file).enumerated() {
      let hash = SHA256.hash(Array(words[0].utf8))
      let holder: Holder
      switch words.count {
      case 1: holder = Holder(name: "token-\(hash.prefix(4).hexadecimal)", rights: [.read, .write])
      case 3:
        guard let rights = Tokens.rights[words[2]] else { fallthrough }
        holder = Holder(name: words[1], rights: rights)
      default:
        throw MagicDataError(
          .value, "\(file.path), token \(number + 1): write TOKEN, or TOKEN NAME and one of read, write and readwrite")
      }
      guard words[0].utf8.count <= WireLimits.tokenBytes, names.insert(holder.name).inserted,
        !tokens.contains(where: { $0.hash == hash })
      else {
        throw MagicDataError(.value, "\(file.path), token \(number + 1): it is too long, or stands twice, or its name does")
      }
      tokens.append(Token(hash: hash, holder: holder))
    }
    guard !tokens.isEmpty else { throw MagicDataError(.value, "\(file.path) holds no token, so nobody could come in") }
    self.tokens = tokens
  }

  private static let rights: [String: Rights] = ["read": .read, "write": .write, "readwrite": [.read, .write]]

  /// All are compared, and all bytes of each: time tells nothing.
  func holder(of token: [UInt8]) -> Holder? {
    let hash = SHA256.hash(token)
    var found: Holder?
    for candidate in tokens {
      var difference: UInt8 = 0
      for (one, other) in zip(candidate.hash, hash) { difference |= one ^ other }
      if difference == 0 { found = candidate.holder }
    }
    return found
  }
}

/// Which replica ids are whose (W-4), kept beside the file of the tokens.
final class Owners: Sendable {
  private let file: URL
  private let owners: Locked<[ReplicaID: String]>

  init(besides tokens: URL) throws {
    file = tokens.appendingPathExtension("replicas")
    var owners: [ReplicaID: String] = [:]
    if FileManager.default.fileExists(atPath: file.path) {
      for words in try SecretFile.lines(file) {
        guard words.count == 2, let replica = Identifier(words[0]) else {
          throw MagicDataError(.damaged, "\(file.path) is damaged: each line has a replica id and a name")
        }
        owners[replica] = words[1]
      }
    }
    self.owners = Locked(owners)
  }

  func isOthers(_ replica: ReplicaID, than name: String) -> Bool {
    owners.withLock { $0[replica].map { $0 != name } ?? false }
  }

  /// `false` if it is somebody else's.
  func claim(_ replica: ReplicaID, for name: String) throws -> Bool {
    try owners.withLock { owners in
      if let owner = owners[replica] { return owner == name }
      owners[replica] = name
      let lines = owners.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
      do {
        try DurableFile.write(Array(lines.joined().utf8), to: file)
        guard chmod(file.path, 0o600) == 0 else { throw DurableFile.failure("could not be closed to others", file) }
      } catch {
        owners[replica] = nil
        throw error
      }
      return true
    }
  }
}
